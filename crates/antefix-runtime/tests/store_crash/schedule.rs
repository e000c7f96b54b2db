//! One seeded run: a process works on a session, things go wrong, the next process goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use antefix_runtime::store::{
    AppendError, BlobId, Durability, FileStore, Head, Inspection, SessionId, Sessions, StoreError, SyncPoint,
    TranscriptStore,
};
use antefix_session::line::{Chain, Reader};

use crate::disk::{Mishaps, Random, SimDisk};

/// What happened in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub crashes: u64,
    pub cuts: u64,
    pub failures: u64,
    pub durable_lines: u64,
}

/// Runs the schedule of `seed`, with the syncs of `ignored` left out.
///
/// # Errors
/// What did not hold.
pub fn run(seed: u64, ignored: Option<SyncPoint>) -> Result<Tally, String> {
    let mut random = Random::new(seed);
    let disk = SimDisk::new("/state", Random::new(!seed), ignored);
    let mut world = World::new(disk);
    for _ in 0..=random.below(4) {
        world.live(&mut random)?;
        world.restart(random.below(4) == 0)?;
    }
    world.disk.plan(Mishaps::NONE);
    world.finish(&mut random)?;
    Ok(world.tally)
}

/// The disk, and what the store has promised about it.
struct World {
    disk: SimDisk,
    id: SessionId,
    names: u64,
    /// The session was made, so it must be there.
    made: bool,
    /// Objects acknowledged as durable, and those acknowledged as written only.
    durable: Vec<Vec<u8>>,
    buffered: Vec<Vec<u8>>,
    /// All objects ever handed over, with the blob each refers to.
    submitted: BTreeMap<Vec<u8>, Option<BlobId>>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    /// The time of the newest durable append.
    clock: u64,
    tally: Tally,
}

impl World {
    fn new(disk: SimDisk) -> Self {
        Self {
            disk,
            id: name(0),
            names: 0,
            made: false,
            durable: Vec::new(),
            buffered: Vec::new(),
            submitted: BTreeMap::new(),
            blobs: BTreeMap::new(),
            clock: 0,
            tally: Tally::default(),
        }
    }

    fn sessions(&self) -> Sessions<SimDisk> {
        Sessions::on(self.disk.clone(), "/state")
    }

    /// One process: opens or makes the session and works until it ends or dies.
    fn live(&mut self, random: &mut Random) -> Result<(), String> {
        let now = self.disk.operations();
        let fail_at = if random.happens(1, 3) { now + 1 + random.below(40) } else { u64::MAX };
        self.disk.plan(Mishaps { crash_at: now + 1 + random.below(60), fail_at });
        let Some(mut store) = self.start()? else { return Ok(()) };
        for _ in 0..random.below(30) {
            if self.disk.has_crashed() || !self.work(&mut store, random)? {
                break;
            }
        }
        Ok(())
    }

    /// `None` when the disk failed or the process died; only then may it fail.
    fn start(&mut self) -> Result<Option<FileStore<SimDisk>>, String> {
        match self.sessions().open(&self.id) {
            Ok(opened) => {
                self.made = true;
                self.tally.cuts += u64::from(opened.cut.is_some());
                self.reconcile(&opened.transcript, true)?;
                self.must_be_clean(&opened.store)?;
                Ok(Some(opened.store))
            }
            Err(StoreError::Io { .. } | StoreError::NoSpace { .. }) => Ok(None),
            // What was left of a session that was never made is no session, or one that can be worked on.
            Err(StoreError::NotFound { .. }) if !self.made => self.make(),
            Err(error) => Err(format!("open: {error}")),
        }
    }

    fn make(&mut self) -> Result<Option<FileStore<SimDisk>>, String> {
        self.names += 1;
        self.id = name(self.names);
        match self.sessions().create(&self.id) {
            Ok(store) => {
                self.made = true;
                Ok(Some(store))
            }
            Err(StoreError::Io { .. } | StoreError::NoSpace { .. }) => Ok(None),
            Err(error) => Err(format!("create: {error}")),
        }
    }

    /// One step of the process; `false` when it cannot go on.
    fn work(&mut self, store: &mut FileStore<SimDisk>, random: &mut Random) -> Result<bool, String> {
        match random.below(10) {
            0 => stale_append(store),
            1..3 => self.append_with_blob(store, random),
            3..6 => self.append(store, random, None, true),
            _ => self.append(store, random, None, false),
        }
    }

    fn append_with_blob(
        &mut self,
        store: &mut FileStore<SimDisk>,
        random: &mut Random,
    ) -> Result<bool, String> {
        // Few contents, so that some blobs are put twice.
        let content = vec![random.below(6) as u8; 40 + random.below(3) as usize * 100];
        let id = BlobId::of(&content);
        self.blobs.insert(id, content.clone());
        match store.put_blob(&content) {
            Ok(put) if put == id => self.append(store, random, Some(id), true),
            Ok(put) => Err(format!("blob {id} was put as {put}")),
            Err(_) => Ok(true),
        }
    }

    fn append(
        &mut self,
        store: &mut FileStore<SimDisk>,
        random: &mut Random,
        blob: Option<BlobId>,
        durable: bool,
    ) -> Result<bool, String> {
        let objects = self.objects(random, blob);
        let at_ms = self.clock + 1;
        let durability = if durable { Durability::Durable { at_ms } } else { Durability::Buffered };
        let before = store.head();
        match store.append(before, &objects, durability) {
            Ok(head) if head.lines == before.lines + objects.len() as u64 && head == store.head() => {
                self.acknowledge(objects, durable);
                Ok(true)
            }
            Ok(head) => Err(format!("{} records took the head from {before:?} to {head:?}", objects.len())),
            Err(_) if self.disk.has_crashed() => Ok(false),
            Err(AppendError::Sync { .. }) => self.must_be_poisoned(store),
            Err(AppendError::NoSpace { .. } | AppendError::Write { .. } | AppendError::Poisoned { .. }) => {
                self.tally.failures += 1;
                self.must_be_as_before(store, before)
            }
            Err(error) => Err(format!("append: {error}")),
        }
    }

    /// After a failed write the transcript ends at its head again, or the store takes nothing more.
    fn must_be_as_before(&self, store: &mut FileStore<SimDisk>, before: Head) -> Result<bool, String> {
        if store.append(before, &[], Durability::Buffered).is_err() {
            return Ok(false);
        }
        self.must_be_clean(store).map(|()| true)
    }

    /// Nothing stands behind the head of a store that takes records.
    fn must_be_clean(&self, store: &FileStore<SimDisk>) -> Result<(), String> {
        let seen = self.sessions().inspect(&self.id).map_err(|error| format!("inspect: {error}"))?;
        match seen.unfinished {
            None if seen.head == store.head() => Ok(()),
            rest => Err(format!("{:?} and {rest:?} where {:?} should be", seen.head, store.head())),
        }
    }

    fn must_be_poisoned(&mut self, store: &mut FileStore<SimDisk>) -> Result<bool, String> {
        self.tally.failures += 1;
        match store.append(store.head(), &[], Durability::Durable { at_ms: 0 }) {
            Err(AppendError::Poisoned { .. }) => Ok(false),
            other => Err(format!("after a failed sync an append gave {other:?}")),
        }
    }

    fn objects(&mut self, random: &mut Random, blob: Option<BlobId>) -> Vec<Vec<u8>> {
        let count = if blob.is_some() { 1 } else { random.below(4) };
        (0..count)
            .map(|_| {
                let n = self.submitted.len();
                let filler = "x".repeat(random.below(150) as usize);
                let blob_text = blob.map(|id| id.to_string()).unwrap_or_default();
                let object =
                    format!(r#"{{"n":{n},"cwd":"/w","text":"{filler}","blob":"{blob_text}"}}"#).into_bytes();
                self.submitted.insert(object.clone(), blob);
                object
            })
            .collect()
    }

    fn acknowledge(&mut self, objects: Vec<Vec<u8>>, durable: bool) {
        self.buffered.extend(objects);
        // Where all is durable already, the index keeps its time.
        if durable && !self.buffered.is_empty() {
            self.tally.durable_lines += self.buffered.len() as u64;
            self.durable.append(&mut self.buffered);
            self.clock += 1;
        }
    }

    /// The process is gone, killed or with the power; looks at what is left.
    fn restart(&mut self, killed: bool) -> Result<(), String> {
        self.tally.crashes += 1;
        self.disk = if killed { self.disk.after_kill() } else { self.disk.after_power_loss() };
        self.sessions().list(None).map_err(|error| format!("list: {error}"))?;
        if !self.made {
            return Ok(());
        }
        let seen = self.sessions().inspect(&self.id).map_err(|error| format!("inspect: {error}"))?;
        self.reconcile(&seen.transcript, killed)?;
        self.index_vouches(&seen)?;
        self.listed()
    }

    /// Checks what is left of the transcript against what was promised, and takes it for the new state.
    fn reconcile(&mut self, transcript: &[u8], killed: bool) -> Result<(), String> {
        let found = objects_of(transcript)?;
        let mut promised = self.durable.clone();
        if killed {
            promised.extend(self.buffered.iter().cloned());
        }
        if !found.starts_with(&promised) {
            return Err(format!(
                "{} records were promised, {} are left, or others",
                promised.len(),
                found.len()
            ));
        }
        for object in &found {
            let blob = self.submitted.get(object).ok_or("a record that nobody wrote")?;
            self.blob_is_whole(*blob)?;
        }
        self.buffered = found[self.durable.len()..].to_vec();
        Ok(())
    }

    fn blob_is_whole(&self, blob: Option<BlobId>) -> Result<(), String> {
        let Some(id) = blob else { return Ok(()) };
        let content = self.sessions().blob(&self.id, id).map_err(|error| format!("blob: {error}"))?;
        if Some(&content) == self.blobs.get(&id) { Ok(()) } else { Err(format!("blob {id} changed")) }
    }

    /// Were the last durable record lost now, the index would tell.
    fn index_vouches(&self, seen: &Inspection) -> Result<(), String> {
        let Some(last) = self.durable.len().checked_sub(1) else { return Ok(()) };
        let start = Reader::new(&seen.transcript).flatten().nth(last).ok_or("no last record")?.range.start;
        let disk = self.disk.after_kill();
        disk.cut(&transcript_path(&self.id), start);
        match Sessions::on(disk, "/state").open(&self.id) {
            Err(StoreError::RecordsMissing { .. }) => Ok(()),
            Ok(_) => Err("nobody noticed that the last durable record was cut off".to_owned()),
            Err(error) => Err(format!("with the last durable record cut off: {error}")),
        }
    }

    fn listed(&self) -> Result<(), String> {
        let all = self.sessions().list(Some("/w")).map_err(|error| format!("list: {error}"))?;
        let found = all.iter().find(|one| one.id == self.id);
        match found {
            Some(one) if one.updated_at_ms >= self.clock => Ok(()),
            None if self.durable.is_empty() => Ok(()),
            other => Err(format!("the list says {other:?} at {}", self.clock)),
        }
    }

    /// A last process that nothing happens to: it must be able to append, and another one to read it.
    fn finish(&mut self, random: &mut Random) -> Result<(), String> {
        let mut store = self.start()?.ok_or("a healthy disk failed")?;
        // Until something was made durable, what an earlier process cut off may come back.
        let target = self.durable.len() + 3;
        while self.durable.len() < target {
            if !self.append(&mut store, random, None, true)? {
                return Err("a healthy store takes no records".to_owned());
            }
        }
        drop(store);
        self.restart(false)?;
        let left = self.buffered.len();
        if left == 0 { Ok(()) } else { Err(format!("{left} records too many")) }
    }
}

fn stale_append(store: &mut FileStore<SimDisk>) -> Result<bool, String> {
    let head = store.head();
    let stale = Head { lines: head.lines + 1, ..head };
    match store.append(stale, &[br#"{"stale":1}"#.to_vec()], Durability::Buffered) {
        Err(AppendError::Conflict { .. }) if store.head() == head => Ok(true),
        Err(AppendError::Poisoned { .. }) => Ok(false),
        other => Err(format!("an append to a stale head gave {other:?}")),
    }
}

/// The objects of all lines, without their chain.
fn objects_of(transcript: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let member = r#","chain":""}"#.len() + Chain::START.to_string().len();
    Reader::new(transcript)
        .map(|line| {
            let object = line.map_err(|error| error.to_string())?.object;
            Ok([&object[..object.len() - member], b"}"].concat())
        })
        .collect()
}

fn name(number: u64) -> SessionId {
    format!("session-{number}").parse().unwrap()
}

fn transcript_path(id: &SessionId) -> PathBuf {
    PathBuf::from(format!("/state/sessions/{id}/transcript.jsonl"))
}

/// The sync points whose absence `seeds` do not notice.
pub fn unnoticed(seeds: std::ops::Range<u64>) -> BTreeSet<SyncPoint> {
    let noticed = |point: &SyncPoint| seeds.clone().any(|seed| run(seed, Some(*point)).is_err());
    SyncPoint::ALL.into_iter().filter(|point| !noticed(point)).collect()
}
