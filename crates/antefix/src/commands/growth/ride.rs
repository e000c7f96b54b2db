//! Follows each piece of a history through the requests it rode in.

use std::collections::BTreeMap;

use antefix_ledger::{Posting, lay_out, measure};
use antefix_models::{Counts, Money, PriceBook, Tokens, cost};
use antefix_session::conversation::{Call, Conversation, Message, Reminder};
use antefix_session::record::{AttemptId, Entry, Header, LaneRecord, Origin, Record, RecordId};
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
            Record::Attempt(attempt) => riders.open = Some((attempt.attempt, riders.aboard())),
            Record::Outcome(outcome) => {
                let posting = postings.iter().find(|one| one.attempt == outcome.attempt.0 && one.part == 0);
                riders.bill(outcome.attempt, posting, book);
            }
            _ => {}
        }
        riders.conversation.apply(entry).map_err(|error| error.to_string())?;
        match &entry.record {
            Record::Lane(lane) => riders.add(entry.id, of_head(lane)),
            Record::Message(_) => {
                let message = riders.conversation.path().next_back().map(|last| riders.of_message(last));
                riders.add(entry.id, message.unwrap_or_default());
            }
            _ => {}
        }
    }
    Ok(riders.pieces)
}

struct Riders {
    conversation: Conversation,
    pieces: Vec<Piece>,
    /// The pieces of each lane's head and of each message.
    of: BTreeMap<RecordId, Vec<usize>>,
    /// The request in flight, and the pieces that ride in it, in reading order.
    open: Option<(AttemptId, Vec<usize>)>,
}

impl Riders {
    fn add(&mut self, record: RecordId, pieces: Vec<Piece>) {
        let first = self.pieces.len();
        self.pieces.extend(pieces);
        self.of.insert(record, (first..self.pieces.len()).collect());
    }

    fn aboard(&self) -> Vec<usize> {
        let head = self.conversation.lane().map(antefix_session::conversation::Lane::record);
        let records = head.into_iter().chain(self.conversation.path().map(Message::record));
        records.filter_map(|record| self.of.get(&record)).flatten().copied().collect()
    }

    /// Adds what a request was billed to the pieces that rode in it.
    fn bill(&mut self, attempt: AttemptId, posting: Option<&Posting>, book: &PriceBook) {
        let Some((_, aboard)) = self.open.take_if(|(open, _)| *open == attempt) else { return };
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
        if message.origin() == Origin::Reminder {
            return told;
        }
        let blocks = message.blocks().into_iter().filter_map(|block| Body::parse(block.to_vec()).ok());
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
            (Some("text"), Origin::User) => (Part::Typed, None),
            (_, Origin::User) => (Part::Attached, None),
            (Some("text"), Origin::Assistant) => (Part::Text, None),
            (_, Origin::Closure) => (Part::Closure, None),
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
        Self { conversation: Conversation::new(header), pieces: Vec::new(), of: BTreeMap::new(), open: None }
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
