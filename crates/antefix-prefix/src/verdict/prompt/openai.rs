//! The items of a Chat Completions or Responses request.

use std::borrow::Cow;

use antefix_wire::anthropic::{self, BlockKind, Role};
use antefix_wire::json::Node;
use antefix_wire::openai;

use super::{Dialect, Item, Path, Prompt, Turn};
use crate::position::{PositionKind, Section};
use crate::spelling::MARKER;

pub(super) fn read<'a>(request: &openai::Request<'a>) -> Prompt<'a> {
    let (dialect, list) = match request.api {
        openai::Api::Chat => (Dialect::OpenAiChat, "/messages"),
        openai::Api::Responses => (Dialect::OpenAiResponses, "/input"),
    };
    let listed =
        request.tools.iter().enumerate().map(|(index, tool)| (Path::of("/tools", index), tool.clone()));
    let instructions = request.instructions.map(|node| Item {
        section: Section::System,
        path: Path { list: "/instructions", index: None, inner: "", part: None },
        node,
        kind: PositionKind::Block(BlockKind::Text),
        role: Role::System,
        marker: None,
        name: Cow::Borrowed(""),
    });
    // What developers say before anyone else speaks is the system prompt.
    let leading = request.entries.iter().take_while(|entry| entry.role == Role::System).count();
    let turns = request.entries.iter().enumerate().map(|(index, entry)| {
        let path = Path::of(list, index);
        let section = if index < leading { Section::System } else { Section::Messages };
        let items = entry.parts.iter().map(|part| part_item(part, section, path, entry.role)).collect();
        Turn { node: entry.node, header: None, role: entry.role, path, items }
    });
    let mut turns: Vec<_> = turns.collect();
    let (catalogues, head): (Vec<_>, Vec<_>) = turns
        .drain(..leading)
        .partition(|turn| turn.node.get("type").is_some_and(|name| name.is_str(CATALOGUE)));
    let (deferred, tools): (Vec<_>, Vec<_>) =
        listed.chain(catalogues.iter().flat_map(catalogue)).partition(|(_, tool)| tool.defer_loading);
    let head = head.into_iter().flat_map(|turn| turn.items);
    let system = instructions.into_iter().chain(head).collect();
    Prompt {
        dialect,
        root: request.node,
        model: request.model.clone().unwrap_or_default(),
        tools: tools.into_iter().map(tool_item).collect(),
        deferred: deferred.into_iter().map(tool_item).collect(),
        system,
        turns,
        automatic: None,
    }
}

/// The tools of an item that brings some, each with where it stands.
fn catalogue<'a>(turn: &Turn<'a>) -> impl Iterator<Item = (Path, openai::Tool<'a>)> + use<'a> {
    let path = turn.path;
    let tools = turn.node.get("tools").into_iter().flat_map(Node::items).enumerate();
    tools.map(move |(index, node)| (path.at("/tools", Some(index)), openai::Tool::read(node)))
}

fn tool_item((path, tool): (Path, openai::Tool<'_>)) -> Item<'_> {
    Item {
        section: Section::Tools,
        path,
        node: tool.node,
        kind: PositionKind::Tool,
        role: Role::System,
        marker: None,
        name: tool.name,
    }
}

fn part_item<'a>(part: &openai::Part<'a>, section: Section, entry: Path, role: Role) -> Item<'a> {
    let path = match part.slot {
        openai::Slot::Whole => entry,
        openai::Slot::Text => entry.at("/content", None),
        openai::Slot::Content(index) => entry.at("/content", Some(index)),
        openai::Slot::ToolCall(index) => entry.at("/tool_calls", Some(index)),
        openai::Slot::Member(pointer) => entry.at(pointer, None),
    };
    Item {
        section,
        path,
        node: part.node,
        kind: PositionKind::Block(part.kind),
        role,
        marker: part.node.get(MARKER).and_then(|_| anthropic::CacheControl::of(part.node)).map(|one| one.ttl),
        name: Cow::Borrowed(""),
    }
}

/// The type of an item of `input` that brings tools; one in front of what anyone says stands for `tools`.
///
/// Source: openai/codex, `codex-rs/core/src/context/world_state/top_level_tools.rs`, and requests of codex 0.171 and
/// pi 1.6, 2026-11.
const CATALOGUE: &str = "additional_tools";
