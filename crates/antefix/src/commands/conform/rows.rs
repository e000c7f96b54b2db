//! The rows of the matrix.

use super::column::Column;
use super::row::{OldSession, Row, Step};
use Step::{AnotherDay, Compact, Fail, Git, Interrupt, Kill, Minutes, Remove, Say, Write};

/// All rows, in the order in which they are printed.
pub fn rows() -> Vec<Row> {
    let mut rows = plain();
    rows.extend(turns());
    rows.extend(parameters());
    rows.extend(surroundings());
    rows.extend(super::servers::rows());
    rows
}

/// What changes nothing that is sent, and what the provider itself decides.
fn plain() -> Vec<Row> {
    vec![
        Row::new("nothing", "nothing changes"),
        Row::new("pause", "the user comes back after six minutes")
            .change([Minutes(6)])
            .limited(Column::is_messages, FIVE_MINUTES),
        Row::new("parallel-14", "the model makes 14 calls in one step").prompt("A wide step of 14 calls."),
        Row::new("parallel-40", "the model makes 40 calls in one step").prompt("A wide step of 40 calls."),
        Row::new("image", "the user shows the first image")
            .message(&["--attach", "{root}/dot.png"])
            .whatever_is_told()
            .limited(Column::is_messages, FIRST_IMAGE),
    ]
}

/// How turns end, and what is done with them.
fn turns() -> Vec<Row> {
    vec![
        Row::new("rewind", "the last turn is dropped and something else is said")
            .change([Say("A detour.", &[])])
            .message(&["--rewind", "2"])
            .goes_back(),
        Row::new("fork", "the session goes on in a copy").message(&["--fork"]),
        Row::new("upgrade", "a session of the first build goes on, with other tools and texts than today's")
            .old_session(|column| match column {
                Column::InBand => Some(FIRST_MESSAGES),
                Column::Strict => Some(FIRST_CHAT),
                Column::Without | Column::AppendOnly => None,
            })
            .only_in(|column| matches!(column, Column::InBand | Column::Strict))
            .goes_on(&["--resume", "0", "--cwd", "{root}/project"])
            .told(&["The date is 20", "branch main at "]),
        Row::new("refusal", "the model refuses to go on").change([Fail("Refuse this.")]).goes_back(),
        Row::new("cancelled", "the user stops an answer and says something else")
            .change([Interrupt("Hang in an answer.", "text")])
            .whatever_is_told(),
        Row::new("killed-in-answer", "the process is killed while the model answers")
            .change([Kill("Hang in an answer.", "text")])
            .whatever_is_told(),
        Row::new("killed-in-call", "the process is killed while a command runs")
            .change([Kill("Wait in a command.", "call_output")])
            .told(&["This call was not completed"]),
    ]
}

/// What the user asks of the provider.
fn parameters() -> Vec<Row> {
    vec![
        Row::new("model", "another model answers from now on")
            .message(&["--model", "claude-opus-5"])
            .whatever_is_told()
            .only_in(Column::is_messages)
            .planned(|_| true, ANOTHER_MODEL),
        Row::new("effort", "the model is asked to try less hard")
            .message(&["--effort", "low"])
            .planned(Column::is_messages, ANOTHER_EFFORT),
        Row::new("thinking", "the model is asked not to think")
            .message(&["--thinking", "off"])
            .only_in(Column::is_messages)
            .planned(|_| true, OTHER_THINKING),
        Row::new("compaction", "the session goes on from a summary of itself")
            .change([Compact])
            .whatever_is_told()
            .planned(|_| true, A_SUMMARY),
        Row::new("old-thinking", "the provider drops the thinking of a turn that is over")
            .task(&["--model", "claude-haiku-4-5", "--thinking", "2000"])
            .only_in(|column| column == Column::Without)
            .loses_on()
            .limited(|_| true, OLD_THINKING),
    ]
}

/// What is round the project.
fn surroundings() -> Vec<Row> {
    vec![
        Row::new("instructions-edited", "a line of AGENTS.md is another")
            .change([Write("project/AGENTS.md", "# Rules of this project\nName things in full.\n")])
            .told(&["AGENTS.md were edited", "Name things in full."]),
        Row::new("instructions-deleted", "AGENTS.md is deleted")
            .change([Remove("project/AGENTS.md")])
            .told(&["AGENTS.md do not hold any more"]),
        Row::new("instructions-added", "the user's own AGENTS.md is written")
            .change([Write("config/antefix/AGENTS.md", "Say where you are unsure.\n")])
            .told(&["config/antefix/AGENTS.md", "Say where you are unsure."]),
        Row::new("date", "it is another day, in another time zone")
            .change([AnotherDay])
            .told(&["The time zone of this machine is now", "The date there is"]),
        Row::new("git", "another branch is checked out, and a file is new")
            .change([Git(&["checkout", "-q", "-b", "another"]), Write("project/new.txt", "new\n")])
            .told(&["checked out branch another", "? new.txt"]),
        Row::new("file-changed", "a file that was read is changed outside")
            .change([Write("project/notes.txt", "one\ntwo and a half\nthree\n")])
            .told(&["+two and a half"]),
        Row::new("file-deleted", "a file that was read is deleted")
            .change([Remove("project/notes.txt")])
            .told(&["`notes.txt` is not there any more"]),
        Row::new("file-touched", "a file that was read is written anew as it is")
            .change([Write("project/notes.txt", "one\ntwo\nthree\n")]),
        Row::new("memory", "the user's notes are edited")
            .before([
                Write("config/antefix/settings.toml", "[memory]\nfile = \"{root}/home/notes.md\"\n"),
                Write("home/notes.md", "I like tea.\n"),
            ])
            .change([Write("home/notes.md", "I like coffee.\n")])
            .told(&["I like coffee."]),
        Row::new("todo", "the model puts its list in another order")
            .change([Say("Take the list the other way round.", &[])]),
        Row::new("permission-mode", "the user lets the agent look only")
            .goes_on(&["--continue", "--permission-mode", "read-only"])
            .told(&["The permission mode is `read-only`"]),
        with_skill("skill-added", "the user has another skill")
            .change([Write("home/.claude/skills/part/SKILL.md", PART)])
            .told(&["Says how to say goodbye."]),
        with_skill("skill-edited", "a skill is described in other words")
            .change([Write("home/.claude/skills/greet/SKILL.md", GREET_TWICE)])
            .told(&["Says how to greet twice."]),
        with_skill("skill-removed", "a skill is deleted")
            .change([Remove("home/.claude/skills/greet")])
            .told(&["Skills that are there no more: greet"]),
        with_skill("skill-invoked", "the model calls a skill").prompt("Greet me as is usual."),
        Row::new("tool-denied", "the user forbids a tool")
            .goes_on(&["--continue", "--deny", "bash"])
            .told(&["does not allow calls of these tools any more"]),
        Row::new("tool-allowed", "the user allows a tool again that was forbidden")
            .change([Say("A detour.", &["--deny", "bash"])])
            .told(&["does not allow calls of these tools any more", "These tools are not refused any more"]),
        Row::new("reminder-off", "reminders of git are switched off, and another branch is checked out")
            .change([Git(&["checkout", "-q", "-b", "another"])])
            .goes_on(&["--continue", "--no-reminder", "git"]),
        Row::new("reminder-on", "reminders of git are switched on again, and another branch is checked out")
            .change([
                Say("A detour.", &["--no-reminder", "git"]),
                Git(&["checkout", "-q", "-b", "another"]),
                Say("A detour.", &["--no-reminder", "git"]),
            ])
            .told(&["checked out branch another"]),
        Row::new(
            "killed-while-told",
            "another branch is checked out, and the process that says so is killed",
        )
        .change([Git(&["checkout", "-q", "-b", "another"]), Kill("Hang in an answer.", "text")])
        .told(&["checked out branch another"]),
        Row::new("hook", "what a hook says with each message is another")
            .before([Write("config/antefix/settings.toml", HOOK), Write("said", "The build is green.")])
            .change([Write("said", "The build is red.")])
            .told(&["The build is red."]),
        Row::new("other-folder", "the session goes on in another folder")
            .goes_on(&["--resume", "0", "--cwd", "{root}/elsewhere"])
            .told(&["/elsewhere, before ", "AGENTS.md do not hold any more"]),
    ]
}

/// A session of the Messages API as the first build left it. It is never made anew.
const FIRST_MESSAGES: OldSession = OldSession {
    transcript: include_str!("../../../tests/upgrade/first-messages/transcript.jsonl"),
    last_body: include_str!("../../../tests/upgrade/first-messages/last.body.json"),
};

/// A session of Chat Completions as the first build left it. It is never made anew.
const FIRST_CHAT: OldSession = OldSession {
    transcript: include_str!("../../../tests/upgrade/first-chat/transcript.jsonl"),
    last_body: include_str!("../../../tests/upgrade/first-chat/last.body.json"),
};

/// A row whose user has a skill.
fn with_skill(name: &'static str, about: &'static str) -> Row {
    Row::new(name, about).before([Write("home/.claude/skills/greet/SKILL.md", GREET)])
}

const GREET: &str = "---\nname: greet\ndescription: Says how to greet.\n---\nSay good morning.\n";
const GREET_TWICE: &str = "---\nname: greet\ndescription: Says how to greet twice.\n---\nSay it twice.\n";
const PART: &str = "---\nname: part\ndescription: Says how to say goodbye.\n---\nSay goodbye.\n";

/// A hook that says what stands in a file.
const HOOK: &str = r#"[[hooks.UserPromptSubmit]]
command = "cat {root}/said"
"#;

/// Why a pause costs what it costs.
const FIVE_MINUTES: &str = "entries live five minutes from the request that wrote or last read them \
(platform.claude.com/docs/en/build-with-claude/prompt-caching, 2026-09-23)";
/// Why another model costs what it costs.
const ANOTHER_MODEL: &str = "each model has a cache of its own, and thinking is bound to the model that wrote it \
(platform.claude.com/docs/en/build-with-claude/prompt-caching, 2026-09-23)";
/// Why another effort costs what it costs.
const ANOTHER_EFFORT: &str = "messages are cached for one effort \
(platform.claude.com/docs/en/build-with-claude/effort, 2026-09-23)";
/// Why a change of thinking costs what it costs.
const OTHER_THINKING: &str = "messages are cached for one way to think \
(platform.claude.com/docs/en/build-with-claude/prompt-caching, 2026-09-23)";
/// Why a summary costs what it costs.
const A_SUMMARY: &str =
    "a summary stands in the place of what was said, behind the same tools and system prompt";
/// Why old thinking costs what it costs.
const OLD_THINKING: &str = "Haiku 4.5 is not shown the thinking of earlier turns, so that what stands behind it moves \
(platform.claude.com/docs/en/build-with-claude/extended-thinking, 2026-11-30)";
/// Why a first image costs what it costs.
const FIRST_IMAGE: &str = "whether there are images at all is part of the key of all messages \
(platform.claude.com/docs/en/build-with-claude/prompt-caching, 2026-09-23)";
