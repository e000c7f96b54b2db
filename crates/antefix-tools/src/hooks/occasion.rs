use std::path::Path;

use antefix_wire::json::{Body, write_string};

use super::HookEvent;
use crate::{Content, Output};

/// What has come about, and what hooks are given of it.
#[derive(Clone, Copy, Debug)]
pub enum Occasion<'a> {
    /// See [`HookEvent::SessionStart`].
    SessionStart {
        /// `startup` or `resume`.
        source: &'a str,
    },
    /// See [`HookEvent::UserPromptSubmit`].
    UserPromptSubmit {
        /// What the user says.
        prompt: &'a str,
    },
    /// See [`HookEvent::PreToolUse`].
    PreToolUse {
        /// The call's id.
        call: &'a str,
        /// Effective name of the tool.
        tool: &'a str,
        /// Its input.
        input: &'a Body,
    },
    /// See [`HookEvent::PostToolUse`].
    PostToolUse {
        /// The call's id.
        call: &'a str,
        /// Effective name of the tool.
        tool: &'a str,
        /// The input that was executed.
        input: &'a Body,
        /// What it returned.
        output: &'a Output,
    },
    /// See [`HookEvent::Stop`].
    Stop {
        /// Whether the turn goes on already because a hook said so.
        again: bool,
    },
}

impl Occasion<'_> {
    /// The event it belongs to.
    pub const fn event(&self) -> HookEvent {
        match self {
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::Stop { .. } => HookEvent::Stop,
        }
    }

    /// What matchers are held against; nothing where all hooks of the event are asked.
    pub(super) const fn subject(&self) -> &str {
        match self {
            Self::SessionStart { source } => source,
            Self::PreToolUse { tool, .. } | Self::PostToolUse { tool, .. } => tool,
            Self::UserPromptSubmit { .. } | Self::Stop { .. } => "",
        }
    }

    /// The object on a hook's standard input, one line.
    pub(super) fn input(&self, session: &str, transcript: &Path, folder: &Path) -> Vec<u8> {
        let mut out = Vec::new();
        text(&mut out, "session_id", session);
        text(&mut out, "transcript_path", &transcript.to_string_lossy());
        text(&mut out, "cwd", &folder.to_string_lossy());
        text(&mut out, "hook_event_name", self.event().name());
        match self {
            Self::SessionStart { source } => text(&mut out, "source", source),
            Self::UserPromptSubmit { prompt } => text(&mut out, "prompt", prompt),
            Self::PreToolUse { call, tool, input } => called(&mut out, call, tool, input),
            Self::PostToolUse { call, tool, input, output } => {
                called(&mut out, call, tool, input);
                raw(&mut out, "tool_response", &response(output));
            }
            Self::Stop { again } => raw(&mut out, "stop_hook_active", again.to_string().as_bytes()),
        }
        out.extend_from_slice(b"}\n");
        out
    }
}

fn called(out: &mut Vec<u8>, call: &str, tool: &str, input: &Body) {
    text(out, "tool_name", tool);
    raw(out, "tool_input", input.root().raw().as_bytes());
    text(out, "tool_use_id", call);
}

/// What a call returned; pictures and documents are named, not given.
fn response(output: &Output) -> Vec<u8> {
    let shown = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        Content::Image { media_type, .. } | Content::Document { media_type, .. } => format!("[{media_type}]"),
        Content::ToolReference { name } => name.clone(),
    };
    let content: Vec<String> = output.content.iter().map(shown).collect();
    let mut out = Vec::new();
    text(&mut out, "content", &content.join("\n"));
    raw(&mut out, "is_error", output.is_error.to_string().as_bytes());
    out.push(b'}');
    out
}

fn text(out: &mut Vec<u8>, name: &str, value: &str) {
    let mut quoted = Vec::new();
    write_string(&mut quoted, value);
    raw(out, name, &quoted);
}

fn raw(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.push(if out.is_empty() { b'{' } else { b',' });
    write_string(out, name);
    out.push(b':');
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_given_what_has_come_about() {
        let input = Body::parse(br#"{"command":"ls","n":1.0e2}"#.to_vec()).unwrap();
        let output = Output::error("no \"such\" file");
        let start = r#"{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"#;
        let call = r#","tool_name":"bash","tool_input":{"command":"ls","n":1.0e2},"tool_use_id":"c1""#;
        for (occasion, expect) in [
            (Occasion::SessionStart { source: "resume" }, r#""SessionStart","source":"resume"}"#.to_owned()),
            (
                Occasion::UserPromptSubmit { prompt: "a\nb" },
                r#""UserPromptSubmit","prompt":"a\nb"}"#.to_owned(),
            ),
            (
                Occasion::PreToolUse { call: "c1", tool: "bash", input: &input },
                format!(r#""PreToolUse"{call}}}"#),
            ),
            (
                Occasion::PostToolUse { call: "c1", tool: "bash", input: &input, output: &output },
                format!(
                    r#""PostToolUse"{call},"tool_response":{{"content":"no \"such\" file","is_error":true}}}}"#
                ),
            ),
            (Occasion::Stop { again: true }, r#""Stop","stop_hook_active":true}"#.to_owned()),
        ] {
            let given = occasion.input("s", Path::new("/t"), Path::new("/w"));
            assert_eq!(String::from_utf8(given).unwrap(), format!("{start}{expect}\n"));
        }
    }
}
