/// What a person can do about a refusal that comes again however often the request is made.
///
/// The statuses are those of <https://platform.claude.com/docs/en/api/errors> (November 2026).
pub(super) fn rejected(status: u16, message: &str) -> Option<&'static str> {
    Some(match status {
        400 if message.contains("prompt is too long") => {
            "the conversation no longer fits; go back with `--rewind TURN`, or begin a new session"
        }
        401 => {
            "check the key: ANTHROPIC_API_KEY, else ANTHROPIC_AUTH_TOKEN, else what ANTEFIX_API_KEY_HELPER prints"
        }
        402 => "check the account's credit and billing",
        403 => "check what the key's workspace may use",
        404 => {
            "check the model's name and ANTHROPIC_BASE_URL; a session keeps its model, a new one takes `--model NAME`"
        }
        413 => "leave attachments and long texts out, or begin a new session",
        300..400 => "the base URL leads elsewhere; set ANTHROPIC_BASE_URL to the address itself",
        _ => return None,
    })
}
