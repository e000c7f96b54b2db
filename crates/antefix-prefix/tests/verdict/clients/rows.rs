//! The changes of each client and what is found of them.

use antefix_prefix::verdict::{Kind, Party};

use super::shapes::{
    AICHAT, AIDER, CLAUDE_NEW, CLAUDE_OLD, CODEX, CODEX_LITE, GEMINI, GOOSE, OPENCODE, OPENCODE_CHAT,
    OPENCODE_RESPONSES, PI, PI_OLD, SKILLS,
};
use super::{Edit, Row};
use Edit::{All, Append, Change, Cut, Messages, Move, Put};
use Party::{Agent, User};

/// What clients do that breaks their prefix.
pub const BREAKS: &[Row] = &[
    (
        &CLAUDE_OLD,
        "resumed: the list of skills went to the newest message",
        &[],
        &[Move(SKILLS, NEWEST)],
        &[(Kind::BlockMigrated, "/messages/0/content/0/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "resumed once more: it went on from there",
        &[Move(SKILLS, LOG)],
        &[Move(SKILLS, NEWEST)],
        &[(Kind::BlockMigrated, "/messages/4/content/0/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "resumed, and a file was edited",
        &[],
        &[Change("(clean)", " M log.md"), Move(SKILLS, NEWEST)],
        &[
            (Kind::SystemEnv, "/system/2/text", Agent),
            (Kind::BlockMigrated, "/messages/0/content/0/text", Agent),
        ],
    ),
    (
        &CLAUDE_OLD,
        "another branch",
        &[],
        &[Change("branch: main", "branch: lamp")],
        &[(Kind::SystemEnv, "/system/2/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "the version's ending goes by the first message",
        &[],
        &[Change("76.0c1;", "76.9f2;"), Move(SKILLS, NEWEST)],
        &[
            (Kind::SystemEnv, "/system/0/text", Agent),
            (Kind::BlockMigrated, "/messages/0/content/0/text", Agent),
        ],
    ),
    (
        &CLAUDE_OLD,
        "two servers came up in the other order",
        &[],
        &[Change(TIDE, "§"), Change(STARS, TIDE), Change("§", STARS)],
        &[(Kind::ToolsReordered, "/tools/3", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "a server counts in a description",
        &[],
        &[Change("41 are", "42 are")],
        &[(Kind::ToolsDescription, "/tools/3/description", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "a helper joins the list in a description",
        &[],
        &[Change("Helpers: scout.", "Helpers: scout, pilot.")],
        &[(Kind::ToolsDescription, "/tools/0/description", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "a server was added, nothing is deferred",
        &[],
        &[Put(
            r#",{"name":"mcp__wind__ask","description":"Asks the wind.","input_schema":{"type":"object"}}"#,
            SYSTEM,
        )],
        &[(Kind::ToolsAdded, "/tools/5", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "a server was removed, nothing is deferred",
        &[],
        &[Cut(COMMA_STARS)],
        &[(Kind::ToolsRemoved, "/tools/4", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "a tool was denied",
        &[],
        &[Cut(r#"{"name":"Edit","description":"Changes a file.","input_schema":{"type":"object"}},"#)],
        &[(Kind::ToolsRemoved, "/tools/1", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "a hook's output left the message it stood on, and another came",
        &[Put(HOOK, LOG)],
        &[Put(
            r#"{"type":"text","text":"<system-reminder>\nHook output: the lamp is out.\n</system-reminder>"},"#,
            NEWEST,
        )],
        &[(Kind::Removed, "/messages/4/content/0/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "a note of a changed file left the message it stood on",
        &[Put(
            r#"{"type":"text","text":"<system-reminder>\nlog.md was changed: line 2 is new.\n</system-reminder>"},"#,
            LOG,
        )],
        &[],
        &[(Kind::Removed, "/messages/4/content/0/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "the instructions were edited",
        &[],
        &[Change("Use metres.", "Use metres, always.")],
        &[(Kind::Rewritten, "/messages/0/content/1/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "resumed after midnight",
        &[],
        &[Change("2031-03-04", "2031-03-05"), Move(SKILLS, NEWEST)],
        &[
            (Kind::BlockMigrated, "/messages/0/content/0/text", Agent),
            (Kind::DateRollover, "/messages/0/content/0/text", Agent),
        ],
    ),
    (
        &CLAUDE_OLD,
        "resumed, and the instructions were edited",
        &[],
        &[Change("Use metres.", "Use metres, always."), Move(SKILLS, NEWEST)],
        &[
            (Kind::BlockMigrated, "/messages/0/content/0/text", Agent),
            (Kind::Rewritten, "/messages/0/content/0/text", Agent),
        ],
    ),
    (
        &PI_OLD,
        "the rules name another number",
        &[Change("You mend boats.", "You mend 3 boats at most.")],
        &[Change("You mend boats.", "You mend 4 boats at most.")],
        &[(Kind::SystemChanged, "/system/0/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "midnight in a message of the start",
        &[],
        &[Change("2031-03-04", "2031-03-05")],
        &[(Kind::DateRollover, "/messages/0/content/1/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "compacted",
        &[],
        &[Messages(COMPACTED)],
        &[(Kind::Compaction, "/messages/0/content/2/text", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "an hour instead of five minutes, which a description tells",
        &[],
        &[All(r#""ephemeral"}"#, r#""ephemeral","ttl":"1h"}"#), Change("5 minutes", "1 hour")],
        &[(Kind::ToolsDescription, "/tools/2/description", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "five minutes instead of an hour, which a description tells",
        &[All(r#""ephemeral"}"#, r#""ephemeral","ttl":"1h"}"#), Change("5 minutes", "1 hour")],
        &[],
        &[(Kind::ToolsDescription, "/tools/2/description", Agent), (Kind::TtlDowngraded, "", Agent)],
    ),
    (
        &CLAUDE_OLD,
        "upgraded",
        &[],
        &[Change("Hands a task to", "Gives a task to"), Change("2.1.76.0c1", "2.1.77.0c1")],
        &[
            (Kind::ToolsDescription, "/tools/0/description", Agent),
            (Kind::SystemEnv, "/system/0/text", Agent),
        ],
    ),
    (
        &CLAUDE_NEW,
        "a tool was denied",
        &[],
        &[Cut(r#"{"name":"Glob","description":"Finds files.","input_schema":{"type":"object"}},"#)],
        &[(Kind::ToolsRemoved, "/tools/1", Agent)],
    ),
    (
        &CLAUDE_NEW,
        "a server was added, nothing is deferred",
        &[],
        &[Put(
            r#"{"name":"mcp__wind__ask","description":"Asks the wind.","input_schema":{"type":"object"}},"#,
            r#"{"name":"Placeholder""#,
        )],
        &[(Kind::ToolsAdded, "/tools/3", Agent)],
    ),
    (
        &CLAUDE_NEW,
        "another model, which takes system messages in tags",
        &[],
        &[
            Change(r#""claude-opus-5-5""#, r#""claude-sonnet-5""#),
            Change("The following skills", r"<system-reminder>\nThe following skills"),
            Change("2031-03-04.", r"2031-03-04.\n</system-reminder>"),
        ],
        &[(Kind::ParamsModel, "/model", User), (Kind::Reserialized, "/messages/1/content", Agent)],
    ),
    (
        &CLAUDE_NEW,
        "another effort at the top",
        &[],
        &[Change(
            r#""output_config":{"effort":"high"},
"tools""#,
            r#""output_config":{"effort":"low"},
"tools""#,
        )],
        &[(Kind::ParamsEffort, "/output_config/effort", User)],
    ),
    (
        &CLAUDE_NEW,
        "the last thinking was left out",
        &[],
        &[Cut(r#"{"type":"thinking","thinking":"I look.","signature":"c2ln"},
"#)],
        &[(Kind::ThinkingDropped, "/messages/2/content/0", Agent)],
    ),
    (
        &OPENCODE,
        "a line was added to the instructions",
        &[],
        &[Change("Use metres.", r"Use metres.\nUse knots.")],
        &[(Kind::SystemChanged, "/system/0/text", Agent)],
    ),
    (
        &OPENCODE,
        "midnight",
        &[],
        &[Change("Tue Mar 04 2031", "Wed Mar 05 2031")],
        &[(Kind::SystemDate, "/system/0/text", Agent)],
    ),
    (
        &OPENCODE,
        "another folder",
        &[],
        &[Change("directory: /w/harbour", "directory: /w/pier")],
        &[(Kind::SystemEnv, "/system/0/text", Agent)],
    ),
    (&OPENCODE, "a server is missing", &[], &[Cut(BERTH)], &[(Kind::ToolsRemoved, "/tools/1", Agent)]),
    (&OPENCODE, "the server is back", &[Cut(BERTH)], &[], &[(Kind::ToolsAdded, "/tools/1", Agent)]),
    (
        &OPENCODE,
        "old results were pruned",
        &[],
        &[Change(OUTPUT, PRUNED)],
        &[(Kind::ToolResultCleared, "/messages/2/content/0/content", Agent)],
    ),
    (
        &OPENCODE,
        "another model",
        &[],
        &[Change("sonnet-4-5", "opus-4-5")],
        &[(Kind::ParamsModel, "/model", User)],
    ),
    (
        &OPENCODE_RESPONSES,
        "a line was added to the instructions",
        &[],
        &[Change("Use metres.", r"Use metres.\nUse knots.")],
        &[(Kind::SystemChanged, "/input/0/content", Agent)],
    ),
    (
        &OPENCODE_RESPONSES,
        "midnight",
        &[],
        &[Change("Tue Mar 04 2031", "Wed Mar 05 2031")],
        &[(Kind::SystemDate, "/input/0/content", Agent)],
    ),
    (
        &OPENCODE_RESPONSES,
        "a server is missing",
        &[],
        &[Cut(
            r#"{"type":"function","name":"berth_find","description":"Finds a berth.","parameters":{"type":"object"}},
"#,
        )],
        &[(Kind::ToolsRemoved, "/tools/1", Agent)],
    ),
    (
        &OPENCODE_RESPONSES,
        "old results were pruned",
        &[],
        &[Change(OUTPUT, PRUNED)],
        &[(Kind::ToolResultCleared, "/input/4/output", Agent)],
    ),
    (
        &OPENCODE_RESPONSES,
        "another effort",
        &[],
        &[Change("medium", "high")],
        &[(Kind::ParamsEffort, "/reasoning/effort", User)],
    ),
    (
        &OPENCODE_CHAT,
        "midnight",
        &[],
        &[Change("Tue Mar 04 2031", "Wed Mar 05 2031")],
        &[(Kind::SystemDate, "/messages/0/content", Agent)],
    ),
    (
        &OPENCODE_CHAT,
        "a line was added to the instructions",
        &[],
        &[Change("Use metres.", r"Use metres.\nUse knots.")],
        &[(Kind::SystemChanged, "/messages/0/content", Agent)],
    ),
    (&OPENCODE_CHAT, "the server is back", &[Cut(BERTH_CHAT)], &[], &[(Kind::ToolsAdded, "/tools/1", Agent)]),
    (
        &OPENCODE_CHAT,
        "old results were pruned",
        &[],
        &[Change(OUTPUT, PRUNED)],
        &[(Kind::ToolResultCleared, "/messages/3/content", Agent)],
    ),
    (
        &CODEX,
        "servers in another order, before they were sorted",
        &[],
        &[
            Change("harbour__tide", "§"),
            Change("stars__name", "harbour__tide"),
            Change("§", "stars__name"),
            Change("Looks the tide up.", "§"),
            Change("Names a star.", "Looks the tide up."),
            Change("§", "Names a star."),
        ],
        &[(Kind::ToolsReordered, "/tools/1", Agent)],
    ),
    (
        &CODEX,
        "another thread's key",
        &[],
        &[Change("thread-1", "thread-2")],
        &[(Kind::KeyRotated, "/prompt_cache_key", Agent)],
    ),
    (
        &CODEX,
        "another effort",
        &[],
        &[Change("medium", "high")],
        &[(Kind::ParamsEffort, "/reasoning/effort", User)],
    ),
    (
        &CODEX,
        "another tier",
        &[],
        &[Change(r#"tier":"default"#, r#"tier":"flex"#)],
        &[(Kind::ParamsTier, "/service_tier", User)],
    ),
    (
        &CODEX,
        "another verbosity",
        &[],
        &[Change(r#"verbosity":"low"#, r#"verbosity":"high"#)],
        &[(Kind::ParamsFormat, "/text/verbosity", Agent)],
    ),
    (
        &CODEX,
        "other permissions, written in place",
        &[],
        &[Change("below /w/harbour", "nowhere at all")],
        &[(Kind::SystemChanged, "/input/0/content/1/text", Agent)],
    ),
    (
        &CODEX,
        "the sealed reasoning was left out",
        &[],
        &[Cut(r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAA"},
"#)],
        &[(Kind::ThinkingDropped, "/input/3", Agent)],
    ),
    (
        &CODEX_LITE,
        "a tool of the catalogue was reworded in place",
        &[],
        &[Change("Looks the tide up.", "Looks up the tide.")],
        &[(Kind::ToolsDescription, "/input/0/tools/1/description", Agent)],
    ),
    (
        &CODEX_LITE,
        "a tool is missing in the catalogue, and the rules were reworded in place",
        &[],
        &[
            Cut(
                r#"{"type":"function","name":"shell","description":"Runs a command.","parameters":{"type":"object"}},
"#,
            ),
            Change("Ask before", "Ask twice before"),
        ],
        &[
            (Kind::ToolsRemoved, "/input/0/tools/0", Agent),
            (Kind::SystemChanged, "/input/1/content/0/text", Agent),
        ],
    ),
    (
        &CODEX_LITE,
        "the rules were reworded in place",
        &[],
        &[Change("Ask before", "Ask twice before")],
        &[(Kind::SystemChanged, "/input/1/content/0/text", Agent)],
    ),
    (
        &PI_OLD,
        "a line was added to the instructions",
        &[],
        &[Change("Use metres.", r"Use metres.\nUse knots.")],
        &[(Kind::SystemChanged, "/system/0/text", Agent)],
    ),
    (
        &PI_OLD,
        "midnight",
        &[],
        &[Change("2031-03-04", "2031-03-05")],
        &[(Kind::SystemDate, "/system/0/text", Agent)],
    ),
    (
        &PI,
        "a server is missing, for a model that takes no changes of tools",
        &[],
        &[Cut(r#"{"name":"alpha_tide","description":"Looks the tide up.","input_schema":{"type":"object"}},
"#)],
        &[(Kind::ToolsRemoved, "/tools/1", Agent)],
    ),
    (
        &GEMINI,
        "midnight",
        &[],
        &[Change("Tuesday, March 4, 2031", "Wednesday, March 5, 2031")],
        &[(Kind::DateRollover, "/contents/0/parts/0/text", Agent)],
    ),
    (
        &GEMINI,
        "a file came",
        &[],
        &[Change(r"log.md\n", r"lamp.md\nlog.md\n")],
        &[(Kind::Rewritten, "/contents/0/parts/0/text", Agent)],
    ),
    (
        &GEMINI,
        "servers came up in the other order",
        &[],
        &[Change(r"alpha: use metres.\nbeta: use knots.", r"beta: use knots.\nalpha: use metres.")],
        &[(Kind::Rewritten, "/contents/0/parts/0/text", Agent)],
    ),
    (
        &GEMINI,
        "resumed: signatures lost, results said twice",
        &[],
        &[
            Cut(r#","thoughtSignature":"c2ln""#),
            Put(
                RESPONSE_AGAIN,
                r#"]},
{"role":"model","parts":[{"text":"Two metres."}]"#,
            ),
        ],
        &[
            (Kind::ThinkingDropped, "/contents/1/parts/0/thoughtSignature", Agent),
            (Kind::Duplicated, "/contents/2/parts/1", Agent),
        ],
    ),
    (
        &GEMINI,
        "a server is missing",
        &[],
        &[Cut(r#",
{"name":"tide","description":"Looks the tide up.","parameters":{"type":"object"}}"#)],
        &[(Kind::ToolsRemoved, "/tools/0/functionDeclarations/1", Agent)],
    ),
    (
        &AIDER,
        "a file was edited: its message is rebuilt, the reminder moves to the end",
        &[],
        &[Change("one metre", "two metres"), Put(AIDER_STEP, AIDER_END)],
        &[(Kind::Rewritten, "/messages/3/content", Agent), (Kind::InsertedMid, "/messages/6", Agent)],
    ),
    (
        &AIDER,
        "a file was mentioned",
        &[],
        &[Put(
            r#"{"role":"user","content":"Look at lamp.md, too."},{"role":"assistant","content":"Ok, I do."},
"#,
            r#"{"role":"user","content":"Write two"#,
        )],
        &[(Kind::InsertedMid, "/messages/5/content", Agent)],
    ),
    (
        &GOOSE,
        "the note stands in front of the new last answer, with another text",
        &[],
        &[
            Cut(INFO),
            Put(
                r#"{"role":"user","content":"<info>The lamp is out, the log is closed again.</info>"},"#,
                r#"{"role":"assistant","content":"Two metres."}"#,
            ),
        ],
        &[(Kind::Removed, "/messages/2", Agent)],
    ),
    (
        &GOOSE,
        "the note stands in front of the new last answer",
        &[],
        &[Move(INFO, r#"{"role":"assistant","content":"Two metres."}"#)],
        &[(Kind::BlockMigrated, "/messages/2", Agent)],
    ),
    (
        &GOOSE,
        "another hour",
        &[],
        &[Change("14:00", "15:00")],
        &[(Kind::SystemClock, "/messages/0/content", Agent)],
    ),
];

/// What the same clients do that breaks nothing.
pub const CLEAN: &[Row] = &[
    (&CLAUDE_OLD, "the next message", &[], &[], &[]),
    (&CLAUDE_OLD, "a fork", &[], &[Put(r#""metadata":{"user_id":"two"},"#, r#""tools":["#)], &[]),
    (&CLAUDE_NEW, "the next message", &[], &[], &[]),
    (
        &CLAUDE_NEW,
        "instructions were edited, and a note of it is appended",
        &[],
        &[Put(
            r#"{"type":"text","text":"<system-reminder>\nCLAUDE.md differs now: use knots.\n</system-reminder>"},"#,
            NEWEST,
        )],
        &[],
    ),
    (
        &CLAUDE_NEW,
        "a deferred tool was loaded",
        &[],
        &[Put(
            r#"{"name":"mcp__wind__ask","description":"Asks.","defer_loading":true,"input_schema":{"type":"object"}},"#,
            r#"{"name":"Placeholder""#,
        )],
        &[],
    ),
    (
        &CLAUDE_NEW,
        "a system message is a block with a marker while it is the last",
        &[
            Change(MARKED, "}]}"),
            Append(
                r#",{"role":"system","content":[{"type":"text","text":"Metres are in use.","cache_control":{"type":"ephemeral"}}]}"#,
            ),
        ],
        &[Put(r#",{"role":"system","content":"Metres are in use."}"#, STEP)],
        &[],
    ),
    (
        &CLAUDE_NEW,
        "another effort from here on",
        &[],
        &[Append(r#",{"role":"system","content":[],"output_config":{"effort":"low"}}"#)],
        &[],
    ),
    (
        &CLAUDE_NEW,
        "plan mode",
        &[],
        &[Put(
            r#""safeguards":[{"type":"dangerous_tool_use","classifier_context":{"cwd":"/w"}}],"#,
            r#""tools":["#,
        )],
        &[],
    ),
    (
        &CLAUDE_NEW,
        "a count of tokens is appended to each message",
        &[],
        &[Put(r#"{"type":"text","text":"<total_tokens>9000 left</total_tokens>"},"#, NEWEST)],
        &[],
    ),
    (&OPENCODE, "the next message", &[], &[], &[]),
    (&OPENCODE_RESPONSES, "the next message", &[], &[], &[]),
    (&OPENCODE_CHAT, "the next message", &[], &[], &[]),
    (&CODEX, "the next message", &[], &[], &[]),
    (
        &CODEX,
        "instructions and surroundings are told again at the end",
        &[],
        &[Append(
            r#",{"type":"message","role":"user","content":[{"type":"input_text","text":"AGENTS.md now says: use knots. It is 2031-03-05."}]}"#,
        )],
        &[],
    ),
    (
        &CODEX,
        "a note that tools are gone",
        &[],
        &[Append(
            r#",{"type":"message","role":"developer","content":[{"type":"input_text","text":"Gone: stars."}]}"#,
        )],
        &[],
    ),
    (&CODEX, "another choice of tools", &[], &[Change(r#"choice":"auto"#, r#"choice":"none"#)], &[]),
    (&CODEX_LITE, "the next message", &[], &[], &[]),
    (
        &CODEX_LITE,
        "more tools at the end",
        &[],
        &[Append(
            r#",{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"wind","description":"Asks the wind."}]}"#,
        )],
        &[],
    ),
    (&PI, "the next message", &[], &[], &[]),
    (
        &PI,
        "a section of the system prompt is patched",
        &[],
        &[Append(
            r#",{"role":"system","content":[{"type":"text","text":"From AGENTS.md, now: use knots."}]}"#,
        )],
        &[],
    ),
    (
        &PI,
        "a tool is taken back",
        &[],
        &[Append(r#",{"role":"system","content":[{"type":"tool_removal","name":"alpha_tide"}]}"#)],
        &[],
    ),
    (&PI_OLD, "the next message", &[], &[], &[]),
    (&GEMINI, "the next message", &[], &[], &[]),
    (&AIDER, "the same once more", &[], &[], &[]),
    (&AICHAT, "the next message", &[], &[], &[]),
    (&GOOSE, "the next message", &[], &[], &[]),
];

const NEWEST: &str = r#"{"type":"text","text":"And tomorrow?""#;
const LOG: &str = r#"{"type":"text","text":"Write it into the log.""#;
const MARKED: &str = "@}]}";
const STEP: &str = r#",{"role":"assistant","content":[{"type":"text","text":"It is written.""#;
const SYSTEM: &str = "],\n\"system\":[";
const HOOK: &str =
    r#"{"type":"text","text":"<system-reminder>\nHook output: the lamp is lit.\n</system-reminder>"},"#;
const TIDE: &str = r#"{"name":"mcp__harbour__tide","description":"Looks the tide up; 41 are known.","input_schema":{"type":"object"}}"#;
const STARS: &str =
    r#"{"name":"mcp__stars__name","description":"Names a star.","input_schema":{"type":"object"}}"#;
const COMMA_STARS: &str = r#",
{"name":"mcp__stars__name","description":"Names a star.","input_schema":{"type":"object"}}"#;
const BERTH: &str = r#"{"name":"berth_find","description":"Finds a berth.","input_schema":{"type":"object"}},
"#;
const BERTH_CHAT: &str = r#"{"type":"function","function":{"name":"berth_find","description":"Finds a berth.","parameters":{"type":"object"}}},
"#;
const OUTPUT: &str = "Two metres at noon, two and a half at six.";
const PRUNED: &str = "(output removed to save room)";
const RESPONSE_AGAIN: &str =
    r#",{"functionResponse":{"id":"c1","name":"read","response":{"output":"Two metres at noon."}}}"#;
const INFO: &str = r#"{"role":"user","content":"<info>The lamp was lit at dusk, the log is open.</info>"},
"#;
const AIDER_END: &str = r#"{"role":"system","content":"Answer with"#;
const AIDER_STEP: &str =
    r#"{"role":"assistant","content":"It is written."},{"role":"user","content":"And tomorrow?"},"#;
const COMPACTED: &str = r#"[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nThe following skills are available: tides, knots.\n</system-reminder>"},
{"type":"text","text":"<system-reminder>\nContents of CLAUDE.md:\nUse metres.\n\nToday's date is 2031-03-04.\n</system-reminder>"},
{"type":"text","text":"<summary>The water is two metres high, and the log says so.</summary>"}]}]"#;
pub const TITLE: &str = r#"{"model":"claude-haiku-4-5","max_tokens":100,
"system":[{"type":"text","text":"You name conversations."}],
"messages":[{"role":"user","content":[{"type":"text","text":"Name this: How high is the water?","cache_control":{"type":"ephemeral"}}]}]}"#;
