use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Conversation, Lane, Mark, Message, OpenLane};
use crate::record::{ContextRecord, RecordId};

/// What the model was told, or waits to be told, of its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reminder<'a> {
    /// The record that holds it.
    pub record: RecordId,
    /// The turn it was observed in.
    pub turn: u64,
    /// What it is.
    pub context: &'a ContextRecord,
    /// The message that says it; `None` as long as it waits.
    pub message: Option<RecordId>,
    /// Whether it is part of the conversation as it stands; a rewind leaves some behind.
    pub is_current: bool,
}

impl Conversation {
    /// What the model knows of one thing around it, on the conversation as it stands; `None` if it knows nothing of it, or
    /// that it is gone. What was observed and waits to be said counts as known.
    pub fn known(&self, kind: &str, key: &str) -> Option<&Bytes> {
        let is_it = |context: &&ContextRecord| context.kind == kind && context.key == key;
        let found = self.observations().into_iter().find(is_it)?;
        (!found.is_gone()).then_some(&found.state)
    }

    /// All that the model knows of one kind: key and state, in the order of the keys.
    pub fn known_of(&self, kind: &str) -> Vec<(String, Bytes)> {
        let mut all = BTreeMap::new();
        for context in self.observations().into_iter().filter(|context| context.kind == kind) {
            all.entry(&context.key).or_insert(context);
        }
        let known = all.into_values().filter(|context| !context.is_gone());
        known.map(|context| (context.key.clone(), context.state.clone())).collect()
    }

    /// Everything that was said, or waits to be said, of the surroundings, oldest first; also what a rewind has left.
    pub fn reminders(&self) -> Vec<Reminder<'_>> {
        let mark = self.mark();
        let current = self.chain_of(mark.context);
        let told = self.observed.iter().enumerate().filter(|(_, observed)| observed.context.text.is_some());
        told.map(|(index, observed)| {
            let is_current = current.contains(&index);
            let waits = is_current && Some(index) > mark.said;
            let message = self.message_saying(observed).filter(|_| !waits);
            Reminder {
                record: observed.record,
                turn: observed.turn,
                context: &observed.context,
                message: message.map(Message::record),
                is_current,
            }
        })
        .collect()
    }

    /// What was observed of one kind on the way to where the conversation stands, by record; what a summary stands for
    /// included.
    pub fn observed_of(&self, kind: &str) -> BTreeMap<RecordId, &ContextRecord> {
        let mark = self.mark();
        let before = self.fronts_of_epochs().into_iter().map(|mark| mark.context);
        let indices = std::iter::once(mark.context).chain(before).flat_map(|latest| self.chain_of(latest));
        let observed = indices.filter_map(|index| self.observed.get(index));
        let of_kind = observed.filter(|observed| observed.context.kind == kind);
        of_kind.map(|observed| (observed.record, &observed.context)).collect()
    }

    /// What waits to be said, oldest first.
    pub(crate) fn unsaid(&self) -> Vec<(RecordId, &ContextRecord)> {
        self.unsaid_at(&self.mark())
    }

    pub(super) fn unsaid_at(&self, mark: &Mark) -> Vec<(RecordId, &ContextRecord)> {
        let all = self.chain_of(mark.context);
        let waits = all.into_iter().filter(|index| Some(*index) > mark.said);
        let waits = waits.filter_map(|index| self.observed.get(index));
        let texts = waits.filter(|observed| observed.context.text.is_some());
        let mut found: Vec<_> = texts.map(|observed| (observed.record, &observed.context)).collect();
        found.reverse();
        found
    }

    /// What a record says of the surroundings.
    pub(crate) fn context_of(&self, record: RecordId) -> Option<&ContextRecord> {
        self.observed.iter().find(|observed| observed.record == record).map(|observed| &observed.context)
    }

    /// What was observed last by the end of a turn, of what leads up to `latest`.
    pub(super) fn observed_by(&self, latest: Option<usize>, turn: u64) -> Option<usize> {
        let is_by_then =
            |index: &usize| self.observed.get(*index).is_some_and(|observed| observed.turn <= turn);
        self.chain_of(latest).into_iter().find(is_by_then)
    }

    /// What was said last by the end of a turn, of what leads up to `latest`.
    pub(super) fn said_by(&self, latest: Option<usize>, turn: u64) -> Option<usize> {
        let is_said = |index: &usize| {
            let observed = self.observed.get(*index);
            observed
                .and_then(|observed| self.message_saying(observed))
                .is_some_and(|message| message.turn() <= turn)
        };
        self.chain_of(latest).into_iter().find(is_said)
    }

    /// The latest message that says it, if any does.
    fn message_saying(&self, observed: &Observed) -> Option<&Message> {
        self.messages.iter().rev().find(|message| message.says().contains(&observed.record))
    }

    /// What is known, the newest first: what was observed on the path, and the baseline of the open lane, whose head is in
    /// front of every message, also of those that are older.
    fn observations(&self) -> Vec<&ContextRecord> {
        let lane = self.open_lane().map(|OpenLane { lane, .. }| lane);
        let opened = lane.map_or(RecordId(0), Lane::record);
        let path: Vec<&Observed> = self
            .chain_of(self.mark().context)
            .into_iter()
            .filter_map(|index| self.observed.get(index))
            .collect();
        let newer = path.partition_point(|observed| observed.record > opened);
        let (newer, older) = path.split_at(newer);
        let baseline = lane.into_iter().flat_map(|lane| &lane.spec().baseline);
        let newer = newer.iter().map(|observed| &observed.context);
        newer.chain(baseline).chain(older.iter().map(|observed| &observed.context)).collect()
    }

    /// Indices of what leads up to `latest`, the newest first.
    fn chain_of(&self, latest: Option<usize>) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut next = latest;
        while let Some(index) = next {
            chain.push(index);
            next = self.observed.get(index).and_then(|observed| observed.previous);
        }
        chain
    }
}

impl ContextRecord {
    /// Whether what it tells of is gone.
    pub fn is_gone(&self) -> bool {
        self.state.as_ref() == b"null"
    }
}

/// A [`ContextRecord`] with its place.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) record: RecordId,
    pub(super) turn: u64,
    /// What was observed before, as an index.
    pub(super) previous: Option<usize>,
    pub(super) context: ContextRecord,
}
