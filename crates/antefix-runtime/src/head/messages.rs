//! A head of the Messages API.

use std::borrow::Cow;

use antefix_session::closure::text_block;
use antefix_session::record::LaneRecord;
use antefix_tools::{Listing, Registry};
use antefix_wire::json::{Body, write_string};
use bytes::Bytes;

use super::{HeadSpec, Thinking, array};

/// The members in front of the tools.
pub(super) fn envelope(spec: &HeadSpec) -> Bytes {
    let mut out = b"{\"model\":".to_vec();
    write_string(&mut out, &spec.model);
    if let Some(limit) = spec.max_tokens {
        out.extend_from_slice(format!(",\"max_tokens\":{limit}").as_bytes());
    }
    out.extend_from_slice(b",\"stream\":true");
    match spec.thinking {
        Thinking::Default => {}
        Thinking::Off => out.extend_from_slice(br#","thinking":{"type":"disabled"}"#),
        Thinking::Adaptive => out.extend_from_slice(br#","thinking":{"type":"adaptive"}"#),
        Thinking::Budget(budget) => {
            out.extend_from_slice(
                format!(r#","thinking":{{"type":"enabled","budget_tokens":{budget}}}"#).as_bytes(),
            );
        }
    }
    if let Some(effort) = &spec.effort {
        out.extend_from_slice(br#","output_config":{"effort":"#);
        write_string(&mut out, effort);
        out.push(b'}');
    }
    if let Some(json) = &spec.context_management {
        out.extend_from_slice(b",\"context_management\":");
        out.extend_from_slice(json.as_bytes());
    }
    out.push(b'}');
    out.into()
}

/// The tools' definitions as they are; deferred ones say so in a last member.
pub(super) fn tools(registry: &Registry) -> Bytes {
    let listed = registry.listed().filter_map(|(definition, listing)| match listing {
        Listing::Open => Some(Cow::Borrowed(definition.json())),
        Listing::Deferred => {
            let open = definition.json().strip_suffix('}')?;
            Some(Cow::Owned(format!(r#"{open},"defer_loading":true}}"#)))
        }
        Listing::Hidden => None,
    });
    let listed: Vec<Cow<'_, str>> = listed.collect();
    array(listed.iter().map(|definition| definition.as_bytes()))
}

/// The system prompt, a block for each text, so that a marker can stand between what is shared and what is not.
pub(super) fn system(texts: &[String]) -> Bytes {
    let blocks: Vec<Bytes> = texts.iter().map(|text| text_block(text)).collect();
    array(blocks.iter().map(AsRef::as_ref))
}

/// The system blocks of a lane with another baseline behind those that are shared.
pub(super) fn with_baseline(lane: &LaneRecord, baseline: &str) -> Option<Bytes> {
    let old = Body::parse(lane.system.to_vec()).ok()?;
    let shared = old.root().items().take(lane.static_blocks as usize);
    let mut blocks: Vec<Bytes> = shared.map(|block| Bytes::copy_from_slice(block.raw().as_bytes())).collect();
    blocks.push(text_block(baseline));
    Some(array(blocks.iter().map(AsRef::as_ref)))
}
