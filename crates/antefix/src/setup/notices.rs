//! What the user should be told before a session begins or goes on.

use antefix_models::{Platform, PriceBook, Rules, Tokens};
use antefix_runtime::clock;
use antefix_runtime::transcript::OpenSession;
use antefix_session::dialect::Dialect;
use antefix_session::machine::Session;
use antefix_session::record::LaneRecord;
use antefix_session::spend::prices;

use crate::cli::{AgentArgs, Switch, TtlArg};
use crate::endpoint::Endpoint;
use crate::settings::Settings as Holding;
use crate::text::grouped;

/// What a crash has left behind in a session's folder.
pub fn after_crash(opened: &OpenSession) -> Vec<String> {
    let cut = opened
        .cut
        .as_ref()
        .map(|cut| format!("{} bytes that a crash had left unfinished were cut off", cut.bytes));
    cut.into_iter().chain(opened.index_lost.then(|| INDEX_LOST.to_owned())).collect()
}

/// The session leaves the cache that it had.
pub fn goes_elsewhere(spec: &LaneRecord, scope: &str) -> Option<String> {
    let text = "this session's requests went to another address before; the cache there is not shared";
    (spec.scope != scope).then(|| text.to_owned())
}

/// What was asked for and holds for a new session only: the head of this one is fixed.
pub fn without_effect(args: &AgentArgs, lane: &LaneRecord) -> Option<String> {
    let flags = [
        (args.system_prompt.is_some(), "--system-prompt"),
        (args.append_system_prompt.is_some(), "--append-system-prompt"),
        (args.context_management.is_some(), "--context-management"),
        (args.max_output.is_some(), "--max-output"),
        (args.cache != Switch::On, "--cache"),
        (args.ttl != TtlArg::FiveMinutes, "--ttl"),
        (args.defer_tools.is_some(), "--defer-tools"),
        (!args.load_tool.is_empty() && !lane.takes_tool_changes(), "--load-tool"),
    ];
    let named: Vec<&str> = flags.iter().filter(|(is_asked, _)| *is_asked).map(|(_, flag)| *flag).collect();
    (!named.is_empty()).then(|| {
        format!(
            "{} only holds for a new session, and was left aside: this one keeps its head",
            named.join(", ")
        )
    })
}

/// What the folder's own files say and what does not hold.
pub fn not_holding(holding: &Holding) -> Option<String> {
    let keys: Vec<&str> = holding.ignored.iter().map(|value| value.key).collect();
    let first = keys.first()?;
    let others = if keys.len() > 1 { format!(" and {} more", keys.len() - 1) } else { String::new() };
    Some(format!("this folder is {}: `{first}`{others} in its settings does not hold", holding.trust.text()))
}

/// The model is not in the table.
pub fn unknown_model(rules: &Rules) -> Option<String> {
    (!rules.known).then(|| {
        format!("`{}` is not in the model table: cautious rules apply, and no price is known", rules.id)
    })
}

/// A model of Chat Completions without a price; one of the Messages API is told of as not known.
pub fn unpriced(endpoint: &Endpoint, model: &str, book: &PriceBook) -> Option<String> {
    let preset = endpoint.preset.as_ref().filter(|_| endpoint.dialect == Dialect::OpenAiChat)?;
    let is_priced = preset.platform == Platform::OpenRouter
        || prices(book, preset.platform, model, clock::now(), Tokens::ZERO).is_some();
    (!is_priced).then(|| format!("no price of `{model}` is known: its requests are unpriced, not free"))
}

/// The share of the context window at which the session goes on from a summary is too small.
pub fn raised_share(session: &Session) -> Option<String> {
    let (share, kept_to) = session.raised_share()?;
    Some(format!(
        "{} tokens are too small a share of the context window to hold the head and a summary: the session goes on from a summary at {} tokens",
        grouped(share.0),
        grouped(kept_to.0)
    ))
}

/// What is said when a session's index is gone; the next durable record writes a new one.
const INDEX_LOST: &str =
    "the session's index was lost: nobody can say whether records were missing at the end";

/// What is said when recorded steps stand in the place of answers.
pub const REPLAYED: &str = "recorded steps stand in the place of what the model answers";
