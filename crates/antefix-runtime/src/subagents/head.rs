//! The head of a subagent: what all subagents share stands in front, its own part behind.

use antefix_models::{Platform, Rules};
use antefix_session::closure::text_block;
use antefix_session::dialect::Dialect;
use antefix_session::placement::Placement;
use antefix_session::record::LaneRecord;
use antefix_wire::json::{Body, write_string};
use bytes::Bytes;

use super::SubagentSpec;
use crate::agents::AgentFile;
use crate::context::Baseline;
use crate::driver::Parent;
use crate::head::{HeadSpec, Thinking, betas_of};

/// Opens no lane, but says what one for a subagent is.
///
/// The tools and the static prompt are those of the agent it works for, byte for byte, so that what that agent has
/// written into the cache is read; what an agent may not use is refused when it is called. Behind them stand the
/// baseline of a session that begins now, and the agent's own prompt.
pub(super) fn lane(
    spec: &SubagentSpec,
    parent: &Parent,
    agent: Option<&AgentFile>,
    baseline: Baseline,
) -> (LaneRecord, Rules) {
    let own =
        agent.and_then(|agent| agent.model.as_deref()).and_then(|model| other_model(spec, parent, model));
    let head = match &own {
        Some((model, rules)) => HeadSpec {
            model: model.clone(),
            max_tokens: spec.head.max_tokens.map(|most| most.min(rules.max_output.0)),
            // What one model takes of these another may refuse.
            thinking: Thinking::Default,
            effort: None,
            betas: betas_of(spec.head.dialect, rules),
            reminders: Placement::of_model(spec.head.dialect, rules),
            baseline,
            ..spec.head.clone()
        },
        None => HeadSpec { baseline, ..spec.head.clone() },
    };
    let fresh = head.render(parent.executor.registry());
    let (system, static_blocks) = system(&parent.lane, &fresh, &part(agent), head.chat.system_role);
    match own {
        Some((_, rules)) => {
            let (tools, contract) = (parent.lane.tools.clone(), parent.lane.contract);
            (LaneRecord { tools, contract, system, static_blocks, ..fresh }, rules)
        }
        None => {
            let rules = (spec.rules)(&parent.lane.model);
            let baseline = fresh.baseline;
            (LaneRecord { system, static_blocks, baseline, ..parent.lane.clone() }, rules)
        }
    }
}

/// Names a head: requests with one name share all of it.
pub(super) fn digest(lane: &LaneRecord) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in [lane.scope.as_bytes(), &lane.envelope, &lane.tools, &lane.system] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// The model that an agent's file means, where it is known at the provider and not the session's.
fn other_model(spec: &SubagentSpec, parent: &Parent, named: &str) -> Option<(String, Rules)> {
    let is_own = parent.lane.platform == Platform::Anthropic;
    let alias = SHORT.iter().find(|(short, _)| is_own && named.eq_ignore_ascii_case(short));
    let model = alias.map_or(named, |(_, model)| *model);
    let rules = (spec.rules)(model);
    // A name that means nothing here would make every request of the agent fail.
    (model != parent.lane.model && rules.known).then(|| (model.to_owned(), rules))
}

/// What stands behind the baseline.
fn part(agent: Option<&AgentFile>) -> String {
    match agent {
        Some(agent) if !agent.prompt.is_empty() => format!("{PART}\n\n{}", agent.prompt),
        _ => PART.to_owned(),
    }
}

/// The system prompt: of the static part the bytes of `parent`, of the baseline those of `fresh`, then the part of one's
/// own; and how many blocks siblings share.
fn system(parent: &LaneRecord, fresh: &LaneRecord, part: &str, role: &str) -> (Bytes, u64) {
    match fresh.dialect {
        Dialect::Anthropic => {
            let shared = items(&parent.system).into_iter().take(count(parent.static_blocks));
            let baseline = items(&fresh.system).into_iter().skip(count(fresh.static_blocks));
            let mut blocks: Vec<Vec<u8>> = shared.chain(baseline).collect();
            blocks.push(text_block(part).to_vec());
            (array(&blocks), blocks.len() as u64)
        }
        // Strict templates take one message of the system, and its text shares as far as it is equal.
        Dialect::OpenAiChat => {
            let said = Body::parse(fresh.system.to_vec())
                .ok()
                .and_then(|body| Some(body.root().items().next()?.get("content")?.str()?.into_owned()));
            let texts: Vec<&str> = said.iter().map(String::as_str).chain([part]).collect();
            let mut message = b"{\"role\":".to_vec();
            write_string(&mut message, role);
            message.extend_from_slice(b",\"content\":");
            write_string(&mut message, &texts.join("\n\n"));
            message.push(b'}');
            (array(&[message]), 0)
        }
    }
}

fn items(system: &Bytes) -> Vec<Vec<u8>> {
    let body = Body::parse(system.to_vec());
    body.map(|body| body.root().items().map(|item| item.raw().as_bytes().to_vec()).collect())
        .unwrap_or_default()
}

fn array(items: &[Vec<u8>]) -> Bytes {
    [&b"["[..], &items.join(&b","[..]), b"]"].concat().into()
}

fn count(blocks: u64) -> usize {
    usize::try_from(blocks).unwrap_or(usize::MAX)
}

/// Short names that agents' files use for models of Anthropic, and the newest of each kind (November 2026).
const SHORT: [(&str, &str); 3] =
    [("sonnet", "claude-sonnet-5-5"), ("opus", "claude-opus-5-5"), ("haiku", "claude-haiku-5-5")];

/// What every subagent is told of its part.
pub(crate) const PART: &str = "\
# Your part
You are a subagent: another agent has handed you one piece of work, which the first message describes. You know nothing \
else of its conversation, and nobody answers questions. Do the work with your tools; a tool that you may not use says so. \
When you are done, your last message is all that the other agent gets: make it a report of what you found or changed, with \
files and lines, of what you checked, and of what is left.";

#[cfg(test)]
mod tests {
    use super::*;

    fn record(dialect: Dialect, system: &str, static_blocks: u64) -> LaneRecord {
        LaneRecord {
            dialect,
            platform: Platform::Anthropic,
            model: "m".to_owned(),
            scope: String::new(),
            betas: Vec::new(),
            envelope: Bytes::from_static(b"{}"),
            tools: Bytes::from_static(b"[]"),
            system: Bytes::copy_from_slice(system.as_bytes()),
            static_blocks,
            cache: None,
            contract: 3,
            keeps_reasoning: false,
            reminders: Placement::of_dialect(dialect),
            baseline: Vec::new(),
        }
    }

    #[test]
    fn the_shared_part_keeps_its_bytes() {
        use Dialect::{Anthropic, OpenAiChat};
        let chat = |text: &str| format!(r#"[{{"role":"system","content":"{text}"}}]"#);
        for (dialect, parent, shared, fresh, expect, blocks) in [
            (
                Anthropic,
                r#"["old","base"]"#,
                1,
                r#"["new","now"]"#,
                r#"["old","now",{"type":"text","text":"part"}]"#,
                3,
            ),
            (Anthropic, r#"["base"]"#, 0, r#"["now"]"#, r#"["now",{"type":"text","text":"part"}]"#, 2),
            (OpenAiChat, &chat("old"), 0, &chat("new é\\n"), &chat("new é\\n\\n\\npart"), 0),
            (OpenAiChat, "[]", 0, "[]", &chat("part"), 0),
        ] {
            let (parent, fresh) = (record(dialect, parent, shared), record(dialect, fresh, shared));
            let (system, count) = system(&parent, &fresh, "part", "system");
            assert_eq!((std::str::from_utf8(&system).unwrap(), count), (expect, blocks));
        }
    }

    #[test]
    fn a_head_is_named_by_all_of_it() {
        let one = record(Dialect::Anthropic, "[1]", 0);
        let others = [
            LaneRecord { scope: "s".to_owned(), ..one.clone() },
            LaneRecord { envelope: Bytes::from_static(b"{\"a\":1}"), ..one.clone() },
            LaneRecord { tools: Bytes::from_static(b"[1]"), ..one.clone() },
            LaneRecord { system: Bytes::from_static(b"[2]"), ..one.clone() },
        ];
        assert_eq!(digest(&one), digest(&one.clone()));
        assert!(others.iter().all(|other| digest(other) != digest(&one)));
    }
}
