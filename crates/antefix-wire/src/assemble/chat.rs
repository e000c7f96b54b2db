//! A streamed response of Chat Completions.
//!
//! Chunks are those of the `openai` SDK 3.57.0 (`chat_completion_chunk.py`, November 2026), and what servers of the
//! protocol make of them: `reasoning_content` (DeepSeek, llama.cpp, SGLang) and `reasoning` (vLLM, OpenRouter),
//! calls without `index` or id, arguments given as an object, usage in a choice, an error inside the stream.

mod call;

use super::block::{append, compacted, inner, limits};
use super::bounds::{MOST_BLOCKS, Taken, shortened};
use super::{AssembleError, Assembled, AssembledBlock, Delta, Step, text};
use crate::anthropic::BlockKind;
use crate::json::{Body, Kind, Node, unescape, write_string};
use crate::sse::Event;
use crate::usage::Usage;
use call::OpenCall;

/// Takes the events of one response of Chat Completions.
///
/// Of several choices the first is taken and the others are noted. The text of a call's arguments stays as the model
/// wrote it, white space included; if it is no JSON object, the call has `{}` in its place and the text stands in
/// [`broken_input`](AssembledBlock::broken_input). A `finish_reason` makes the message complete, so that a stream cut
/// behind it lacks its usage only.
///
/// ```
/// use antefix_wire::{assemble::ChatAssembler, sse::Parser};
/// let stream = br#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{\"z\": "}}]}}]}
///
/// data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1.50}"}}]},"finish_reason":"tool_calls"}]}
///
/// data: [DONE]
///
/// "#;
/// let (mut parser, mut assembler) = (Parser::new(), ChatAssembler::new());
/// for event in parser.push(stream)? {
///     assembler.event(&event)?;
/// }
/// let message = assembler.finish();
/// assert_eq!(
///     message.blocks[0].json,
///     br#"{"id":"c","type":"function","function":{"name":"ls","arguments":"{\"z\": 1.50}"}}"#
/// );
/// assert!(message.complete);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChatAssembler {
    started: bool,
    done: bool,
    reasoning: Member<Reasoning>,
    text: Member<String>,
    refusal: Member<String>,
    /// Members of the message that are not known here, as key and JSON.
    others: Vec<(String, String)>,
    calls: Vec<OpenCall>,
    /// Number that the next block gets in deltas.
    next_index: u64,
    /// The block that the last delta belongs to.
    current: Option<u64>,
    usage: Option<String>,
    timings: Option<String>,
    taken: Taken,
    message: Assembled,
}

impl ChatAssembler {
    /// Makes an assembler for one response.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event and tells what it brought.
    ///
    /// Behind `[DONE]` nothing is taken; behind an event that does not fit, usage, `finish_reason` and errors.
    ///
    /// # Errors
    /// [`AssembleError`] for an event that does not fit; nothing is taken from it.
    pub fn event(&mut self, event: &Event) -> Step {
        if self.done {
            return Ok(Vec::new());
        }
        let step = self.take(event);
        if let Err(error) = &step {
            if matches!(error, AssembleError::TooLarge | AssembleError::TooManyBlocks) {
                self.drop_blocks();
            }
            self.message.malformed.get_or_insert_with(|| error.to_string());
        }
        step
    }

    /// Ends the stream, which may have been cut anywhere, and gives what has come.
    pub fn finish(mut self) -> Assembled {
        let is_whole = self.is_whole();
        self.message.complete = is_whole;
        if self.usage.is_some() || self.timings.is_some() {
            let json = usage_json(self.usage.as_deref(), self.timings.as_deref());
            if let Ok(body) = Body::parse(json.as_slice()) {
                self.message.usage = Usage::read(body.root());
            }
            self.message.usage_json = Some(json);
        }
        let blocks = self.blocks(is_whole);
        Assembled { blocks, ..self.message }
    }

    fn take(&mut self, event: &Event) -> Step {
        match event.data.trim() {
            "" => return Ok(vec![Delta::Ping]),
            "[DONE]" => return Ok(self.end()),
            _ => {}
        }
        let body = match Body::parse_with(event.data.as_bytes(), limits()) {
            Ok(body) => body,
            Err(_) if event.name == "error" => {
                return Ok(self.message.fail(event.data.clone(), String::new()));
            }
            Err(source) => return Err(AssembleError::Json { event: shortened(&event.name), source }),
        };
        let root = body.root();
        if event.name == "error" || root.get("object").is_some_and(|name| name.is_str("error")) {
            return Ok(self.error(root.get("error").unwrap_or(root)));
        }
        self.chunk(root, &event.name)
    }

    /// Takes a chunk, or a completion that was not streamed.
    fn chunk(&mut self, root: Node<'_>, name: &str) -> Step {
        let choices = root.get("choices").filter(|choices| choices.kind() == Kind::Array);
        let first = choices.into_iter().flat_map(Node::items).find(|choice| number_of(*choice) == 0);
        let delta = first.and_then(delta_of).filter(|_| self.message.malformed.is_none());
        if let Some(delta) = delta {
            check(delta)?;
            self.taken.grow(delta, 1)?;
        }
        let mut deltas = self.head(root);
        if let Some(delta) = delta {
            deltas.extend(self.delta(delta)?);
        }
        for choice in choices.into_iter().flat_map(Node::items) {
            match number_of(choice) {
                0 => deltas.extend(self.choice_end(choice)),
                number => deltas.extend(self.message.note(&format!("choice {number}"))),
            }
        }
        let error = root.get("error").filter(|error| !error.is_null());
        if let Some(error) = error {
            deltas.extend(self.error(error));
        }
        if choices.is_none() && error.is_none() && root.get("usage").is_none() {
            let what = text(root, "object").or_else(|| text(root, "type"));
            deltas.extend(self.message.note(what.as_deref().unwrap_or(name)));
        }
        Ok(deltas)
    }

    /// Takes over what a chunk says of the whole response.
    fn head(&mut self, root: Node<'_>) -> Vec<Delta> {
        let filled = |key| text(root, key).filter(|text| !text.is_empty());
        self.message.message_id = self.message.message_id.take().or_else(|| filled("id"));
        self.message.model = self.message.model.take().or_else(|| filled("model"));
        self.usage(root);
        keep(&mut self.timings, root.get("timings"));
        keep(&mut self.usage, root.pointer("/x_groq/usage"));
        if std::mem::replace(&mut self.started, true) {
            return Vec::new();
        }
        let (message_id, model) = (self.message.message_id.clone(), self.message.model.clone());
        vec![Delta::Started { message_id, model }]
    }

    /// Takes the usage that stands on a chunk or on a choice. Its counts are totals, so that a later one replaces it.
    fn usage(&mut self, holder: Node<'_>) {
        keep(&mut self.usage, holder.get("usage"));
    }

    fn delta(&mut self, delta: Node<'_>) -> Step {
        let has_content = delta.get("reasoning_content").is_some_and(is_filled);
        let mut deltas = Vec::new();
        for (key, value) in delta.members().filter(|(_, value)| !value.is_null()) {
            let key = key.str().unwrap_or_default();
            match &*key {
                "role" => {}
                "content" => deltas.extend(self.content(value)),
                "refusal" => deltas.extend(self.refusal(value)),
                "reasoning_content" => deltas.extend(self.reasoning(SPELLINGS[0], value, true)),
                "reasoning" if value.kind() == Kind::String => {
                    // vLLM and OpenRouter send the same piece under both names.
                    deltas.extend(self.reasoning(SPELLINGS[1], value, !has_content));
                }
                "reasoning_details" if value.kind() == Kind::Array => self.details(value),
                "tool_calls" => {
                    for entry in value.items() {
                        deltas.extend(self.call(entry)?);
                    }
                }
                "function_call" => deltas.extend(self.function_call(value)),
                _ => deltas.extend(self.other(&key, value)?),
            }
        }
        Ok(deltas)
    }

    fn content(&mut self, value: Node<'_>) -> Vec<Delta> {
        if value.kind() == Kind::String {
            return self.text(value);
        }
        let mut deltas = Vec::new();
        for part in value.items() {
            match part.get("text").filter(|text| text.kind() == Kind::String) {
                Some(text) => deltas.extend(self.text(text)),
                None => {
                    let name = text(part, "type").unwrap_or_default();
                    deltas.extend(self.message.note(&format!("delta: content {name}")));
                }
            }
        }
        deltas
    }

    fn text(&mut self, piece: Node<'_>) -> Vec<Delta> {
        if !is_filled(piece) {
            return Vec::new();
        }
        let (index, mut deltas) = self.enter(self.text.index, BlockKind::Text);
        self.text.index = Some(index);
        let text = append(&mut self.text.value, piece);
        deltas.push(Delta::Text { index, text });
        deltas
    }

    fn refusal(&mut self, piece: Node<'_>) -> Vec<Delta> {
        if !is_filled(piece) {
            return Vec::new();
        }
        let (index, mut deltas) = self.enter(self.refusal.index, BlockKind::Refusal);
        self.refusal.index = Some(index);
        let text = append(&mut self.refusal.value, piece);
        deltas.push(Delta::Text { index, text });
        deltas
    }

    fn reasoning(&mut self, spelling: &'static str, piece: Node<'_>, is_shown: bool) -> Vec<Delta> {
        if !is_filled(piece) {
            return Vec::new();
        }
        let (index, mut deltas) = self.enter(self.reasoning.index, BlockKind::Thinking);
        self.reasoning.index = Some(index);
        let reasoning = self.reasoning.value.get_or_insert_default();
        let text = append(reasoning.spelled(spelling), piece);
        if is_shown {
            deltas.push(Delta::Thinking { index, text });
        }
        deltas
    }

    /// Takes OpenRouter's `reasoning_details`, which go back in the order they came.
    fn details(&mut self, value: Node<'_>) {
        if value.items().next().is_some() {
            let reasoning = self.reasoning.value.get_or_insert_default();
            reasoning.details.extend(value.items().map(compacted));
        }
    }

    fn call(&mut self, entry: Node<'_>) -> Step {
        let index = entry.get("index").and_then(Node::u64);
        if let Some(place) = call::place_of(&self.calls, index, entry) {
            return Ok(self.call_goes_on(place, entry));
        }
        if self.calls.len() >= MOST_BLOCKS {
            return Err(AssembleError::TooManyBlocks);
        }
        self.calls.push(OpenCall::new(index, self.next_index));
        let place = self.calls.len().saturating_sub(1);
        Ok(self.call_goes_on(place, entry))
    }

    /// Takes the call of `functions`, the form before `tools`, as one without id.
    fn function_call(&mut self, value: Node<'_>) -> Vec<Delta> {
        if self.calls.is_empty() {
            self.calls.push(OpenCall::new(Some(0), self.next_index));
        }
        let part = self.calls.first_mut().map(|call| call.function(value));
        self.call_deltas(0, part.unwrap_or_default())
    }

    fn call_goes_on(&mut self, place: usize, entry: Node<'_>) -> Vec<Delta> {
        let Some(call) = self.calls.get_mut(place) else { return Vec::new() };
        let part = call.take(entry);
        self.call_deltas(place, part)
    }

    fn call_deltas(&mut self, place: usize, part: String) -> Vec<Delta> {
        let Some(call) = self.calls.get(place) else { return Vec::new() };
        let (index, id, name) = (call.number, call.id.clone(), call.name());
        let mut deltas = self.leave(index);
        if index == self.next_index {
            self.next_index += 1;
            deltas.push(Delta::BlockStarted { index, kind: BlockKind::ToolUse, id, name });
        }
        if !part.is_empty() {
            deltas.push(Delta::InputJson { index, part });
        }
        deltas
    }

    /// Takes a member of the message that is not known here: pieces of text are put together, else the last counts.
    fn other(&mut self, key: &str, value: Node<'_>) -> Step {
        let is_full = self.others.len() >= MOST_BLOCKS;
        let known = self.others.iter_mut().find(|(name, _)| name == key);
        match (known, inner(value)) {
            (Some((_, json)), Some(piece)) if json.ends_with('"') => {
                json.pop();
                json.push_str(piece);
                json.push('"');
            }
            (Some((_, json)), _) => *json = compacted(value),
            (None, _) if is_full => return Err(AssembleError::TooManyBlocks),
            (None, _) => self.others.push((key.to_owned(), compacted(value))),
        }
        Ok(self.message.note(&format!("delta: {key}")))
    }

    /// The number of a block that a piece belongs to; tells if it begins, and that the one before is over.
    fn enter(&mut self, known: Option<u64>, kind: BlockKind) -> (u64, Vec<Delta>) {
        let index = known.unwrap_or(self.next_index);
        let mut deltas = self.leave(index);
        if known.is_none() {
            self.next_index += 1;
            deltas.push(Delta::BlockStarted { index, kind, id: None, name: None });
        }
        (index, deltas)
    }

    /// Goes over to the block with that number, and tells that the one before is over.
    fn leave(&mut self, index: u64) -> Vec<Delta> {
        match self.current.replace(index).filter(|earlier| *earlier != index) {
            Some(earlier) => vec![Delta::BlockStopped { index: earlier }],
            None => Vec::new(),
        }
    }

    /// Takes what a choice says at its end.
    fn choice_end(&mut self, choice: Node<'_>) -> Vec<Delta> {
        self.usage(choice);
        let mut deltas = Vec::new();
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            deltas.extend(self.error(error));
        }
        let Some(reason) = text(choice, "finish_reason").filter(|reason| !reason.is_empty()) else {
            return deltas;
        };
        if reason == "error" && self.message.error.is_none() {
            let text = "the server ended the reply with an error and did not say which";
            deltas.extend(self.message.fail(reason.clone(), text.to_owned()));
        }
        if self.message.stop_reason.as_ref() == Some(&reason) {
            return deltas;
        }
        if let Some(index) = self.current {
            deltas.push(Delta::BlockStopped { index });
        }
        // vLLM names the stop sequence so; SGLang calls it `matched_stop`.
        let sequence = text(choice, "stop_reason").or_else(|| text(choice, "matched_stop"));
        self.message.stop_reason = Some(reason.clone());
        self.message.stop_sequence.clone_from(&sequence);
        deltas.push(Delta::Stop { reason, sequence });
        deltas
    }

    /// Takes `[DONE]`.
    fn end(&mut self) -> Vec<Delta> {
        self.done = true;
        if self.message.stop_reason.is_none() && self.message.error.is_none() {
            let missing = if self.is_empty() { "a choice" } else { "a `finish_reason`" };
            self.message.malformed.get_or_insert_with(|| format!("the reply ended without {missing}"));
        }
        if self.is_whole() { vec![Delta::Finished] } else { Vec::new() }
    }

    fn error(&mut self, error: Node<'_>) -> Vec<Delta> {
        let member = |key| error.get(key).filter(|value| !value.is_null());
        let plain =
            |node: Node<'_>| node.str().map_or_else(|| node.raw().to_owned(), |text| text.into_owned());
        if error.kind() != Kind::Object {
            return self.message.fail("error".to_owned(), plain(error));
        }
        let kind = member("type").or_else(|| member("code")).map_or_else(|| "error".to_owned(), plain);
        let message = member("message").map_or_else(|| error.raw().to_owned(), plain);
        self.message.fail(kind, message)
    }

    fn is_empty(&self) -> bool {
        self.next_index == 0 && self.others.is_empty()
    }

    fn is_whole(&self) -> bool {
        let message = &self.message;
        message.stop_reason.is_some() && message.malformed.is_none() && message.error.is_none()
    }

    fn drop_blocks(&mut self) {
        (self.reasoning, self.text, self.refusal) = Default::default();
        self.others.clear();
        self.calls.clear();
    }

    fn blocks(&mut self, is_whole: bool) -> Vec<AssembledBlock> {
        let current = self.current;
        let is_over = |index: Option<u64>| is_whole || index.is_none() || index != current;
        let block = |kind, json, complete| AssembledBlock {
            json,
            kind,
            complete,
            broken_input: None,
            unknown_deltas: 0,
        };
        let mut blocks = Vec::new();
        let reasoning_is_over = is_over(self.reasoning.index);
        blocks.extend(
            self.reasoning
                .value
                .take()
                .map(|value| block(BlockKind::Thinking, value.json(), reasoning_is_over)),
        );
        for (member, name, kind) in
            [(&self.text, "text", BlockKind::Text), (&self.refusal, "refusal", BlockKind::Refusal)]
        {
            blocks.extend(
                member.value.as_ref().map(|value| block(kind, text_part(name, value), is_over(member.index))),
            );
        }
        for (key, json) in &self.others {
            let mut out = vec![b'{'];
            write_member(&mut out, key, json);
            out.push(b'}');
            blocks.push(block(BlockKind::Other, out, is_whole));
        }
        let calls = std::mem::take(&mut self.calls);
        blocks.extend(calls.into_iter().map(|call| {
            let is_over = is_over(Some(call.number));
            call.finish(is_over)
        }));
        blocks
    }
}

impl Assembled {
    /// Reads a response of Chat Completions that was not streamed: a completion, or an error.
    pub fn read_chat(root: Node<'_>) -> Self {
        let mut assembler = ChatAssembler::new();
        if let Err(error) = assembler.chunk(root, "chat.completion") {
            assembler.message.malformed = Some(error.to_string());
        }
        assembler.end();
        assembler.finish()
    }
}

/// A member of the message that is put together from pieces.
#[derive(Clone, Debug)]
struct Member<T> {
    /// Its number in deltas, once it began.
    index: Option<u64>,
    value: Option<T>,
}

impl<T> Default for Member<T> {
    fn default() -> Self {
        Self { index: None, value: None }
    }
}

/// Reasoning under the names it came under; text still escaped.
#[derive(Clone, Debug, Default)]
struct Reasoning {
    spelled: Vec<(&'static str, Option<String>)>,
    details: Vec<String>,
}

impl Reasoning {
    fn spelled(&mut self, spelling: &'static str) -> &mut Option<String> {
        let known = self.spelled.iter().position(|(name, _)| *name == spelling);
        let at = known.unwrap_or_else(|| {
            self.spelled.push((spelling, None));
            self.spelled.len().saturating_sub(1)
        });
        // INVARIANT: `at` was found in the list or is that of its last entry.
        &mut self.spelled[at].1
    }

    /// The members as one object.
    fn json(self) -> Vec<u8> {
        let mut out = vec![b'{'];
        for (name, text) in &self.spelled {
            write_member(&mut out, name, &string(text.as_deref().unwrap_or_default()));
        }
        if !self.details.is_empty() {
            write_member(&mut out, "reasoning_details", &format!("[{}]", self.details.join(",")));
        }
        out.push(b'}');
        out
    }
}

/// Whether the members of a delta have the types they can be read as.
fn check(delta: Node<'_>) -> Result<(), AssembleError> {
    let lacks = |member| Err(AssembleError::Member { event: "chat.completion.chunk".to_owned(), member });
    let is = |key: &str, kinds: &[Kind]| {
        delta.get(key).is_none_or(|value| value.is_null() || kinds.contains(&value.kind()))
    };
    if delta.kind() != Kind::Object {
        return lacks("delta");
    }
    for (member, kinds) in [
        ("content", &[Kind::String, Kind::Array][..]),
        ("reasoning_content", &[Kind::String]),
        ("refusal", &[Kind::String]),
        ("tool_calls", &[Kind::Array]),
        ("function_call", &[Kind::Object]),
    ] {
        if !is(member, kinds) {
            return lacks(member);
        }
    }
    let entries = delta.get("tool_calls").into_iter().flat_map(Node::items);
    if entries.into_iter().all(call::fits) { Ok(()) } else { lacks("tool_calls") }
}

fn delta_of(choice: Node<'_>) -> Option<Node<'_>> {
    choice.get("delta").or_else(|| choice.get("message")).filter(|delta| !delta.is_null())
}

/// The number of a choice; the first if none is given.
fn number_of(choice: Node<'_>) -> u64 {
    choice.get("index").and_then(Node::u64).unwrap_or(0)
}

fn is_filled(piece: Node<'_>) -> bool {
    inner(piece).is_some_and(|text| !text.is_empty())
}

fn keep(slot: &mut Option<String>, value: Option<Node<'_>>) {
    if let Some(value) = value.filter(|value| value.kind() == Kind::Object) {
        *slot = Some(compacted(value));
    }
}

/// The usage object, with llama.cpp's `timings` as a member of it: only they tell what was read from the cache where
/// the usage does not.
fn usage_json(usage: Option<&str>, timings: Option<&str>) -> Vec<u8> {
    let usage = usage.unwrap_or("{}");
    let mut out = usage.strip_suffix('}').unwrap_or(usage).as_bytes().to_vec();
    if let Some(timings) = timings {
        write_member(&mut out, "timings", timings);
    }
    out.push(b'}');
    out
}

/// A content part that holds escaped text under the name of its type.
fn text_part(name: &str, escaped: &str) -> Vec<u8> {
    let mut out = br#"{"type":"#.to_vec();
    write_string(&mut out, name);
    write_member(&mut out, name, &string(escaped));
    out.push(b'}');
    out
}

/// Writes a member into an object that is open.
fn write_member(out: &mut Vec<u8>, key: &str, json: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write_string(out, key);
    out.push(b':');
    out.extend_from_slice(json.as_bytes());
}

/// A JSON string of text that came escaped, with no other escapes than it needs.
fn string(escaped: &str) -> String {
    let mut out = Vec::with_capacity(escaped.len().saturating_add(2));
    write_string(&mut out, &unescape(escaped));
    String::from_utf8(out).unwrap_or_default()
}

/// The names that reasoning has in a message.
const SPELLINGS: [&str; 2] = ["reasoning_content", "reasoning"];
