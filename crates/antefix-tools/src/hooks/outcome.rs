use super::answer::Answer;
use super::{Hook, HookEvent, Permission};

/// What the hooks of an event say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The strictest word about a call, with the first hook that said it.
    pub permission: Option<(Permission, Said)>,
    /// Who objects, and why.
    pub objections: Vec<Said>,
    /// Who wants the turn to end, and why.
    pub halt: Option<Said>,
    /// What the call is to be executed with; of several, the first hook's.
    pub input: Option<ChangedInput>,
    /// What the model is to be told.
    pub context: Vec<Said>,
    /// What the user is to be told.
    pub notices: Vec<String>,
}

/// What a hook says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// When it was said.
    pub event: HookEvent,
    /// [`Hook::key`].
    pub key: String,
    /// [`Hook::words`].
    pub by: String,
    /// The text.
    pub text: String,
}

/// An input in place of the model's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedInput {
    /// [`Hook::words`].
    pub by: String,
    /// One JSON object.
    pub json: Vec<u8>,
}

impl Outcome {
    /// What is known where the asking itself broke off: hooks that are broken hold nothing up, and the user is told.
    pub fn broken_off(event: HookEvent) -> Self {
        let notices = vec![format!("the {} hooks broke off, and nothing they say counts", event.name())];
        Self { notices, ..Self::default() }
    }

    /// The objections as one text.
    pub fn objection(&self) -> Option<String> {
        let texts: Vec<&str> = self.objections.iter().map(|said| said.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// Adds what the next hook says.
    pub(super) fn add(&mut self, hook: &Hook, answer: Answer) {
        let said =
            |text: &str| Said { event: hook.event, key: hook.key(), by: hook.words(), text: capped(text) };
        if let Some(failure) = answer.failure {
            self.notices.push(format!("{} failed, and nothing it says counts: {failure}", hook.words()));
            return;
        }
        if let Some(message) = answer.message {
            self.notices.push(format!("{}: {message}", hook.words()));
        }
        if let Some(permission) = answer.permission
            && self.permission.as_ref().is_none_or(|(strictest, _)| permission > *strictest)
        {
            self.permission = Some((permission, said(&answer.reason)));
        }
        if answer.blocks {
            let reason = if answer.reason.is_empty() { NO_REASON } else { &answer.reason };
            self.objections.push(said(reason));
        }
        if let (Some(reason), None) = (&answer.halt, &self.halt) {
            self.halt = Some(said(reason));
        }
        if let Some(json) = answer.input {
            match &self.input {
                None => self.input = Some(ChangedInput { by: hook.words(), json }),
                Some(first) if first.json != json => self.notices.push(format!(
                    "{} wants another input than {}, which counts",
                    hook.words(),
                    first.by
                )),
                Some(_) => {}
            }
        }
        self.context.extend(answer.context.as_deref().map(said));
    }
}

/// The text without NUL, which providers refuse, and cut where it is longer than a prompt should carry for ever.
fn capped(text: &str) -> String {
    let text = text.replace('\0', "\u{fffd}");
    if text.len() <= TEXT_BYTES {
        return text;
    }
    let end = (0..=TEXT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    // INVARIANT: the end is a boundary within the text.
    format!("{}\n[cut: the first {end} of {} bytes]", &text[..end], text.len())
}

const NO_REASON: &str = "no reason was given";

/// Bytes of what a hook says that are passed on.
const TEXT_BYTES: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::{HOOK_TIMEOUT, Matcher};
    use crate::permission::Source;

    fn hook(command: &str) -> Hook {
        Hook {
            event: HookEvent::PreToolUse,
            matcher: Matcher::new("").unwrap(),
            command: command.to_owned(),
            timeout: HOOK_TIMEOUT,
            source: Source::new("test"),
        }
    }

    fn said(command: &str, text: &str) -> Said {
        let hook = hook(command);
        Said { event: hook.event, key: hook.key(), by: hook.words(), text: text.to_owned() }
    }

    fn decided(permission: Permission, reason: &str) -> Answer {
        Answer { permission: Some(permission), reason: reason.to_owned(), ..Answer::default() }
    }

    #[test]
    fn the_strictest_word_counts_and_the_first_input() {
        let input = |json: &str| Answer { input: Some(json.into()), ..Answer::default() };
        let mut outcome = Outcome::default();
        for (command, answer) in [
            ("g", Answer { failure: Some("exit code 1".to_owned()), ..decided(Permission::Deny, "") }),
            ("a", decided(Permission::Allow, "fine")),
            ("b", decided(Permission::Deny, "never")),
            ("c", decided(Permission::Ask, "who knows")),
            ("d", decided(Permission::Deny, "no")),
            ("e", input("{\"x\":1}")),
            ("f", input("{\"x\":2}")),
            ("h", Answer { context: Some("c".to_owned()), ..Answer::default() }),
        ] {
            outcome.add(&hook(command), answer);
        }
        let expect = Outcome {
            permission: Some((Permission::Deny, said("b", "never"))),
            input: Some(ChangedInput { by: hook("e").words(), json: b"{\"x\":1}".to_vec() }),
            context: vec![said("h", "c")],
            notices: vec![
                "PreToolUse hook `g` (test) failed, and nothing it says counts: exit code 1".to_owned(),
                "PreToolUse hook `f` (test) wants another input than PreToolUse hook `e` (test), which counts"
                    .to_owned(),
            ],
            ..Outcome::default()
        };
        assert_eq!(outcome, expect);
    }

    #[test]
    fn what_is_said_is_cut_at_a_letter() {
        let text = capped(&format!("{}ä", "x".repeat(9_999)));
        assert!(text.ends_with("x\n[cut: the first 9999 of 10001 bytes]"), "{}", &text[9_990..]);
        assert_eq!(capped("a\0b"), "a\u{fffd}b");
    }
}
