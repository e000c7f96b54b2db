//! The check in front of each call: what the policy decides, and whom it asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use antefix_session::conversation::Call;
use antefix_tools::permission::{Decision, Policy, Source, Verdict};
use antefix_tools::{Access, Context, Executor, Output};
use tokio::sync::{mpsc, oneshot};

use super::Inbox;

/// A call that waits for the user's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Names the question in its answer.
    pub id: u64,
    /// The call.
    pub call: Call,
    /// Why it is asked, in words.
    pub text: String,
    /// Allow rules that [`Choice::Always`] adds; none where the same call cannot be allowed from now on.
    pub remember: Vec<String>,
}

/// The answer to a [`Question`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which question.
    pub question: u64,
    /// What the user wants.
    pub choice: Choice,
}

/// What the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The call runs.
    Once,
    /// The call runs, and so do its like for the rest of the session.
    Always,
    /// The call does not run.
    No,
}

/// What was decided about a call, where it was not simply the mode that allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The call.
    pub call: Call,
    /// Whether it runs.
    pub allowed: bool,
    /// Who decided and why, in words.
    pub text: String,
}

/// The policy of an agent.
#[derive(Debug)]
pub(super) struct Gate {
    policy: Policy,
    questions: AtomicU64,
}

impl Gate {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy, questions: AtomicU64::new(0) }
    }

    /// Decides about a call, and asks where the policy says so; gives what the call may touch, or the result of one
    /// that may not run.
    pub(super) async fn admit(
        self: &Arc<Self>,
        executor: &Executor,
        context: &Context,
        call: &Call,
        request: &antefix_tools::Call,
        outbox: &mpsc::UnboundedSender<Inbox>,
    ) -> Result<Access, Output> {
        // The executor answers calls of tools that are not there.
        let Some(tool) = executor.registry().get(&call.name) else { return Ok(Access::Nothing) };
        let access = std::panic::AssertUnwindSafe(|| tool.access(context, &request.input));
        let access = std::panic::catch_unwind(access).unwrap_or(Access::Exclusive);
        let decision = self.policy.decide(&call.name, &access, &request.input);
        let tell = |allowed: bool, text: String| {
            // The turn may be gone; what is sent to it then is of no interest.
            drop(outbox.send(Inbox::Decided(Decided { call: call.clone(), allowed, text })));
        };
        match &decision.verdict {
            Verdict::Allow if decision.by_default => Ok(access),
            Verdict::Allow => {
                tell(true, format!("allowed by `{}` ({})", decision.rule, decision.source));
                Ok(access)
            }
            Verdict::Deny { reason } => {
                tell(false, format!("refused: {reason} ({})", decision.source));
                Err(Output::error(format!("not allowed: {reason}. {REFUSED}")))
            }
            Verdict::Ask { question } => match self.ask(context, call, question, &decision, outbox).await {
                Some(Choice::Once) => Ok(access),
                Some(Choice::Always) => {
                    self.remember(&decision);
                    Ok(access)
                }
                Some(Choice::No) => {
                    tell(false, "refused by you".to_owned());
                    Err(Output::error(format!("the user did not allow this call. {REFUSED}")))
                }
                None if context.cancellation.is_cancelled() => {
                    Err(Output::error("cancelled before it started"))
                }
                None => {
                    let how = how_to_allow(&decision);
                    tell(false, format!("refused, since nobody can be asked: {question}; {how}"));
                    Err(Output::error(format!(
                        "not allowed, and nobody can be asked: {question}. {REFUSED} The user could allow it: {how}."
                    )))
                }
            },
        }
    }

    /// The answer; `None` where nobody answers.
    async fn ask(
        &self,
        context: &Context,
        call: &Call,
        text: &str,
        decision: &Decision,
        outbox: &mpsc::UnboundedSender<Inbox>,
    ) -> Option<Choice> {
        let question = Question {
            id: self.questions.fetch_add(1, Ordering::Relaxed),
            call: call.clone(),
            text: text.to_owned(),
            remember: decision.remember.clone(),
        };
        let (reply, answer) = oneshot::channel();
        outbox.send(Inbox::Question { question, reply }).ok()?;
        tokio::select! {
            biased;
            () = context.cancellation.cancelled() => None,
            choice = answer => choice.ok(),
        }
    }

    fn remember(&self, decision: &Decision) {
        for rule in &decision.remember {
            // A policy's own suggestions are rules.
            drop(self.policy.remember(rule, Source::new("your answer in this session")));
        }
    }
}

fn how_to_allow(decision: &Decision) -> String {
    let rules: Vec<String> =
        decision.remember.iter().map(|rule| format!("--allow {}", quoted(rule))).collect();
    if rules.is_empty() { "--permission-mode full".to_owned() } else { rules.join(" ") }
}

/// A text as one word of a shell line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What the model is told with each refusal.
const REFUSED: &str =
    "Do not try to reach the same in another way; go on without it, or say what is needed and why.";
