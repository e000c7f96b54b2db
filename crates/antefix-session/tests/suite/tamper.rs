//! A transcript that was changed is found out by its records alone, without the chain of its lines.

use std::collections::BTreeSet;

use antefix_session::conversation::Conversation;
use antefix_session::record::{Entry, MessageContent, Record, RecordId};
use antefix_session::verify::verify;
use bytes::Bytes;

use crate::random::Random;
use crate::stage::{header, text};

/// Changes a transcript in several ways, one at a time; each must be found.
pub fn tamper(entries: &[Entry], random: &mut Random) {
    let sent = sent_records(entries);
    let sent: Vec<usize> = (0..entries.len()).filter(|&at| sent.contains(&entries[at].id)).collect();
    if sent.is_empty() {
        return;
    }
    for _ in 0..6 {
        flip_a_byte(entries, *random.pick(&sent), random);
    }
    drop_one(entries, random.below(entries.len() - 1));
    let (one, other) = (random.below(entries.len()), random.below(entries.len()));
    swap(entries, one, other);
}

fn flip_a_byte(entries: &[Entry], at: usize, random: &mut Random) {
    let mut object = entries[at].encode();
    let fragments = fragments(&entries[at].record);
    let fragment = random.pick(&fragments);
    let start = object.windows(fragment.len()).position(|window| *window == fragment[..]).unwrap();
    let place = start + random.below(fragment.len());
    object[place] ^= 1 << random.below(8);
    // A reader may find it already.
    let Ok(entry) = Entry::decode(&object) else { return };
    let mut changed = entries.to_vec();
    changed[at] = entry;
    assert!(!verify(header(), &changed).is_ok(), "byte {place} of {} passed", text(&object));
}

fn drop_one(entries: &[Entry], at: usize) {
    let mut changed = entries.to_vec();
    let dropped = changed.remove(at);
    assert!(!verify(header(), &changed).is_ok(), "{dropped:?} is not missed");
}

fn swap(entries: &[Entry], one: usize, other: usize) {
    let mut changed = entries.to_vec();
    changed.swap(one, other);
    assert_eq!(verify(header(), &changed).is_ok(), one == other, "records {one} and {other} swapped");
}

/// The parts of a record that are sent as they are.
fn fragments(record: &Record) -> Vec<Bytes> {
    match record {
        Record::Lane(lane) => {
            let parts = [&lane.envelope, &lane.tools, &lane.system];
            parts.into_iter().filter(|part| part.len() > 2).cloned().collect()
        }
        Record::Compact(compact) => {
            let said = compact.messages.iter().map(|saying| saying.fragment.clone());
            said.chain(fragments(&Record::Lane(compact.lane.clone()))).collect()
        }
        Record::Message(message) => match &message.content {
            MessageContent::Fragment(fragment) => vec![fragment.clone()],
            MessageContent::Results { blocks, .. } => blocks.clone(),
        },
        Record::Result(result) => vec![result.fragment.clone()],
        _ => Vec::new(),
    }
}

/// The records with fragments that are in at least one body.
fn sent_records(entries: &[Entry]) -> BTreeSet<RecordId> {
    let mut conversation = Conversation::new(header());
    let mut sent = BTreeSet::new();
    for entry in entries {
        if let Record::Attempt(attempt) = &entry.record {
            sent.insert(attempt.lane);
            sent.extend(conversation.path().map(|message| message.record()));
        }
        conversation.apply(entry).unwrap();
    }
    for entry in entries.iter().filter(|entry| sent.contains(&entry.id)).cloned().collect::<Vec<_>>() {
        if let Record::Message(message) = &entry.record
            && let MessageContent::Results { results, .. } = &message.content
        {
            sent.extend(results);
        }
    }
    sent.retain(|id| !fragments(&entries[id.0 as usize - 1].record).is_empty());
    sent
}
