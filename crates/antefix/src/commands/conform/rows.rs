//! The rows of the matrix.

use super::column::Column;
use super::row::{OldSession, Row, Step};
use Step::{AnotherDay, Compact, Fail, Git, Interrupt, Kill, Minutes, Remove, Say, With, Write};

/// All rows, in the order in which they are printed.
pub fn rows() -> Vec<Row> {
    let mut rows = plain();
    rows.extend(turns());
    rows.extend(parameters());
    rows.extend(surroundings());
    rows.extend(work());
    rows.extend(user());
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
        Row::new("next-day", "the user comes back the next day, by the provider's clock")
            .change([Minutes(24 * 60)])
            .limited(Column::is_messages, FIVE_MINUTES)
            .limited(|column| column == Column::Dated, THE_DATE),
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
            .kept(|column| column.limit().is_some())
            .change([Say("A detour.", &[])])
            .message(&["--rewind", "2"])
            .goes_back(),
        Row::new("fork", "the session goes on in a copy").message(&["--fork"]),
        Row::new("upgrade", "a session of the first build goes on, with other tools and texts than today's")
            .old_session(|column| match column {
                Column::InBand => Some(FIRST_MESSAGES),
                Column::Strict => Some(FIRST_CHAT),
                _ => None,
            })
            .only_in(|column| matches!(column, Column::InBand | Column::Strict))
            .goes_on(|_| &["--resume", "0", "--cwd", "{root}/project"])
            .told(&["The date is 20", "branch main at "]),
        Row::new("upgrade-texts", "a session of a build with other tools, prompt and reminders goes on")
            .old_session(other_texts)
            .only_in(|column| other_texts(column).is_some())
            .goes_on(|_| &["--resume", "0", "--cwd", "{root}/project"])
            .prompt("Read it from its second line.")
            .told(&["Working directory: now ", "Git has now checked out branch main at "]),
        Row::new("subagents", "the model has two pieces of work done by others")
            .change([Say("Have two pieces done.", &[])]),
        Row::new("refusal", "the model refuses to go on")
            .kept(|column| column.limit().is_some())
            .change([Fail("Refuse this.")])
            .goes_back(),
        Row::new("cancelled", "the user stops an answer and says something else")
            .kept(Column::strips)
            .change([Interrupt("Hang in an answer.", "text")])
            .whatever_is_told(),
        Row::new("killed-in-answer", "the process is killed while the model answers")
            .kept(Column::strips)
            .change([Kill("Hang in an answer.", "text")])
            .whatever_is_told(),
        Row::new("killed-in-call", "the process is killed while a command runs")
            .kept(Column::strips)
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
        // The answer takes the summary in without a marker behind it, so that the message after it writes it.
        Row::new("server-compaction", "the provider summarises the conversation by itself")
            .before([With(&["--context-management", SUMMARISES])])
            .prompt("A message that is summed up.")
            .only_in(Column::is_messages)
            .always_loses()
            .planned(|_| true, A_SERVERS_SUMMARY),
        Row::new("server-clearing", "the provider leaves old results out by itself")
            .before([With(&["--context-management", CLEARS])])
            .prompt("A wide step of 14 calls.")
            .only_in(Column::is_messages)
            .planned(|_| true, A_CLEARING),
        Row::new("old-thinking", "the provider drops the thinking of a turn that is over")
            .task(&["--model", "claude-haiku-4-5", "--thinking", "2000"])
            .only_in(|column| column == Column::Without)
            .always_loses()
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
    ]
}

/// What comes of the work itself.
fn work() -> Vec<Row> {
    vec![
        Row::new("todo", "the model puts its list in another order")
            .change([Say("Take the list the other way round.", &[])]),
        Row::new("todo-edited", "the user ticks one thing off the list and adds another")
            .change([Write(
                "list",
                "1 [x] Name the notes\n2 [ ] Test large numbers\n[ ] Say so in the README\n",
            )])
            .goes_on(|_| &["--continue", "--todo", "{root}/list"])
            .told(&["The user has changed the list of what is to be done", "3 [ ] Say so in the README"]),
        Row::new("todo-reordered", "the user puts the list in another order")
            .change([Write("list", "2 [ ] Test large numbers\n1 [>] Name the notes\n")])
            .goes_on(|_| &["--continue", "--todo", "{root}/list"])
            .told(&["2 [ ] Test large numbers\\n1 [>] Name the notes"]),
        Row::new("todo-untouched", "nothing of the list is touched for many steps")
            .change([Say("Look around for long.", &[])])
            .told(&["Nothing of the list of what is to be done was touched"]),
        Row::new(
            "diagnostics",
            "a command says something behind an edit, and something else behind the next",
        )
        .before([Write("config/antefix/settings.toml", DIAGNOSTICS), Write("said", "No error.\n")])
        .change([Say("Add a line.", &[]), Write("said", "One error.\n"), Say("Add a line.", &[])])
        .told(&["says:\\nNo error.", "says:\\nOne error."]),
        Row::new("budget-tokens", "half of the tokens are used that the session may use")
            .goes_on(|column| match column {
                Column::InBand | Column::Without => &["--continue", "--max-tokens", "22500"],
                _ => &["--continue", "--max-tokens", "27000"],
            })
            .told(&["tokens that this session may use, 50 % are used."]),
        Row::new("budget-money", "half of the money is spent that the session may cost")
            .only_in(Column::is_messages)
            .goes_on(|column| match column {
                Column::InBand => &["--continue", "--max-usd", "0.04"],
                _ => &["--continue", "--max-usd", "0.03"],
            })
            .told(&["USD that this session may use, 50 % are used."]),
    ]
}

/// What the user wants otherwise.
fn user() -> Vec<Row> {
    vec![
        Row::new("permission-mode", "the user lets the agent look only")
            .goes_on(|_| &["--continue", "--permission-mode", "read-only"])
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
            .goes_on(|_| &["--continue", "--deny", "bash"])
            .told(&["does not allow calls of these tools any more"])
            .changes(&["-bash"]),
        Row::new("tool-allowed", "the user allows a tool again that was forbidden")
            .kept(Column::strips)
            .change([Say("A detour.", &["--deny", "bash"])])
            .told(&["does not allow calls of these tools any more", "These tools are not refused any more"])
            .changes(&["-bash", "+bash"]),
        Row::new("reminder-off", "reminders of git are switched off, and another branch is checked out")
            .change([Git(&["checkout", "-q", "-b", "another"])])
            .goes_on(|_| &["--continue", "--no-reminder", "git"]),
        Row::new("reminder-on", "reminders of git are switched on again, and another branch is checked out")
            .kept(Column::strips)
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
        .kept(Column::strips)
        .change([Git(&["checkout", "-q", "-b", "another"]), Kill("Hang in an answer.", "text")])
        .told(&["checked out branch another"]),
        Row::new("hook", "what a hook says with each message is another")
            .before([Write("config/antefix/settings.toml", HOOK), Write("said", "The build is green.")])
            .change([Write("said", "The build is red.")])
            .told(&["The build is red."]),
        Row::new("other-folder", "the session goes on in another folder")
            .goes_on(|_| &["--resume", "0", "--cwd", "{root}/elsewhere"])
            .told(&["/elsewhere, before ", "AGENTS.md do not hold any more"]),
    ]
}

macro_rules! old_session {
    ($folder:literal) => {
        OldSession {
            transcript: include_str!(concat!("../../../tests/upgrade/", $folder, "/transcript.jsonl")),
            last_body: include_str!(concat!("../../../tests/upgrade/", $folder, "/last.body.json")),
        }
    };
}

/// A session of the Messages API as the first build left it. It is never made anew.
const FIRST_MESSAGES: OldSession = old_session!("first-messages");

/// A session of Chat Completions as the first build left it. It is never made anew.
const FIRST_CHAT: OldSession = old_session!("first-chat");

/// A session as a build left it whose tools, prompt, baselines and reminders are others. It is never made anew.
fn other_texts(column: Column) -> Option<OldSession> {
    match column {
        Column::InBand => Some(OTHER_IN_BAND),
        Column::Without => Some(OTHER_WITHOUT),
        Column::AppendOnly => Some(OTHER_APPEND_ONLY),
        Column::Strict => Some(OTHER_STRICT),
        Column::Stripping | Column::ToolsLate | Column::Dated => None,
    }
}

const OTHER_IN_BAND: OldSession = old_session!("other-in-band");
const OTHER_WITHOUT: OldSession = old_session!("other-without");
const OTHER_APPEND_ONLY: OldSession = old_session!("other-append-only");
const OTHER_STRICT: OldSession = old_session!("other-strict");

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

/// What is run behind edits.
const DIAGNOSTICS: &str = r#"[diagnostics]
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
/// Asks the provider for summaries.
const SUMMARISES: &str = r#"{"edits":[{"type":"compact_20260112"}]}"#;
/// Asks the provider to leave out results.
const CLEARS: &str = r#"{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":8},"keep":{"type":"tool_uses","value":2}}]}"#;
/// Why a summary of the provider's costs what it costs.
const A_SERVERS_SUMMARY: &str = "the user asks for it: nothing in front of the summary is read any more but tools and \
system prompt (platform.claude.com/docs/en/build-with-claude/compaction, 2026-08-22)";
/// Why clearing costs what it costs.
const A_CLEARING: &str = "the user asks for it: nothing behind the first result that is left out is read \
(platform.claude.com/docs/en/build-with-claude/context-editing, 2026-08-22)";
/// Why old thinking costs what it costs.
const OLD_THINKING: &str = "Haiku 4.5 is not shown the thinking of earlier turns, so that what stands behind it moves \
(platform.claude.com/docs/en/build-with-claude/extended-thinking, 2026-11-30)";
/// Why another day costs what it costs.
const THE_DATE: &str = "the template begins with the date \
(github.com/ggml-org/llama.cpp models/templates/meta-llama-Llama-3.2-3B-Instruct.jinja, 2026-11-30)";
/// Why a first image costs what it costs.
const FIRST_IMAGE: &str = "whether there are images at all is part of the key of all messages \
(platform.claude.com/docs/en/build-with-claude/prompt-caching, 2026-09-23)";
