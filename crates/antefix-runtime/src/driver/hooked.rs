//! The user's hooks around a turn and its calls.

use std::sync::Arc;

use antefix_session::closure::text_block;
use antefix_session::conversation::{Call, Conversation};
use antefix_session::event::{Event, SessionEvent};
use antefix_session::record::{ContextRecord, EndReason, PermissionRecord};
use antefix_tools::hooks::{HookEvent, Hooks, Occasion, Outcome, Permission, Said};
use antefix_tools::{Cancellation, Context, Output};
use antefix_wire::json::Body;
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::gate::REFUSED;
use super::{Agent, Decided, DriverError, Inbox, Shown, TurnEnd};
use crate::clock;
use crate::context::{HOOK, Sighting, sighting};
use crate::store::TranscriptStore;

/// What hooks say of a turn that is about to begin.
pub(super) enum Submitted {
    /// It begins, and the model is told this with what the user says.
    Begins(Vec<Said>),
    /// It does not.
    Ends(TurnEnd),
}

impl<S: TranscriptStore> Agent<S> {
    /// Has hooks asked from now on.
    pub fn ask_hooks(&mut self, hooks: Hooks) {
        self.hooks = Some(Arc::new(hooks));
    }

    /// Asks the hooks about what the user says, before anything of it is on record.
    pub(super) async fn submitted(
        &mut self,
        blocks: &[Bytes],
        interrupts: &mut mpsc::UnboundedReceiver<()>,
        show: &mut impl FnMut(Shown<'_>),
    ) -> Result<Submitted, DriverError> {
        let prompt = text_of(blocks);
        let Some(outcome) = self.ask(&Occasion::UserPromptSubmit { prompt: &prompt }, interrupts, show).await
        else {
            return Ok(Submitted::Ends(TurnEnd { reason: EndReason::Interrupted, message: None }));
        };
        let objection = outcome.halt.as_ref().or(outcome.objections.first());
        let Some(said) = objection else {
            return Ok(Submitted::Begins(outcome.context));
        };
        let text = format!("not sent: {} says: {}", said.by, said.text);
        let commands =
            self.session.step(Event::Halt { guard: HOOK.to_owned(), text: text.clone() }, clock::now())?;
        for command in commands {
            if let antefix_session::event::Command::Emit(event) = &command {
                show(Shown::Event(event));
            }
            self.append(command)?;
        }
        Ok(Submitted::Ends(TurnEnd { reason: EndReason::Guard, message: Some(text) }))
    }

    /// Asks the hooks whether a turn may end; gives what the model is told if not. `times` is how often that came about
    /// already.
    pub(super) async fn objected(
        &mut self,
        end: &TurnEnd,
        times: u32,
        interrupts: &mut mpsc::UnboundedReceiver<()>,
        show: &mut impl FnMut(Shown<'_>),
    ) -> Option<Vec<Bytes>> {
        if !matches!(end.reason, EndReason::EndTurn | EndReason::StopSequence) {
            return None;
        }
        let outcome = self.ask(&Occasion::Stop { again: times > 0 }, interrupts, show).await?;
        if outcome.halt.is_some() || outcome.objections.is_empty() {
            return None;
        }
        let by: Vec<&str> = outcome.objections.iter().map(|said| said.by.as_str()).collect();
        let by = by.join(", ");
        if times == MOST_OBJECTIONS {
            let text = format!(
                "{by} objects to the end of the turn for the {}th time; it ends all the same",
                times + 1
            );
            show(Shown::Event(&SessionEvent::Notice(text)));
            return None;
        }
        show(Shown::Event(&SessionEvent::Notice(format!("the turn goes on: {by}"))));
        let said = |said: &Said| text_block(&format!("A stop hook of the user says: {}", said.text));
        Some(outcome.objections.iter().map(said).collect())
    }

    /// Asks hooks outside a turn and shows what they have for the user; `None` if the user has had enough of it.
    async fn ask(
        &self,
        occasion: &Occasion<'_>,
        interrupts: &mut mpsc::UnboundedReceiver<()>,
        show: &mut impl FnMut(Shown<'_>),
    ) -> Option<Outcome> {
        let Some(hooks) = &self.hooks else { return Some(Outcome::default()) };
        let stop = Cancellation::new();
        let context = self.context.clone().with_cancellation(stop.clone());
        let asked = hooks.ask(&context, occasion);
        tokio::pin!(asked);
        let (outcome, is_stopped) = tokio::select! {
            biased;
            Some(()) = interrupts.recv() => {
                stop.cancel();
                (asked.await, true)
            }
            outcome = &mut asked => (outcome, false),
        };
        for notice in &outcome.notices {
            show(Shown::Event(&SessionEvent::Notice(notice.clone())));
        }
        (!is_stopped).then_some(outcome)
    }
}

/// A call, and what hooks say of it before it runs.
pub(super) struct Reviewed {
    /// What the model wrote.
    pub(super) call: Call,
    /// What is executed.
    pub(super) request: antefix_tools::Call,
    pub(super) outcome: Outcome,
}

impl Reviewed {
    /// The input that was put in the place of the model's.
    pub(super) fn effective_input(&self) -> Option<Bytes> {
        let changed = self.outcome.input.as_ref()?;
        Some(Bytes::copy_from_slice(&changed.json))
    }

    /// The call as it is executed, to be shown.
    pub(super) fn effective_call(&self) -> Call {
        let input = self.effective_input().unwrap_or_else(|| self.call.input.clone());
        Call { input, ..self.call.clone() }
    }

    /// Who has changed the input and into what, in words.
    pub(super) fn change(&self) -> Option<String> {
        let changed = self.outcome.input.as_ref()?;
        let json = String::from_utf8_lossy(&changed.json);
        Some(format!("runs with an input of {}: {json}", changed.by))
    }

    /// The result of a call that a hook refuses, and what is told of it.
    pub(super) fn refusal(&self) -> Option<(Output, Decided)> {
        let ((Some(refused), _) | (None, Some((Permission::Deny, refused)))) =
            (&self.outcome.halt, &self.outcome.permission)
        else {
            return None;
        };
        let reason = if refused.text.is_empty() { "no reason was given" } else { &refused.text };
        let text = format!("refused by {}: {reason}", refused.by);
        let decided = self.decided(false, text, &refused.by);
        Some((Output::error(format!("not allowed by a hook of the user: {reason}. {REFUSED}")), decided))
    }

    /// What is told and goes on record of a call whose input a hook has changed, where no policy decides.
    pub(super) fn allowance(&self) -> Option<Decided> {
        let by = &self.outcome.input.as_ref()?.by;
        Some(self.decided(true, self.change()?, by))
    }

    fn decided(&self, allowed: bool, text: String, by: &str) -> Decided {
        let record = PermissionRecord {
            call: self.call.id.clone(),
            tool: self.call.name.clone(),
            allowed,
            rule: HOOK.to_owned(),
            source: by.to_owned(),
            remembered: Vec::new(),
            effective_input: self.effective_input(),
        };
        Decided { call: self.call.clone(), allowed, text: Some(text), record }
    }
}

/// Asks the hooks about all calls of a batch side by side, and gives them in their order.
pub(super) async fn review(
    hooks: Option<&Arc<Hooks>>,
    context: &Context,
    calls: Vec<(Call, antefix_tools::Call)>,
) -> Vec<Reviewed> {
    let Some(hooks) = hooks else {
        let unasked = |(call, request)| Reviewed { call, request, outcome: Outcome::default() };
        return calls.into_iter().map(unasked).collect();
    };
    review_by(calls, |request| {
        let (hooks, context) = (Arc::clone(hooks), context.clone());
        async move {
            let (call, tool, input) = (&request.id, &request.name, &request.input);
            hooks.ask(&context, &Occasion::PreToolUse { call, tool, input }).await
        }
    })
    .await
}

/// Asks about all calls side by side. A task that breaks off has said nothing, as a hook that is broken, and is told of.
async fn review_by<F>(
    calls: Vec<(Call, antefix_tools::Call)>,
    ask: impl Fn(antefix_tools::Call) -> F,
) -> Vec<Reviewed>
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let broken_off = || Outcome::broken_off(HookEvent::PreToolUse);
    let unheard = |(call, request)| Reviewed { call, request, outcome: broken_off() };
    let mut reviewed: Vec<Reviewed> = calls.into_iter().map(unheard).collect();
    let mut tasks = JoinSet::new();
    for (index, one) in reviewed.iter().enumerate() {
        let asked = ask(one.request.clone());
        tasks.spawn(async move { (index, asked.await) });
    }
    while let Some(joined) = tasks.join_next().await {
        let Ok((index, outcome)) = joined else { continue };
        let Some(one) = reviewed.get_mut(index) else { continue };
        let changed = outcome.input.as_ref().and_then(|changed| Body::parse(changed.json.clone()).ok());
        if let Some(input) = changed {
            one.request.input = input;
        }
        one.outcome = outcome;
    }
    reviewed
}

/// What hooks say that the model does not know yet; what it knows from before stays said.
pub(super) fn hook_news(conversation: &Conversation, said: &[Said]) -> Vec<ContextRecord> {
    let is_new = |record: &ContextRecord| conversation.known(HOOK, &record.key) != Some(&record.state);
    let text = |said: &Said| format!("The user's {} hook says:\n{}", said.event.name(), said.text);
    said.iter().map(|said| context(said, text(said))).filter(is_new).collect()
}

fn context(said: &Said, text: String) -> ContextRecord {
    let Sighting { key, state, .. } = sighting(said);
    ContextRecord { kind: HOOK.to_owned(), key, state, text: Some(text) }
}

/// Passes on what hooks say of a call of a tool beside a decision: it concerns that call alone, so that it is told even
/// if it was told of another.
pub(super) fn pass_on(tool: &str, outcome: &Outcome, outbox: &mpsc::UnboundedSender<Inbox>) {
    let objects = outcome.objections.iter().map(|said| ("objects to what", "returned", said));
    let says = outcome.context.iter().map(|said| ("says of", "", said));
    let text = |verb: &str, end: &str, said: &Said| {
        let end = if end.is_empty() { String::new() } else { format!(" {end}") };
        format!("The user's {} hook {verb} `{tool}`{end}:\n{}", said.event.name(), said.text)
    };
    let notes: Vec<ContextRecord> =
        objects.chain(says).map(|(verb, end, said)| context(said, text(verb, end, said))).collect();
    if !notes.is_empty() {
        drop(outbox.send(Inbox::Event(Box::new(Event::Note(notes)))));
    }
    // The turn may be gone; what is sent to it then is of no interest.
    for notice in &outcome.notices {
        drop(outbox.send(Inbox::Notice(notice.clone())));
    }
    if let Some(said) = &outcome.halt {
        let text = format!("{} ends the turn: {}", said.by, said.text);
        drop(outbox.send(Inbox::Event(Box::new(Event::Halt { guard: HOOK.to_owned(), text }))));
    }
}

/// The text of what the user says.
fn text_of(blocks: &[Bytes]) -> String {
    let text = |block: &Bytes| {
        let body = Body::parse(block.to_vec()).ok()?;
        Some(body.root().get("text")?.str()?.into_owned())
    };
    blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// How often in a row hooks may have the model go on that has ended its turn.
const MOST_OBJECTIONS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// A task that broke off left its call as if no hook were set, and nobody heard of it.
    #[tokio::test]
    async fn a_task_that_breaks_off_is_told_of() {
        let call = |id: &str| {
            let call = Call { id: id.to_owned(), name: "bash".to_owned(), input: Bytes::from_static(b"{}") };
            let (id, name) = (call.id.clone(), call.name.clone());
            let input = Body::parse(*b"{}").unwrap();
            (call, antefix_tools::Call { id, name, input, admitted: None })
        };
        let said = |text: &str| Outcome { notices: vec![text.to_owned()], ..Outcome::default() };
        let reviewed = review_by(["a", "b", "c"].map(call).into(), |request| async move {
            assert!(request.id != "b", "broken");
            Outcome { notices: vec![request.id], ..Outcome::default() }
        });
        let outcomes: Vec<_> = reviewed.await.into_iter().map(|one| one.outcome).collect();
        let told = "the PreToolUse hooks broke off, and nothing they say counts";
        assert_eq!(outcomes, [said("a"), said(told), said("c")]);
    }
}
