//! What a line that was typed means.

use crate::out::tell;

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A message to the model.
    Message(String),
    /// The session is to go on from a summary.
    Compact,
    /// This turn and everything behind it is to be dropped.
    Rewind(u64),
    /// What can be typed is to be shown.
    Help,
    /// The end.
    Leave,
    /// Nothing.
    Nothing,
    /// A command that was typed wrongly; what is wrong with it.
    Wrong(String),
}

impl Said {
    /// Reads what was typed. What begins with `/` and is none of these commands is a message: it may call a skill.
    pub fn of(text: &str) -> Self {
        let text = text.trim();
        let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let alone = |said: Self| {
            let is_alone = rest.is_empty();
            if is_alone { said } else { Self::Wrong(format!("`{command}` takes nothing behind it")) }
        };
        match command {
            "" => Self::Nothing,
            "/help" => alone(Self::Help),
            "/exit" | "/quit" => alone(Self::Leave),
            "/compact" => alone(Self::Compact),
            "/rewind" => match rest.trim().parse() {
                Ok(turn @ 1..) => Self::Rewind(turn),
                _ => Self::Wrong("`/rewind` takes the number of a message, from 1".to_owned()),
            },
            _ => Self::Message(text.to_owned()),
        }
    }
}

/// Shows what can be typed.
pub fn help() {
    for (typed, meaning) in HELP {
        tell!("  {typed:<13} {meaning}");
    }
}

const HELP: [(&str, &str); 8] = [
    ("/compact", "let the session go on from a summary of itself; what that costs is told first"),
    ("/rewind N", "drop message N and everything behind it; the number is in front of each message"),
    ("/NAME TEXT", "call the skill NAME"),
    ("/exit, /quit", "leave; `antefix chat --continue` goes on"),
    ("… \\", "a `\\` at the end of a line: the message goes on in the next one"),
    ("Ctrl-C", "stop what the agent does, or drop what was typed"),
    ("Ctrl-D", "leave"),
    ("/help", "this"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_means_one_thing() {
        let message = |text: &str| Said::Message(text.to_owned());
        for (typed, expect) in [
            ("", Said::Nothing),
            (" \t\n", Said::Nothing),
            ("Fix it.", message("Fix it.")),
            ("  two\nlines \n", message("two\nlines")),
            ("/help", Said::Help),
            (" /exit ", Said::Leave),
            ("/quit", Said::Leave),
            ("/compact", Said::Compact),
            ("/compact now", Said::Wrong("`/compact` takes nothing behind it".to_owned())),
            ("/rewind 3", Said::Rewind(3)),
            ("/rewind\t3", Said::Rewind(3)),
            ("/rewind 0", Said::Wrong("`/rewind` takes the number of a message, from 1".to_owned())),
            ("/rewind", Said::Wrong("`/rewind` takes the number of a message, from 1".to_owned())),
            ("/review src", message("/review src")),
            ("/compacted", message("/compacted")),
            ("/etc/passwd is what?", message("/etc/passwd is what?")),
        ] {
            assert_eq!(Said::of(typed), expect, "{typed:?}");
        }
    }
}
