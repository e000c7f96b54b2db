//! The items of a Gemini request.

use std::borrow::Cow;

use antefix_wire::anthropic::Role;
use antefix_wire::gemini::{Content, Part, Request, Tool};

use super::{Dialect, Item, Path, Prompt, Turn};
use crate::position::{PositionKind, Section};

pub(super) fn read<'a>(request: &Request<'a>) -> Prompt<'a> {
    let system_list = if request.system_key == "system_instruction" {
        "/system_instruction/parts"
    } else {
        "/systemInstruction/parts"
    };
    let system =
        request.system.iter().flat_map(|content| content.parts.iter().enumerate()).map(|(index, part)| {
            part_item(part, Section::System, Path::of(system_list, index), Role::System)
        });
    let turns = request.contents.iter().enumerate().map(|(index, content)| turn(index, content));
    Prompt {
        dialect: Dialect::Gemini,
        root: request.node,
        model: request.model.clone().unwrap_or_default(),
        tools: request.tools.iter().map(tool).collect(),
        deferred: Vec::new(),
        system: system.collect(),
        turns: turns.collect(),
        automatic: None,
    }
}

fn tool<'a>(tool: &Tool<'a>) -> Item<'a> {
    let entry = Path::of("/tools", tool.entry);
    let path = match tool.declaration {
        Some(("function_declarations", index)) => entry.at("/function_declarations", Some(index)),
        Some((_, index)) => entry.at("/functionDeclarations", Some(index)),
        None => entry,
    };
    Item {
        section: Section::Tools,
        path,
        node: tool.node,
        kind: PositionKind::Tool,
        role: Role::System,
        marker: None,
        name: tool.name.clone(),
    }
}

fn turn<'a>(index: usize, content: &Content<'a>) -> Turn<'a> {
    let path = Path::of("/contents", index);
    let items = content
        .parts
        .iter()
        .enumerate()
        .map(|(at, part)| part_item(part, Section::Messages, path.at("/parts", Some(at)), content.role));
    Turn { node: content.node, header: None, role: content.role, path, items: items.collect() }
}

fn part_item<'a>(part: &Part<'a>, section: Section, path: Path, role: Role) -> Item<'a> {
    Item {
        section,
        path,
        node: part.node,
        kind: PositionKind::Block(part.kind),
        role,
        marker: None,
        name: Cow::Borrowed(""),
    }
}
