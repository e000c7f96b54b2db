//! What the requests of real clients look like, measured on loopback in November 2026: which blocks there are, where
//! they stand and where the markers are. All texts are invented.

/// A client's request and the step that follows it.
pub struct Client {
    pub name: &'static str,
    /// Ends with its list of messages; `@` stands for a marker where the client sets one on the newest message.
    pub request: &'static str,
    /// What the next request appends to that list.
    pub step: &'static str,
}

pub const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

pub const SKILLS: &str = r#"{"type":"text","text":"<system-reminder>\nThe following skills are available: tides, knots.\n</system-reminder>"},"#;

/// Reminders on the newest message and git state in the system prompt; tools in the order of connecting.
pub const CLAUDE_OLD: Client = Client {
    name: "claude-code 2.1.76",
    request: r#"{"model":"claude-sonnet-4-6","max_tokens":900,"tools":[
{"name":"Task","description":"Hands a task to a helper. Helpers: scout.","input_schema":{"type":"object"}},
{"name":"Edit","description":"Changes a file.","input_schema":{"type":"object"}},
{"name":"Wake","description":"Waits. What is kept goes after 5 minutes.","input_schema":{"type":"object"}},
{"name":"mcp__harbour__tide","description":"Looks the tide up; 41 are known.","input_schema":{"type":"object"}},
{"name":"mcp__stars__name","description":"Names a star.","input_schema":{"type":"object"}}],
"system":[{"type":"text","text":"x-line: cc_version=2.1.76.0c1; entry=sdk;"},
{"type":"text","text":"You help the crew of a small harbour.","cache_control":{"type":"ephemeral"}},
{"type":"text","text":"Write plainly.\n\nWorking directory: /w/harbour\n\ngitStatus: as it was at the start.\nCurrent branch: main\nStatus:\n(clean)","cache_control":{"type":"ephemeral"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nThe following skills are available: tides, knots.\n</system-reminder>"},
{"type":"text","text":"<system-reminder>\nContents of CLAUDE.md:\nUse metres.\n\nToday's date is 2031-03-04.\n</system-reminder>"},
{"type":"text","text":"How high is the water?"}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"I ask.","signature":"c2ln"},
{"type":"tool_use","id":"toolu_1","name":"mcp__harbour__tide","input":{"at":"noon"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"Two metres at noon, two and a half at six."}]},
{"role":"assistant","content":[{"type":"text","text":"Two metres."}]},
{"role":"user","content":[{"type":"text","text":"Write it into the log."@}]}]}"#,
    step: r#",{"role":"assistant","content":[{"type":"text","text":"It is written."}]},
{"role":"user","content":[{"type":"text","text":"And tomorrow?"@}]}"#,
};

/// Everything frozen with the session, changes appended; most tools deferred.
pub const CLAUDE_NEW: Client = Client {
    name: "claude-code 2.1.332",
    request: r#"{"model":"claude-opus-5-5","max_tokens":900,
"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"output_config":{"effort":"high"},
"tools":[{"name":"Bash","description":"Runs a command.","input_schema":{"type":"object"}},
{"name":"Glob","description":"Finds files.","input_schema":{"type":"object"}},
{"name":"Read","description":"Reads a file.","input_schema":{"type":"object"}},
{"name":"Placeholder","description":"Not to be called.","defer_loading":true,"input_schema":{"type":"object"}}],
"system":[{"type":"text","text":"x-line: cc_version=2.1.332.7aa; entry=sdk;"},
{"type":"text","text":"You help the crew of a small harbour.","cache_control":{"type":"ephemeral"}},
{"type":"text","text":"Write plainly. Notes are kept in /home/a/.notes/harbour.","cache_control":{"type":"ephemeral"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"How high is the water?"}]},
{"role":"system","output_config":{"effort":"high"},"content":"The following skills are available: tides, knots. Today is 2031-03-04."},
{"role":"assistant","content":[{"type":"thinking","thinking":"I look.","signature":"c2ln"},
{"type":"tool_use","id":"toolu_1","name":"Read","input":{"path":"tide.txt"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"Two metres at noon, two and a half at six."}]},
{"role":"assistant","content":[{"type":"text","text":"Two metres."}]},
{"role":"user","content":[{"type":"text","text":"Write it into the log."@}]}]}"#,
    step: r#",{"role":"assistant","content":[{"type":"text","text":"It is written."}]},
{"role":"user","content":[{"type":"text","text":"And tomorrow?"@}]}"#,
};

/// One system block with folder, date and instructions; tools sorted by name.
pub const OPENCODE: Client = Client {
    name: "opencode 1.18, Messages",
    request: r#"{"model":"claude-sonnet-4-5","max_tokens":900,
"tools":[{"name":"bash","description":"Runs a command.","input_schema":{"type":"object"}},
{"name":"berth_find","description":"Finds a berth.","input_schema":{"type":"object"}},
{"name":"read","description":"Reads a file.","input_schema":{"type":"object"}}],
"system":[{"type":"text","text":"You mend boats.\nWorking directory: /w/harbour\nToday's date: Tue Mar 04 2031\n\nInstructions from: /w/harbour/AGENTS.md\nUse metres.","cache_control":{"type":"ephemeral"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"How high is the water?"}]},
{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"tide.txt"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"Two metres at noon, two and a half at six."@}]},
{"role":"assistant","content":[{"type":"text","text":"Two metres."@}]}]}"#,
    step: r#",{"role":"user","content":[{"type":"text","text":"And tomorrow?"@}]}"#,
};

pub const OPENCODE_RESPONSES: Client = Client {
    name: "opencode 1.18, Responses",
    request: r#"{"model":"gpt-5.1","store":false,"prompt_cache_key":"ses_1","reasoning":{"effort":"medium"},
"tools":[{"type":"function","name":"bash","description":"Runs a command.","parameters":{"type":"object"}},
{"type":"function","name":"berth_find","description":"Finds a berth.","parameters":{"type":"object"}},
{"type":"function","name":"read","description":"Reads a file.","parameters":{"type":"object"}}],
"input":[{"role":"developer","content":"You mend boats.\nWorking directory: /w/harbour\nToday's date: Tue Mar 04 2031\n\nInstructions from: /w/harbour/AGENTS.md\nUse metres."},
{"role":"user","content":[{"type":"input_text","text":"How high is the water?"}]},
{"type":"reasoning","encrypted_content":"gAAA","summary":[]},
{"type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\":\"tide.txt\"}"},
{"type":"function_call_output","call_id":"call_1","output":"Two metres at noon, two and a half at six."}]}"#,
    step: r#",{"role":"assistant","content":[{"type":"output_text","text":"Two metres."}]},
{"role":"user","content":[{"type":"input_text","text":"And tomorrow?"}]}"#,
};

pub const OPENCODE_CHAT: Client = Client {
    name: "opencode 1.18, Chat Completions",
    request: r#"{"model":"boat-chat","stream":true,
"tools":[{"type":"function","function":{"name":"bash","description":"Runs a command.","parameters":{"type":"object"}}},
{"type":"function","function":{"name":"berth_find","description":"Finds a berth.","parameters":{"type":"object"}}},
{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object"}}}],
"messages":[{"role":"system","content":"You mend boats.\nWorking directory: /w/harbour\nToday's date: Tue Mar 04 2031\n\nInstructions from: /w/harbour/AGENTS.md\nUse metres."},
{"role":"user","content":"How high is the water?"},
{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"tide.txt\"}"}}]},
{"role":"tool","tool_call_id":"call_1","content":"Two metres at noon, two and a half at six."}]}"#,
    step: r#",{"role":"assistant","content":"Two metres."},{"role":"user","content":"And tomorrow?"}"#,
};

/// Rules, instructions and surroundings are items of the conversation; sealed reasoning is sent back.
pub const CODEX: Client = Client {
    name: "codex 0.171, gpt-5.5",
    request: r#"{"model":"gpt-5.5","store":false,"prompt_cache_key":"thread-1","service_tier":"default",
"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium"},"text":{"verbosity":"low"},
"include":["reasoning.encrypted_content"],
"tools":[{"type":"function","name":"shell","description":"Runs a command.","parameters":{"type":"object"}},
{"type":"function","name":"harbour__tide","description":"Looks the tide up.","parameters":{"type":"object"}},
{"type":"function","name":"stars__name","description":"Names a star.","parameters":{"type":"object"}}],
"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"You mend boats. Ask before you sail."},
{"type":"input_text","text":"Files may be written below /w/harbour."}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"From AGENTS.md:\nUse metres."},
{"type":"input_text","text":"<environment>cwd=/w/harbour date=2031-03-04</environment>"}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"How high is the water?"}]},
{"type":"reasoning","summary":[],"encrypted_content":"gAAA"},
{"type":"function_call","name":"shell","arguments":"{\"command\":\"cat tide.txt\"}","call_id":"call_1"},
{"type":"function_call_output","call_id":"call_1","output":"Two metres at noon, two and a half at six."},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Two metres."}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"Write it into the log."}]}]}"#,
    step: r#",{"type":"message","role":"assistant","content":[{"type":"output_text","text":"It is written."}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"And tomorrow?"}]}"#,
};

/// The tools are an item of the conversation, too.
pub const CODEX_LITE: Client = Client {
    name: "codex 0.171, gpt-6.2",
    request: r#"{"model":"gpt-6.2-sol","store":false,"prompt_cache_key":"thread-1",
"input":[{"type":"additional_tools","role":"developer","tools":[
{"type":"function","name":"shell","description":"Runs a command.","parameters":{"type":"object"}},
{"type":"function","name":"tide","description":"Looks the tide up.","parameters":{"type":"object"}}]},
{"type":"message","role":"developer","content":[{"type":"input_text","text":"You mend boats. Ask before you sail."}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"How high is the water?"}]},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Two metres."}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"Write it into the log."}]}]}"#,
    step: CODEX.step,
};

/// Sections of the system prompt are patched by system messages where the model takes them.
pub const PI: Client = Client {
    name: "pi 1.6, claude-opus-5-5",
    request: r#"{"model":"claude-opus-5-5","max_tokens":900,"output_config":{"effort":"low"},
"tools":[{"name":"bash","description":"Runs a command.","input_schema":{"type":"object"}},
{"name":"alpha_tide","description":"Looks the tide up.","input_schema":{"type":"object"}},
{"name":"later","description":"Not to be called.","defer_loading":true,"input_schema":{"type":"object"}}],
"system":[{"type":"text","text":"You mend boats.\n\nFrom AGENTS.md:\nUse metres.","cache_control":{"type":"ephemeral"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"How high is the water?"}]},
{"role":"assistant","content":[{"type":"text","text":"Two metres."}]},
{"role":"user","content":[{"type":"text","text":"Write it into the log."@}]}]}"#,
    step: CLAUDE_OLD.step,
};

/// One system block with date and instructions, rebuilt by each process.
pub const PI_OLD: Client = Client {
    name: "pi 0.73, claude-sonnet-4-5",
    request: r#"{"model":"claude-sonnet-4-5","max_tokens":900,
"tools":[{"name":"bash","description":"Runs a command.","input_schema":{"type":"object"}}],
"system":[{"type":"text","text":"You mend boats.\n\nFrom AGENTS.md:\nUse metres.\n\nCurrent date: 2031-03-04\nCurrent working directory: /w/harbour","cache_control":{"type":"ephemeral"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"How high is the water?"}]},
{"role":"assistant","content":[{"type":"text","text":"Two metres."}]},
{"role":"user","content":[{"type":"text","text":"Write it into the log."@}]}]}"#,
    step: CLAUDE_OLD.step,
};

/// Date, files and instructions of servers in the first message, rebuilt by each process.
pub const GEMINI: Client = Client {
    name: "gemini-cli 0.61",
    request: r#"{"systemInstruction":{"parts":[{"text":"You mend boats."}]},
"tools":[{"functionDeclarations":[{"name":"read","description":"Reads a file.","parameters":{"type":"object"}},
{"name":"tide","description":"Looks the tide up.","parameters":{"type":"object"}}]}],
"contents":[{"role":"user","parts":[{"text":"Today's date is Tuesday, March 4, 2031.\nFiles here:\nlog.md\ntide.txt\n\nFrom the servers:\nalpha: use metres.\nbeta: use knots.\n\nHow high is the water?"}]},
{"role":"model","parts":[{"functionCall":{"id":"c1","name":"read","args":{"path":"tide.txt"}},"thoughtSignature":"c2ln"}]},
{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"read","response":{"output":"Two metres at noon."}}}]},
{"role":"model","parts":[{"text":"Two metres."}]},
{"role":"user","parts":[{"text":"Write it into the log."}]}]}"#,
    step: r#",{"role":"model","parts":[{"text":"It is written."}]},{"role":"user","parts":[{"text":"And tomorrow?"}]}"#,
};

/// The files in chat are messages that are rebuilt in place, and a reminder stands at the end of each request.
pub const AIDER: Client = Client {
    name: "aider 0.86, Chat Completions",
    request: r#"{"model":"gpt-4o","stream":true,
"messages":[{"role":"system","content":"You mend boats."},
{"role":"user","content":"Parts of the project:\nlog.md\ntide.txt"},{"role":"assistant","content":"Ok."},
{"role":"user","content":"These files may be changed:\nlog.md\nNoon: one metre.\nThe rest is as it was."},{"role":"assistant","content":"I see them."},
{"role":"user","content":"Write two metres into the log."},
{"role":"system","content":"Answer with blocks that say what to replace, and nothing else."}]}"#,
    step: "",
};

/// The conversation and nothing else; no markers.
pub const AICHAT: Client = Client {
    name: "aichat 0.30, Messages",
    request: r#"{"model":"claude-sonnet-4-5","max_tokens":900,
"messages":[{"role":"user","content":"How high is the water?"},
{"role":"assistant","content":"Two metres."},{"role":"user","content":"Write it into the log."}]}"#,
    step: r#",{"role":"assistant","content":"It is written."},{"role":"user","content":"And tomorrow?"}"#,
};

/// A note for the turn stands in front of the last answer; the hour in the system prompt.
pub const GOOSE: Client = Client {
    name: "goose, Chat Completions",
    request: r#"{"model":"boat-chat","stream_options":{"include_usage":true},
"tools":[{"type":"function","function":{"name":"shell","description":"Runs a command.","parameters":{"type":"object"}}}],
"messages":[{"role":"system","content":"You mend boats. It is 2031-03-04 14:00 now."},
{"role":"user","content":"How high is the water?"},
{"role":"user","content":"<info>The lamp was lit at dusk, the log is open.</info>"},
{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat tide.txt\"}"}}]},
{"role":"tool","tool_call_id":"call_1","content":"Two metres at noon, two and a half at six."}]}"#,
    step: r#",{"role":"assistant","content":"Two metres."},{"role":"user","content":"And tomorrow?"}"#,
};
