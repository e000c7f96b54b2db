//! How a report is written: JSON for programs, sentences for people.

use antefix_prefix::verdict::{Evidence, Finding, Kind, Party, Severity, Value};

use super::report::{Found, Report};
use crate::out::{prose, say, width};
use crate::stream_json::{Object, SCHEMA_VERSION, array, quoted};
use crate::table::wrapped;
use crate::text::grouped;

/// The report as JSON.
pub fn json(report: &Report) -> String {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).number("requests", report.requests as u64);
    let numbers = |group: &Vec<usize>| array(group.iter().map(ToString::to_string));
    object.raw("lineages", &array(report.lineages.iter().map(numbers)));
    for (name, found) in
        [("breaks", &report.breaks), ("faults", &report.faults), ("usage_findings", &report.usage)]
    {
        object.raw(name, &array(found.iter().map(one)));
    }
    object.raw("notes", &array(report.notes.iter().map(|note| quoted(note))));
    object.close()
}

fn one(found: &Found) -> String {
    let Found { between, finding, usd } = found;
    let row = finding.kind.row();
    let mut object = Object::new();
    object.raw("between", &format!("[{},{}]", between.0, between.1)).text("kind", finding.kind.id());
    if let Some(word) = usage_word(finding.kind) {
        object.text("verdict", word);
    }
    object.text("path", &finding.path).raw("offset", &or_null(finding.offset));
    object.text("party", finding.party.word()).text("severity", finding.severity.word());
    object.text("root_cause", &finding.root_cause).text("confidence", finding.confidence.word());
    object.raw("tokens_rewritten", &or_null(finding.rewritten));
    object.text("tokens", if finding.exact { "exact" } else { "estimated" });
    object.raw("usd", &usd.map_or_else(|| "null".to_owned(), |usd| quoted(&usd.usd())));
    let mut repair = Object::new();
    let text = |text: Option<&str>| text.map_or_else(|| "null".to_owned(), quoted);
    repair.raw("agent", &text(row.agent)).raw("gateway", &text(row.gateway)).boolean("safe", row.safe);
    object.raw("repair", &repair.close()).raw("evidence", &evidence(&finding.evidence));
    object.raw("server_reason", &text(finding.server_reason.as_deref()));
    object.raw("agrees", &or_null(finding.agrees));
    object.text("sentence", row.sentence);
    object.close()
}

/// The short word for what usage alone says.
const fn usage_word(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::PinnedFloor => Some("pinned_floor"),
        Kind::ProviderSuspected => Some("provider_suspected"),
        Kind::TtlExpired => Some("ttl_expired"),
        Kind::TtlDowngraded => Some("ttl_downgraded"),
        Kind::ColdFanout => Some("cold_fanout"),
        Kind::Unexplained => Some("unexplained"),
        Kind::DuplicateLines => Some("duplicate_lines"),
        Kind::Convention => Some("convention"),
        _ => None,
    }
}

fn evidence(evidence: &Evidence) -> String {
    let mut object = Object::new();
    for (name, known) in evidence.iter() {
        object.raw(name, &value(known));
    }
    object.close()
}

fn value(known: &Value) -> String {
    match known {
        Value::Text(text) => quoted(text),
        Value::Number(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::List(texts) => array(texts.iter().map(|text| quoted(text))),
        Value::Share(share) => format!("{}.{:04}", share / 10_000, share % 10_000),
        Value::Group(members) => {
            let mut object = Object::new();
            for (name, inner) in members {
                object.raw(name, &value(inner));
            }
            object.close()
        }
    }
}

fn or_null<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

/// Prints the report for people.
pub fn print(report: &Report, colour: bool) {
    let conversations = report.lineages.len();
    if conversations > 1 {
        say!("{} requests in {conversations} conversations", report.requests);
    } else {
        say!("{} request{}", report.requests, if report.requests == 1 { "" } else { "s" });
    }
    for found in report.breaks.iter().chain(&report.faults).chain(&report.usage) {
        say!();
        print_one(found, colour);
    }
    if report.breaks.is_empty() && report.faults.is_empty() && report.usage.is_empty() {
        say!();
        prose!("✓ no break: each request extends the one it goes on from, or branches off");
    }
    for note in &report.notes {
        prose!("  {note}");
    }
}

fn print_one(found: &Found, colour: bool) {
    let paint = |code: &str, text: &str| {
        if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let finding = &found.finding;
    let sign = match finding.severity {
        Severity::Fault => "✗",
        Severity::Expected => "•",
        Severity::Info => "i",
    };
    // Files count from 0, people from 1, as `bill` and the transcripts do.
    let (from, to) = (found.between.0 + 1, found.between.1 + 1);
    let place = if from == to { format!("request {to}") } else { format!("request {from} → {to}") };
    for line in wrapped(&format!("{sign} {place}: {}", finding.kind.row().sentence), room()) {
        say!("{}", paint("1", &line));
    }
    if let Some(line) = overruled(finding) {
        prose!("  {line}");
    }
    if !finding.path.is_empty() {
        let offset =
            finding.offset.map_or_else(String::new, |offset| format!(" at byte {offset} of that text"));
        prose!("  where: {}{offset} (counted from 0)", finding.path);
    }
    if let Some(text) = &finding.earlier {
        for line in wrapped(&format!("  before: {}", text.replace('\n', "⏎")), room()) {
            say!("{}", paint("31", &line));
        }
    }
    if let Some(text) = &finding.later {
        for line in wrapped(&format!("  now:    {}", text.replace('\n', "⏎")), room()) {
            say!("{}", paint("32", &line));
        }
    }
    if let Some(Value::Text(source)) = finding.evidence.get("source") {
        prose!("  what differs there: {source}");
    }
    say!("  caused by: {} ({})", cause(finding.party), finding.confidence.word());
    say!("  kind: {}", finding.kind.id());
    print_cost(found);
    let row = finding.kind.row();
    let repair =
        if finding.party == Party::Gateway { row.gateway.or(row.agent) } else { row.agent.or(row.gateway) };
    match repair.filter(|_| finding.severity == Severity::Fault) {
        Some(repair) if finding.party == Party::Gateway => prose!("  repair: {repair}"),
        Some(repair) => prose!("  repair: {}", plain(finding.kind).unwrap_or(repair)),
        None if finding.kind == Kind::PinnedFloor => prose!("  {FROM_USAGE_ALONE}"),
        None => {}
    }
    if let Some(reason) = &finding.server_reason {
        let agrees = match finding.agrees {
            Some(true) => ", which says the same",
            Some(false) => ", which DISAGREES with this",
            None => "",
        };
        prose!("  the server says: {reason}{agrees}");
    }
}

/// How long a line may be.
fn room() -> usize {
    width().unwrap_or(usize::MAX)
}

/// Who moved the prompt, for people.
const fn cause(party: Party) -> &'static str {
    match party {
        Party::Agent => "the agent program, or what is plugged into it",
        Party::Gateway => "something between the agent and the provider",
        Party::Provider => "the provider",
        Party::User => "a choice of the user",
        Party::Time => "time",
        Party::Unknown => "not known",
    }
}

/// A repair in words that need no knowledge of caches, where the table says it in a word of the trade.
const fn plain(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::ToolsReordered => {
            "fix the order at the first request (by name, say), never sort again, and put new tools at the end"
        }
        Kind::ToolsDescription => "keep the description fixed and say what changes in the newest message",
        Kind::SystemNonce => {
            "switch the line that holds it off (an attribution line, for example), or send it without that text"
        }
        Kind::SystemClock => "put the clock behind the last cache marker",
        Kind::SystemEnv => {
            "take it once, keep it with the session and send the same text each time; newer state belongs in the newest message"
        }
        Kind::SystemIdentity => "if they are meant to be one agent, open with the same sentence everywhere",
        Kind::InsertedMid => "put the new message behind the last one",
        Kind::ToolResultCleared => {
            "clear all in one go, and only when the cache has expired or the conversation is summarised anyway"
        }
        Kind::KeyRotated => {
            "send the same prompt cache key for the whole conversation (it is not the API key)"
        }
        Kind::Lookback => {
            "set a second cache marker, in front of the last one by no more blocks than the cache looks back"
        }
        _ => return None,
    })
}

fn overruled(finding: &Finding) -> Option<String> {
    let ttl = finding.root_cause.strip_prefix("ttl_expired_").filter(|_| finding.kind != Kind::TtlExpired)?;
    Some(format!("It broke nothing: the cache had expired ({ttl}) before, so all had to be written anyway."))
}

fn print_cost(found: &Found) {
    let Some(tokens) = found.finding.rewritten else {
        return;
    };
    let count = if found.finding.exact { "" } else { "about " };
    let cost = found.usd.map_or_else(
        || "no price: what was billed, or the price of the model, is not known".to_owned(),
        |usd| format!("{usd:.4} more than reading them from the cache"),
    );
    prose!("  cost: {count}{} input tokens paid for again ({cost})", grouped(tokens.0));
}

/// What is said where a repair cannot be named.
const FROM_USAGE_ALONE: &str =
    "usage alone does not say more: explain the request bodies to see what changes behind that point";
