//! A check for the tests of those who write their own agent: does a request extend the one before?

use antefix_wire::json::Body;

use super::prompt::Prompt;
use super::{Finding, judge};
use crate::verdict::Observation;

/// Says why `next` does not extend `previous`, two request bodies of one dialect; `None` if it does. Markers, white space
/// and the order of keys where it does not count are no reason; going back, or off at an earlier point, is one.
///
/// [`assert_extends!`](crate::assert_extends) fails a test with this text.
///
/// ```
/// use antefix_prefix::verdict::extension_error;
/// let first = r#"{"system":"Rules.","messages":[{"role":"user","content":"Hi"}]}"#;
/// let second = r#"{"system":"Rules!","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Yes?"}]}"#;
/// let why = extension_error(first.as_bytes(), second.as_bytes()).unwrap();
/// assert!(why.starts_with("system.changed at /system (byte 5 of the value)"), "{why}");
/// assert_eq!(extension_error(first.as_bytes(), first.as_bytes()), None);
/// ```
pub fn extension_error(previous: &[u8], next: &[u8]) -> Option<String> {
    let (old, new) = match (Body::parse(previous), Body::parse(next)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(error), _) => return Some(format!("the previous body is not JSON: {error}")),
        (_, Err(error)) => return Some(format!("the next body is not JSON: {error}")),
    };
    match (Prompt::read(old.root()), Prompt::read(new.root())) {
        (Ok(old), Ok(new)) if old.dialect == new.dialect => compare(&old, &new),
        (Ok(_), Ok(_)) => Some("the two bodies are in different dialects".to_owned()),
        (Err(error), _) => Some(format!("the previous body is no request: {error}")),
        (_, Err(error)) => Some(format!("the next body is no request: {error}")),
    }
}

fn compare(old: &Prompt<'_>, new: &Prompt<'_>) -> Option<String> {
    let unknown = Observation::new(antefix_models::rules(antefix_models::Platform::Compatible, &new.model));
    let verdict = judge(&unknown.clone().with_prompt(old), &unknown.with_prompt(new));
    if let Some(finding) = verdict.breaks.iter().chain(&verdict.faults).chain(&verdict.planned).next() {
        return Some(described(finding));
    }
    // A marker in front of a difference excuses it in a verdict, but not here.
    if let Some(note) = verdict.notes.iter().find(|note| note.contains(" differs")) {
        return Some(note.clone());
    }
    let (before, after) = (old.said().count(), new.said().count());
    (after < before)
        .then(|| format!("the next request goes back: it has {after} blocks of the conversation's {before}"))
}

/// The first difference with what stands around it.
fn described(finding: &Finding) -> String {
    let offset = finding.offset.map_or_else(String::new, |at| format!(" (byte {at} of the value)"));
    let mut text =
        format!("{} at {}{offset}: {}", finding.kind.id(), finding.path, finding.kind.row().sentence);
    for (sign, piece) in [("previous", &finding.earlier), ("next    ", &finding.later)] {
        if let Some(piece) = piece {
            text += &format!("\n  {sign}: {piece}");
        }
    }
    text
}

/// Fails a test unless the second request body extends the first one; the message shows the first difference.
///
/// Both are anything that is bytes: `&str`, `String`, `Vec<u8>`. All dialects that [`Prompt`] reads are taken.
///
/// ```
/// use antefix_prefix::assert_extends;
/// let first = r#"{"messages":[{"role":"user","content":"Hi"}]}"#;
/// let second = r#"{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Yes?"}]}"#;
/// assert_extends!(first, second);
/// ```
///
/// ```should_panic
/// # use antefix_prefix::assert_extends;
/// let first = r#"{"messages":[{"role":"user","content":"Hi. It is 15:09."}]}"#;
/// let second = r#"{"messages":[{"role":"user","content":"Hi. It is 15:10."},{"role":"assistant","content":"Yes?"}]}"#;
/// assert_extends!(first, second); // messages.rewritten at /messages/0/content (byte 14 of the value) …
/// ```
#[macro_export]
macro_rules! assert_extends {
    ($previous:expr, $next:expr $(,)?) => {{
        let (previous, next) = (&$previous, &$next);
        if let Some(why) =
            $crate::verdict::extension_error(AsRef::<[u8]>::as_ref(previous), AsRef::<[u8]>::as_ref(next))
        {
            panic!("the next request does not extend the previous one:\n{why}");
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(previous: &str, next: &str, expect: Option<&str>) {
        let found = extension_error(previous.as_bytes(), next.as_bytes());
        match expect {
            None => assert_eq!(found, None, "{previous} {next}"),
            Some(start) => assert!(found.clone().is_some_and(|text| text.starts_with(start)), "{found:?}"),
        }
    }

    #[test]
    fn the_first_difference_is_shown() {
        let one = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
        let spaced = r#"{ "messages":[{"content":"a","role":"user"},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"},{"role":"assistant","content":"d"}]}"#;
        check(one, spaced, None);
        check(one, &one.replace("\"b\"", "\"B\""), Some("messages.rewritten at /messages/1/content (byte 0"));
        check(one, r#"{"messages":[{"role":"user","content":"a"}]}"#, Some("the next request goes back"));
        check(one, r#"{"messages":[{"role":"user","content":"z"}]}"#, Some("expected.clear at /messages/0"));
        check(one, "[", Some("the next body is not JSON"));
        check("{}", r#"{"contents":[]}"#, Some("the two bodies are in different dialects"));
        let marked = r#"{"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}},{"type":"text","text":"t"}],"messages":[]}"#;
        check(marked, &marked.replace("\"t\"", "\"T\""), Some("/system/1/text differs"));
        let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"c"}]}]}"#;
        check(
            gemini,
            &gemini.replace("\"a\"", "\"a b\""),
            Some("messages.rewritten at /contents/0/parts/0/text"),
        );
    }
}
