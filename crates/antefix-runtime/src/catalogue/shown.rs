//! The tools that a lane's array shows.

use antefix_session::dialect::Dialect;
use antefix_session::record::LaneRecord;
use antefix_tools::{Definition, Listing};
use antefix_wire::json::{Body, Node};

/// One tool of the array.
pub(super) struct Shown {
    pub(super) definition: Definition,
    pub(super) listing: Listing,
}

/// The tools in order; what is no tool of ours is left out.
pub(super) fn tools_of(lane: &LaneRecord) -> Vec<Shown> {
    let Ok(body) = Body::parse(lane.tools.to_vec()) else { return Vec::new() };
    body.root().items().filter_map(|tool| shown(tool, lane.dialect)).collect()
}

fn shown(tool: Node<'_>, dialect: Dialect) -> Option<Shown> {
    let (tool, schema) = match dialect {
        Dialect::Anthropic => (tool, "input_schema"),
        Dialect::OpenAiChat => (tool.get("function")?, "parameters"),
    };
    let text = |name: &str| tool.get(name).and_then(Node::str);
    let (name, description) = (text("name")?, text("description").unwrap_or_default());
    let is_deferred = tool.get("defer_loading").and_then(Node::bool) == Some(true);
    let definition = Definition::new(&name, &description, tool.get(schema).map_or("{}", Node::raw)).ok()?;
    Some(Shown { definition, listing: if is_deferred { Listing::Deferred } else { Listing::Open } })
}
