//! The table of kinds: all that a verdict can be called.
//!
//! One row each says where it strikes, who can cause it, how it is seen, whether it is a fault, what repairs it, and
//! the public reports or provider's rules behind it. The table drives the code, `docs/breaks.md` and the tests. What
//! fits no row is called `tools.changed`, `system.changed`, `messages.rewritten` or `unexplained`.
//!
//! It is long because it is one table: a row has twelve columns, and rows are added, not split over files.

use super::{Party, Severity};

/// The part of a request, or of its life, that a kind is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Tool definitions.
    Tools,
    /// The system prompt.
    System,
    /// The conversation.
    Messages,
    /// Settings beside the prompt.
    Parameters,
    /// Where the request was sent.
    Routing,
    /// Cache markers.
    Layout,
    /// Lifetimes and overlaps.
    Time,
    /// The provider's own doing.
    Provider,
    /// Between client and provider.
    Gateway,
    /// Counts alone.
    Usage,
    /// Book-keeping.
    Ledger,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name in output.
    pub id: &'static str,
    /// What it is about.
    pub segment: Segment,
    /// A fault, expected, or for information.
    pub class: Severity,
    /// Who can cause it, the likeliest first.
    pub causes: &'static [Party],
    /// How it shows in two bodies; empty where it does not.
    pub pair: &'static str,
    /// How it shows in usage alone; empty where it does not.
    pub usage: &'static str,
    /// What the agent can do.
    pub agent: Option<&'static str>,
    /// What a gateway can do.
    pub gateway: Option<&'static str>,
    /// Whether the gateway's repair leaves what the model is told as it was.
    pub safe: bool,
    /// The server's reasons that say the same.
    pub server: &'static [&'static str],
    /// Public reports and provider's rules.
    pub sources: &'static [&'static str],
    /// What happened, in one plain sentence.
    pub sentence: &'static str,
}

macro_rules! kinds {
    ($($name:ident $id:literal {
        segment: $segment:ident, class: $class:ident, causes: [$($cause:ident),*],
        pair: $pair:literal,
        usage: $usage:literal,
        agent: $agent:expr,
        gateway: $gateway:expr,
        safe: $safe:literal,
        server: [$($server:literal),*],
        sources: [$($source:literal),*],
        sentence: $sentence:literal,
    }),* $(,)?) => {
        /// What a verdict is called; see its [`row`](Kind::row).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = concat!("`", $id, "`: ", $sentence)] $name),*
        }

        impl Kind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its row in the table.
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => &Row {
                        id: $id,
                        segment: Segment::$segment,
                        class: Severity::$class,
                        causes: &[$(Party::$cause),*],
                        pair: $pair,
                        usage: $usage,
                        agent: $agent,
                        gateway: $gateway,
                        safe: $safe,
                        server: &[$($server),*],
                        sources: &[$($source),*],
                        sentence: $sentence,
                    }),*
                }
            }
        }
    };
}

impl Kind {
    /// The name in output.
    pub const fn id(self) -> &'static str {
        self.row().id
    }

    /// A kind that says no more than which part changed.
    pub fn is_generic(self) -> bool {
        matches!(self, Self::ToolsChanged | Self::SystemChanged | Self::Rewritten | Self::Unexplained)
    }
}

/// The table as a page in Markdown: `docs/breaks.md`.
pub fn breaks_table() -> String {
    let mut page = String::from(PAGE_HEAD);
    for kind in Kind::ALL {
        let row = kind.row();
        let causes: Vec<_> = row.causes.iter().map(|party| party.word()).collect();
        let (about, class, causes) = (word(row.segment), row.class.word(), causes.join(", "));
        page += &format!("\n## `{}`\n{}\n\n", row.id, row.sentence);
        page += &format!("- about: {about}; {class}; caused by: {causes}\n");
        let seen = [("in two bodies", row.pair), ("in usage alone", row.usage)];
        for (place, text) in seen.iter().filter(|(_, text)| !text.is_empty()) {
            page += &format!("- seen {place}: {text}\n");
        }
        if let Some(text) = row.agent {
            page += &format!("- the agent can: {text}\n");
        }
        if let Some(text) = row.gateway {
            let safe =
                if row.safe { "the model is told the same" } else { "may change what the model is told" };
            page += &format!("- a gateway can: {text} ({safe})\n");
        }
        page += &format!("- sources: {}\n", row.sources.join(", "));
    }
    page
}

const fn word(segment: Segment) -> &'static str {
    match segment {
        Segment::Tools => "tools",
        Segment::System => "system prompt",
        Segment::Messages => "messages",
        Segment::Parameters => "parameters",
        Segment::Routing => "routing",
        Segment::Layout => "markers",
        Segment::Time => "time",
        Segment::Provider => "provider",
        Segment::Gateway => "gateway",
        Segment::Usage => "usage",
        Segment::Ledger => "book-keeping",
    }
}

const PAGE_HEAD: &str = "# Why a prompt cache breaks: the kinds\n\
    Generated from the table in `antefix-prefix` (`cargo run -p antefix-prefix --example breaks_table > docs/breaks.md`).\n\
    `antefix explain` names these. A kind stands here only with a public report or a provider's rule behind it.\n";

kinds! {
    ToolsReordered "tools.reordered" {
        segment: Tools, class: Fault, causes: [Agent, Gateway],
        pair: "the same names in another order",
        usage: "read falls to 0 or below the system prompt, and returns next time",
        agent: Some("sort by name once and keep first-seen order"),
        gateway: Some("replay tools in first-seen order for this lineage"),
        safe: true,
        server: ["tools_changed"],
        sources: ["openai/codex#2610", "openai/codex#2611", "can1357/oh-my-pi#890", "anomalyco/opencode#23571", "librefang/librefang#3765"],
        sentence: "The same tools came in another order, so everything from the first moved one on was paid for again.",
    },
    ToolsKeyOrder "tools.key_order" {
        segment: Tools, class: Fault, causes: [Gateway, Agent],
        pair: "equal as JSON, keys of a schema in another order",
        usage: "as `tools.reordered`, at random",
        agent: Some("keep maps in the order they were written"),
        gateway: Some("forward the client's bytes, never a re-serialised map"),
        safe: true,
        server: ["tools_changed"],
        sources: ["maximhq/bifrost#1742", "maximhq/bifrost#6591", "agentgateway/agentgateway#3371", "ollama/ollama#12244"],
        sentence: "A tool's schema has the same keys in another order: the same to a parser, other bytes to the cache.",
    },
    ToolsAdded "tools.added" {
        segment: Tools, class: Fault, causes: [Agent],
        pair: "a name that was not there",
        usage: "read falls to 0 or to the tools",
        agent: Some("declare it up front with defer_loading, or announce it inside the conversation"),
        gateway: Some("freeze tools[] and announce the addition at the tail, only for models that accept it"),
        safe: false,
        server: ["tools_changed"],
        sources: ["cnighswonger/claude-code-cache-fix#273", "QwenLM/qwen-code#10410", "anthropics/claude-code#81967", "anthropics/claude-agent-sdk-typescript#89"],
        sentence: "A tool joined the list. Tools stand in front of everything, so all behind it was paid for again.",
    },
    ToolsRemoved "tools.removed" {
        segment: Tools, class: Fault, causes: [Agent],
        pair: "a name that is gone",
        usage: "read falls to 0 or to the tools",
        agent: Some("keep the tool and refuse calls to it"),
        gateway: None,
        safe: false,
        server: ["tools_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)", "anthropics/claude-code#81042"],
        sentence: "A tool left the list. Tools stand in front of everything, so all behind it was paid for again.",
    },
    ToolsDescription "tools.description_changed" {
        segment: Tools, class: Fault, causes: [Agent],
        pair: "the same tool, another description",
        usage: "read falls to 0 or to the tools before it",
        agent: Some("keep the text fixed and list what changes at the tail"),
        gateway: Some("pin the first-seen text, opt-in"),
        safe: false,
        server: ["tools_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)"],
        sentence: "A tool's description changed between two requests, so that tool and all behind it, system prompt and messages included, were paid for again.",
    },
    ToolsSchema "tools.schema_changed" {
        segment: Tools, class: Fault, causes: [Agent],
        pair: "the same tool, another schema",
        usage: "read falls to 0 or to the tools before it",
        agent: Some("freeze a tool's schema for the session"),
        gateway: Some("pin the first-seen schema, opt-in"),
        safe: false,
        server: ["tools_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)"],
        sentence: "A tool's parameters changed between two requests, so all from that tool on was paid for again.",
    },
    ToolsDefer "tools.defer_changed" {
        segment: Tools, class: Fault, causes: [Agent],
        pair: "`defer_loading` switched on or off",
        usage: "read falls to 0 or to the tools before it",
        agent: Some("decide deferral when the session starts and keep it"),
        gateway: None,
        safe: false,
        server: ["tools_changed"],
        sources: ["platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool", "QwenLM/qwen-code#10410"],
        sentence: "A tool was switched between loaded at once and loaded on demand, which moves it into or out of the prompt.",
    },
    ToolsChanged "tools.changed" {
        segment: Tools, class: Fault, causes: [Agent],
        pair: "any other change of a tool",
        usage: "read falls to 0 or to the tools before it",
        agent: Some("freeze the tools for the session"),
        gateway: None,
        safe: false,
        server: ["tools_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)"],
        sentence: "A tool's definition changed between two requests, so all from that tool on was paid for again.",
    },
    SystemNonce "system.nonce" {
        segment: System, class: Fault, causes: [Agent, Gateway],
        pair: "a short token in a fixed frame",
        usage: "read is 0 each time",
        agent: Some("switch the attribution line off"),
        gateway: Some("drop or pin the line, anchored on the whole header, never on a bare token; for a first-party upstream leave it"),
        safe: false,
        server: ["system_changed"],
        sources: ["anthropics/claude-code#68900", "musistudio/claude-code-router#1220", "CaddyGlow/ccproxy-api#61", "api7/aisix#1144", "EasyMetaAu/helm-api#208"],
        sentence: "A text that looks random differs near the top of the system prompt. If it is new in each request, nothing behind it is ever reused.",
    },
    SystemClock "system.clock" {
        segment: System, class: Fault, causes: [Agent],
        pair: "a time of day",
        usage: "written each time and never read",
        agent: Some("put the clock behind the last breakpoint"),
        gateway: Some("report only (the model reads the value)"),
        safe: false,
        server: ["system_changed"],
        sources: ["goruck/home-generative-agent#617", "aaif-goose/goose#2431", "aaif-goose/goose#4610", "can1357/oh-my-pi#7324"],
        sentence: "The time of day stands in the system prompt. It changes with each request, so the prompt is written again each time and never read.",
    },
    SystemDate "system.date" {
        segment: System, class: Fault, causes: [Agent],
        pair: "a date",
        usage: "a spike at midnight",
        agent: Some("freeze the date with the session and append the new one"),
        gateway: Some("pin the first-seen date, opt-in"),
        safe: false,
        server: ["system_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (system text)", "platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages"],
        sentence: "The date in the system prompt moved on, so everything behind it was paid for again.",
    },
    SystemEnv "system.env_snapshot" {
        segment: System, class: Fault, causes: [Agent],
        pair: "git state, folder, session id or build differs",
        usage: "read stays at the tools on the first request of a process",
        agent: Some("persist the snapshot with the session and replay it"),
        gateway: Some("pin the first-seen block per session, opt-in"),
        safe: false,
        server: ["system_changed"],
        sources: ["anthropics/claude-code#47107", "meridianlabs-ai/inspect_swe#142", "elidickinson/pi-claude-bridge#75", "anthropics/claude-code#39732"],
        sentence: "What the system prompt says of the surroundings (such as git status) was taken anew, so everything behind it was paid for again. What it tells of did no harm; telling it there did.",
    },
    SystemIdentity "system.identity" {
        segment: System, class: Fault, causes: [Agent],
        pair: "the sentence that says who the model is",
        usage: "read is 0 when the path is switched",
        agent: Some("use one identity on all paths"),
        gateway: Some("normalise the sentence (policy risk)"),
        safe: false,
        server: ["system_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)"],
        sentence: "The opening sentence, which tells the model who it is, differs between the two requests, so they share no cache.",
    },
    SystemChanged "system.changed" {
        segment: System, class: Fault, causes: [Agent, User],
        pair: "any other change of the system prompt",
        usage: "read falls to the tools",
        agent: Some("keep the system prompt fixed and append what is new"),
        gateway: None,
        safe: false,
        server: ["system_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)"],
        sentence: "The system prompt changed between two requests, so everything behind the change was paid for again.",
    },
    BlockMigrated "messages.block_migrated" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "a block gone here stands further back",
        usage: "read stays at a floor after a resume",
        agent: Some("write injected blocks to the session file"),
        gateway: Some("put the block back at its first place and drop the copy"),
        safe: true,
        server: ["messages_changed"],
        sources: ["anthropics/claude-code#43657", "anthropics/claude-code#44045", "anthropics/claude-code#34629", "anthropics/claude-code#27048"],
        sentence: "A block was moved from its old place to a newer message, so everything behind the old place was paid for again.",
    },
    Reserialized "messages.reserialized" {
        segment: Messages, class: Fault, causes: [Agent, Gateway],
        pair: "the same text in another form",
        usage: "read falls to the point",
        agent: Some("send a message in one form for ever"),
        gateway: Some("replay the form that was sent first"),
        safe: true,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (exact prefixes)"],
        sentence: "The same text was sent in another form (wrapped, split or joined), and the cache goes by form.",
    },
    Merged "messages.merged" {
        segment: Messages, class: Fault, causes: [Agent, Gateway],
        pair: "messages joined into one",
        usage: "read falls to the point",
        agent: Some("append a message; do not extend one that was answered"),
        gateway: Some("replay the messages as they were sent first"),
        safe: true,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (exact prefixes)"],
        sentence: "Two messages were joined into one after they had been sent apart.",
    },
    InsertedMid "messages.inserted_mid" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "what follows is unchanged behind something new",
        usage: "one spike that heals",
        agent: Some("append at the tail"),
        gateway: Some("not advised: moving it changes what the model was told and when"),
        safe: false,
        server: ["messages_changed"],
        sources: ["cnighswonger/claude-code-cache-fix#350", "Tarquinen/opencode-dynamic-context-pruning#410"],
        sentence: "Something was inserted into the middle of the conversation. What follows is unchanged and still had to be paid for again.",
    },
    Rewritten "messages.rewritten" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "any other change of a message",
        usage: "read falls to the point",
        agent: Some("history is append-only: send again what was sent"),
        gateway: Some("report only"),
        safe: false,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (exact prefixes)"],
        sentence: "An old message was changed, so everything from there on was paid for again.",
    },
    Removed "messages.removed" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "messages gone, what follows unchanged",
        usage: "context shrinks, read falls to the point",
        agent: Some("drop old messages only at compaction, once"),
        gateway: Some("report only"),
        safe: false,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (exact prefixes)"],
        sentence: "Messages were taken out of the conversation, so everything behind them was paid for again.",
    },
    Reordered "messages.reordered" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "the same messages or blocks in another order",
        usage: "read falls to the point",
        agent: Some("keep results in the order of their calls"),
        gateway: Some("replay the first order"),
        safe: true,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (exact prefixes)"],
        sentence: "The same pieces came in another order, so everything from the first moved one on was paid for again.",
    },
    ToolResultRewritten "messages.tool_result_rewritten" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "the same call id, another result",
        usage: "read falls to the point",
        agent: Some("send no request while a call is open; history is append-only"),
        gateway: Some("report only"),
        safe: false,
        server: ["messages_changed"],
        sources: ["anomalyco/opencode#24841", "anomalyco/opencode#25366", "anomalyco/opencode#24840"],
        sentence: "The result of an old tool call was changed after it had been sent.",
    },
    ToolResultCleared "messages.tool_result_cleared" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "the same call id, a placeholder instead of the result",
        usage: "context shrinks and the request gets dearer",
        agent: Some("clear only at a moment the cache is cold or at compaction, once"),
        gateway: Some("report only"),
        safe: false,
        server: ["messages_changed"],
        sources: ["anomalyco/opencode#32515", "ranxianglei/opencode-acp#26", "Yeachan-Heo/gajae-code#508", "tetsuo-ai/agenc-core#2156", "vertesia/llumiverse#606"],
        sentence: "Old tool results were emptied to save room while the cache was still warm, so this request cost more, not less; it pays back only after many more.",
    },
    ToolInputKeyOrder "messages.tool_input_key_order" {
        segment: Messages, class: Fault, causes: [Gateway, Agent],
        pair: "the arguments of a call with keys in another order",
        usage: "read falls to the point, at random",
        agent: Some("keep a call's arguments as the model wrote them"),
        gateway: Some("forward the client's bytes, never a re-serialised map"),
        safe: true,
        server: ["messages_changed"],
        sources: ["maximhq/bifrost#1742", "agentgateway/agentgateway#3371", "platform.claude.com/docs/en/build-with-claude/prompt-caching (key order in tool input)"],
        sentence: "The arguments of an old tool call were written with their keys in another order.",
    },
    ThinkingDropped "messages.thinking_dropped" {
        segment: Messages, class: Fault, causes: [Agent, Gateway],
        pair: "thinking gone or its signature changed",
        usage: "a dip on the first call of each turn",
        agent: Some("send thinking back as it came"),
        gateway: None,
        safe: false,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/extended-thinking", "platform.claude.com/docs/en/build-with-claude/prompt-caching (thinking blocks)"],
        sentence: "The model's thinking was left out of an old message, so everything from there on was paid for again.",
    },
    ImageReplaced "messages.image_replaced" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "an image became text, other bytes, or nothing",
        usage: "a dip to a constant",
        agent: Some("keep the block; a cached image costs cents over a hundred turns"),
        gateway: Some("replay the first-seen block"),
        safe: true,
        server: ["messages_changed"],
        sources: ["anthropics/claude-code#91705", "openclaw/openclaw#58038", "NousResearch/hermes-agent#113517", "zeroclaw-labs/zeroclaw#10701"],
        sentence: "An image in an old message was replaced, so everything behind it was paid for again.",
    },
    DateRollover "messages.date_rollover" {
        segment: Messages, class: Fault, causes: [Agent, Time],
        pair: "a date inside an old message",
        usage: "a spike at local midnight",
        agent: Some("freeze the date where it was first said"),
        gateway: Some("replay the first-seen date"),
        safe: true,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (exact prefixes)"],
        sentence: "The date inside an old message moved on, so everything behind it was paid for again.",
    },
    Duplicated "messages.duplicated" {
        segment: Messages, class: Fault, causes: [Agent],
        pair: "a copy of what already stands in front",
        usage: "read falls to the point",
        agent: Some("append once, and only at the tail"),
        gateway: Some("report only"),
        safe: false,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (exact prefixes)"],
        sentence: "A copy of something already said was inserted, so everything behind it was paid for again.",
    },
    Bloat "context.bloat" {
        segment: Messages, class: Info, causes: [Agent],
        pair: "the same long text several times in one request",
        usage: "read grows by much more than what is new in each turn",
        agent: Some("say it once; read ranges instead of whole files; defer what is seldom used"),
        gateway: Some("report; leave out repeats in new turns only, opt-in"),
        safe: false,
        server: [],
        sources: ["anthropics/claude-code#11364", "anthropics/claude-code#23787", "anthropics/claude-code#26415", "anthropics/claude-code#21214"],
        sentence: "The same text stands in this conversation several times. Nothing broke, but all copies are paid for again in each turn.",
    },
    FirstRequest "expected.first_request" {
        segment: Messages, class: Expected, causes: [User],
        pair: "no earlier request that it could extend",
        usage: "all is written, little or nothing read",
        agent: Some("share tools and system between conversations, so that they are read"),
        gateway: None,
        safe: false,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (first request)"],
        sentence: "This conversation starts here. There was nothing to read yet, so its own part had to be written once.",
    },
    Clear "expected.clear" {
        segment: Messages, class: Expected, causes: [User],
        pair: "the same session starts an empty conversation",
        usage: "context drops to the head, which is still read",
        agent: Some("keep tools and system as they are, so that they are still read"),
        gateway: None,
        safe: false,
        server: ["messages_changed"],
        sources: ["code.claude.com/docs/en/costs (clearing between tasks)"],
        sentence: "The conversation was cleared and begun anew. Only tools and system prompt could still be read.",
    },
    Rewind "expected.rewind" {
        segment: Messages, class: Expected, causes: [User],
        pair: "the same conversation up to a point, then other words of the user",
        usage: "context drops and read falls to the point",
        agent: Some("keep a marker on each turn's end, so that the way back is read"),
        gateway: None,
        safe: false,
        server: ["messages_changed", "input_changed"],
        sources: ["code.claude.com/docs/en/checkpointing (rewind)"],
        sentence: "The user went back to an earlier point and said something else. What stands in front of that point is still in the cache.",
    },
    Fork "expected.fork" {
        segment: Messages, class: Expected, causes: [User, Agent],
        pair: "another session or agent goes on from a point of the conversation",
        usage: "read reaches to the point",
        agent: Some("send the same bytes up to the point"),
        gateway: None,
        safe: false,
        server: ["messages_changed", "input_changed"],
        sources: ["code.claude.com/docs/en/agent-sdk/sessions (forking)"],
        sentence: "A second conversation went off from this point. Both share what stands in front of it.",
    },
    Compaction "expected.compaction" {
        segment: Messages, class: Expected, causes: [Agent, User],
        pair: "a summary in place of the conversation",
        usage: "one rebuild, context drops",
        agent: Some("keep tools and system as they are when compacting"),
        gateway: None,
        safe: false,
        server: ["messages_changed", "context_compacted"],
        sources: ["platform.claude.com/docs/en/build-with-claude/compaction"],
        sentence: "The conversation was replaced by a summary. That costs one rebuild and is meant to.",
    },
    TtlExpired "expected.ttl_expired" {
        segment: Time, class: Expected, causes: [Time],
        pair: "the pause was longer than the entry lives",
        usage: "read falls after a pause",
        agent: Some("choose one hour where pauses are long"),
        gateway: None,
        safe: false,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (lifetime)", "bug-ops/zeph#2699", "QwenLM/qwen-code#3006", "cnighswonger/claude-code-cache-fix#36", "anthropics/claude-code#42542"],
        sentence: "The pause was longer than the cache lives. Nobody broke anything; the entry was gone.",
    },
    ParamsModel "params.model" {
        segment: Parameters, class: Expected, causes: [User, Agent],
        pair: "`model`",
        usage: "read is 0, and returns on switching back",
        agent: Some("warn before a switch; models do not share a cache"),
        gateway: None,
        safe: false,
        server: ["model_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)", "platform.claude.com/docs/en/build-with-claude/cache-diagnostics"],
        sentence: "Another model was asked. Models do not share a cache, so all was paid for once more.",
    },
    ParamsEffort "params.effort" {
        segment: Parameters, class: Fault, causes: [User, Agent],
        pair: "the effort",
        usage: "read is 0 or partial",
        agent: Some("set the effort in the conversation where the model takes it"),
        gateway: None,
        safe: false,
        server: ["unavailable", "reasoning_effort_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/effort", "platform.openai.com/docs/guides/prompt-caching"],
        sentence: "The effort was changed, which is part of what the cache goes by.",
    },
    ParamsThinking "params.thinking" {
        segment: Parameters, class: Fault, causes: [User, Agent],
        pair: "the thinking settings",
        usage: "the messages are lost",
        agent: Some("keep thinking as it is for a session"),
        gateway: None,
        safe: false,
        server: ["unavailable"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)", "platform.claude.com/docs/en/build-with-claude/extended-thinking"],
        sentence: "The thinking settings were changed, so at least all messages were paid for again.",
    },
    ParamsSpeed "params.speed" {
        segment: Parameters, class: Expected, causes: [User],
        pair: "`speed`",
        usage: "system and messages are lost",
        agent: Some("warn before a switch; the two speeds do not share a cache"),
        gateway: None,
        safe: false,
        server: ["model_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)", "platform.claude.com/docs/en/build-with-claude/cache-diagnostics"],
        sentence: "Fast mode was switched. The two speeds do not share a cache.",
    },
    ParamsToolChoice "params.tool_choice" {
        segment: Parameters, class: Fault, causes: [Agent],
        pair: "`tool_choice` or parallel calls",
        usage: "the messages are lost",
        agent: Some("keep it fixed and steer with words"),
        gateway: None,
        safe: false,
        server: ["unavailable"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what invalidates the cache)"],
        sentence: "The rule for choosing tools was changed, so all messages were paid for again.",
    },
    ParamsFormat "params.format" {
        segment: Parameters, class: Fault, causes: [Agent],
        pair: "the format or verbosity of the output",
        usage: "system and messages are lost",
        agent: Some("keep the output's format for a session"),
        gateway: None,
        safe: false,
        server: ["unavailable", "text_format_changed", "verbosity_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/structured-outputs", "platform.openai.com/docs/guides/prompt-caching"],
        sentence: "A setting of the output (its format, verbosity or task budget) was changed, which puts other text into the prompt.",
    },
    ParamsTier "params.tier" {
        segment: Parameters, class: Fault, causes: [User, Agent],
        pair: "`service_tier`",
        usage: "read is 0",
        agent: Some("keep one tier for a conversation"),
        gateway: None,
        safe: false,
        server: ["service_tier_changed"],
        sources: ["platform.openai.com/docs/guides/prompt-caching"],
        sentence: "Another service tier was asked for, and tiers do not share a cache.",
    },
    ParamsBetas "params.betas" {
        segment: Parameters, class: Fault, causes: [Agent, Gateway],
        pair: "the set of beta headers",
        usage: "read may fall to 0",
        agent: Some("send the same set of betas for a session"),
        gateway: Some("pass beta headers through"),
        safe: true,
        server: ["unavailable"],
        sources: ["platform.claude.com/docs/en/build-with-claude/cache-diagnostics"],
        sentence: "Another set of beta features was asked for, which may change how the prompt is put together.",
    },
    KeyRotated "routing.key_rotated" {
        segment: Routing, class: Fault, causes: [Agent, Gateway],
        pair: "`prompt_cache_key`",
        usage: "read is 0 with an unchanged prompt",
        agent: Some("send a stable key"),
        gateway: Some("one key per conversation, derived from the client's session id and the tenant"),
        safe: true,
        server: ["prompt_cache_key_changed"],
        sources: ["CaddyGlow/ccproxy-api#61", "router-for-me/CLIProxyAPI#277", "BerriAI/litellm#40342", "openai/codex#44716"],
        sentence: "The prompt only grew, but it was sent under another prompt cache key, so the server looked where it had kept nothing.",
    },
    RoutingAccount "routing.account" {
        segment: Routing, class: Fault, causes: [Gateway, Agent],
        pair: "the account or API key",
        usage: "high and 0 in turn",
        agent: Some("keep one account for a conversation"),
        gateway: Some("stick to one account for a conversation"),
        safe: true,
        server: ["previous_message_not_found"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (isolation)"],
        sentence: "The request went through another account, and accounts do not share a cache.",
    },
    RoutingProvider "routing.provider" {
        segment: Routing, class: Fault, causes: [Gateway],
        pair: "the upstream",
        usage: "high and 0 in turn",
        agent: Some("pin one provider"),
        gateway: Some("stick to one provider for a conversation"),
        safe: true,
        server: ["previous_message_not_found"],
        sources: ["llmgateway#3873", "stella#4172"],
        sentence: "The request went to another provider, which has never seen the prompt.",
    },
    RoutingRegion "routing.region" {
        segment: Routing, class: Fault, causes: [Gateway, Agent],
        pair: "the region",
        usage: "high and 0 in turn",
        agent: Some("pin one region"),
        gateway: Some("stick to one region for a conversation"),
        safe: true,
        server: ["previous_message_not_found"],
        sources: ["platform.openai.com/docs/guides/prompt-caching (isolation by region)"],
        sentence: "The request went to another region, which has its own cache.",
    },
    NoBreakpoint "layout.no_breakpoint" {
        segment: Layout, class: Fault, causes: [Agent, Gateway],
        pair: "no marker in the request",
        usage: "nothing read and nothing written while the input grows",
        agent: Some("mark the end of the system prompt and of the conversation"),
        gateway: Some("add markers, at most four, opt-in"),
        safe: true,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (cache_control)"],
        sentence: "The request has no cache marker, so nothing of it was cached.",
    },
    BelowMinimum "layout.below_minimum" {
        segment: Layout, class: Info, causes: [Agent],
        pair: "the marked prefix is too short",
        usage: "nothing read and nothing written",
        agent: None,
        gateway: None,
        safe: false,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (minimum length)"],
        sentence: "The marked part is shorter than the model's minimum, so nothing was cached. It will be once it has grown.",
    },
    Lookback "layout.lookback_exceeded" {
        segment: Layout, class: Fault, causes: [Agent],
        pair: "no marker within reach of the last entry",
        usage: "a dip on wide turns only",
        agent: Some("a second breakpoint that lags by one window"),
        gateway: Some("add one, staying within four"),
        safe: true,
        server: [],
        sources: ["redpanda-data/ai-sdk-go#205", "brightwave-inc/tidebreak#1270", "aaif-goose/goose#8921", "netease-lcap/wave-agent#1261", "headroomlabs-ai/headroom#2919"],
        sentence: "The earlier part is unchanged, but so many blocks were added at once that the cache, which looks back a fixed number of them, did not find where it was last written.",
    },
    Transient "layout.breakpoint_on_transient" {
        segment: Layout, class: Fault, causes: [Agent],
        pair: "the marked block is gone next time",
        usage: "a pinned floor with a stable prefix",
        agent: Some("set the marker on the last block that stays"),
        gateway: Some("move the marker to the last block that stays"),
        safe: true,
        server: ["messages_changed"],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (where to mark)"],
        sentence: "The cache marker stood on a block that is not there next time, so what was written could never be read.",
    },
    TooMany "layout.too_many" {
        segment: Layout, class: Fault, causes: [Agent, Gateway],
        pair: "more markers than are taken",
        usage: "error 400",
        agent: Some("at most four markers"),
        gateway: Some("drop the oldest marker"),
        safe: true,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (limits)"],
        sentence: "The request has more cache markers than the provider takes, and is refused.",
    },
    IllegalMarker "layout.illegal_marker" {
        segment: Layout, class: Fault, causes: [Agent, Gateway],
        pair: "a marker on thinking or an empty text",
        usage: "error 400",
        agent: Some("mark a block that takes a marker"),
        gateway: Some("move the marker to the block in front"),
        safe: true,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (what cannot be cached)"],
        sentence: "A cache marker stands where the provider takes none, and the request is refused.",
    },
    Order "layout.order" {
        segment: Layout, class: Fault, causes: [Agent, Gateway],
        pair: "a one-hour marker behind a five-minute one",
        usage: "error 400",
        agent: Some("one-hour markers first"),
        gateway: Some("raise the earlier markers"),
        safe: false,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (mixing lifetimes)"],
        sentence: "A one-hour marker stands behind a five-minute one, and the request is refused.",
    },
    TtlDowngraded "ttl.downgraded" {
        segment: Time, class: Fault, causes: [Gateway, Agent, Provider],
        pair: "markers asked for one hour and now for five minutes",
        usage: "writes move from the one-hour to the five-minute column",
        agent: Some("ask for the lifetime explicitly"),
        gateway: Some("pass `ttl` through"),
        safe: true,
        server: [],
        sources: ["anthropics/claude-code#62217", "anthropics/claude-code#54568", "shunt#320"],
        sentence: "Entries that used to live one hour now live five minutes, so a short pause is enough to lose them.",
    },
    TtlMixed "ttl.mixed" {
        segment: Time, class: Expected, causes: [Time, Agent],
        pair: "markers of one hour and of five minutes, and a pause between the two",
        usage: "read falls to what was written for one hour",
        agent: Some("ask for one hour behind the conversation too, where pauses are long"),
        gateway: Some("raise the later markers to one hour, opt-in"),
        safe: true,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (mixing lifetimes)", "anthropics/claude-code#62217"],
        sentence: "The head was kept for one hour and the conversation for five minutes. The pause lay between the two, so only the head was left.",
    },
    ColdFanout "concurrency.cold_fanout" {
        segment: Time, class: Fault, causes: [Agent, Gateway],
        pair: "a sibling started before the first byte of the first",
        usage: "several writes of the same size at once",
        agent: Some("warm one request, then send the others"),
        gateway: Some("hold siblings until the first byte"),
        safe: true,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (concurrent requests)"],
        sentence: "Several requests with the same prompt left at once. None could read what the others were still writing, so each paid for it.",
    },
    ProviderSuspected "provider.suspected" {
        segment: Provider, class: Info, causes: [Provider],
        pair: "nothing changed, in time, same route",
        usage: "one collapse, then back",
        agent: None,
        gateway: None,
        safe: false,
        server: ["previous_message_not_found"],
        sources: ["anthropics/claude-code#87966", "anthropics/claude-code#85326", "anthropics/anthropic-sdk-python#1451", "Yeachan-Heo/gajae-code#2048"],
        sentence: "Nothing changed on this side and the entry should still have been there. The provider probably dropped it; there is nothing to repair.",
    },
    ThinkingRetention "provider.thinking_retention" {
        segment: Provider, class: Expected, causes: [Provider],
        pair: "thinking of earlier turns, and the user speaks",
        usage: "a dip when the user speaks",
        agent: Some("none: the model's own rule"),
        gateway: None,
        safe: false,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/extended-thinking"],
        sentence: "This model forgets earlier thinking when the user speaks, so the text behind it was paid for again.",
    },
    TemplateRewrites "provider.template_rewrites" {
        segment: Provider, class: Expected, causes: [Provider],
        pair: "a template that drops earlier reasoning, moves the tools or says the date, and a new turn or day",
        usage: "a dip when the user speaks",
        agent: Some("none: the model's own template; another model, or none of what it rewrites"),
        gateway: None,
        safe: false,
        server: [],
        sources: ["api-docs.deepseek.com/guides/reasoning_model (earlier reasoning is left out)", "qwen.readthedocs.io (chat template: reasoning of earlier turns is left out)"],
        sentence: "Every byte was sent as before, but the model's chat template renders something in front of it anew (earlier reasoning, the tools, the date), so what stands behind was computed once more.",
    },
    GatewayRewrite "gateway.rewrite" {
        segment: Gateway, class: Fault, causes: [Gateway],
        pair: "the client only appended, what went upstream did not",
        usage: "any",
        agent: None,
        gateway: Some("pass the client's bytes through"),
        safe: true,
        server: [],
        sources: ["maximhq/bifrost#1742", "maximhq/bifrost#6591", "agentgateway/agentgateway#3371"],
        sentence: "The client only appended. Something between client and provider rewrote the request.",
    },
    SystemHoisted "gateway.system_hoisted" {
        segment: Gateway, class: Fault, causes: [Gateway],
        pair: "a system message of the client's conversation in the upstream's system prompt",
        usage: "read falls to the top of the prompt",
        agent: None,
        gateway: Some("keep it in place, as a developer or user message when the upstream refuses system there"),
        safe: true,
        server: ["system_changed", "input_changed"],
        sources: ["farion1231/cc-switch#6789", "farion1231/cc-switch#6941", "lidge-jun/opencodex#4161", "diegosouzapw/OmniRoute#8934", "jundot/omlx#2483"],
        sentence: "A note from inside the conversation was moved up into the system prompt on its way to the provider.",
    },
    MarkerMoved "gateway.marker_moved" {
        segment: Gateway, class: Fault, causes: [Gateway],
        pair: "the client's markers are not in what went upstream",
        usage: "nothing written",
        agent: None,
        gateway: Some("pass cache_control through"),
        safe: true,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/prompt-caching (cache_control)"],
        sentence: "The client's cache markers were lost between client and provider.",
    },
    BetaDropped "gateway.beta_dropped" {
        segment: Gateway, class: Fault, causes: [Gateway],
        pair: "a beta feature that the client asked for is not in what went upstream",
        usage: "writes move to the five-minute column, or nothing is read",
        agent: None,
        gateway: Some("forward beta headers word for word, known or not"),
        safe: true,
        server: ["unavailable"],
        sources: ["code.claude.com/docs/en/llm-gateway-protocol (beta headers are an open list)"],
        sentence: "The client asked for a beta feature, and something between client and provider left it out.",
    },
    PinnedFloor "usage.pinned_floor" {
        segment: Usage, class: Fault, causes: [Unknown],
        pair: "",
        usage: "read stays the same while the prompt grows",
        agent: None,
        gateway: None,
        safe: false,
        server: [],
        sources: ["FerroxLabs/wayland#1166", "mrgoonie/zuey-pi-setup#3", "anthropics/claude-code#85326", "openai/codex#20301", "Piebald-AI/piebald-issues#68"],
        sentence: "In each of these requests the cache is read only up to the same point, and what follows is written again.",
    },
    DuplicateLines "ledger.duplicate_lines" {
        segment: Ledger, class: Info, causes: [Unknown],
        pair: "",
        usage: "one response on several lines",
        agent: None,
        gateway: None,
        safe: false,
        server: [],
        sources: ["anthropics/claude-code#87303", "anthropics/claude-code#6805", "ccstatusline#549", "codeburn#201"],
        sentence: "One answer stands on several lines. Counting each line counts the same tokens again.",
    },
    Convention "ledger.convention" {
        segment: Ledger, class: Info, causes: [Unknown],
        pair: "",
        usage: "the cached part inside or outside the input count",
        agent: None,
        gateway: None,
        safe: false,
        server: [],
        sources: ["langfuse/langfuse#12306", "langfuse/langfuse#10592", "decolua/9router#2209", "getagentseal/codeburn#21", "zhangferry/tokendash#15", "BerriAI/litellm#40016"],
        sentence: "Vendors count the cached part inside or outside the input. The rows were brought to one form.",
    },
    Unexplained "unexplained" {
        segment: Usage, class: Info, causes: [Unknown],
        pair: "nothing found",
        usage: "read falls",
        agent: None,
        gateway: None,
        safe: false,
        server: [],
        sources: ["platform.claude.com/docs/en/build-with-claude/cache-diagnostics", "claude-tap#437"],
        sentence: "Less was read than was there to read, and what is known does not say why. Two request bodies would.",
    }
}
