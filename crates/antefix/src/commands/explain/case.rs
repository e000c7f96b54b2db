//! Case files: requests, usages and times of one situation, as far as they are known.

use antefix_ledger::{Convention, Entry, Row};
use antefix_models::{Collapse, Platform, Ttl};
use antefix_prefix::verdict::Millis;
use antefix_wire::json::{Body, Node};

use super::source::{Known, Source, usage};
use crate::failure::Failure;

/// Whether a file has the shape of a case.
pub fn is_case(root: Node<'_>) -> bool {
    let input = root.get("input");
    root.get("level").is_some() && input.is_some_and(|input| input.members().next().is_some())
}

/// Reads a case's input.
///
/// # Errors
/// If its level is one that is not explained here, or it holds nothing to explain.
pub fn read(root: Node<'_>) -> Result<Source, Failure> {
    let level = text(root.get("level")).unwrap_or_default();
    if level == "appcache" {
        return Err(Failure::usage(
            "this case is about an application's own cache, which is not explained yet",
        ));
    }
    let Some(input) = root.get("input") else {
        return Err(Failure::usage("the case has no `input`"));
    };
    let mut source = Source { requests: requests(input)?, ..Source::default() };
    source.lines = list(input, "transcript_lines").filter_map(line).collect();
    source.rows = list(input, "rows").filter_map(row).collect();
    if source.requests.is_empty() && source.lines.is_empty() && source.rows.is_empty() {
        return Err(Failure::usage("the case has neither requests nor usages, lines or rows"));
    }
    Ok(source)
}

fn requests(input: Node<'_>) -> Result<Vec<Known>, Failure> {
    let count = ["requests", "usages", "client_requests"].iter().map(|key| list(input, key).count()).max();
    (0..count.unwrap_or(0)).map(|index| known(input, index)).collect()
}

fn known(input: Node<'_>, index: usize) -> Result<Known, Failure> {
    let platform = text(input.get("platform"));
    let platform = match platform.as_deref() {
        None | Some("claude-api") => Platform::Anthropic,
        Some(name) => Platform::from_name(name).unwrap_or(Platform::Compatible),
    };
    let mut known = Known::new(part(input, "requests", index)?, platform);
    known.client = part(input, "client_requests", index)?;
    known.usage = usage(at(input, "usages", index));
    known.implicit =
        at(input, "usages", index).is_some_and(|usage| Convention::detect(usage) != Convention::Exclusive);
    known.started_at = ["timestamps", "started_at"].iter().find_map(|key| moment(at(input, key, index)));
    let first_bytes = ["first_byte_at", "first_bytes", "first_byte_timestamps"];
    known.first_byte_at = first_bytes.iter().find_map(|key| moment(at(input, key, index)));
    known.ttl =
        text(input.get("ttl")).or_else(|| text(at(input, "ttls", index))).and_then(|ttl| match &*ttl {
            "5m" => Some(Ttl::FiveMinutes),
            "1h" => Some(Ttl::OneHour),
            _ => None,
        });
    if let Some(blocks) = input.get("lookback_blocks").and_then(Node::u64) {
        known.rules.lookback.positions = u32::try_from(blocks).unwrap_or(u32::MAX);
    }
    if let Some(collapse) = input.get("collapse_tool_runs").and_then(Node::bool) {
        known.rules.lookback.collapse_runs = if collapse { Collapse::Yes } else { Collapse::No };
    }
    hints(&mut known, input, index);
    Ok(known)
}

fn hints(known: &mut Known, input: Node<'_>, index: usize) {
    let hint = |keys: &[&str]| keys.iter().find_map(|key| at(input, key, index)).and_then(word);
    let hints = &mut known.hints;
    hints.process = hint(&["process_ids"]);
    hints.session = hint(&["session_ids", "sessions"]);
    hints.agent = hint(&["agent_ids", "agents"]);
    hints.account = hint(&["accounts", "account_ids", "api_keys"]);
    hints.provider = hint(&["providers", "upstreams"]);
    hints.region = hint(&["regions"]);
    hints.betas = hint(&["betas"]).or_else(|| header(input, "headers", index));
    hints.client_betas = hint(&["client_betas"]).or_else(|| header(input, "client_headers", index));
    hints.prefix = hint(&["prefix_hashes"]);
    hints.server_reason = at(input, "diagnostics", index).and_then(server_reason);
}

/// The beta features named in the headers of a request.
fn header(input: Node<'_>, key: &str, index: usize) -> Option<String> {
    text(at(input, key, index)?.get("anthropic-beta"))
}

/// The reason a server gives, of either vendor's shape.
fn server_reason(node: Node<'_>) -> Option<String> {
    let reason = node.get("cache_miss_reason");
    text(reason.and_then(|reason| reason.get("type")).or_else(|| node.get("reason")))
}

/// One line of a transcript; `None` if it reports no usage, or none of a model.
fn line(node: Node<'_>) -> Option<Entry> {
    let message = node.get("message")?;
    let is_synthetic = message.get("model").is_some_and(|model| model.is_str("<synthetic>"));
    let row = usage(message.get("usage")).filter(|_| !is_synthetic)?;
    Some(Entry { message: text(message.get("id")), request: text(node.get("requestId")), row })
}

fn row(node: Node<'_>) -> Option<Row> {
    let usage = node.get("usage").or_else(|| node.get("attributes"))?;
    let named = text(node.get("dialect")).and_then(|name| Convention::named(&name));
    Some(Row::read(usage, named.unwrap_or_else(|| Convention::detect(usage))))
}

fn part(input: Node<'_>, key: &str, index: usize) -> Result<Option<Body>, Failure> {
    let found = at(input, key, index).filter(|node| !node.is_null());
    found.map(|node| Body::parse(node.raw().as_bytes()).map_err(Failure::usage)).transpose()
}

fn list<'a>(input: Node<'a>, key: &str) -> impl Iterator<Item = Node<'a>> {
    input.get(key).into_iter().flat_map(Node::items)
}

fn at<'a>(input: Node<'a>, key: &str, index: usize) -> Option<Node<'a>> {
    input.get(key)?.items().nth(index)
}

fn text(node: Option<Node<'_>>) -> Option<String> {
    node.and_then(Node::str).map(|text| text.into_owned())
}

/// A text, or anything else as it is written.
fn word(node: Node<'_>) -> Option<String> {
    (!node.is_null()).then(|| node.str().map_or_else(|| node.raw().to_owned(), |text| text.into_owned()))
}

/// A moment: milliseconds, or a timestamp of RFC 3339.
fn moment(node: Option<Node<'_>>) -> Option<Millis> {
    let node = node?;
    if let Some(at) = node.u64() {
        return i64::try_from(at).ok().map(Millis);
    }
    let at: jiff::Timestamp = node.str()?.parse().ok()?;
    Some(Millis(at.as_millisecond()))
}
