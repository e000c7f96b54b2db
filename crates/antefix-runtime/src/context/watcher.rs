use std::collections::{BTreeMap, BTreeSet};

use antefix_session::conversation::{Conversation, Lane};
use antefix_session::record::{ContextRecord, Millis};
use antefix_wire::json::write_string;
use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::{KINDS, Moment, Sighting, Source, Surroundings, Unavailable};
use crate::head::BASELINE;

/// Asks the sources, and compares what they see with what is on record.
#[derive(Default)]
pub struct Watcher {
    watched: Vec<Watched>,
    reminders: Reminders,
    notes: Vec<String>,
    /// Notes that were taken, so that each is told once.
    told: BTreeSet<String>,
    /// When the baseline was taken, until the first look of sources of [`Moment::Later`] has been.
    begun: Option<Millis>,
}

/// What of the surroundings the model is to be told: which kinds, and how much of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reminders {
    off: BTreeSet<String>,
    caps: BTreeMap<String, usize>,
}

/// What a session's head says of its surroundings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The text of the head.
    pub text: String,
    /// What it tells, for the record.
    pub records: Vec<ContextRecord>,
}

impl Watcher {
    /// One without sources, which will leave out what is not to be told.
    pub fn new(reminders: Reminders) -> Self {
        Self { reminders, ..Self::default() }
    }

    /// Adds a source; what it sees is told behind what those before it see. One whose kind is switched off is never
    /// asked.
    pub fn add(&mut self, source: impl Source + 'static) {
        if self.reminders.is_on(source.kind()) {
            self.watched.push(Watched::new(Box::new(source)));
        }
    }

    /// Whether the model is told of a kind.
    pub fn tells(&self, kind: &str) -> bool {
        self.reminders.is_on(kind)
    }

    /// What the head of a new session says. Sources of [`Moment::Later`] begin to look, and are not waited for.
    pub async fn baseline(&mut self, around: &Surroundings) -> Baseline {
        let seen = self.look(around, |watched| watched.moment != Moment::Later).await;
        for watched in self.watched.iter_mut().filter(|watched| watched.moment == Moment::Later) {
            watched.begin(around);
        }
        self.begun = Some(around.now);
        self.said(seen)
    }

    /// What the head says that a conversation goes on behind once a summary stands for it. All sources are waited for.
    pub async fn baseline_anew(&mut self, around: &Surroundings) -> Baseline {
        let seen = self.look(around, |_| true).await;
        self.begun = None;
        self.said(seen)
    }

    /// What has been seen, as a head says it.
    fn said(&self, seen: Vec<(usize, Vec<Sighting>)>) -> Baseline {
        let mut records = Vec::new();
        let (mut text, mut sections) = (BASELINE.to_owned(), String::new());
        for (index, sightings) in seen {
            let Some(source) = self.watched.get(index).and_then(Watched::source) else { continue };
            for sighting in sightings {
                match source.baseline(&sighting).map(|text| self.reminders.cut(source, text)) {
                    Some(section) if section.starts_with('#') => {
                        sections.push_str(&format!("\n{section}\n"));
                    }
                    Some(line) => text.push_str(&format!("{line}\n")),
                    None => {}
                }
                records.push(record(source, sighting.key, sighting.state, None));
            }
        }
        Baseline { text: text + &sections, records }
    }

    /// What the sources of [`Moment::Later`] have seen that [`baseline`](Self::baseline) did not wait for. It goes on
    /// record without a word, so that drift is told from there.
    /// Nothing where there was no baseline, or from the second time on.
    pub async fn first_look(&mut self, around: &Surroundings) -> Vec<ContextRecord> {
        let mut records = Vec::new();
        if self.begun.take().is_none() {
            return records;
        }
        for watched in self.watched.iter_mut().filter(|watched| watched.moment == Moment::Later) {
            let seen = watched.end(around).await.unwrap_or_default();
            if let Some(source) = watched.source() {
                let silent = |sighting: Sighting| record(source, sighting.key, sighting.state, None);
                records.extend(seen.into_iter().map(silent));
            }
        }
        records
    }

    /// What is otherwise than the conversation knows, in front of a prompt. The first prompt does not wait for sources of
    /// [`Moment::Later`], nor, if it comes at once, for any that takes time to look.
    pub async fn drift(&mut self, conversation: &Conversation, around: &Surroundings) -> Vec<ContextRecord> {
        match self.begun {
            // The head has just said all there is, but for what stands behind it.
            Some(begun) if around.now.0.saturating_sub(begun.0) < FRESH => {
                self.compare(conversation, around, |watched| watched.is_instant).await
            }
            Some(_) => self.compare(conversation, around, |watched| watched.moment != Moment::Later).await,
            None => self.compare(conversation, around, |_| true).await,
        }
    }

    /// What is otherwise since calls have returned; only sources of [`Moment::Calls`] are asked.
    pub async fn after_calls(
        &mut self,
        conversation: &Conversation,
        around: &Surroundings,
    ) -> Vec<ContextRecord> {
        self.compare(conversation, around, |watched| watched.moment == Moment::Calls).await
    }

    /// Of what was learned without a source, what the model is to be told.
    pub fn wanted(&self, mut records: Vec<ContextRecord>) -> Vec<ContextRecord> {
        records.retain(|record| self.reminders.is_on(&record.kind));
        for record in &mut records {
            if let (Some(most), Some(text)) = (self.reminders.caps.get(&record.kind), &mut record.text) {
                *text = cut_to(*most, std::mem::take(text));
            }
        }
        records
    }

    /// What the user should know of the looks so far, each once.
    pub fn take_notes(&mut self) -> Vec<String> {
        let notes = std::mem::take(&mut self.notes);
        notes.into_iter().filter(|note| self.told.insert(note.clone())).collect()
    }

    async fn compare(
        &mut self,
        conversation: &Conversation,
        around: &Surroundings,
        when: impl Fn(&Watched) -> bool,
    ) -> Vec<ContextRecord> {
        let seen = self.look(around, when).await;
        let old_head = self.head_of_an_older_build(conversation);
        let mut records = Vec::new();
        for (index, sightings) in seen {
            let Some(source) = self.watched.get(index).and_then(Watched::source) else { continue };
            let (kind, known) = (source.kind(), conversation.known_of(source.kind()));
            let is_seen: BTreeSet<&str> = sightings.iter().map(|sighting| sighting.key.as_str()).collect();
            let is_left = |key: &str| !is_seen.contains(key) && source.speaks_for(key);
            for (key, state) in known.iter().filter(|(key, _)| is_left(key)) {
                if let Some(text) = source.removed(key, state) {
                    let text = self.reminders.cut(source, text);
                    records.push(record(source, key.clone(), GONE, Some(text)));
                }
            }
            for sighting in sightings {
                let before = conversation.known(kind, &sighting.key).cloned().unwrap_or(GONE);
                if before == sighting.state {
                    continue;
                }
                if old_head
                    .is_some_and(|head| source.baseline(&sighting).is_some_and(|text| says(head, &text)))
                {
                    records.push(record(source, sighting.key, sighting.state, None));
                } else if let Some(text) = source.drift(&before, &sighting) {
                    let text = self.reminders.cut(source, text);
                    records.push(record(source, sighting.key, sighting.state, Some(text)));
                }
            }
        }
        records
    }

    /// The head of a session of which nothing is on record, since the build that began it knew of no sources.
    fn head_of_an_older_build<'a>(&self, conversation: &'a Conversation) -> Option<&'a Bytes> {
        let lane = conversation.lane().map(Lane::spec).filter(|lane| lane.baseline.is_empty())?;
        let knows = self.watched.iter().any(|one| !conversation.known_of(one.kind).is_empty());
        (!knows && conversation.reminders().is_empty()).then_some(&lane.system)
    }

    /// What the sources of these moments see, all at once, in their order; without those that cannot say.
    async fn look(
        &mut self,
        around: &Surroundings,
        when: impl Fn(&Watched) -> bool,
    ) -> Vec<(usize, Vec<Sighting>)> {
        for watched in self.watched.iter_mut().filter(|watched| when(watched)) {
            watched.begin(around);
        }
        let mut seen = Vec::new();
        for (index, watched) in self.watched.iter_mut().enumerate() {
            if !when(watched) {
                continue;
            }
            let kind = watched.kind;
            match watched.end(around).await {
                Ok(sightings) => seen.push((index, sightings)),
                Err(Unavailable(why)) => {
                    self.notes.push(format!("{kind}: {why}; what was known of it stays"));
                }
            }
            self.notes.extend(watched.source().map(Source::notes).unwrap_or_default());
        }
        seen
    }
}

impl Reminders {
    /// Switches a kind off.
    ///
    /// # Errors
    /// [`NoKind`] if there is none of that name.
    pub fn switch_off(&mut self, kind: &str) -> Result<(), NoKind> {
        self.off.insert(checked(kind)?);
        Ok(())
    }

    /// Switches a kind on, with its own cap.
    ///
    /// # Errors
    /// [`NoKind`] if there is none of that name.
    pub fn switch_on(&mut self, kind: &str) -> Result<(), NoKind> {
        self.off.remove(&checked(kind)?);
        Ok(())
    }

    /// Switches a kind on, with texts of so many bytes at most.
    ///
    /// # Errors
    /// [`NoKind`] if there is none of that name.
    pub fn cap(&mut self, kind: &str, bytes: usize) -> Result<(), NoKind> {
        self.switch_on(kind)?;
        self.caps.insert(kind.to_owned(), bytes);
        Ok(())
    }

    /// Whether the model is told of a kind.
    pub fn is_on(&self, kind: &str) -> bool {
        !self.off.contains(kind)
    }

    fn cut(&self, source: &dyn Source, text: String) -> String {
        cut_to(self.caps.get(source.kind()).copied().unwrap_or_else(|| source.cap()), text)
    }
}

/// There is no such kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no kind `{0}`; the kinds are {list}", list = KINDS.join(", "))]
pub struct NoKind(pub String);

/// A source, and where it is.
struct Watched {
    kind: &'static str,
    moment: Moment,
    is_instant: bool,
    slot: Slot,
}

enum Slot {
    Here(Box<dyn Source>),
    /// Looking, in a thread of its own, and waited for until then.
    Away(oneshot::Receiver<Back>, Instant),
    /// Its thread has failed.
    Lost,
}

type Back = (Box<dyn Source>, Result<Vec<Sighting>, Unavailable>);

impl Watched {
    fn new(source: Box<dyn Source>) -> Self {
        Self {
            kind: source.kind(),
            moment: source.moment(),
            is_instant: source.is_instant(),
            slot: Slot::Here(source),
        }
    }

    fn source(&self) -> Option<&dyn Source> {
        match &self.slot {
            Slot::Here(source) => Some(&**source),
            _ => None,
        }
    }

    /// Lets it look, unless it is still busy with an earlier look.
    fn begin(&mut self, around: &Surroundings) {
        let mut source = match std::mem::replace(&mut self.slot, Slot::Lost) {
            Slot::Here(source) => source,
            Slot::Away(mut back, until) => match back.try_recv() {
                // What it saw then may not hold now.
                Ok((source, _)) => source,
                Err(oneshot::error::TryRecvError::Empty) => {
                    self.slot = Slot::Away(back, until);
                    return;
                }
                Err(oneshot::error::TryRecvError::Closed) => return,
            },
            Slot::Lost => return,
        };
        if self.is_instant {
            self.slot = Slot::Here(source);
            return;
        }
        let (until, around) = (Instant::now() + source.patience(), around.clone());
        let (there, back) = oneshot::channel();
        let look = move || {
            let seen = source.observe(&around);
            // Nobody may be waiting any more.
            drop(there.send((source, seen)));
        };
        // A thread that cannot be made, or that fails, drops its end of the channel. It is never waited for: a look that
        // hangs must not hold the process.
        drop(std::thread::Builder::new().name(self.kind.to_owned()).spawn(look));
        self.slot = Slot::Away(back, until);
    }

    /// What it sees.
    async fn end(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        match &mut self.slot {
            Slot::Here(source) => source.observe(around),
            Slot::Away(back, until) => match timeout_at(*until, back).await {
                Ok(Ok((source, seen))) => {
                    self.slot = Slot::Here(source);
                    seen
                }
                Ok(Err(_)) => {
                    self.slot = Slot::Lost;
                    Err(Unavailable("the look failed".to_owned()))
                }
                Err(_) => Err(Unavailable("it took too long".to_owned())),
            },
            Slot::Lost => Err(Unavailable("an earlier look failed".to_owned())),
        }
    }
}

/// The first bytes of a text that is longer, with a word on it.
fn cut_to(most: usize, text: String) -> String {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}\n[cut here: {most} of {} bytes are shown]", text.len())
}

fn checked(kind: &str) -> Result<String, NoKind> {
    if KINDS.contains(&kind) { Ok(kind.to_owned()) } else { Err(NoKind(kind.to_owned())) }
}

fn record(source: &dyn Source, key: String, state: Bytes, text: Option<String>) -> ContextRecord {
    ContextRecord { kind: source.kind().to_owned(), key, state, text }
}

/// Whether the head of a session that knows of no sources yet, since an older build began it, says a text.
fn says(head: &[u8], text: &str) -> bool {
    let mut written = Vec::new();
    write_string(&mut written, text);
    let inner = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    !inner.is_empty() && head.windows(inner.len()).any(|part| part == inner)
}

/// Milliseconds for which a baseline needs no second look.
const FRESH: u64 = 1_000;

/// The state of what is not there.
const GONE: Bytes = Bytes::from_static(b"null");

#[cfg(test)]
pub(super) mod tests;
