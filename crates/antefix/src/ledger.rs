//! The ledger of the user's own sessions: written as requests end, and caught up with the transcripts, which are the
//! truth, before anything is read from it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use antefix_ledger::{
    Account, Convention, Estimated, Number, Posting, Purpose, Relation, Row, Sampling, Standing, modifiers,
    samplings, standing,
};
use antefix_ledger_file::{LedgerFile, LedgerFileError, Progress, Read};
use antefix_models::{Counts, Modifiers, Platform, PriceBook, Prices, Tokens, rules};
use antefix_prefix::verdict::{Edits, Millis, Observation, Prompt};
use antefix_runtime::store::{SessionId, Sessions};
use antefix_runtime::transcript::read;
use antefix_session::conversation::{ComposedBody, Conversation};
use antefix_session::event::{RequestReport, SessionEvent};
use antefix_session::record::{
    AttemptRecord, Entry, Header, OutcomeRecord, Planned, Purpose as Why, Record, RecordId,
};
use antefix_session::spend;
use antefix_wire::json::Body;
use antefix_wire::usage::Usage;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::price_file;

/// The ledger, open.
pub struct Ledger {
    file: LedgerFile,
    sessions: Sessions,
    folder: PathBuf,
}

impl Ledger {
    /// Opens the ledger of this user, or makes it.
    ///
    /// # Errors
    /// If there is no place for it, or the file is none of ours.
    pub fn open(environment: &Environment) -> Result<Self, Failure> {
        let sessions = folders::sessions(environment)?;
        let folder = environment.state.clone().unwrap_or_default();
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::failed(format!("cannot make `{}`: {error}", folder.display())))?;
        let file = LedgerFile::open(&folder.join(FILE)).map_err(|error| unusable(&folder, &error))?;
        Ok(Self { file, sessions, folder })
    }

    /// Takes in what transcripts say and the ledger does not. What could not be read is said in the notes.
    ///
    /// # Errors
    /// If the ledger cannot be written or the sessions cannot be listed.
    pub fn catch_up(&mut self) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        for summary in self.sessions.list(None)? {
            if let Err(error) = self.catch_up_with(&summary.id)? {
                notes.push(format!("session {} is not in the ledger: {error}", summary.id));
            }
        }
        Ok(notes)
    }

    /// Takes in one session; the inner error says why its transcript cannot be read.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn catch_up_with(&mut self, id: &SessionId) -> Result<Result<(), String>, Failure> {
        let known = self.file.progress(id.as_str()).map_err(|error| unusable(&self.folder, &error))?;
        let is_current =
            |bytes: u64| known.is_some_and(|known| known.bytes == bytes && known.judged_by == RULES);
        if self.length(id).is_some_and(is_current) {
            return Ok(Ok(()));
        }
        let transcript = match self.sessions.inspect(id) {
            Ok(inspection) => inspection.transcript,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let (header, entries) = match read(&transcript) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let postings = match postings_of(header, &entries) {
            Ok(postings) => postings,
            Err(error) => return Ok(Err(error)),
        };
        let progress =
            Progress { lines: entries.len() as u64 + 1, bytes: transcript.len() as u64, judged_by: RULES };
        let replaced = self.file.replace_session(id.as_str(), &postings, progress);
        replaced.map_err(|error| unusable(&self.folder, &error))?;
        Ok(Ok(()))
    }

    /// Forgets all and reads every transcript anew; a file that is damaged is made anew as well. Gives the ledger and
    /// the notes of [`catch_up`](Self::catch_up).
    ///
    /// # Errors
    /// As for [`open`](Self::open) and [`catch_up`](Self::catch_up).
    pub fn rebuilt(environment: &Environment) -> Result<(Self, Vec<String>), Failure> {
        let emptied = Self::open(environment).and_then(|mut ledger| {
            ledger.file.clear().map_err(|error| unusable(&ledger.folder, &error))?;
            let notes = ledger.catch_up()?;
            Ok((ledger, notes))
        });
        if emptied.is_ok() {
            return emptied;
        }
        let folder = environment.state.clone().unwrap_or_default();
        for end in ["", "-wal", "-shm"] {
            match std::fs::remove_file(folder.join(format!("{FILE}{end}"))) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return emptied,
                _ => {}
            }
        }
        let mut ledger = Self::open(environment)?;
        let notes = ledger.catch_up()?;
        Ok((ledger, notes))
    }

    /// Rows in order of time.
    ///
    /// # Errors
    /// If a row cannot be read.
    pub fn postings(&mut self, read: Read<'_>) -> Result<Vec<Posting>, Failure> {
        self.file.postings(read).map_err(|error| unusable(&self.folder, &error))
    }

    /// Length of a session's transcript as docs/formats/store.md places it; `None` if it cannot be told.
    fn length(&self, id: &SessionId) -> Option<u64> {
        let path = self.folder.join("sessions").join(id.as_str()).join("transcript.jsonl");
        std::fs::metadata(path).ok().map(|metadata| metadata.len())
    }
}

fn unusable(folder: &Path, error: &LedgerFileError) -> Failure {
    Failure::failed(format!("`{}`: {error}", folder.join(FILE).display()))
        .hint("`antefix ledger rebuild` makes it anew from the transcripts")
}

/// The account of one message of a session, its transcript taken in first.
///
/// # Errors
/// If the ledger or the session cannot be read.
pub fn of_message(environment: &Environment, session: &str, message: u64) -> Result<Account, Failure> {
    let book = price_file::book(environment)?;
    let (_, postings) = of_session(environment, &session.parse()?, &book)?;
    let own = postings.iter().filter(|posting| posting.message == message);
    Ok(Account::of(own, |posting| prices_of(&book, posting)))
}

/// The account of a session, its transcript taken in first, and its postings.
///
/// # Errors
/// If the ledger or the session cannot be read.
pub fn of_session(
    environment: &Environment,
    session: &SessionId,
    book: &PriceBook,
) -> Result<(Account, Vec<Posting>), Failure> {
    let mut ledger = Ledger::open(environment)?;
    ledger.catch_up_with(session)?.map_err(Failure::failed)?;
    let postings = ledger.postings(Read { session: Some(session.as_str()), ..Read::default() })?;
    Ok((Account::of(&postings, |posting| prices_of(book, posting)), postings))
}

/// The prices of a posting on the day it was sent.
pub fn prices_of(book: &PriceBook, posting: &Posting) -> Option<Prices> {
    let at = jiff::Timestamp::from_millisecond(posting.at_ms).ok()?;
    let modifiers = Modifiers { peak: Modifiers::at(posting.platform, at).peak, ..posting.modifiers };
    let on = at.to_zoned(jiff::tz::TimeZone::UTC).date();
    let prompt = posting.row.map_or(Tokens::ZERO, |row| row.counts.prompt());
    book.price(posting.platform, &posting.model, on, modifiers, prompt)
}

/// Writes rows as the requests of a turn end. What goes wrong with it stops nothing: the transcript has it all.
pub struct Recorder {
    file: LedgerFile,
    session: String,
    platform: Platform,
    model: String,
    message: u64,
    started_ms: i64,
    /// A summary is being asked for.
    is_compacting: bool,
}

impl Recorder {
    /// A recorder of one session's turn.
    ///
    /// # Errors
    /// If the ledger cannot be opened.
    pub fn new(environment: &Environment, conversation: &Conversation) -> Result<Self, Failure> {
        let Ledger { file, .. } = Ledger::open(environment)?;
        let spec = conversation.lane().map(antefix_session::conversation::Lane::spec);
        Ok(Self {
            file,
            session: conversation.header().session.clone(),
            platform: spec.map_or(Platform::Anthropic, |spec| spec.platform),
            model: spec.map(|spec| spec.model.clone()).unwrap_or_default(),
            message: conversation.turn() + 1,
            started_ms: 0,
            is_compacting: false,
        })
    }

    /// Takes note of an event.
    ///
    /// # Errors
    /// If a row cannot be written.
    pub fn note(&mut self, event: &SessionEvent, now_ms: u64) -> Result<(), Failure> {
        match event {
            SessionEvent::TurnStarted { turn } => self.message = *turn,
            SessionEvent::RequestStarted { .. } => self.started_ms = i64::try_from(now_ms).unwrap_or(0),
            SessionEvent::CompactionStarted { .. } => self.is_compacting = true,
            SessionEvent::CompactionEnded { .. } => self.is_compacting = false,
            SessionEvent::RequestFinished(report) => self.file.write(&self.posting(report))?,
            SessionEvent::KeptWarm(warm) => {
                let at_ms = i64::try_from(now_ms).unwrap_or(0);
                let posting = Posting { purpose: Purpose::Warm, at_ms, ..self.posting(&warm.report) };
                self.file.write(&posting)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// What is known as the request ends. How it stands to the one before is judged when the ledger is caught up.
    fn posting(&self, report: &RequestReport) -> Posting {
        Posting {
            session: self.session.clone(),
            attempt: report.attempt.0,
            part: 0,
            message: self.message,
            at_ms: self.started_ms,
            platform: self.platform,
            model: self.model.clone(),
            purpose: if self.is_compacting { Purpose::Compaction } else { Purpose::Message },
            status: Some(report.status),
            modifiers: Modifiers::default(),
            row: report.counts.map(|counts| {
                if report.is_estimated { estimated(counts) } else { Row { counts, ..Row::default() } }
            }),
            standing: Standing::default(),
            quota: Vec::new(),
        }
    }
}

/// The rows of a session. Of a fork, those of its own requests: what it was forked from has rows of its own.
fn postings_of(header: Header, entries: &[Entry]) -> Result<Vec<Posting>, String> {
    let copied = header.forked_from.as_ref().map_or(RecordId(0), |(_, last)| *last);
    let mut reader = Reader {
        conversation: Conversation::new(header),
        answered: None,
        open: None,
        warm: None,
        compacted: BTreeSet::new(),
        postings: Vec::new(),
    };
    for entry in entries {
        match &entry.record {
            Record::Attempt(attempt) => reader.attempt(entry, attempt, entry.id <= copied)?,
            Record::Outcome(outcome) => reader.outcome(outcome),
            Record::Compact(_) => drop(reader.compacted.insert(entry.id)),
            _ => {}
        }
        reader.conversation.apply(entry).map_err(|error| error.to_string())?;
    }
    Ok(reader.postings)
}

/// Reads a transcript record by record, and keeps of the bodies the last that was answered and the newest.
struct Reader {
    conversation: Conversation,
    answered: Option<Sent>,
    open: Option<Sent>,
    /// One that keeps the cache warm may be on its way beside it.
    warm: Option<Sent>,
    /// Lanes that begin with a summary.
    compacted: BTreeSet<RecordId>,
    postings: Vec<Posting>,
}

/// A request that was sent.
struct Sent {
    attempt: u64,
    body: ComposedBody,
    lane: RecordId,
    planned: Planned,
    platform: Platform,
    model: String,
    started: Millis,
    first_byte: Option<Millis>,
    row: Option<Row>,
    /// What its answer says was done to the prompt; `None` without one.
    edits: Option<Edits>,
    /// Where its rows begin; `None` if it belongs to another session's ledger.
    at: Option<usize>,
}

impl Reader {
    fn attempt(&mut self, entry: &Entry, attempt: &AttemptRecord, is_copied: bool) -> Result<(), String> {
        let body = self.conversation.compose_attempt(attempt).map_err(|error| error.to_string())?;
        let Some(spec) = self.conversation.lane().map(antefix_session::conversation::Lane::spec) else {
            return Err("a request without a lane".to_owned());
        };
        let started = Millis(i64::try_from(entry.at.0).unwrap_or(i64::MAX));
        let sent = Sent {
            attempt: attempt.attempt.0,
            body,
            lane: attempt.lane,
            planned: attempt.relation,
            platform: spec.platform,
            model: spec.model.clone(),
            started,
            first_byte: None,
            row: None,
            edits: None,
            at: (!is_copied).then_some(self.postings.len()),
        };
        let is_warm = attempt.purpose == Why::Warm;
        if !is_copied {
            let posting = unanswered(&sent, self.conversation.header(), self.conversation.turn());
            let purpose = match attempt.purpose {
                Why::Turn => posting.purpose,
                Why::Warm => Purpose::Warm,
                Why::Compaction => Purpose::Compaction,
            };
            self.postings.push(Posting { purpose, ..posting });
        }
        *(if is_warm { &mut self.warm } else { &mut self.open }) = Some(sent);
        Ok(())
    }

    fn outcome(&mut self, outcome: &OutcomeRecord) {
        let is_it = |sent: &mut Sent| sent.attempt == outcome.attempt.0;
        let warm = self.warm.take_if(is_it);
        let is_warm = warm.is_some();
        let Some(mut sent) = warm.or_else(|| self.open.take_if(is_it)) else { return };
        sent.first_byte = outcome.first_byte.and_then(|at| i64::try_from(at.0).ok()).map(Millis);
        sent.edits = outcome.edits();
        let usage = outcome.usage.as_ref().and_then(|raw| Body::parse(raw.to_vec()).ok());
        let used = usage.as_ref().map(|usage| samplings(usage.root(), Convention::detect(usage.root())));
        let terms = usage.as_ref().map(|usage| modifiers(usage.root())).unwrap_or_default();
        // Told, but not as numbers of tokens: what cannot be read is not free.
        let is_told = usage.as_ref().is_some_and(|usage| Usage::read(usage.root()).says_tokens());
        sent.row = match used.as_ref().and_then(|used| used.first()).filter(|_| is_told) {
            Some(first) => Some(reported(first, outcome)),
            None => outcome.reply_bytes.map(|reply| estimated(spend::estimate(sent.body.len, reply))),
        };
        if let Some(at) = sent.at {
            // Nothing goes on from it, and it is no step that extends another.
            let apart = Standing { relation: Relation::Branches, ..Standing::default() };
            let standing = if is_warm { apart } else { self.stand(&sent) };
            if let Some(posting) = self.postings.get_mut(at) {
                posting.status = outcome.status;
                posting.modifiers = terms;
                posting.row = sent.row;
                posting.standing = standing;
                posting.quota.clone_from(&outcome.quota);
                let first = posting.clone();
                let others = used.iter().flatten().skip(1).zip(1..);
                self.postings.extend(others.map(|(sampling, part)| beside(&first, sampling, part)));
            }
        }
        if outcome.status == Some(200) && !is_warm {
            self.answered = Some(sent);
        }
    }

    /// How a request stands to the last one that was answered. Bodies are only read where tokens are missing.
    fn stand(&self, later: &Sent) -> Standing {
        let first = || Standing { relation: Relation::First, ..Standing::default() };
        let Some(earlier) = &self.answered else { return first() };
        let is_apart = earlier.lane != later.lane;
        // Behind a summary, as planned; or back to in front of one.
        let leaves = is_apart && (self.compacted.contains(&later.lane) || later.planned != Planned::First);
        if !leaves && (is_apart || later.planned == Planned::First) {
            return first();
        }
        let before = earlier.row.map(|row| row.counts.prompt());
        if leaves || matches!(later.planned, Planned::BranchesAt(_)) {
            return Standing { relation: Relation::Branches, before, ..Standing::default() };
        }
        let cheap = standing(&earlier.observation(), &later.observation());
        let read = later.row.map_or(Tokens::ZERO, |row| row.counts.read);
        if cheap.reachable.is_none_or(|reachable| read >= reachable) {
            return cheap;
        }
        let bodies = [earlier, later].map(|sent| Body::parse(sent.body.chunks.concat()).ok());
        let prompts =
            bodies.each_ref().map(|body| body.as_ref().and_then(|body| Prompt::read(body.root()).ok()));
        let [Some(old), Some(new)] = &prompts else { return cheap };
        standing(&earlier.observation().with_prompt(old), &later.observation().with_prompt(new))
    }
}

impl Sent {
    /// What is known of it, its body aside.
    fn observation<'a>(&self) -> Observation<'a> {
        Observation {
            usage: self.row.map(|row| row.counts),
            started_at: Some(self.started),
            first_byte_at: self.first_byte,
            edits: self.edits,
            ..Observation::new(rules(self.platform, &self.model))
        }
    }
}

fn unanswered(sent: &Sent, header: &Header, message: u64) -> Posting {
    Posting {
        session: header.session.clone(),
        attempt: sent.attempt,
        part: 0,
        message,
        at_ms: sent.started.0,
        platform: sent.platform,
        model: sent.model.clone(),
        purpose: if header.spawned_by.is_some() { Purpose::Subagent } else { Purpose::Message },
        status: None,
        modifiers: Modifiers::default(),
        row: None,
        standing: Standing::default(),
        quota: Vec::new(),
    }
}

/// What the response used. One that was cut off has reported its output in part only.
fn reported(sampling: &Sampling, outcome: &OutcomeRecord) -> Row {
    let is_cut = outcome.stop_reason.is_none();
    let estimated: Estimated = sampling.row.estimated;
    Row { estimated: if is_cut { estimated.with(Number::Output) } else { estimated }, ..sampling.row }
}

/// What a response that reported no usage is taken to have used.
fn estimated(counts: Counts) -> Row {
    let numbers = [Number::Ordinary, Number::Read, Number::Write5m, Number::Write1h, Number::Output];
    let estimated = numbers.into_iter().fold(Estimated::default(), Estimated::with);
    Row { counts, estimated, ..Row::default() }
}

/// A sampling behind the same response. It has no request of its own, so nothing before it to be held against.
fn beside(first: &Posting, sampling: &Sampling, part: u64) -> Posting {
    Posting {
        part,
        model: sampling.model.clone().unwrap_or_else(|| first.model.clone()),
        purpose: sampling.purpose,
        row: Some(sampling.row),
        standing: Standing::default(),
        quota: Vec::new(),
        ..first.clone()
    }
}

/// Name of the file, in the folder of the state.
const FILE: &str = "ledger.sqlite";

/// Version of the rules by which rows are judged; a higher one makes every session be judged anew.
const RULES: u64 = 3;
