//! Follows each piece of a history through the requests it rode in.

use std::collections::BTreeMap;

use antefix_ledger::{Posting, lay_out, measure};
use antefix_models::{Counts, Money, PriceBook, Tokens, cost};
use antefix_session::conversation::{Call, Conversation, Message, Reminder};
use antefix_session::record::{
    AttemptId, AttemptRecord, Entry, Header, LaneRecord, Origin, Purpose, Record, RecordId,
};
use antefix_wire::json::{Body, Node};

use super::Part;
use crate::ledger::prices_of;
use crate::stream_json::quoted;

/// A block of a prompt, and what it cost to have it in the history.
#[derive(Clone, Debug)]
pub struct Piece {
    /// What it is.
    pub part: Part,
    /// The turn it came in; 0 for the head.
    pub turn: u64,
    /// The file that the tool was called for.
    pub file: Option<String>,
    /// For calls and results, the call's input.
    pub input: Option<Body>,
    /// The block itself.
    pub block: Body,
    /// Its length in bytes, of which tokens are shared out.
    pub weight: u64,
    /// Its tokens; `None` until a request has been answered that it rode in.
    pub known: Option<Tokens>,
    /// Requests it rode in whose usage is known.
    pub rides: u64,
    /// Tokens that were billed for it, over these requests.
    pub sent: Counts,
    /// What they cost; of priced requests alone.
    pub cost: Money,
}

impl Piece {
    /// Its tokens.
    pub fn tokens(&self) -> Tokens {
        self.known.unwrap_or_default()
    }
}

/// The pieces of a session, with what was billed for each.
///
/// # Errors
/// Says in words why the transcript cannot be read.
pub fn pieces(
    header: Header,
    entries: &[Entry],
    postings: &[Posting],
    book: &PriceBook,
) -> Result<Vec<Piece>, String> {
    let mut riders = Riders { conversation: Conversation::new(header), ..Riders::default() };
    for entry in entries {
        match &entry.record {
            Record::Attempt(attempt) => riders.board(attempt),
            Record::Outcome(outcome) => {
                let posting = postings.iter().find(|one| one.attempt == outcome.attempt.0 && one.part == 0);
                riders.bill(outcome.attempt, posting, book);
            }
            _ => {}
        }
        riders.conversation.apply(entry).map_err(|error| error.to_string())?;
        match &entry.record {
            Record::Lane(lane) => riders.add_head(entry.id, lane),
            Record::Message(_) => riders.add_messages(entry.id),
            Record::Compact(compact) => {
                riders.add_head(entry.id, &compact.lane);
                riders.add_messages(entry.id);
            }
            _ => {}
        }
    }
    Ok(riders.pieces)
}

struct Riders {
    conversation: Conversation,
    pieces: Vec<Piece>,
    /// The pieces of each lane's head.
    heads: BTreeMap<RecordId, Vec<usize>>,
    /// The pieces of each message, in the order of the messages of a record.
    messages: BTreeMap<RecordId, Vec<Vec<usize>>>,
    /// The requests in flight, and the pieces that ride in each, in reading order.
    open: BTreeMap<AttemptId, Vec<usize>>,
    /// The pieces that rode in the last request but for replays, which have the same.
    last: Vec<usize>,
}

impl Riders {
    fn add(&mut self, pieces: Vec<Piece>) -> Vec<usize> {
        let first = self.pieces.len();
        self.pieces.extend(pieces);
        (first..self.pieces.len()).collect()
    }

    /// What the head before had as well is the same piece.
    fn add_head(&mut self, record: RecordId, lane: &LaneRecord) {
        let before = self.heads.last_key_value().map(|(_, pieces)| pieces.clone()).unwrap_or_default();
        let mut head = Vec::new();
        for piece in of_head(lane) {
            let is_it = |index: &&usize| {
                let old = self.pieces.get(**index);
                old.is_some_and(|old| old.part == piece.part && old.block.bytes() == piece.block.bytes())
            };
            match before.iter().find(is_it) {
                Some(index) => head.push(*index),
                None => head.extend(self.add(vec![piece])),
            }
        }
        self.heads.insert(record, head);
    }

    fn add_messages(&mut self, record: RecordId) {
        let own = self.conversation.path().filter(|message| message.record() == record);
        let pieces: Vec<Vec<Piece>> = own.map(|message| self.of_message(message)).collect();
        let indices = pieces.into_iter().map(|pieces| self.add(pieces)).collect();
        self.messages.insert(record, indices);
    }

    fn board(&mut self, attempt: &AttemptRecord) {
        if attempt.purpose != Purpose::Warm {
            self.last = self.aboard();
        }
        self.open.insert(attempt.attempt, self.last.clone());
    }

    fn aboard(&self) -> Vec<usize> {
        let lane = self.conversation.lane().map(antefix_session::conversation::Lane::record);
        let mut all = lane.and_then(|lane| self.heads.get(&lane)).cloned().unwrap_or_default();
        let path: Vec<RecordId> = self.conversation.path().map(Message::record).collect();
        // What a summary of the provider's stands for does not ride any more.
        let read = self.conversation.path().rposition(Message::holds_summary).unwrap_or(0);
        let of_record = path.chunk_by(|one, other| one == other).flat_map(|record| {
            let own = record.first().and_then(|first| self.messages.get(first));
            own.into_iter().flatten().take(record.len())
        });
        all.extend(of_record.skip(read).flatten());
        all
    }

    /// Adds what a request was billed to the pieces that rode in it.
    fn bill(&mut self, attempt: AttemptId, posting: Option<&Posting>, book: &PriceBook) {
        let Some(aboard) = self.open.remove(&attempt) else { return };
        let Some((posting, row)) = posting.and_then(|posting| Some((posting, posting.row?))) else { return };
        let riding: Vec<&Piece> = aboard.iter().filter_map(|&index| self.pieces.get(index)).collect();
        let known: Vec<_> = riding.iter().map(|piece| piece.known).collect();
        let weights: Vec<_> = riding.iter().map(|piece| piece.weight).collect();
        let tokens = measure(&known, &weights, row.counts.prompt());
        let prices = prices_of(book, posting);
        for ((index, own), billed) in aboard.iter().zip(&tokens).zip(lay_out(&tokens, &row.counts)) {
            let Some(piece) = self.pieces.get_mut(*index) else { continue };
            piece.known = piece.known.or(Some(*own));
            piece.rides += 1;
            piece.sent += billed;
            piece.cost += prices.map_or(Money::ZERO, |prices| cost(&prices, &billed));
        }
    }

    fn of_message(&self, message: &Message) -> Vec<Piece> {
        let reminders = self.conversation.reminders();
        let said = reminders.iter().filter(|reminder| reminder.message == Some(message.record()));
        let told: Vec<Piece> = said.filter_map(|reminder| of_reminder(reminder, message.turn())).collect();
        let blocks = message.blocks().into_iter().filter_map(|block| Body::parse(block.to_vec()).ok());
        if message.origin() == Origin::Reminder {
            let changes = blocks.filter(is_tool_change);
            let changes = changes.map(|block| piece(Part::Reminder("tools".to_owned()), block));
            return told
                .into_iter()
                .chain(changes.map(|piece| Piece { turn: message.turn(), ..piece }))
                .collect();
        }
        let mut pieces: Vec<Piece> = blocks.map(|block| self.of_block(message, block)).collect();
        // Where reminders stand in a text, they are a part of it and weighed apart; where they are all of it, instead.
        for reminder in &told {
            let holds = |piece: &Piece| piece.block.text().contains(inner(&reminder.block));
            let Some(at) = pieces.iter().rposition(holds) else { continue };
            match pieces.get_mut(at).filter(|piece| !is_all_reminder(&piece.block)) {
                Some(piece) => piece.weight = piece.weight.saturating_sub(reminder.weight).max(1),
                None => drop(pieces.remove(at)),
            }
        }
        pieces.extend(told);
        pieces
    }

    fn of_block(&self, message: &Message, block: Body) -> Piece {
        let text = |name| block.root().get(name).and_then(Node::str).map(|text| text.into_owned());
        let call = |id: String| self.conversation.path().flat_map(Message::calls).find(|call| call.id == id);
        let (part, call) = match (text("type").as_deref(), message.origin()) {
            (Some("tool_use"), _) => {
                let call = text("id").and_then(call);
                (Part::Calls(text("name").unwrap_or_default()), call)
            }
            (Some("tool_result"), _) => {
                let call = text("tool_use_id").and_then(call);
                (Part::Results(call.map(|call| call.name.clone()).unwrap_or_default()), call)
            }
            (Some("thinking" | "redacted_thinking"), _) => (Part::Thinking, None),
            (Some("compaction"), _) => (Part::Summary, None),
            (Some("text"), Origin::User) => (Part::Typed, None),
            (_, Origin::User) => (Part::Attached, None),
            (Some("text"), Origin::Assistant) => (Part::Text, None),
            (_, Origin::Closure) => (Part::Closure, None),
            (_, Origin::Summary | Origin::Aside) => (Part::Summary, None),
            _ => (Part::Other, None),
        };
        let input = call.and_then(|call: &Call| Body::parse(call.input.to_vec()).ok());
        let path = input.as_ref().and_then(|input| input.root().get("path")?.str());
        let file = path.map(|path| path.into_owned());
        Piece { turn: message.turn(), file, input, ..piece(part, block) }
    }
}

impl Default for Riders {
    fn default() -> Self {
        let header = Header {
            session: String::new(),
            cwd: String::new(),
            created: antefix_session::record::Millis(0),
            build: String::new(),
            forked_from: None,
            spawned_by: None,
        };
        Self {
            conversation: Conversation::new(header),
            pieces: Vec::new(),
            heads: BTreeMap::new(),
            messages: BTreeMap::new(),
            open: BTreeMap::new(),
            last: Vec::new(),
        }
    }
}

fn of_head(lane: &LaneRecord) -> Vec<Piece> {
    let parts = |text: &[u8]| -> Vec<Body> {
        let Ok(array) = Body::parse(text.to_vec()) else { return Vec::new() };
        let items = array.root().items().map(|item| Body::parse(item.raw().as_bytes().to_vec()));
        items.filter_map(Result::ok).collect()
    };
    let tools = parts(&lane.tools).into_iter().map(|tool| piece(Part::Tools, tool));
    let system = parts(&lane.system).into_iter().zip(0..).map(|(block, index)| {
        piece(if index < lane.static_blocks { Part::Prompt } else { Part::Baseline }, block)
    });
    tools.chain(system).collect()
}

/// A reminder, as a JSON text.
fn of_reminder(reminder: &Reminder<'_>, turn: u64) -> Option<Piece> {
    let text = Body::parse(quoted(reminder.context.text.as_ref()?).into_bytes()).ok()?;
    Some(Piece { turn, ..piece(Part::Reminder(reminder.context.kind.clone()), text) })
}

/// Whether a block offers or withdraws a tool.
fn is_tool_change(block: &Body) -> bool {
    let is_it = |kind: Node<'_>| kind.is_str("tool_addition") || kind.is_str("tool_removal");
    block.root().get("type").is_some_and(is_it)
}

/// Whether a text begins with a reminder's tag, and so is nothing else: nobody else can write one.
fn is_all_reminder(block: &Body) -> bool {
    let text = block.root().get("text").and_then(Node::str);
    text.is_some_and(|text| text.starts_with("<antefix-note "))
}

/// A JSON text without its quotes.
fn inner(text: &Body) -> &str {
    let text = text.text();
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

fn piece(part: Part, block: Body) -> Piece {
    Piece {
        weight: block.bytes().len() as u64,
        part,
        turn: 0,
        file: None,
        input: None,
        block,
        known: None,
        rides: 0,
        sent: Counts::default(),
        cost: Money::ZERO,
    }
}
