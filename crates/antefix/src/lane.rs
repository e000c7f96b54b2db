//! The lane of a session that goes on with another model, or with other parameters.

use antefix_models::Rules;
use antefix_runtime::head::{Thinking, betas_of};
use antefix_session::conversation::Conversation;
use antefix_session::dialect::Dialect;
use antefix_session::placement::Placement;
use antefix_session::record::{ContextRecord, LaneRecord, TOOL_CHANGES_BETA};
use antefix_wire::json::Body;
use bytes::Bytes;

use crate::cli::AgentArgs;
use crate::stream_json::quoted;

/// The lane as it was asked to be, if that is not what it is: its model, how hard it tries, how it thinks. All else stays
/// as it was frozen, tools and system prompt included, so that what the provider lets be read is read.
pub fn altered(conversation: &Conversation, args: &AgentArgs, rules: &Rules) -> Option<LaneRecord> {
    let lane = conversation.lane()?.spec();
    let model = args.model.clone().unwrap_or_else(|| lane.model.clone());
    let envelope = Body::parse(lane.envelope.to_vec()).ok()?;
    let mut asked = asked(lane.dialect, args);
    if model != lane.model {
        asked.push(("model", quoted(&model)));
        let limit = envelope.root().get("max_tokens").and_then(|limit| limit.u64());
        if let (Dialect::Anthropic, true) = (lane.dialect, limit > Some(rules.max_output.0)) {
            asked.push(("max_tokens", rules.max_output.0.to_string()));
        }
    }
    let is_so = |(name, value): &(&str, String)| {
        envelope.root().get(name).is_some_and(|found| found.raw() == value.as_str())
    };
    if asked.iter().all(is_so) {
        return None;
    }
    let envelope = with_members(&envelope, &asked).into();
    let is_other = model != lane.model;
    let betas = if is_other {
        let kept = lane.betas.iter().filter(|beta| *beta != TOOL_CHANGES_BETA).cloned();
        kept.chain(betas_of(lane.dialect, rules)).collect()
    } else {
        lane.betas.clone()
    };
    let reminders = if is_other { Placement::of_model(lane.dialect, rules) } else { lane.reminders };
    // The head is older than what was told since: of the surroundings, the model knows what it was told last.
    let known = |context: &ContextRecord| {
        let state = conversation.known(&context.kind, &context.key).cloned();
        ContextRecord { state: state.unwrap_or(Bytes::from_static(b"null")), ..context.clone() }
    };
    let baseline = lane.baseline.iter().map(known).collect();
    Some(LaneRecord { model, envelope, betas, reminders, baseline, ..lane.clone() })
}

/// Members of the body that were asked for, as they are written.
fn asked(dialect: Dialect, args: &AgentArgs) -> Vec<(&'static str, String)> {
    let effort = args.effort.as_deref().map(|effort| match dialect {
        Dialect::Anthropic => ("output_config", format!("{{\"effort\":{}}}", quoted(effort))),
        Dialect::OpenAiChat => ("reasoning_effort", quoted(effort)),
    });
    let thinking = match args.thinking {
        Thinking::Default => None,
        Thinking::Off => Some(r#"{"type":"disabled"}"#.to_owned()),
        Thinking::Adaptive => Some(r#"{"type":"adaptive"}"#.to_owned()),
        Thinking::Budget(budget) => Some(format!(r#"{{"type":"enabled","budget_tokens":{budget}}}"#)),
    };
    effort.into_iter().chain(thinking.map(|thinking| ("thinking", thinking))).collect()
}

/// The object with these members in the place of its own of the same names, or behind them.
fn with_members(object: &Body, members: &[(&str, String)]) -> Vec<u8> {
    let of = |name: &str| members.iter().find(|(own, _)| *own == name);
    let own = object.root().members().map(|(key, value)| {
        let name = key.str().unwrap_or_default();
        let raw = of(&name).map_or_else(|| value.raw().to_owned(), |(_, value)| value.clone());
        format!("{}:{raw}", key.raw())
    });
    let new = members.iter().filter(|(name, _)| object.root().get(name).is_none());
    let new = new.map(|(name, value)| format!("{}:{value}", quoted(name)));
    let all: Vec<String> = own.chain(new).collect();
    format!("{{{}}}", all.join(",")).into_bytes()
}
