//! Signed thinking and what it is bound to.
//!
//! A signature issued here covers the thinking's own text and, as a digest, the tools, the system prompt and
//! all earlier messages as the client sent them: `cache_control`, deferred tools nobody referenced, and other
//! thinking blocks left out. Each also has an ordinal, so that thinking can be dropped from the front of the
//! history but not from its middle (preserved-thinking page, 2026).

use crate::error::ApiError;
use crate::request::{Block, Request, Role};

/// What a signature says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Number of signed thinking blocks issued before in this conversation.
    pub ordinal: u32,
    pub model: u64,
    pub prefix: Digest,
    pub text: u64,
}

impl Signature {
    /// The signature of thinking that is to follow a request of digest `prefix`; `ordinal` from
    /// [`next_ordinal`].
    pub fn issue(prefix: Digest, model: &str, ordinal: u32, thinking: &str) -> Self {
        Self { ordinal, model: hash(model), prefix, text: hash(thinking) }
    }

    /// Base64 in its alphabet, so that it looks like what clients expect to carry.
    pub fn text(self) -> String {
        let Digest(left, right) = self.prefix;
        let (ordinal, model, text) = (self.ordinal, self.model, self.text);
        format!("{MARK}{ordinal:08x}{model:016x}{left:016x}{right:016x}{text:016x}")
    }

    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix(MARK).filter(|hex| hex.len() == 72 && hex.is_ascii())?;
        let word = |at: usize| u64::from_str_radix(hex.get(at..at + 16)?, 16).ok();
        Some(Self {
            ordinal: u32::from_str_radix(hex.get(..8)?, 16).ok()?,
            model: word(8)?,
            prefix: Digest(word(24)?, word(40)?),
            text: word(56)?,
        })
    }
}

/// A block that was dropped from the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub path: String,
    pub reason: &'static str,
}

/// Number of the next thinking block of a conversation.
pub(crate) fn next_ordinal(request: &Request) -> u32 {
    let blocks = request.messages.iter().flat_map(|message| &message.blocks);
    let mut signatures = blocks.rev().filter_map(|block| Signature::parse(&block.signature));
    signatures.next().map_or(0, |signature| signature.ordinal.saturating_add(1))
}

/// Checks all thinking of a request. Thinking that was changed, or that no simulator signed, is refused for
/// every model. What is bound to another model is dropped. If `binds`, a block whose prefix has changed, or
/// that misses its predecessor, is refused or, if the request asks for it, dropped. Also gives the digest
/// that thinking in the answer will be bound to.
pub(crate) fn check(
    request: &mut Request,
    model: &str,
    binds: bool,
) -> Result<(Vec<Dropped>, Digest), ApiError> {
    let drop_block = request.params.drop_block;
    let mut digest = Digest::new();
    digest.head(request);
    let mut dropped = Vec::new();
    let mut last_ordinal = None;
    for index in 0..request.messages.len() {
        let Some(message) = request.messages.get_mut(index) else { break };
        let before = digest;
        digest.message(message.role, &message.blocks);
        if message.role != Role::Assistant {
            continue;
        }
        let mut faults = Vec::new();
        for block in message.blocks.iter().filter(|block| block.kind == "thinking") {
            let fault = judge(block, model, binds.then_some(before), &mut last_ordinal)?;
            faults.extend(fault.map(|reason| Dropped { path: block.path.clone(), reason }));
        }
        if let Some(fault) = faults.iter().find(|fault| fault.reason == PREFIX && !drop_block) {
            return Err(mismatch(&fault.path));
        }
        message.blocks.retain(|block| !faults.iter().any(|fault| fault.path == block.path));
        dropped.append(&mut faults);
    }
    Ok((dropped, digest))
}

/// Why a block cannot stay, if so.
fn judge(
    block: &Block,
    model: &str,
    prefix: Option<Digest>,
    last_ordinal: &mut Option<u32>,
) -> Result<Option<&'static str>, ApiError> {
    let invalid = || ApiError::invalid(format!("{}: Invalid `signature` in `thinking` block", block.path));
    let signature = Signature::parse(&block.signature).ok_or_else(invalid)?;
    if signature.text != hash(&block.plain) {
        return Err(ApiError::invalid(format!(
            "{}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
            block.path
        )));
    }
    let Some(prefix) = prefix else { return Ok(None) };
    let follows = last_ordinal.is_none_or(|last| signature.ordinal == last.saturating_add(1));
    *last_ordinal = Some(signature.ordinal);
    if signature.model != hash(model) {
        return Ok(Some("model_binding_mismatch"));
    }
    Ok((signature.prefix != prefix || !follows).then_some(PREFIX))
}

fn mismatch(path: &str) -> ApiError {
    ApiError::invalid(format!(
        "{path}: this `thinking` block is bound to the content before it, which has been modified \
         (prefix_binding_mismatch)"
    ))
}

/// 128 bits in the manner of FNV, eight bytes a step: each step can be undone, so a single difference never
/// vanishes. Enough against accidents, which is what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Digest(pub u64, pub u64);

impl Digest {
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325, 0x8422_2325_cbf2_9ce4)
    }

    fn head(&mut self, request: &Request) {
        for tool in request.tools.iter().filter(|tool| !tool.deferred) {
            self.part("tool", &tool.text);
        }
        for block in &request.system {
            self.part("system", &block.text);
        }
    }

    fn message(&mut self, role: Role, blocks: &[Block]) {
        for block in blocks.iter().filter(|block| !block.is_thinking()) {
            self.part(role.name(), &block.kind);
            self.part("", &block.text);
        }
    }

    /// Adds a part; lengths keep parts apart.
    pub fn part(&mut self, label: &str, text: &str) {
        self.bytes(&(label.len() as u64).to_le_bytes());
        self.bytes(label.as_bytes());
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.word(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        let mut last = [0; 8];
        for (slot, byte) in last.iter_mut().zip(words.remainder()) {
            *slot = *byte;
        }
        self.word(u64::from_le_bytes(last));
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(PRIME).rotate_left(29);
        self.1 = (self.1 ^ word).wrapping_mul(OTHER_PRIME).rotate_left(31);
    }
}

/// What the text of a summary is sealed with, so that a changed one is known.
pub(crate) fn seal(summary: &str) -> String {
    format!("AFSIM+SUMMARY+{:016x}", hash(summary))
}

fn hash(text: &str) -> u64 {
    let mut digest = Digest::new();
    digest.part("", text);
    digest.0
}

const PRIME: u64 = 0x0000_0100_0000_01b3;
const OTHER_PRIME: u64 = 0x9e37_79b1_85eb_ca87;
const MARK: &str = "AFSIM+01";
const PREFIX: &str = "prefix_binding_mismatch";
