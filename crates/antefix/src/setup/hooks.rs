use antefix_runtime::context::HOOK;
use antefix_runtime::store::FileStore;
use antefix_session::conversation::Conversation;
use antefix_tools::Context;
use antefix_tools::hooks::{Hooks, Occasion, Said};

use crate::failure::Failure;
use crate::settings::Settings;

/// The hooks of a session that begins or goes on, and what those at its start tell the model. What they have for the
/// user is added to the notices.
///
/// # Errors
/// If one of them does not let the session begin.
pub(super) async fn start(
    settings: &Settings,
    store: &FileStore,
    conversation: &Conversation,
    context: &Context,
    notices: &mut Vec<String>,
) -> Result<(Hooks, Vec<Said>), Failure> {
    let transcript = store.folder().join("transcript.jsonl");
    let is_told = settings.reminders.is_on(HOOK);
    let hooks = Hooks::new(settings.hooks.clone(), &conversation.header().session, &transcript, is_told);
    let source = if conversation.attempts().is_empty() { "startup" } else { "resume" };
    let outcome = hooks.ask(context, &Occasion::SessionStart { source }).await;
    notices.extend(outcome.notices);
    match outcome.halt {
        Some(said) => Err(Failure::failed(format!("{} ends the session: {}", said.by, said.text))),
        None => Ok((hooks, outcome.context)),
    }
}
