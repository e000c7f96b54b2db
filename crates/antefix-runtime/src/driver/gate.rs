//! The check in front of each call: what the policy decides, and whom it asks.

mod refused;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use antefix_session::conversation::{Call, Conversation};
use antefix_session::record::{ASKED_BY, PermissionRecord};
use antefix_tools::hooks::{Permission, Said};
use antefix_tools::permission::{Decision, Policy, RuleError, Source, Verdict};
use antefix_tools::{Access, Context, Executor, Output, Shell};
use tokio::sync::{mpsc, oneshot};

use super::Inbox;
use super::hooked::Reviewed;
use crate::context::HOOK;

pub(super) use refused::REFUSED;
use refused::RefusedBy;

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

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The call.
    pub call: Call,
    /// Whether it runs.
    pub allowed: bool,
    /// Who decided and why, in words; none where the mode simply allows it, or the user has just said so.
    pub text: Option<String>,
    /// What goes on record.
    pub(super) record: PermissionRecord,
}

/// Where the policy comes from that holds for the next call: settings may change while a turn runs.
pub trait Policies: Send + 'static {
    /// The policy that holds now, and what the user is told about a change.
    fn current(&mut self) -> (Arc<Policy>, Option<String>);
}

impl Policies for Arc<Policy> {
    fn current(&mut self) -> (Arc<Policy>, Option<String>) {
        (Self::clone(self), None)
    }
}

/// Adds the allow rules that the user's answers in a session have added, so that they hold in a later process too.
///
/// # Errors
/// [`RuleError`] if one on record is no rule; those in front of it hold.
pub fn take_up_answers(policy: &Policy, conversation: &Conversation) -> Result<(), RuleError> {
    let mut rules = conversation.permissions().iter().flat_map(|permission| &permission.remembered);
    rules.try_for_each(|rule| policy.remember(rule, Source::new(ANSWERED)))
}

/// What stands in front of an agent's calls.
pub(super) struct Gate {
    policies: Mutex<Box<dyn Policies>>,
    /// Shared with the gates of subagents, so that a number names one question.
    questions: Arc<AtomicU64>,
    /// The mode that last allowed a call by itself, and where it comes from: it goes on record once.
    on_record: Mutex<Option<(String, Source)>>,
    /// How often the same was refused in this turn: each tool that a rule denies, and each call that is asked about.
    refused: Mutex<BTreeMap<String, u64>>,
}

impl Gate {
    pub(super) fn new(policies: impl Policies) -> Self {
        Self {
            policies: Mutex::new(Box::new(policies)),
            questions: Arc::default(),
            on_record: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// A turn begins: what was refused before does not count.
    pub(super) fn begin_turn(&self) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What the model is told of a call that is refused: by whom, and the more there were of the same in this turn, the
    /// plainer.
    fn refusal(&self, call: &Call, refused: &RefusedBy<'_>) -> Output {
        let tool = &call.name;
        let what = match refused {
            RefusedBy::Rule { .. } => tool.clone(),
            _ => format!("{tool} {}", String::from_utf8_lossy(&call.input)),
        };
        let mut counts = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(what).or_default();
        *count += 1;
        Output::error(refused.text(tool, *count))
    }

    /// The gate of a subagent: the same policy, for its own shell and with its own folder of long outputs.
    pub(super) fn of_subagent(self: &Arc<Self>, context: &Context) -> Self {
        let (gate, shell) = (Arc::clone(self), Arc::clone(&context.shell));
        let policies = Inherited { gate, shell, outputs: context.spill.clone() };
        Self { questions: Arc::clone(&self.questions), ..Self::new(policies) }
    }

    /// Decides about a call, and asks where the policy says so; gives what the call may touch, or the result of one
    /// that may not run.
    pub(super) async fn admit(
        self: &Arc<Self>,
        executor: &Executor,
        context: &Context,
        one: &Reviewed,
        outbox: &mpsc::UnboundedSender<Inbox>,
    ) -> Result<Access, Output> {
        let Reviewed { call, request, .. } = one;
        // The executor answers calls of tools that are not there.
        let Some(tool) = executor.registry().get(&call.name) else { return Ok(Access::Nothing) };
        let access = std::panic::AssertUnwindSafe(|| tool.access(context, &request.input));
        let access = std::panic::catch_unwind(access).unwrap_or(Access::Exclusive);
        let (policy, news) = self.policies.lock().unwrap_or_else(PoisonError::into_inner).current();
        if let Some(news) = news {
            // The turn may be gone; what is sent to it then is of no interest.
            drop(outbox.send(Inbox::Notice(news)));
        }
        let decision = policy.decide(&call.name, &access, &request.input);
        let decision = with_hooks(decision, one.outcome.permission.as_ref());
        let admission = Admission { gate: self, one, decision: &decision, outbox };
        match &decision.verdict {
            Verdict::Allow => {
                admission.allowed();
                Ok(access)
            }
            Verdict::Deny { reason } => Err(admission.denied(reason)),
            Verdict::Ask { question } => {
                let choice = self.ask(context, one, question, &decision, outbox).await;
                if choice == Some(Choice::Always) {
                    remember(&policy, &decision);
                }
                match choice {
                    None if context.cancellation.is_cancelled() => {
                        Err(Output::error("cancelled before it started"))
                    }
                    choice => admission.answered(question, choice).map_or(Ok(access), Err),
                }
            }
        }
    }

    /// Whether the mode that allows a call is the one that is on record; it is from here on.
    fn is_on_record(&self, decision: &Decision) -> bool {
        let now = Some((decision.rule.clone(), decision.source.clone()));
        let mut last = self.on_record.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *last, now.clone()) == now
    }

    /// The answer; `None` where nobody answers.
    async fn ask(
        &self,
        context: &Context,
        one: &Reviewed,
        text: &str,
        decision: &Decision,
        outbox: &mpsc::UnboundedSender<Inbox>,
    ) -> Option<Choice> {
        let question = Question {
            id: self.questions.fetch_add(1, Ordering::Relaxed),
            call: one.effective_call(),
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
}

/// A call for which there is a decision: whoever shows it is told what becomes of it, and so is the record.
struct Admission<'a> {
    gate: &'a Gate,
    one: &'a Reviewed,
    decision: &'a Decision,
    outbox: &'a mpsc::UnboundedSender<Inbox>,
}

impl Admission<'_> {
    fn allowed(&self) {
        let decision = self.decision;
        let is_changed = self.one.outcome.input.is_some();
        // What a mode allows by itself is told once.
        if !decision.by_default || is_changed || !self.gate.is_on_record(decision) {
            let by = || format!("allowed by `{}` ({})", decision.rule, decision.source);
            self.tell(true, (!decision.by_default).then(by), None);
        }
    }

    fn denied(&self, reason: &str) -> Output {
        self.tell(false, Some(format!("refused: {reason} ({})", self.decision.source)), None);
        self.gate.refusal(&self.one.call, &RefusedBy::Rule { reason })
    }

    /// What a call is refused with that a question was asked about; nobody could be asked where there is no choice.
    fn answered(&self, question: &str, choice: Option<Choice>) -> Option<Output> {
        let call = &self.one.call;
        match choice {
            Some(Choice::No) => {
                self.tell(false, Some("refused by you".to_owned()), choice);
                Some(self.gate.refusal(call, &RefusedBy::User))
            }
            Some(_) => {
                self.tell(true, None, choice);
                None
            }
            None => {
                let how = how_to_allow(self.decision);
                let text = format!("refused, since nobody can be asked: {question}; {how}");
                self.tell(false, Some(text), None);
                Some(self.gate.refusal(call, &RefusedBy::Nobody { question, how: &how }))
            }
        }
    }

    fn tell(&self, allowed: bool, text: Option<String>, answer: Option<Choice>) {
        let record = record(self.one, self.decision, allowed, answer);
        let change = self.one.change().filter(|_| allowed);
        let text = match (text, change) {
            (Some(text), Some(change)) => Some(format!("{text}; {change}")),
            (text, change) => text.or(change),
        };
        let decided = Decided { call: self.one.call.clone(), allowed, text, record };
        drop(self.outbox.send(Inbox::Decided(Box::new(decided))));
    }
}

/// The policy of a session, for a subagent of it.
struct Inherited {
    gate: Arc<Gate>,
    shell: Arc<Shell>,
    outputs: PathBuf,
}

impl Policies for Inherited {
    fn current(&mut self) -> (Arc<Policy>, Option<String>) {
        let (policy, news) = self.gate.policies.lock().unwrap_or_else(PoisonError::into_inner).current();
        let own = Policy::clone(&policy).with_shell(&self.shell).with_readable(&self.outputs);
        (Arc::new(own), news)
    }
}

fn remember(policy: &Policy, decision: &Decision) {
    for rule in &decision.remember {
        // A policy's own suggestions are rules.
        drop(policy.remember(rule, Source::new(ANSWERED)));
    }
}

fn record(one: &Reviewed, decision: &Decision, allowed: bool, answer: Option<Choice>) -> PermissionRecord {
    let asked = || format!("{ASKED_BY}{} ({})", decision.rule, decision.source);
    let is_asked = matches!(decision.verdict, Verdict::Ask { .. });
    let (rule, source) = match answer {
        Some(_) => ("your answer".to_owned(), asked()),
        None if is_asked => ("nobody to ask".to_owned(), asked()),
        None => (decision.rule.clone(), decision.source.to_string()),
    };
    let remembered = if answer == Some(Choice::Always) { decision.remember.clone() } else { Vec::new() };
    let (call, tool) = (one.call.id.clone(), one.call.name.clone());
    PermissionRecord { call, tool, allowed, rule, source, remembered, effective_input: one.effective_input() }
}

/// The decision once hooks have spoken. What a hook allows is worth as much as an allow rule: it answers a question
/// that a rule could answer, and no other, and nothing that is denied.
fn with_hooks(decision: Decision, word: Option<&(Permission, Said)>) -> Decision {
    let Some((permission, said)) = word else { return decision };
    let by_hook = |verdict: Verdict| Decision {
        verdict,
        rule: HOOK.to_owned(),
        source: Source::new(&said.by),
        remember: Vec::new(),
        by_default: false,
    };
    match (&decision.verdict, permission) {
        (Verdict::Ask { .. }, Permission::Allow) if !decision.remember.is_empty() => by_hook(Verdict::Allow),
        (Verdict::Allow, Permission::Ask) => {
            by_hook(Verdict::Ask { question: format!("{} wants you to decide: {}", said.by, said.text) })
        }
        _ => decision,
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

/// Where rules come from that an answer has added.
const ANSWERED: &str = "your answer in this session";

#[cfg(test)]
mod tests {
    use antefix_tools::hooks::HookEvent;

    use super::*;

    /// A hook's word against the policy's, in all pairs.
    #[test]
    fn a_hook_never_beats_what_denies() {
        let ask = || Verdict::Ask { question: "may it".to_owned() };
        let deny = || Verdict::Deny { reason: "a rule".to_owned() };
        let hook_asks = || Verdict::Ask { question: "h wants you to decide: why".to_owned() };
        let rule = &["bash(ls)"][..];
        for (verdict, remember, word, expect) in [
            (Verdict::Allow, rule, Permission::Allow, Verdict::Allow),
            (Verdict::Allow, rule, Permission::Ask, hook_asks()),
            (ask(), rule, Permission::Allow, Verdict::Allow),
            // What no rule could allow: a line that is not understood, or that may run what is denied.
            (ask(), &[], Permission::Allow, ask()),
            (ask(), rule, Permission::Ask, ask()),
            (deny(), rule, Permission::Allow, deny()),
            (deny(), &[], Permission::Ask, deny()),
        ] {
            let remember: Vec<String> = remember.iter().map(|rule| (*rule).to_owned()).collect();
            let source = Source::new("policy");
            let decision = Decision { verdict, rule: "r".to_owned(), source, remember, by_default: true };
            let event = HookEvent::PreToolUse;
            let said = Said { event, key: "k".to_owned(), by: "h".to_owned(), text: "why".to_owned() };
            assert_eq!(
                with_hooks(decision.clone(), Some(&(word, said))).verdict,
                expect,
                "{decision:?} {word:?}"
            );
            assert_eq!(with_hooks(decision.clone(), None), decision);
        }
    }
}
