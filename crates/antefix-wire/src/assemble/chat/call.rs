//! A call that is being streamed.

use super::{string, write_member};
use crate::anthropic::BlockKind;
use crate::assemble::AssembledBlock;
use crate::assemble::block::{EMPTY_INPUT, append, compacted, object};
use crate::json::{Kind, Node, unescape, write_string};

/// A call that is being streamed; text still escaped.
#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    /// The number that the server gives it.
    index: Option<u64>,
    /// Its number in deltas.
    pub(super) number: u64,
    pub(super) id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    /// Members that are not known here, as key and JSON, such as a signature of the provider.
    others: Vec<(String, String)>,
}

impl OpenCall {
    pub(super) fn new(index: Option<u64>, number: u64) -> Self {
        Self { index, number, id: None, name: None, arguments: None, others: Vec::new() }
    }

    /// The tool's name, as far as it has come.
    pub(super) fn name(&self) -> Option<String> {
        self.name.as_deref().map(unescape)
    }

    /// Takes one entry of `tool_calls` and gives the piece of the arguments in it, decoded.
    pub(super) fn take(&mut self, entry: Node<'_>) -> String {
        let mut piece = String::new();
        for (key, value) in entry.members().filter(|(_, value)| !value.is_null()) {
            match key.str().as_deref().unwrap_or_default() {
                // A call is written as that of a function, whatever the server names it.
                "index" | "type" => {}
                // Some servers make up another id with each piece; the first one counts.
                "id" => {
                    let id = plain(value).filter(|id| !id.is_empty());
                    self.id = self.id.take().or(id);
                }
                "function" => piece = self.function(value),
                other => keep(&mut self.others, other, value),
            }
        }
        piece
    }

    /// Takes a `function` object and gives the piece of the arguments in it, decoded.
    pub(super) fn function(&mut self, function: Node<'_>) -> String {
        if let Some(piece) = function.get("name").filter(|name| super::is_filled(*name)) {
            // The name comes whole, by some servers with each piece again; in pieces it comes before the arguments.
            let is_repeated = self.name().is_some_and(|name| piece.is_str(&name));
            if !is_repeated && self.arguments.is_none() {
                append(&mut self.name, piece);
            }
        }
        match function.get("arguments") {
            Some(piece) if piece.kind() == Kind::String => append(&mut self.arguments, piece),
            Some(whole) if whole.kind() == Kind::Object => {
                let text = compacted(whole);
                let mut quoted = Vec::new();
                write_string(&mut quoted, &text);
                let quoted = String::from_utf8(quoted).unwrap_or_default();
                self.arguments = quoted.get(1..quoted.len().saturating_sub(1)).map(str::to_owned);
                text
            }
            _ => String::new(),
        }
    }

    pub(super) fn finish(self, is_over: bool) -> AssembledBlock {
        let written = self.arguments.as_deref().map(unescape).filter(|text| !text.trim().is_empty());
        let broken_input = written.filter(|text| object(text).is_none());
        let is_empty = self.arguments.as_deref().is_none_or(|text| unescape(text).trim().is_empty());
        let arguments = self.arguments.as_deref().filter(|_| broken_input.is_none() && !is_empty);
        let mut function = vec![b'{'];
        write_member(&mut function, "name", &string(self.name.as_deref().unwrap_or_default()));
        write_member(&mut function, "arguments", &string(arguments.unwrap_or(EMPTY_INPUT)));
        function.push(b'}');
        let mut json = vec![b'{'];
        let mut id = Vec::new();
        write_string(&mut id, self.id.as_deref().unwrap_or_default());
        write_member(&mut json, "id", &String::from_utf8(id).unwrap_or_default());
        write_member(&mut json, "type", r#""function""#);
        write_member(&mut json, "function", &String::from_utf8(function).unwrap_or_default());
        for (key, value) in &self.others {
            write_member(&mut json, key, value);
        }
        json.push(b'}');
        AssembledBlock {
            json,
            kind: BlockKind::ToolUse,
            complete: is_over && broken_input.is_none(),
            broken_input,
            unknown_deltas: 0,
        }
    }
}

/// Where in `calls` the call stands that an entry goes on with; `None` if it begins one.
///
/// Entries belong together by `index`, as the API has it. Servers that give all calls the same index still give each
/// its own id and name; those that give no index send a name with each new call only.
pub(super) fn place_of(calls: &[OpenCall], index: Option<u64>, entry: Node<'_>) -> Option<usize> {
    let id = entry.get("id").and_then(plain).filter(|id| !id.is_empty());
    let is_named = entry.pointer("/function/name").is_some_and(super::is_filled);
    let by_id = || id.as_ref().and_then(|id| calls.iter().rposition(|call| call.id.as_ref() == Some(id)));
    let Some(index) = index else {
        return by_id().or_else(|| calls.len().checked_sub(1).filter(|_| !is_named));
    };
    let place = calls.iter().rposition(|call| call.index == Some(index))?;
    let begins =
        is_named && calls.get(place).is_some_and(|call| call.id.is_some() && id.is_some() && call.id != id);
    if begins { by_id() } else { Some(place) }
}

/// Whether an entry of `tool_calls` has the types it can be read as.
pub(super) fn fits(entry: Node<'_>) -> bool {
    let is = |value: Option<Node<'_>>, kinds: &[Kind]| {
        value.is_none_or(|value| value.is_null() || kinds.contains(&value.kind()))
    };
    entry.kind() == Kind::Object
        && is(entry.get("function"), &[Kind::Object])
        && is(entry.get("id"), &[Kind::String, Kind::Number])
        && is(entry.pointer("/function/name"), &[Kind::String])
        && is(entry.pointer("/function/arguments"), &[Kind::String, Kind::Object])
}

/// The text of a string, or of a number, as some servers give an id.
fn plain(value: Node<'_>) -> Option<String> {
    match value.kind() {
        Kind::String => value.str().map(|text| text.into_owned()),
        Kind::Number => Some(value.raw().to_owned()),
        _ => None,
    }
}

fn keep(others: &mut Vec<(String, String)>, key: &str, value: Node<'_>) {
    match others.iter_mut().find(|(name, _)| name == key) {
        Some((_, json)) => *json = compacted(value),
        None => others.push((key.to_owned(), compacted(value))),
    }
}
