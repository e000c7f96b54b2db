use antefix_wire::json::{Body, Kind, Node};

use super::HookEvent;

/// What a hook says about a call; the stricter one is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// The user need not be asked.
    Allow,
    /// The user is to be asked.
    Ask,
    /// It does not run.
    Deny,
}

/// What one hook answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// About the call, before it runs.
    pub(super) permission: Option<Permission>,
    /// It objects: to the prompt, to what a call returned, to the end of the turn.
    pub(super) blocks: bool,
    /// Why.
    pub(super) reason: String,
    /// The turn is to end, with this reason.
    pub(super) halt: Option<String>,
    /// What the call is to be executed with.
    pub(super) input: Option<Vec<u8>>,
    /// What the model is to be told.
    pub(super) context: Option<String>,
    /// What the user is to be told.
    pub(super) message: Option<String>,
    /// Why there is no answer.
    pub(super) failure: Option<String>,
}

impl Answer {
    /// Reads an answer: code 2 is an objection with the reason on standard error, 0 an answer on standard output, any
    /// other a failure.
    pub(super) fn read(event: HookEvent, code: i32, output: &[u8], errors: &[u8]) -> Self {
        let said = String::from_utf8_lossy(errors).trim().to_owned();
        match code {
            0 => Self::printed(event, output),
            2 => Self { reason: said, ..Self::default() }.objecting(event),
            _ => {
                let first = said.lines().next().unwrap_or_default();
                let because = if first.is_empty() { String::new() } else { format!(": {first}") };
                Self { failure: Some(format!("exit code {code}{because}")), ..Self::default() }
            }
        }
    }

    fn printed(event: HookEvent, output: &[u8]) -> Self {
        let text = String::from_utf8_lossy(output);
        let text = text.trim();
        if !text.starts_with('{') {
            let is_told = matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit);
            let context = (is_told && !text.is_empty()).then(|| text.to_owned());
            return Self { context, ..Self::default() };
        }
        match Body::parse(text.as_bytes().to_vec()) {
            Ok(body) => Self::object(event, body.root()).unwrap_or_else(Self::failed),
            Err(error) => Self::failed(format!("its answer is not JSON: {error}")),
        }
    }

    fn object(event: HookEvent, node: Node<'_>) -> Result<Self, String> {
        let mut answer = Self { message: text(node, "systemMessage")?, ..Self::default() };
        if node.get("continue").is_some_and(|value| value.bool() == Some(false)) {
            answer.halt = Some(text(node, "stopReason")?.unwrap_or_else(|| "it said so".to_owned()));
        }
        let reason = text(node, "reason")?;
        answer.reason.clone_from(&reason.unwrap_or_default());
        match text(node, "decision")?.as_deref() {
            None => {}
            Some("block" | "deny") => answer = answer.objecting(event),
            Some("approve" | "allow") => {
                answer.permission = (event == HookEvent::PreToolUse).then_some(Permission::Allow);
            }
            Some(other) => return Err(format!("`decision` is `{other}`")),
        }
        if let Some(specific) = node.get("hookSpecificOutput") {
            answer.specific(event, specific)?;
        }
        Ok(answer)
    }

    fn specific(&mut self, event: HookEvent, node: Node<'_>) -> Result<(), String> {
        if let Some(other) = text(node, "hookEventName")?.filter(|name| name != event.name()) {
            return Err(format!("its answer is for `{other}`"));
        }
        self.context = text(node, "additionalContext")?.filter(|text| !text.trim().is_empty());
        if event != HookEvent::PreToolUse {
            return Ok(());
        }
        self.permission = match text(node, "permissionDecision")?.as_deref() {
            None => self.permission,
            Some("allow") => Some(Permission::Allow),
            Some("ask") => Some(Permission::Ask),
            Some("deny") => Some(Permission::Deny),
            Some(other) => return Err(format!("`permissionDecision` is `{other}`")),
        };
        if let Some(reason) = text(node, "permissionDecisionReason")? {
            self.reason = reason;
        }
        self.input = match node.get("updatedInput") {
            None => None,
            Some(input) if input.kind() == Kind::Object => Some(input.raw().as_bytes().to_vec()),
            Some(_) => return Err("`updatedInput` is no object".to_owned()),
        };
        Ok(())
    }

    /// An objection as it is meant at an event; there is nothing to object to when a session starts.
    fn objecting(self, event: HookEvent) -> Self {
        match event {
            HookEvent::PreToolUse => Self { permission: Some(Permission::Deny), ..self },
            HookEvent::SessionStart => Self::failed(format!("exit code 2: {}", self.reason)),
            _ => Self { blocks: true, ..self },
        }
    }

    fn failed(text: String) -> Self {
        Self { failure: Some(text), ..Self::default() }
    }
}

/// A text that need not be there.
fn text(node: Node<'_>, name: &str) -> Result<Option<String>, String> {
    match node.get(name) {
        None => Ok(None),
        Some(value) if value.kind() == Kind::Null => Ok(None),
        Some(value) => {
            value.str().map(|text| Some(text.into_owned())).ok_or_else(|| format!("`{name}` is no text"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_users_know_them() {
        use HookEvent::{PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit};
        let nothing = Answer::default;
        let failed = |text: &str| Answer::failed(text.to_owned());
        let said = |text: &str| Answer { reason: text.to_owned(), ..nothing() };
        let context = |text: &str| Answer { context: Some(text.to_owned()), ..nothing() };
        let decided = |permission, reason: &str| Answer { permission: Some(permission), ..said(reason) };
        let blocked = |reason: &str| Answer { blocks: true, ..said(reason) };
        for (event, code, output, errors, expect) in [
            (PreToolUse, 0, "", "noise", nothing()),
            (PreToolUse, 0, "all is well", "", nothing()),
            (PreToolUse, 2, "", "not this\n", decided(Permission::Deny, "not this")),
            (PreToolUse, 1, "", "broken\nmore", failed("exit code 1: broken")),
            (PreToolUse, 127, "", "", failed("exit code 127")),
            (PostToolUse, 2, "", "lint", blocked("lint")),
            (UserPromptSubmit, 2, "", "no", blocked("no")),
            (Stop, 2, "", "tests fail", blocked("tests fail")),
            (SessionStart, 2, "", "no", failed("exit code 2: no")),
            (SessionStart, 0, " sprint 12\n", "", context("sprint 12")),
            (UserPromptSubmit, 0, "hints", "", context("hints")),
            (Stop, 0, "hints", "", nothing()),
            (PreToolUse, 0, r#"{"decision":"block","reason":"r"}"#, "", decided(Permission::Deny, "r")),
            (PreToolUse, 0, r#"{"decision":"approve"}"#, "", decided(Permission::Allow, "")),
            (Stop, 0, r#"{"decision":"block","reason":"r"}"#, "", blocked("r")),
            (Stop, 0, r#"{"decision":"perhaps"}"#, "", failed("`decision` is `perhaps`")),
            (Stop, 0, r#"{"decision":null}"#, "", nothing()),
            (Stop, 0, r#"{"decision":1}"#, "", failed("`decision` is no text")),
            (
                PreToolUse,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"r"}}"#,
                "",
                decided(Permission::Ask, "r"),
            ),
            (
                PreToolUse,
                0,
                r#"{"hookSpecificOutput":{"updatedInput":{"n":1.0e2}}}"#,
                "",
                Answer { input: Some(br#"{"n":1.0e2}"#.to_vec()), ..nothing() },
            ),
            (
                PreToolUse,
                0,
                r#"{"hookSpecificOutput":{"updatedInput":[]}}"#,
                "",
                failed("`updatedInput` is no object"),
            ),
            (
                PostToolUse,
                0,
                r#"{"hookSpecificOutput":{"additionalContext":"c","updatedInput":{}}}"#,
                "",
                context("c"),
            ),
            (
                PostToolUse,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"Stop"}}"#,
                "",
                failed("its answer is for `Stop`"),
            ),
            (
                Stop,
                0,
                r#"{"continue":false,"stopReason":"enough","systemMessage":"m"}"#,
                "",
                Answer { halt: Some("enough".to_owned()), message: Some("m".to_owned()), ..nothing() },
            ),
            (Stop, 0, r#"{"continue":true}"#, "", nothing()),
        ] {
            assert_eq!(
                Answer::read(event, code, output.as_bytes(), errors.as_bytes()),
                expect,
                "{event:?} {code} {output} {errors}"
            );
        }
        let broken = Answer::read(Stop, 0, b"{\"decision\":", b"").failure.unwrap();
        assert!(broken.starts_with("its answer is not JSON"), "{broken}");
    }
}
