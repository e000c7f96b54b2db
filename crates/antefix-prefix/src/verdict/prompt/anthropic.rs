//! The items of a Messages request.

use std::borrow::Cow;

use antefix_wire::anthropic::{self, BlockKind, Role};
use antefix_wire::json::Node;

use super::{Dialect, Item, Path, Prompt, Turn};
use crate::position::{PositionKind, Section};

pub(super) fn read<'a>(request: &anthropic::Request<'a>) -> Prompt<'a> {
    let tool = |(index, tool): (usize, &anthropic::Tool<'a>)| Item {
        section: Section::Tools,
        path: Path::of("/tools", index),
        node: tool.node,
        kind: PositionKind::Tool,
        role: Role::System,
        marker: tool.cache_control.map(|marker| marker.ttl),
        name: tool.name.clone(),
    };
    let (deferred, tools): (Vec<_>, Vec<_>) =
        request.tools.iter().enumerate().partition(|(_, tool)| tool.defer_loading);
    let whole = Path { list: "/system", index: None, inner: "", part: None };
    let system = request.system.iter().enumerate().map(|(index, block)| {
        let path = if block.from_string { whole } else { Path::of("/system", index) };
        block_item(block, Section::System, path, Role::System)
    });
    let turn = |(index, message): (usize, &anthropic::Message<'a>)| {
        let path = Path::of("/messages", index);
        let items = message.content.iter().enumerate().map(|(at, block)| {
            let part = (!block.from_string).then_some(at);
            block_item(block, Section::Messages, path.at("/content", part), message.role)
        });
        Turn {
            node: message.node,
            header: Some(message.node),
            role: message.role,
            path,
            items: items.collect(),
        }
    };
    Prompt {
        dialect: Dialect::Anthropic,
        root: request.node,
        model: request.model.clone().unwrap_or_default(),
        tools: tools.into_iter().map(tool).collect(),
        deferred: deferred.into_iter().map(tool).collect(),
        system: system.collect(),
        turns: request.messages.iter().enumerate().map(turn).collect(),
        automatic: request.cache_control.map(|marker| marker.ttl),
    }
}

fn block_item<'a>(block: &anthropic::Block<'a>, section: Section, path: Path, role: Role) -> Item<'a> {
    let inner = || block.node.get("content").into_iter().flat_map(Node::items);
    let ttl = |one: Node<'a>| anthropic::CacheControl::of(one).map(|marker| marker.ttl);
    let nested = || (block.kind == BlockKind::ToolResult).then(|| inner().find_map(ttl)).flatten();
    Item {
        section,
        path,
        node: block.node,
        kind: PositionKind::Block(block.kind),
        role,
        marker: block.cache_control.map(|marker| marker.ttl).or_else(nested),
        name: Cow::Borrowed(""),
    }
}
