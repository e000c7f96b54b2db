//! Chat Completions.
//!
//! The head holds the tools and the system prompt as its first message; `system` of a lane is the list of those
//! messages. Each result is a message of its own. No markers are sent: servers keep prefixes without being asked.

use std::borrow::Cow;

use antefix_prefix::{Position, chat_message, chat_positions};
use antefix_wire::anthropic::{BlockKind, Role};
use antefix_wire::assemble::{Assembled, AssembledBlock};
use antefix_wire::json::{Body, Kind, Node, compact, write_string};
use antefix_wire::openai::{ToolCall, assistant_message};
use antefix_wire::{Edit, splice};
use bytes::{BufMut, Bytes, BytesMut};

use super::anthropic::tool_use;
use super::{Head, Ids, Reading, Translation, elements, in_pattern, made_id, open_envelope, parse};
use crate::closure::{Texts, is_blank_text, text_block};
use crate::conversation::Call;
use crate::record::{LaneRecord, Origin};
use crate::reminder::neutral;

pub(super) fn positions(body: Node<'_>) -> Result<Vec<Position>, String> {
    match body.get("messages") {
        Some(_) => Ok(chat_positions(body)),
        None => Err("it has no `messages`".to_owned()),
    }
}

pub(super) fn head(lane: &LaneRecord) -> Result<Head, String> {
    let envelope = open_envelope(lane)?;
    let mut head = BytesMut::with_capacity(envelope.len() + lane.tools.len() + lane.system.len() + 48);
    head.put_slice(envelope);
    if lane.tools.as_ref() != b"[]" {
        head.put_slice(b",\"tools\":");
        head.put_slice(&lane.tools);
    }
    head.put_slice(b",\"messages\":[");
    let system = elements(&lane.system);
    head.put_slice(system);
    Ok(Head { bytes: head.freeze(), holds_messages: !system.is_empty() })
}

/// Reads one message, or the messages of several results.
pub(super) fn read(fragment: &[u8]) -> Result<Reading, String> {
    let body = parse(&[b"[", fragment, b"]"].concat())?;
    let mut reading = Reading::default();
    for message in body.root().items() {
        let role = message.get("role").and_then(Node::str).ok_or("it has no `role`")?;
        let position = chat_message(message, 0);
        reading.is_user = position.role == Role::User;
        reading.positions.push(position);
        let calls = message.get("tool_calls").into_iter().flat_map(Node::items);
        let calls = calls.filter_map(|call| call_of(&ToolCall::read(call)));
        if role == "assistant" {
            reading.calls.extend(calls);
        }
    }
    if reading.positions.is_empty() {
        return Err("it holds no message".to_owned());
    }
    Ok(reading)
}

pub(super) fn blocks(fragment: &[u8]) -> Vec<Bytes> {
    let Ok(body) = parse(&[b"[", fragment, b"]"].concat()) else { return Vec::new() };
    let role = |message: Node<'_>| message.get("role").and_then(Node::str).unwrap_or_default().into_owned();
    body.root().items().flat_map(|message| blocks_of(message, &role(message))).collect()
}

/// The user's message: a string, which every server takes, unless something else than text is in it.
pub(super) fn user_message(blocks: &[Bytes]) -> Bytes {
    let texts: Option<Vec<String>> = blocks.iter().map(|block| text_of(block)).collect();
    let mut out = br#"{"role":"user","content":"#.to_vec();
    match texts {
        Some(texts) => write_string(&mut out, &texts.join("\n\n")),
        None => {
            out.push(b'[');
            for (index, block) in blocks.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_part(&mut out, block);
            }
            out.push(b']');
        }
    }
    out.push(b'}');
    out.into()
}

pub(super) fn reply(blocks: &[Bytes]) -> Bytes {
    assistant_message(blocks).into()
}

/// A message of the role `tool`. The protocol has no mark for a failure, so the text says it; nor has it room for
/// images, so a note stands in the place of each.
pub(super) fn result(call: &str, content: &[Bytes], is_error: bool) -> Bytes {
    let texts: Vec<String> =
        content.iter().map(|block| text_of(block).unwrap_or_else(|| note(block))).collect();
    let text = texts.join("\n");
    // Put together, texts may hold what none of them did.
    let text = neutral(&text);
    let text = if is_error { format!("Error: {text}") } else { text.into_owned() };
    let mut out = br#"{"role":"tool","tool_call_id":"#.to_vec();
    write_string(&mut out, call);
    out.extend_from_slice(br#","content":"#);
    write_string(&mut out, &text);
    out.push(b'}');
    out.into()
}

/// Several messages in a row, with texts at the end of the last one.
pub(super) fn sealed(results: &[Bytes], inside: &[Bytes], blocks: &[Bytes]) -> Bytes {
    let mut messages = results.to_vec();
    if let Some(last) = messages.last_mut().filter(|_| !inside.is_empty()) {
        *last = with_texts(last, inside).unwrap_or_else(|| last.clone());
    }
    messages.extend_from_slice(blocks);
    messages.join(&b","[..]).into()
}

/// A message of the system prompt's role: `developer` where the lane's prompt has it, else `system`.
pub(super) fn reminder(lane: &LaneRecord, texts: &[String]) -> Bytes {
    let system = parse(&lane.system).ok();
    let role = system.as_ref().and_then(|list| list.root().items().next()?.get("role")?.str());
    let mut out = b"{\"role\":".to_vec();
    write_string(&mut out, role.as_deref().unwrap_or("system"));
    out.extend_from_slice(br#","content":"#);
    write_string(&mut out, &texts.join("\n\n"));
    out.push(b'}');
    out.into()
}

pub(super) fn usable(message: &Assembled) -> Vec<&AssembledBlock> {
    let is_kept = |block: &&AssembledBlock| match block.kind {
        BlockKind::Text => !is_blank_text(&block.json),
        BlockKind::ToolUse => true,
        _ => block.complete,
    };
    message.blocks.iter().filter(is_kept).collect()
}

/// A call as a request may hold it, if it has a name: that in the pattern `^[a-zA-Z0-9_-]{1,64}$`, the id of at most
/// 40 characters and not `is_used` (OpenAI's API, November 2026). An id that is missing, too long or used is made
/// anew.
pub(super) fn callable(block: &[u8], is_used: &dyn Fn(&str) -> bool) -> Option<(Bytes, Call)> {
    let body = parse(block).ok()?;
    let read = ToolCall::read(body.root());
    let name: String = in_pattern(&read.name?).chars().take(64).collect();
    let is_taken = |id: &str| takes_id(id) && !is_used(id);
    let id = match read.id {
        Some(id) if is_taken(&id) => id.into_owned(),
        _ => made_id(is_used),
    };
    let mut edits = Vec::new();
    for (pointer, text) in [("/id", &id), ("/function/name", &name)] {
        let other = body.root().pointer(pointer).filter(|node| !node.is_str(text));
        edits.extend(other.map(|node| Edit::replace(node.range(), quoted(text))));
    }
    edits.sort_by_key(|edit| edit.range.start);
    let json = Bytes::from(splice(block, &edits).ok()?);
    let call = call_of(&ToolCall::read(parse(&json).ok()?.root()))?;
    Some((json, call))
}

/// OpenAI takes ids of at most 40 characters (November 2026).
pub(super) fn takes_id(id: &str) -> bool {
    (1..=40).contains(&id.chars().count()) && !id.contains(char::is_control)
}

/// Each result is a message of its own, and strict templates want a reply between them and what the user says.
pub(super) fn translate(said: &Translation, ids: &mut Ids, texts: &Texts) -> Vec<(Origin, Bytes)> {
    let results = said.results.iter().map(|one| result(&ids.of(&one.call), &one.content, one.is_error));
    let mut messages: Vec<_> = results.map(|message| (Origin::Results, message)).collect();
    if said.is_user {
        if !messages.is_empty() && !said.blocks.is_empty() {
            messages.push((Origin::Closure, reply(&[text_block(texts.no_reply)])));
        }
        if !said.blocks.is_empty() || messages.is_empty() {
            messages.push((Origin::User, user_message(&said.blocks)));
        }
        return messages;
    }
    let mut blocks: Vec<Bytes> = said.blocks.iter().map(|block| as_text(block)).collect();
    blocks.extend(said.calls.iter().map(|call| function_call(&ids.of(&call.id), call)));
    if blocks.is_empty() {
        blocks.push(text_block(texts.cut_off));
    }
    messages.push((said.origin, reply(&blocks)));
    messages
}

/// A tool's message with further texts at the end of its own.
fn with_texts(result: &[u8], texts: &[Bytes]) -> Option<Bytes> {
    let body = parse(result).ok()?;
    let content = body.root().get("content").filter(|content| content.kind() == Kind::String)?;
    let mut more = Vec::new();
    for text in texts {
        let block = parse(text).ok()?;
        let quoted = block.root().get("text").filter(|text| text.kind() == Kind::String)?.raw().as_bytes();
        more.extend_from_slice(br"\n\n");
        more.extend_from_slice(quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?);
    }
    let end = content.range().end.checked_sub(1)?;
    Some(splice(result, &[Edit::insert(end, more)]).ok()?.into())
}

/// A reply's block as text: replies hold nothing else.
fn as_text(block: &[u8]) -> Bytes {
    text_block(&text_of(block).unwrap_or_else(|| note(block)))
}

/// An entry of `tool_calls`.
pub(super) fn function_call(id: &str, call: &Call) -> Bytes {
    let mut out = br#"{"id":"#.to_vec();
    write_string(&mut out, id);
    out.extend_from_slice(br#","type":"function","function":{"name":"#);
    write_string(&mut out, &call.name);
    out.extend_from_slice(br#","arguments":"#);
    write_string(&mut out, &String::from_utf8_lossy(&call.input));
    out.extend_from_slice(b"}}");
    out.into()
}

pub(super) fn ends_in_thinking(blocks: &[Bytes]) -> bool {
    // Reasoning has no `type`; text, refusals and calls have one, and stand behind it.
    let is_reasoning = |block: &Bytes| parse(block).is_ok_and(|body| body.root().get("type").is_none());
    !blocks.is_empty() && blocks.iter().all(is_reasoning)
}

fn call_of(call: &ToolCall<'_>) -> Option<Call> {
    Some(Call {
        id: call.id.as_ref()?.to_string(),
        name: call.name.as_ref()?.to_string(),
        input: compacted(&call.input()),
    })
}

/// The arguments as one line of JSON; `{}` if they are none.
fn compacted(arguments: &str) -> Bytes {
    let mut out = Vec::with_capacity(arguments.len());
    match Body::parse(arguments) {
        Ok(body) => compact(&mut out, body.root()),
        Err(_) => out.extend_from_slice(b"{}"),
    }
    out.into()
}

/// The text of a content block; `None` if it is none.
fn text_of(block: &[u8]) -> Option<String> {
    let body = parse(block).ok()?;
    let is_text = body.root().get("type").is_some_and(|kind| kind.is_str("text"));
    Some(body.root().get("text").filter(|_| is_text)?.str()?.into_owned())
}

/// Writes a content block of the Messages API as a content part.
fn write_part(out: &mut Vec<u8>, block: &[u8]) {
    let body = parse(block);
    let source = body.as_ref().ok().and_then(|body| Source::of(body.root()));
    match source {
        Some(Source { kind: "image", media_type, data }) => {
            out.extend_from_slice(br#"{"type":"image_url","image_url":{"url":"#);
            write_string(out, &format!("data:{media_type};base64,{data}"));
            out.extend_from_slice(b"}}");
        }
        Some(Source { media_type, data, .. }) => {
            out.extend_from_slice(br#"{"type":"file","file":{"filename":"attached","file_data":"#);
            write_string(out, &format!("data:{media_type};base64,{data}"));
            out.extend_from_slice(b"}}");
        }
        None => out.extend_from_slice(&text_block(&text_of(block).unwrap_or_else(|| note(block)))),
    }
}

/// What is said in the place of a block that the protocol has no room for.
fn note(block: &[u8]) -> String {
    let body = parse(block);
    let root = body.as_ref().map(Body::root);
    match root.ok().and_then(Source::of) {
        Some(Source { kind, media_type, .. }) => {
            format!(
                "[Here was {kind} data of the type {media_type}, which cannot be shown in a tool's result.]"
            )
        }
        None => "[Here was something that this protocol cannot show.]".to_owned(),
    }
}

/// An image or a document in base64.
struct Source<'a> {
    kind: &'static str,
    media_type: Cow<'a, str>,
    data: Cow<'a, str>,
}

impl<'a> Source<'a> {
    fn of(block: Node<'a>) -> Option<Self> {
        let kind = ["image", "document"]
            .into_iter()
            .find(|kind| block.get("type").is_some_and(|name| name.is_str(kind)));
        let text = |pointer| block.pointer(pointer).and_then(Node::str);
        Some(Self { kind: kind?, media_type: text("/source/media_type")?, data: text("/source/data")? })
    }
}

/// A message's parts as content blocks of the Messages API.
fn blocks_of(message: Node<'_>, role: &str) -> Vec<Bytes> {
    let content = message.get("content");
    let mut blocks = Vec::new();
    if let Some(text) = content.and_then(Node::str).filter(|text| !text.trim().is_empty()) {
        blocks.push(text_block(&text));
    }
    blocks.extend(content.into_iter().flat_map(Node::items).map(block_of));
    if role == "tool" {
        let call = message.get("tool_call_id").and_then(Node::str).unwrap_or_default();
        return vec![super::anthropic::result(&call, &blocks, false)];
    }
    blocks.extend(message.get("refusal").and_then(Node::str).map(|text| text_block(&text)));
    let calls = message.get("tool_calls").into_iter().flat_map(Node::items);
    blocks.extend(
        calls.filter_map(|call| call_of(&ToolCall::read(call))).map(|call| tool_use(&call.id, &call)),
    );
    blocks
}

/// A content part as a content block.
fn block_of(part: Node<'_>) -> Bytes {
    let url = part.pointer("/image_url/url").or_else(|| part.pointer("/file/file_data")).and_then(Node::str);
    let data = url.as_deref().and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"));
    match (data, part.get("text").and_then(Node::str)) {
        (Some((media_type, data)), _) => {
            let kind = if part.get("image_url").is_some() { "image" } else { "document" };
            let mut out =
                format!(r#"{{"type":"{kind}","source":{{"type":"base64","media_type":"#).into_bytes();
            write_string(&mut out, media_type);
            out.extend_from_slice(br#","data":"#);
            write_string(&mut out, data);
            out.extend_from_slice(b"}}");
            out.into()
        }
        (None, Some(text)) => text_block(&text),
        (None, None) => text_block(&note(part.raw().as_bytes())),
    }
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"type":"text","text":"caf\u00e9 \"1\""}"#;
    const IMAGE: &str =
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}"#;
    const PDF: &str =
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"}}"#;

    fn list(blocks: &[&'static str]) -> Vec<Bytes> {
        blocks.iter().map(|block| Bytes::from(*block)).collect()
    }

    fn text(bytes: &Bytes) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_prompt_is_a_string_unless_more_than_text_is_in_it() {
        let cases = [
            (&[TEXT][..], r#"{"role":"user","content":"café \"1\""}"#),
            (&[TEXT, TEXT], r#"{"role":"user","content":"café \"1\"\n\ncafé \"1\""}"#),
            (
                &[IMAGE, TEXT],
                r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}},{"type":"text","text":"café \"1\""}]}"#,
            ),
            (
                &[PDF],
                r#"{"role":"user","content":[{"type":"file","file":{"filename":"attached","file_data":"data:application/pdf;base64,JVBE"}}]}"#,
            ),
        ];
        for (said, expect) in cases {
            assert_eq!(text(&user_message(&list(said))), expect);
        }
    }

    /// What goes there comes back: a prompt in the blocks it was said in.
    #[test]
    fn a_prompt_is_read_as_the_blocks_it_was_written_from() {
        let plain = r#"{"type":"text","text":"café \"1\""}"#;
        for said in [&[plain][..], &[IMAGE, plain], &[plain, PDF, IMAGE]] {
            assert_eq!(blocks(&user_message(&list(said))), list(said));
        }
    }

    #[test]
    fn a_result_is_text_and_says_what_it_cannot_show() {
        let image = "[Here was image data of the type image/png, which cannot be shown in a tool's result.]";
        let cases = [
            (&[TEXT][..], false, "café \\\"1\\\"".to_owned()),
            (&[TEXT], true, "Error: café \\\"1\\\"".to_owned()),
            (&[TEXT, IMAGE], false, format!("café \\\"1\\\"\\n{image}")),
            (&[], false, String::new()),
        ];
        for (content, is_error, expect) in cases {
            let expect = format!(r#"{{"role":"tool","tool_call_id":"c:1","content":"{expect}"}}"#);
            assert_eq!(text(&result("c:1", &list(content), is_error)), expect);
        }
    }

    #[test]
    fn names_and_ids_of_calls_are_mended() {
        let call = |id: &str, name: &str| {
            format!(
                r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":"{{\"z\": 1.50}}"}},"x":1}}"#
            )
        };
        let (long, used) = ("i".repeat(41), |id: &str| id == "used" || id == "call00001");
        let cases = [
            (call("functions.read:0", "read"), Some(call("functions.read:0", "read"))),
            (call("", "read"), Some(call("call00002", "read"))),
            (call(&long, "read"), Some(call("call00002", "read"))),
            (call("used", "re ad"), Some(call("call00002", "re_ad"))),
            (call("c", &"n".repeat(70)), Some(call("c", &"n".repeat(64)))),
            (call("c", ""), None),
        ];
        for (written, expect) in cases {
            let found = callable(written.as_bytes(), &used);
            let json = found.as_ref().map(|(json, _)| text(json).to_owned());
            assert_eq!(json, expect, "{written}");
            assert!(found.is_none_or(|(_, call)| text(&call.input) == r#"{"z":1.50}"#));
        }
    }
}
