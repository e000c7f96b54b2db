//! What is said behind the new head: the summary, the state of things, and the last messages as they were.

use antefix_models::Tokens;
use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::AssembledBlock;
use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use super::CompactionTexts;
use crate::closure::{Texts, text_block};
use crate::conversation::{Conversation, Message};
use crate::dialect::{Dialect, Ids, Translation};
use crate::machine::carry::{Said, merged};
use crate::record::{Origin, Saying};
use crate::reminder::is_tagged;

/// What a conversation is said anew from.
pub(super) struct Anew<'a> {
    pub(super) dialect: Dialect,
    /// The messages as they are, oldest first.
    pub(super) path: Vec<&'a Message>,
    /// All that was said, those messages included that an earlier summary stands for.
    pub(super) history: Vec<&'a Message>,
    /// How many of the path's messages the summary speaks of.
    pub(super) summarised: usize,
    /// The turn that goes on, if one does: the next request answers what stands last then.
    pub(super) goes_on: Option<u64>,
    /// The most that is kept of the messages as they are.
    pub(super) room: Tokens,
    pub(super) summary: &'a str,
    /// Stands behind the summary.
    pub(super) state: &'a [Bytes],
    pub(super) texts: &'a CompactionTexts,
    pub(super) closing: &'a Texts,
}

impl Anew<'_> {
    /// The messages behind the new head. Thinking is not among them: it is bound to what it was thought behind.
    pub(super) fn messages(&self) -> Vec<Saying> {
        let start = self.tail_start();
        let (mut said, _) = merged(self.path.get(start..).unwrap_or_default().iter().copied());
        for Said { translation, .. } in said.iter_mut().filter(|one| one.translation.is_user) {
            // A message that says nothing else stays, so that it is not empty.
            if !translation.results.is_empty() || !translation.blocks.iter().all(is_note) {
                translation.blocks.retain(|block| !is_note(block));
            }
            for result in &mut translation.results {
                if !result.content.iter().all(is_note) {
                    result.content.retain(|block| !is_note(block));
                }
            }
        }
        self.shorten(&mut said);
        let last = self.path.get(..start).and_then(<[_]>::last).or(self.path.first());
        let turn = last.map_or(0, |message| message.turn());
        let mut out = vec![Saying {
            turn,
            origin: Origin::Summary,
            fragment: self.dialect.user_message(&self.opening(start)),
        }];
        let mut ids = Ids::new(self.dialect);
        let mut is_user = true;
        for one in &said {
            if one.translation.is_user && is_user {
                let text = if out.len() == 1 { self.texts.taken } else { self.closing.no_reply };
                out.push(self.closing(one.turn, text));
            }
            let written = self.dialect.translate(&one.translation, &mut ids, self.closing);
            out.extend(written.into_iter().map(|(origin, fragment)| Saying {
                turn: one.turn,
                origin,
                fragment,
            }));
            is_user = one.translation.is_user;
        }
        self.end(&mut out, &said);
        out
    }

    /// Makes it end so that the next request may follow: with the user's words if a turn goes on, else with a reply.
    /// A turn does not go on from results alone: the reply with their calls has lost its thinking, which the Messages
    /// API wants in front of the last calls where thinking has a budget (November 2026).
    fn end(&self, out: &mut Vec<Saying>, said: &[Said]) {
        let last = said.last();
        let turn = out.last().map_or(0, |saying| saying.turn);
        let ends_in_results =
            last.is_some_and(|last| last.translation.is_user && last.translation.blocks.is_empty());
        let is_user = last.is_none_or(|last| last.translation.is_user);
        match self.goes_on {
            Some(turn) if ends_in_results || !is_user => {
                if is_user {
                    out.push(self.closing(turn, self.texts.pause));
                }
                let fragment = self.dialect.user_message(&[text_block(self.texts.go_on)]);
                out.push(Saying { turn, origin: Origin::Closure, fragment });
            }
            None if is_user => out.push(self.closing(turn, self.texts.taken)),
            _ => {}
        }
    }

    fn closing(&self, turn: u64, text: &str) -> Saying {
        Saying { turn, origin: Origin::Closure, fragment: self.dialect.reply(&[text_block(text)]) }
    }

    /// The first message: the summary, the state of things, and the words that are being worked on if they are not
    /// kept as they were.
    fn opening(&self, start: usize) -> Vec<Bytes> {
        let mut blocks = vec![text_block(&format!("{}\n\n{}", self.texts.intro, self.summary))];
        blocks.extend(self.state.iter().cloned());
        let are_words =
            |turn| move |message: &&&Message| message.turn() == turn && message.origin() == Origin::User;
        let words = self.goes_on.and_then(|turn| {
            let is_kept = self.path.iter().skip(start).any(|message| are_words(turn)(&message));
            self.history.iter().find(are_words(turn)).filter(|_| !is_kept)
        });
        if let Some(message) = words.filter(|message| Conversation::estimated_message(message) <= self.room) {
            let said = Translation::of(true, Origin::User, message.blocks());
            blocks.push(text_block(self.texts.request));
            blocks.extend(said.blocks.into_iter().filter(|block| !is_note(block)));
        }
        blocks
    }

    /// Index of the first message that is kept as it is: as many as there is room for, from words of the user on if
    /// there is room for any, and all that the summary does not speak of. Results are not parted from their calls.
    fn tail_start(&self) -> usize {
        let whole: Tokens = self.path.iter().map(|message| Conversation::estimated_message(message)).sum();
        let room = Tokens(self.room.0.min(whole.0 / 2));
        let (mut start, mut words, mut length) = (self.path.len(), None, Tokens::ZERO);
        for (index, message) in self.path.iter().enumerate().rev() {
            length += Conversation::estimated_message(message);
            if length > room || message.origin() == Origin::Summary {
                break;
            }
            if has_no_results(message) {
                start = index;
                words = words.filter(|_| !message.is_user()).or(message.is_user().then_some(index));
            }
        }
        words.unwrap_or(start).min(self.summarised)
    }

    /// Leaves out the longest results until there is room.
    fn shorten(&self, said: &mut [Said]) {
        let most = self.room.0.saturating_mul(2);
        loop {
            let results = said.iter_mut().flat_map(|one| &mut one.translation.results);
            let (mut whole, mut longest) = (0, None);
            for result in results {
                let length = tokens(&result.content);
                whole += length;
                if longest.as_ref().is_none_or(|(most, _)| length > *most) {
                    longest = Some((length, result));
                }
            }
            let left_out = text_block(self.texts.left_out);
            match longest
                .filter(|(length, _)| whole > most && *length > tokens(std::slice::from_ref(&left_out)))
            {
                Some((_, result)) => result.content = vec![left_out],
                None => return,
            }
        }
    }
}

/// The text of a reply's blocks.
pub(super) fn text_of(blocks: &[&AssembledBlock]) -> String {
    let text = |block: &&&AssembledBlock| {
        let body = Body::parse(block.json.clone()).ok()?;
        Some(body.root().get("text").and_then(Node::str)?.into_owned())
    };
    let texts = blocks.iter().filter(|block| block.kind == BlockKind::Text);
    let texts: Vec<String> = texts.filter_map(|block| text(&block)).collect();
    texts.join("\n\n").trim().to_owned()
}

/// Whether a block tells of the surroundings: the new baseline does so.
fn is_note(block: &Bytes) -> bool {
    let body = Body::parse(block.to_vec());
    let text = body.as_ref().ok().and_then(|body| body.root().get("text")?.str());
    text.is_some_and(|text| is_tagged(&text))
}

/// Whether a message is a reply, or nothing but words.
pub(super) fn has_no_results(message: &Message) -> bool {
    !message.is_user() || Translation::of(true, message.origin(), message.blocks()).results.is_empty()
}

/// Tokens of content blocks, estimated at 3.5 bytes each.
fn tokens(content: &[Bytes]) -> u64 {
    content.iter().map(|block| Tokens::of_bytes(block.len() as u64).0).sum()
}
