//! A streamed response, assembled into the JSON that is sent back in the next request.
//!
//! [`Assembler`] takes the stream of the Messages API, [`ChatAssembler`] that of Chat Completions; both give an
//! [`Assembled`] and tell [`Delta`]s, so that what drives a session need not know which it was.
//!
//! The blocks come out as the server started them, member by member, with what the deltas streamed put in its
//! place: text, thinking and its signature, a tool's input with its key order and the text of its numbers,
//! citations. Events are those of the `anthropic` SDK 2.14.0 (November 2026); block and delta types not known
//! here are kept and reported. [`Assembler::finish`] works wherever the stream was cut. An event that does not fit
//! is such a cut: nobody can say what else was lost, so that the blocks stay as they were in front of it.
//!
//! ```
//! use antefix_wire::{assemble::Assembler, sse::Parser};
//! let stream = br#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":{}}}
//!
//! data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"z\": 1.50"}}
//!
//! data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":", \"a\": 2}"}}
//!
//! data: {"type":"content_block_stop","index":0}
//!
//! "#;
//! let (mut parser, mut assembler) = (Parser::new(), Assembler::new());
//! for part in stream.chunks(7) {
//!     for event in parser.push(part)? {
//!         assembler.event(&event)?;
//!     }
//! }
//! let message = assembler.finish();
//! assert_eq!(message.blocks[0].json, br#"{"type":"tool_use","input":{"z":1.50,"a":2}}"#);
//! assert!(message.blocks[0].complete && !message.complete);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod bounds;
mod chat;
mod delta;
mod stop;

use std::collections::BTreeMap;

pub use block::AssembledBlock;
pub use chat::ChatAssembler;
pub use delta::{AssembleError, Delta};
pub use stop::StopReason;

use crate::anthropic::BlockKind;
use crate::json::{Body, Kind, Node};
use crate::sse::Event;
use crate::usage::{Usage, merge_json};
use block::OpenBlock;
use bounds::{MOST_BLOCKS, Taken, shortened};

/// A message put together from its stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembled {
    /// The message's id.
    pub message_id: Option<String>,
    /// The model that answered; after a fallback, the one that took over last.
    pub model: Option<String>,
    /// The blocks in the order they started; of Chat Completions, in the order of the members they are sent back
    /// as: reasoning, text, refusal, what is not known here, calls.
    pub blocks: Vec<AssembledBlock>,
    /// Why the model stopped, as the API names it; [`stop`](Self::stop) says it in the same terms for all APIs.
    pub stop_reason: Option<String>,
    /// The stop sequence that was generated.
    pub stop_sequence: Option<String>,
    /// The tokens used, as far as they were told.
    pub usage: Usage,
    /// The usage object with the later counts in place, as JSON.
    pub usage_json: Option<Vec<u8>>,
    /// `message_stop` was seen; of Chat Completions, a `finish_reason`.
    pub complete: bool,
    /// The `type` and the message of an error event.
    pub error: Option<(String, String)>,
    /// What was wrong with the first event that did not fit. The blocks are those in front of it; `complete` is
    /// not set.
    pub malformed: Option<String>,
    /// Types of events, blocks and deltas that are not known here, each once, in order; 32 at most.
    pub unknown: Vec<String>,
    /// Number of events, blocks and deltas of further such types, which `unknown` has no room for.
    pub unknown_left_out: u64,
    /// The message's `diagnostics` as raw JSON, which [`Diagnosis`](crate::anthropic::Diagnosis) reads;
    /// `None` if it was not given.
    pub diagnostics: Option<String>,
    /// The `stop_details` of a refusal as raw JSON.
    pub stop_details: Option<String>,
    /// The `context_management` of the response as raw JSON.
    pub context_management: Option<String>,
    /// The `input_transformations` of the response as raw JSON.
    pub input_transformations: Option<String>,
    /// The `container` of the response as raw JSON.
    pub container: Option<String>,
}

impl Assembled {
    /// Reads a response that was not streamed: a message, whose blocks are all complete, or an error.
    pub fn read(root: Node<'_>) -> Self {
        let mut assembler = Assembler::new();
        if root.get("type").is_some_and(|name| name.is_str("error")) {
            assembler.error_event(root);
            return assembler.finish();
        }
        assembler.head(root);
        assembler.stop(root);
        let content = root.get("content").into_iter().flat_map(Node::items);
        for (index, node) in (0..).zip(content.filter(|node| node.kind() == Kind::Object)) {
            let mut block = OpenBlock::new(index, node);
            block.stopped = true;
            assembler.add_block(block, node);
        }
        assembler.message.complete = true;
        assembler.finish()
    }

    /// Why the model stopped, in terms that all APIs share.
    pub fn stop(&self) -> Option<StopReason> {
        self.stop_reason.as_deref().map(StopReason::named)
    }

    /// The blocks as one JSON array: the `content` of the assistant message to send back. Chat Completions has
    /// another place for each kind, which [`assistant_message`](crate::openai::assistant_message) knows.
    pub fn content_json(&self) -> Vec<u8> {
        let mut out = vec![b'['];
        for (at, block) in self.blocks.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&block.json);
        }
        out.push(b']');
        out
    }
}

/// Takes the events of one response of the Messages API.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    started: bool,
    /// The blocks in the order they started.
    blocks: Vec<OpenBlock>,
    /// Where in `blocks` the server's indices stand.
    places: BTreeMap<u64, usize>,
    taken: Taken,
    message: Assembled,
}

impl Assembler {
    /// Makes an assembler for one response.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event and tells what it brought; signatures and citations are taken in silence.
    ///
    /// Behind the message's end nothing is taken; behind an event that does not fit, usage, stop reason and errors.
    ///
    /// # Errors
    /// [`AssembleError`] for an event that does not fit; nothing is taken from it.
    pub fn event(&mut self, event: &Event) -> Step {
        if self.message.complete {
            return Ok(Vec::new());
        }
        let step = self.take(event);
        if let Err(error) = &step {
            if matches!(error, AssembleError::TooLarge | AssembleError::TooManyBlocks) {
                self.blocks.clear();
                self.places.clear();
            }
            self.message.malformed.get_or_insert_with(|| error.to_string());
        }
        step
    }

    fn take(&mut self, event: &Event) -> Step {
        let body = match Body::parse_with(event.data.as_bytes(), block::limits()) {
            Ok(body) => body,
            Err(_) if event.name == "error" => {
                return Ok(self.message.fail(event.data.clone(), String::new()));
            }
            Err(_) if event.data == "[DONE]" => return Ok(self.message.note(&event.data)),
            Err(source) => return Err(AssembleError::Json { event: shortened(&event.name), source }),
        };
        let root = body.root();
        let name = match event.name.as_str() {
            "error" => event.name.clone(),
            other => text(root, "type").unwrap_or_else(|| other.to_owned()),
        };
        match name.as_str() {
            "message_start"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_stop"
                if self.message.malformed.is_some() =>
            {
                Ok(Vec::new())
            }
            "message_start" => self.message_start(&Part { event: &name, node: root }),
            "content_block_start" => self.block_start(&Part { event: &name, node: root }),
            "content_block_delta" => self.block_delta(&Part { event: &name, node: root }),
            "content_block_stop" => self.block_stop(&Part { event: &name, node: root }),
            "message_delta" => self.message_delta(root),
            "message_stop" => {
                self.message.complete = true;
                Ok(vec![Delta::Finished])
            }
            "ping" => Ok(vec![Delta::Ping]),
            "error" => Ok(self.error_event(root)),
            _ => Ok(self.message.note(&name)),
        }
    }

    /// Ends the stream, which may have been cut anywhere, and gives what has come.
    pub fn finish(self) -> Assembled {
        let blocks = self.blocks.into_iter().map(OpenBlock::finish).collect();
        Assembled { blocks, ..self.message }
    }

    fn message_start(&mut self, part: &Part<'_>) -> Step {
        let message = part.object("message")?;
        if std::mem::replace(&mut self.started, true) {
            return Err(AssembleError::MessageAgain);
        }
        self.taken.grow(message, 1)?;
        self.head(message);
        let mut deltas = vec![Delta::Started {
            message_id: self.message.message_id.clone(),
            model: self.message.model.clone(),
        }];
        deltas.extend(self.stop(message));
        if message.get("content").is_some_and(|content| content.items().next().is_some()) {
            deltas.extend(self.message.note("message_start: content"));
        }
        Ok(deltas)
    }

    fn block_start(&mut self, part: &Part<'_>) -> Step {
        let index = part.index()?;
        let node = part.object("content_block")?;
        if self.places.contains_key(&index) {
            return Err(AssembleError::BlockAgain { index });
        }
        if self.blocks.len() >= MOST_BLOCKS {
            return Err(AssembleError::TooManyBlocks);
        }
        self.taken.grow(node, 1)?;
        let block = OpenBlock::new(index, node);
        let (kind, id, name) = (block.kind, text(node, "id"), text(node, "name"));
        let mut deltas = vec![Delta::BlockStarted { index, kind, id, name }];
        deltas.extend(self.add_block(block, node));
        Ok(deltas)
    }

    /// Adds a block; reports a type that is not known, and follows a fallback to its model.
    fn add_block(&mut self, block: OpenBlock, node: Node<'_>) -> Vec<Delta> {
        let kind = block.kind;
        self.places.insert(block.index, self.blocks.len());
        self.blocks.push(block);
        match kind {
            BlockKind::Fallback => {
                if let Some(model) = node.pointer("/to/model").and_then(Node::str) {
                    self.message.model = Some(model.into_owned());
                }
                Vec::new()
            }
            BlockKind::Other => {
                let name = text(node, "type").unwrap_or_default();
                self.message.note(&format!("content_block_start: {name}"))
            }
            _ => Vec::new(),
        }
    }

    fn block_delta(&mut self, part: &Part<'_>) -> Step {
        let index = part.index()?;
        let delta = part.object("delta")?;
        self.taken.grow(delta, 1)?;
        let Some(block) = self.open_block(index) else {
            return Err(AssembleError::NotOpen { index });
        };
        let name = text(delta, "type").unwrap_or_default();
        match name.as_str() {
            "text_delta" => {
                let text = block.text(part.string(delta, "text")?);
                Ok(vec![Delta::Text { index, text }])
            }
            "thinking_delta" => {
                let text = block.thinking(part.string(delta, "thinking")?);
                Ok(vec![Delta::Thinking { index, text }])
            }
            "input_json_delta" => {
                let part = block.input(part.string(delta, "partial_json")?);
                Ok(vec![Delta::InputJson { index, part }])
            }
            "signature_delta" => {
                block.set("signature", part.string(delta, "signature")?);
                Ok(Vec::new())
            }
            "citations_delta" => {
                block.citation(part.member(delta, "citation")?);
                Ok(Vec::new())
            }
            "compaction_delta" => {
                block.compaction(delta);
                Ok(Vec::new())
            }
            _ => {
                block.unknown_deltas += 1;
                Ok(self.message.note(&format!("content_block_delta: {name}")))
            }
        }
    }

    fn block_stop(&mut self, part: &Part<'_>) -> Step {
        let index = part.index()?;
        let block = self.open_block(index).ok_or(AssembleError::NotOpen { index })?;
        block.stopped = true;
        Ok(vec![Delta::BlockStopped { index }])
    }

    fn message_delta(&mut self, root: Node<'_>) -> Step {
        self.taken.grow(root, MERGED)?;
        self.response_members(root);
        let Some(delta) = root.get("delta") else {
            return Ok(Vec::new());
        };
        keep_raw(&mut self.message.stop_details, delta, "stop_details");
        keep_raw(&mut self.message.container, delta, "container");
        Ok(self.stop(delta).into_iter().collect())
    }

    /// Takes over what a message says of itself.
    fn head(&mut self, message: Node<'_>) {
        self.message.message_id = text(message, "id");
        self.message.model = text(message, "model");
        self.message.diagnostics = message.get("diagnostics").map(|node| node.raw().to_owned());
        self.response_members(message);
    }

    /// Takes over the members that stand on `message_start`'s message and on `message_delta` alike.
    fn response_members(&mut self, node: Node<'_>) {
        keep_raw(&mut self.message.context_management, node, "context_management");
        keep_raw(&mut self.message.input_transformations, node, "input_transformations");
        keep_raw(&mut self.message.container, node, "container");
        keep_raw(&mut self.message.stop_details, node, "stop_details");
        let Some(usage) = node.get("usage").filter(|usage| usage.kind() == Kind::Object) else {
            return;
        };
        self.message.usage.merge_cumulative(&Usage::read(usage));
        let earlier = self.message.usage_json.take().and_then(|json| Body::parse(json).ok());
        let earlier = earlier.as_ref().map_or(usage, Body::root);
        self.message.usage_json = Some(merge_json(earlier, usage));
    }

    fn stop(&mut self, node: Node<'_>) -> Option<Delta> {
        let reason = text(node, "stop_reason")?;
        let sequence = text(node, "stop_sequence");
        self.message.stop_reason = Some(reason.clone());
        self.message.stop_sequence.clone_from(&sequence);
        Some(Delta::Stop { reason, sequence })
    }

    fn error_event(&mut self, root: Node<'_>) -> Vec<Delta> {
        let error = root.get("error").unwrap_or(root);
        let part = |key| text(error, key).unwrap_or_default();
        self.message.fail(part("type"), part("message"))
    }

    fn open_block(&mut self, index: u64) -> Option<&mut OpenBlock> {
        let place = *self.places.get(&index)?;
        self.blocks.get_mut(place).filter(|block| !block.stopped)
    }
}

type Step = Result<Vec<Delta>, AssembleError>;

/// An event's JSON with the name that errors give it.
struct Part<'a> {
    event: &'a str,
    node: Node<'a>,
}

impl<'a> Part<'a> {
    fn index(&self) -> Result<u64, AssembleError> {
        self.node.get("index").and_then(Node::u64).ok_or_else(|| self.lacks("index"))
    }

    fn object(&self, member: &'static str) -> Result<Node<'a>, AssembleError> {
        let node = self.member(self.node, member)?;
        if node.kind() == Kind::Object { Ok(node) } else { Err(self.lacks(member)) }
    }

    fn string(&self, holder: Node<'a>, member: &'static str) -> Result<Node<'a>, AssembleError> {
        let node = self.member(holder, member)?;
        if node.kind() == Kind::String { Ok(node) } else { Err(self.lacks(member)) }
    }

    fn member(&self, holder: Node<'a>, member: &'static str) -> Result<Node<'a>, AssembleError> {
        holder.get(member).ok_or_else(|| self.lacks(member))
    }

    fn lacks(&self, member: &'static str) -> AssembleError {
        AssembleError::Member { event: self.event.to_owned(), member }
    }
}

/// Keeps the raw JSON of a member that is given and not `null`.
fn keep_raw(slot: &mut Option<String>, node: Node<'_>, key: &str) {
    if let Some(value) = node.get(key).filter(|value| !value.is_null()) {
        *slot = Some(value.raw().to_owned());
    }
}

fn text(node: Node<'_>, key: &str) -> Option<String> {
    node.get(key).and_then(Node::str).map(|text| text.into_owned())
}

/// How often a byte of a `message_delta` counts: with each of them the usage object is merged anew.
const MERGED: usize = 128;
