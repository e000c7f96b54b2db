//! The kinds that neither a made conversation nor a case file shows: for each, what brings it about and all that is
//! then found.

use antefix_models::{Counts, Platform, Tokens, rules};
use antefix_prefix::verdict::{
    Edits, Finding, Kind, Millis, Observation, Party, Prompt, Severity, bloat, cold_start, judge,
    judge_alone, opening, series,
};
use antefix_wire::anthropic::Cleared;
use antefix_wire::json::Body;

/// A request: an hour's marker behind the system prompt, five minutes' behind the conversation.
const ASKED: &str = r#"{"model":"claude-sonnet-5","max_tokens":900,
"tools":[{"name":"chart","description":"Draws a chart.","input_schema":{"type":"object"}},
{"name":"tide","description":"Looks the tide up.","input_schema":{"type":"object"}}],
"system":[{"type":"text","text":"You are the clerk of a small harbour."},
{"type":"text","text":"Write plainly. Today is 2031-03-04.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"She was launched on 2031-02-11."}]},
{"role":"user","content":[{"type":"text","text":"How high is the water?"}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"Two, I think.","signature":"c2ln"},
{"type":"text","text":"Two metres."}]},
{"role":"user","content":[{"type":"text","text":"And tonight?","cache_control":{"type":"ephemeral"}}]}]}"#;

const RESPONSES: &str = r#"{"model":"gpt-5.2","service_tier":"default","instructions":"Keep the harbour's log.",
"input":[{"role":"user","content":"How high is the water?"}]}"#;

const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// What is known of a request; an empty body is not known.
pub struct Sent {
    body: String,
    client: String,
    usage: Option<Counts>,
    set: fn(&mut Observation<'_>),
}

pub enum Seen {
    /// Two bodies.
    Pair(fn() -> [Sent; 2]),
    /// One body by itself.
    Alone(fn() -> Sent),
    /// Two answers' usages without bodies.
    Usage(fn() -> [Sent; 2]),
    /// A conversation that starts behind another request.
    Opens(fn() -> [Sent; 2]),
    /// Two conversations that started at once.
    Siblings(fn() -> [Sent; 2]),
    /// One conversation as a whole.
    Whole(fn() -> Sent),
}

use Seen::{Alone, Opens, Pair, Siblings, Usage, Whole};

pub type Row = (Seen, Kind, &'static str, Party, Severity);

pub const ROWS: &[Row] = &[
    (
        Pair(|| edit(r#""name":"tide","#, r#""name":"tide","defer_loading":true,"#)),
        Kind::ToolsDefer,
        "/tools/1/defer_loading",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| edit(r#""name":"tide","#, r#""name":"tide","strict":true,"#)),
        Kind::ToolsChanged,
        "/tools/1/strict",
        Party::Agent,
        Severity::Fault,
    ),
    (Pair(|| edit("03-04", "03-05")), Kind::SystemDate, "/system/1/text", Party::Agent, Severity::Fault),
    (
        Pair(|| edit("clerk of a small", "keeper of a small")),
        Kind::SystemIdentity,
        "/system/0/text",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| edit("02-11.\"}]},\n{\"role\":\"user\",\"content\":[", "02-11.\"},")),
        Kind::Merged,
        "/messages/0/content/1",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| edit("02-11", "02-12")),
        Kind::DateRollover,
        "/messages/0/content/0/text",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| [sent(ASKED), sent(&with_messages(SUMMED_UP))]),
        Kind::Compaction,
        "/messages/0/content/0/text",
        Party::Agent,
        Severity::Expected,
    ),
    (
        Pair(|| edit("900,", r#"900,"tool_choice":{"type":"any"},"#)),
        Kind::ParamsToolChoice,
        "/tool_choice",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| [sent(RESPONSES), sent(&RESPONSES.replace("default", "flex"))]),
        Kind::ParamsTier,
        "/service_tier",
        Party::User,
        Severity::Fault,
    ),
    (
        Pair(|| edit("900,", r#"900,"anthropic_beta":["tides-2031-01-01"],"#)),
        Kind::ParamsBetas,
        "/anthropic_beta",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| {
            missed(
                |one| one.betas = Some("tides-2031-01-01".into()),
                |one| one.betas = Some("tides-2031-02-02".into()),
            )
        }),
        Kind::ParamsBetas,
        "",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| missed(|one| one.account = Some("east".into()), |one| one.account = Some("west".into()))),
        Kind::RoutingAccount,
        "",
        Party::Gateway,
        Severity::Fault,
    ),
    (
        Pair(|| missed(|one| one.provider = Some("east".into()), |one| one.provider = Some("west".into()))),
        Kind::RoutingProvider,
        "",
        Party::Gateway,
        Severity::Fault,
    ),
    (
        Pair(|| missed(|one| one.region = Some("east".into()), |one| one.region = Some("west".into()))),
        Kind::RoutingRegion,
        "",
        Party::Gateway,
        Severity::Fault,
    ),
    (
        Pair(|| missed(|one| one.started_at = Some(Millis(0)), |one| one.started_at = Some(Millis(300_000)))),
        Kind::TtlExpired,
        "",
        Party::Time,
        Severity::Expected,
    ),
    (
        Pair(|| {
            missed(|one| one.first_byte_at = Some(Millis(900)), |one| one.started_at = Some(Millis(899)))
        }),
        Kind::ColdFanout,
        "",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| missed(|_| {}, |one| one.rules = rules(Platform::Anthropic, "claude-haiku-4-5"))),
        Kind::ThinkingRetention,
        "",
        Party::Provider,
        Severity::Expected,
    ),
    (
        Pair(|| missed(|_| {}, |one| one.edits = Some(Edits { summarised: true, cleared: None }))),
        Kind::ServerCompaction,
        "",
        Party::Provider,
        Severity::Expected,
    ),
    (
        Pair(|| missed(|_| {}, |one| one.edits = Some(cleared(8)))),
        Kind::ContextEdit,
        "",
        Party::Provider,
        Severity::Expected,
    ),
    (
        Pair(|| missed(|one| one.edits = Some(cleared(5)), |one| one.edits = Some(cleared(8)))),
        Kind::ContextEdit,
        "",
        Party::Provider,
        Severity::Expected,
    ),
    // What was cleared before, or is cleared no more, is not what was lost now.
    (
        Pair(|| missed(|one| one.edits = Some(cleared(8)), |one| one.edits = Some(cleared(8)))),
        Kind::ProviderSuspected,
        "",
        Party::Provider,
        Severity::Info,
    ),
    (
        Pair(|| missed(|one| one.edits = Some(cleared(8)), |one| one.edits = Some(cleared(5)))),
        Kind::ProviderSuspected,
        "",
        Party::Provider,
        Severity::Info,
    ),
    (
        Pair(|| {
            missed(
                |one| {
                    one.edits = Some(cleared(8));
                    one.account = Some("east".into());
                },
                |one| {
                    one.edits = Some(cleared(8));
                    one.account = Some("west".into());
                },
            )
        }),
        Kind::RoutingAccount,
        "",
        Party::Gateway,
        Severity::Fault,
    ),
    // The answer is not known: a summary that is new in the request, or what the request asks for.
    (
        Pair(|| {
            let [earlier, later] = missed(|_| {}, |_| {});
            let body = later.body.replacen(
                r#"{"type":"text","text":"Three.""#,
                r#"{"type":"compaction","content":"Water."},{"type":"text","text":"Three.""#,
                1,
            );
            [earlier, Sent { body, ..later }]
        }),
        Kind::ServerCompaction,
        "/messages/4/content/0",
        Party::Provider,
        Severity::Expected,
    ),
    (
        Pair(|| missed(|_| {}, |_| {}).map(asks_to_clear)),
        Kind::ContextEdit,
        "/context_management",
        Party::Provider,
        Severity::Expected,
    ),
    // What is known goes in front of such a guess: another region, and an answer that says nothing was cleared.
    (
        Pair(|| {
            missed(|one| one.region = Some("east".into()), |one| one.region = Some("west".into()))
                .map(asks_to_clear)
        }),
        Kind::RoutingRegion,
        "",
        Party::Gateway,
        Severity::Fault,
    ),
    (
        Pair(|| missed(|_| {}, |one| one.edits = Some(Edits::default())).map(asks_to_clear)),
        Kind::ProviderSuspected,
        "",
        Party::Provider,
        Severity::Info,
    ),
    // What has expired could not be lost to an edit.
    (
        Pair(|| {
            missed(
                |one| one.started_at = Some(Millis(0)),
                |one| {
                    one.started_at = Some(Millis(300_000));
                    one.edits = Some(cleared(8));
                },
            )
        }),
        Kind::TtlExpired,
        "",
        Party::Time,
        Severity::Expected,
    ),
    (
        Pair(|| [sent(&with_messages(REMINDED)), sent(&with_messages(NOT_REMINDED))]),
        Kind::Transient,
        "/messages/0/content/1",
        Party::Agent,
        Severity::Fault,
    ),
    (Pair(|| edit(r#","ttl":"1h""#, "")), Kind::TtlDowngraded, "", Party::Agent, Severity::Fault),
    (
        Pair(|| through_a_gateway(r#","ttl":"1h""#, "")),
        Kind::TtlDowngraded,
        "",
        Party::Gateway,
        Severity::Fault,
    ),
    (
        Pair(|| through_a_gateway("Write plainly.", "Write very plainly.")),
        Kind::GatewayRewrite,
        "/system/1/text",
        Party::Gateway,
        Severity::Fault,
    ),
    (
        Alone(|| Sent { usage: Some(tokens(90_000, [0; 3])), ..sent(&unmarked()) }),
        Kind::NoBreakpoint,
        "",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Alone(|| Sent { usage: Some(tokens(90, [0; 3])), ..sent(ASKED) }),
        Kind::BelowMinimum,
        "",
        Party::Agent,
        Severity::Info,
    ),
    (
        Alone(|| Sent { client: ASKED.into(), usage: Some(tokens(90_000, [0; 3])), ..sent(&unmarked()) }),
        Kind::MarkerMoved,
        "",
        Party::Gateway,
        Severity::Fault,
    ),
    (
        Alone(|| {
            let more = format!(r#",{{"type":"text","text":"Tides rule.",{HOUR}}}"#).repeat(3);
            sent(&replaced(ASKED, r#"harbour."}"#, &format!(r#"harbour."}}{more}"#)))
        }),
        Kind::TooMany,
        "",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Alone(|| sent(&replaced(ASKED, r#""How high is the water?""#, &format!(r#""",{MARK}"#)))),
        Kind::IllegalMarker,
        "/messages/1/content/0/cache_control",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Alone(|| sent(&replaced(ASKED, r#"harbour.""#, &format!(r#"harbour.",{MARK}"#)))),
        Kind::Order,
        "/system/1/cache_control",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| [sent(ASKED), sent(&with_messages(REWOUND))]),
        Kind::Rewind,
        "/messages/1",
        Party::User,
        Severity::Expected,
    ),
    (
        Pair(|| {
            let [earlier, later] = [sent(ASKED), sent(&with_messages(REWOUND))];
            [in_session("one", earlier), in_session("two", later)]
        }),
        Kind::Fork,
        "/messages/1",
        Party::User,
        Severity::Expected,
    ),
    (
        Opens(|| [in_session("one", sent(ASKED)), in_session("two", sent(ASKED))]),
        Kind::FirstRequest,
        "",
        Party::User,
        Severity::Expected,
    ),
    (
        Opens(|| [in_session("one", sent(ASKED)), in_session("one", sent(&with_messages(REWOUND)))]),
        Kind::Clear,
        "",
        Party::User,
        Severity::Expected,
    ),
    (
        Pair(|| {
            let [earlier, later] = [sent(ASKED), sent(&grown())];
            [
                Sent {
                    usage: Some(tokens(9, [0, 1000, 8000])),
                    set: |one| one.started_at = Some(Millis(0)),
                    ..earlier
                },
                Sent {
                    usage: Some(tokens(9, [8000, 1500, 0])),
                    set: |one| one.started_at = Some(Millis(300_000)),
                    ..later
                },
            ]
        }),
        Kind::TtlMixed,
        "",
        Party::Time,
        Severity::Expected,
    ),
    (
        Usage(|| {
            let [earlier, later] = billed(tokens(9, [0, 1000, 8000]), tokens(9, [8000, 1500, 0]));
            [
                Sent { set: |one| one.started_at = Some(Millis(0)), ..earlier },
                Sent { set: |one| one.started_at = Some(Millis(3_599_999)), ..later },
            ]
        }),
        Kind::TtlMixed,
        "",
        Party::Time,
        Severity::Expected,
    ),
    (
        Pair(|| {
            let known: fn(&mut Observation<'_>) = |one| one.rules = rules(Platform::Compatible, "tide-chat");
            let one = Sent { usage: Some(tokens(9000, [0, 0, 0])), set: known, ..sent(CHAT) };
            let more = format!("{},{CHAT_MORE}]}}", CHAT.strip_suffix("]}").unwrap());
            [one, Sent { usage: Some(tokens(7000, [3000, 0, 0])), set: known, ..sent(&more) }]
        }),
        Kind::TemplateRewrites,
        "",
        Party::Provider,
        Severity::Expected,
    ),
    (
        Pair(|| {
            let known: fn(&mut Observation<'_>) = |one| one.rules = rules(Platform::Compatible, "Qwen3-8B");
            let one = Sent { usage: Some(tokens(9000, [0, 0, 0])), set: known, ..sent(CHAT) };
            let more = format!("{},{CHAT_MORE}]}}", CHAT.strip_suffix("]}").unwrap());
            [one, Sent { usage: Some(tokens(7000, [3000, 0, 0])), set: known, ..sent(&more) }]
        }),
        Kind::TemplateRewrites,
        "",
        Party::Provider,
        Severity::Expected,
    ),
    (
        Pair(|| {
            let one = Sent {
                usage: Some(tokens(9000, [0, 0, 0])),
                set: |one| one.started_at = Some(Millis(0)),
                ..sent(RESPONSES)
            };
            let more = RESPONSES.replace("}]}", r#"},{"role":"user","content":"And tonight?"}]}"#);
            [
                one,
                Sent {
                    usage: Some(tokens(9100, [0, 0, 0])),
                    set: |one| one.started_at = Some(Millis(300_000)),
                    ..sent(&more)
                },
            ]
        }),
        Kind::TtlExpired,
        "",
        Party::Time,
        Severity::Expected,
    ),
    (
        Pair(|| {
            let one = Sent { usage: Some(tokens(9, [0, 9000, 0])), ..sent(ASKED) };
            let other = replaced(
                &grown(),
                r#"[{"type":"text","text":"How high is the water?"}]"#,
                r#""How high is the water?""#,
            );
            [one, Sent { usage: Some(tokens(9, [4000, 5500, 0])), ..sent(&other) }]
        }),
        Kind::Reserialized,
        "/messages/1/content",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Pair(|| [sent(ASKED), sent(&with_messages(OTHER_TASK))]),
        Kind::Clear,
        "/messages/0",
        Party::User,
        Severity::Expected,
    ),
    (
        Pair(|| {
            edit(r#""system":["#, r#""system":[{"type":"text","text":"x-line: version=2.1; cch=aa1;"},"#)
        }),
        Kind::SystemChanged,
        "/system/0",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Usage(|| {
            let at_once = |sent: Sent| Sent { set: |one| one.started_at = Some(Millis(0)), ..sent };
            billed(tokens(9, [0, 9000, 0]), tokens(9, [0, 9010, 0])).map(at_once)
        }),
        Kind::ColdFanout,
        "",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Usage(|| billed(tokens(90_000, [0; 3]), tokens(91_000, [0; 3]))),
        Kind::NoBreakpoint,
        "",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Usage(|| billed(tokens(800, [0; 3]), tokens(900, [0; 3]))),
        Kind::BelowMinimum,
        "",
        Party::Agent,
        Severity::Info,
    ),
    (
        Siblings(|| {
            let written = |body: &str| Sent { usage: Some(tokens(9, [0, 9000, 0])), ..sent(body) };
            let [one, two] = [written(ASKED), written(&with_messages(OTHER_TASK))];
            [
                Sent { set: |one| one.first_byte_at = Some(Millis(900)), ..one },
                Sent { set: |one| one.started_at = Some(Millis(899)), ..two },
            ]
        }),
        Kind::ColdFanout,
        "",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Alone(|| Sent {
            set: |one| {
                one.client_betas = Some("tides-2031-01-01, moons-2031-02-02".into());
                one.betas = Some("moons-2031-02-02".into());
            },
            ..sent(ASKED)
        }),
        Kind::BetaDropped,
        "",
        Party::Gateway,
        Severity::Fault,
    ),
    (
        Whole(|| {
            let log = "The water stood at two metres. ".repeat(200);
            let said = format!(r#"{{"role":"user","content":[{{"type":"text","text":"{log}"}}]}}"#);
            sent(&with_messages(&format!("[{said},{said},{said}]")))
        }),
        Kind::Bloat,
        "/messages/1/content/0",
        Party::Agent,
        Severity::Info,
    ),
    (
        Usage(|| billed(tokens(9, [0, 9000, 0]), tokens(9, [0, 9500, 0]))),
        Kind::Unexplained,
        "",
        Party::Unknown,
        Severity::Info,
    ),
    (
        Usage(|| billed(tokens(9, [0, 9000, 0]), tokens(9, [0, 3000, 0]))),
        Kind::Compaction,
        "",
        Party::Agent,
        Severity::Expected,
    ),
    (
        Usage(|| billed(tokens(9, [0, 0, 9000]), tokens(9, [9000, 500, 0]))),
        Kind::TtlDowngraded,
        "",
        Party::Unknown,
        Severity::Fault,
    ),
    (
        Usage(|| {
            let [earlier, later] = billed(tokens(9, [0, 9000, 0]), tokens(9, [0, 9000, 0]));
            [
                Sent { set: |one| one.started_at = Some(Millis(0)), ..earlier },
                Sent { set: |one| one.started_at = Some(Millis(1999)), ..later },
            ]
        }),
        Kind::ColdFanout,
        "",
        Party::Agent,
        Severity::Fault,
    ),
    (
        Usage(|| {
            let [earlier, later] = billed(tokens(9, [0, 0, 9000]), tokens(9, [0, 0, 9500]));
            [
                Sent { set: |one| one.started_at = Some(Millis(0)), ..earlier },
                Sent { set: |one| one.started_at = Some(Millis(3_600_000)), ..later },
            ]
        }),
        Kind::TtlExpired,
        "",
        Party::Time,
        Severity::Expected,
    ),
];

const REWOUND: &str = r#"[{"role":"user","content":[{"type":"text","text":"She was launched on 2031-02-11."}]},
{"role":"user","content":[{"type":"text","text":"Name her crew.","cache_control":{"type":"ephemeral"}}]}]"#;

const OTHER_TASK: &str = r#"[{"role":"user","content":[{"type":"text","text":"Draw the moon.",
"cache_control":{"type":"ephemeral"}}]}]"#;

const CHAT: &str = r#"{"model":"tide-chat","messages":[{"role":"system","content":"Keep the harbour's log."},
{"role":"user","content":"How high is the water?"},
{"role":"assistant","reasoning_content":"Two, I think.","content":"Two metres."},
{"role":"user","content":"And tonight?"}]}"#;

const CHAT_MORE: &str =
    r#"{"role":"assistant","content":"Three."},{"role":"user","content":"Thanks. And at dawn?"}"#;

const HOUR: &str = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;

const SUMMED_UP: &str = r#"[{"role":"user","content":[{"type":"text",
"text":"<summary>The water is two metres high.</summary>"}]}]"#;

const REMINDED: &str = r#"[{"role":"user","content":[{"type":"text","text":"How high is the water?"},
{"type":"text","text":"<system-reminder>The log is open.</system-reminder>",
"cache_control":{"type":"ephemeral"}}]}]"#;

const NOT_REMINDED: &str = r#"[{"role":"user","content":[{"type":"text","text":"How high is the water?"}]},
{"role":"assistant","content":[{"type":"text","text":"Two metres."}]},
{"role":"user","content":[{"type":"text","text":"And tonight?","cache_control":{"type":"ephemeral"}}]}]"#;

fn sent(body: &str) -> Sent {
    Sent { body: body.into(), client: String::new(), usage: None, set: |_| {} }
}

fn in_session(name: &'static str, sent: Sent) -> Sent {
    let set: fn(&mut Observation<'_>) = match name {
        "one" => |one| one.session = Some("one".into()),
        _ => |one| one.session = Some("two".into()),
    };
    Sent { set, ..sent }
}

fn replaced(text: &str, piece: &str, other: &str) -> String {
    assert_eq!(text.matches(piece).count(), 1, "{piece} in {text}");
    text.replace(piece, other)
}

/// The conversation one answer and one question later.
fn grown() -> String {
    let more = r#",{"role":"assistant","content":[{"type":"text","text":"Three."}]},
{"role":"user","content":[{"type":"text","text":"Thanks. And at dawn?","cache_control":{"type":"ephemeral"}}]}]}"#;
    format!("{}{more}", ASKED.strip_suffix("]}").unwrap())
}

fn with_messages(messages: &str) -> String {
    let (head, _) = ASKED.split_once("[{\"role\"").unwrap();
    format!("{head}{messages}}}")
}

fn unmarked() -> String {
    ASKED.replace(&format!(",{HOUR}"), "").replace(&format!(",{MARK}"), "")
}

/// The request, and what it grew into with one piece replaced.
fn edit(piece: &str, other: &str) -> [Sent; 2] {
    [sent(ASKED), sent(&replaced(&grown(), piece, other))]
}

/// The same where the client did not replace it.
fn through_a_gateway(piece: &str, other: &str) -> [Sent; 2] {
    let [earlier, later] = edit(piece, other);
    [Sent { client: ASKED.into(), ..earlier }, Sent { client: grown(), ..later }]
}

/// The request, and what it grew into, of which nothing was read.
fn missed(earlier: fn(&mut Observation<'_>), later: fn(&mut Observation<'_>)) -> [Sent; 2] {
    [
        Sent { usage: Some(tokens(9, [0, 9000, 0])), set: earlier, ..sent(ASKED) },
        Sent { usage: Some(tokens(9, [0, 9500, 0])), set: later, ..sent(&grown()) },
    ]
}

/// An answer that so many results were left out in front of.
fn cleared(tool_uses: u64) -> Edits {
    let cleared = Cleared { tool_uses, thinking_turns: 0, tokens: tool_uses * 100 };
    Edits { summarised: false, cleared: Some(cleared) }
}

fn asks_to_clear(sent: Sent) -> Sent {
    let asks = r#""max_tokens":900,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"#;
    Sent { body: sent.body.replacen(r#""max_tokens":900,"#, asks, 1), ..sent }
}

fn billed(earlier: Counts, later: Counts) -> [Sent; 2] {
    [Sent { usage: Some(earlier), ..sent("") }, Sent { usage: Some(later), ..sent("") }]
}

/// Tokens neither read nor written, and those read, written for five minutes, and for an hour.
fn tokens(uncached: u64, [read, write_5m, write_1h]: [u64; 3]) -> Counts {
    let [uncached, read, write_5m, write_1h] = [uncached, read, write_5m, write_1h].map(Tokens);
    Counts { uncached, read, write_5m, write_1h, output: Tokens(5) }
}

/// All that is found in requests of which this is known; `judged` sees them in order.
fn found(all: &[Sent], judged: fn(&[Observation<'_>]) -> Vec<Finding>) -> Vec<Finding> {
    let parse = |text: &String| (!text.is_empty()).then(|| Body::parse(text.as_bytes()).unwrap());
    let bodies: Vec<_> = all.iter().map(|one| [parse(&one.body), parse(&one.client)]).collect();
    let mut prompts = Vec::new();
    for both in &bodies {
        prompts
            .push(both.each_ref().map(|body| body.as_ref().map(|body| Prompt::read(body.root()).unwrap())));
    }
    let mut observations = Vec::new();
    for (one, [prompt, client]) in all.iter().zip(&prompts) {
        let known = Observation::new(rules(Platform::Anthropic, "claude-sonnet-5"));
        let (prompt, client) = (prompt.as_ref(), client.as_ref());
        let mut observation = Observation { prompt, client, usage: one.usage, ..known };
        (one.set)(&mut observation);
        observations.push(observation);
    }
    judged(&observations)
}

fn findings(seen: &Seen) -> Vec<Finding> {
    match seen {
        Pair(made) => found(&made(), |both| {
            let verdict = judge(&both[0], &both[1]);
            verdict.breaks.into_iter().chain(verdict.faults).chain(verdict.planned).collect()
        }),
        Alone(made) => found(&[made()], |one| judge_alone(&one[0])),
        Opens(made) => found(&made(), |both| vec![opening(&both[..1], &both[1])]),
        Siblings(made) => found(&made(), |both| cold_start(&both[0], &both[1]).into_iter().collect()),
        Whole(made) => found(&[made()], |one| one[0].prompt.and_then(bloat).into_iter().collect()),
        Usage(made) => found(&made(), |both| series(both).into_iter().map(|(_, finding)| finding).collect()),
    }
}

#[test]
fn each_kind_is_recognised() {
    let mut wrong = Vec::new();
    for (seen, kind, path, party, severity) in ROWS {
        let found = findings(seen);
        let said: Vec<_> =
            found.iter().map(|one| (one.kind, one.path.as_str(), one.party, one.severity)).collect();
        if said != [(*kind, *path, *party, *severity)] {
            wrong.push(format!("expected {} at `{path}`, {party:?}, {severity:?}: {said:?}", kind.id()));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ROWS.len(), wrong.join("\n"));
}
