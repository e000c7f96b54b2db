//! Sessions on disk: made, opened, forked and read.

use antefix_session::conversation::{ApplyError, Conversation};
use antefix_session::line::{LineError, Reader};
use antefix_session::record::{Entry, Header, Millis, RecordError, Spawned};

use crate::store::{
    AppendError, Durability, FileStore, SessionId, SessionIdError, Sessions, StoreError, TranscriptStore,
    Unfinished,
};

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The files say no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The first line could not be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The name is not a session's.
    #[error(transparent)]
    Id(#[from] SessionIdError),
    /// The transcript holds no line, so the session never began.
    #[error("the transcript is empty")]
    Empty,
    /// A line's digest is wrong.
    #[error("line {line} of the transcript: {error}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong.
        error: LineError,
    },
    /// A line is not a record.
    #[error("line {line} of the transcript: {error}")]
    Record {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong.
        error: RecordError,
    },
    /// A record does not fit those in front of it.
    #[error("line {line} of the transcript: {error}")]
    Apply {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong.
        error: ApplyError,
    },
}

/// A session opened for writing.
pub struct OpenSession {
    /// What was said.
    pub conversation: Conversation,
    /// Takes the next records.
    pub store: FileStore,
    /// What a crash had left at the end, now cut off.
    pub cut: Option<Unfinished>,
    /// The index beside the transcript was lost, so that nobody can say whether records were missing at the end.
    pub index_lost: bool,
}

/// Makes a session named by the time and chance, so that a list of names is in order of time.
///
/// # Errors
/// [`OpenError`] if its files cannot be made.
pub fn create(sessions: &Sessions, cwd: &str, now: Millis) -> Result<OpenSession, OpenError> {
    make(sessions, cwd, now, None)
}

/// Makes a session that works for a call of another one.
///
/// # Errors
/// [`OpenError`] if its files cannot be made.
pub fn spawn(
    sessions: &Sessions,
    cwd: &str,
    now: Millis,
    spawned_by: Spawned,
) -> Result<OpenSession, OpenError> {
    make(sessions, cwd, now, Some(spawned_by))
}

fn make(
    sessions: &Sessions,
    cwd: &str,
    now: Millis,
    spawned_by: Option<Spawned>,
) -> Result<OpenSession, OpenError> {
    let id = uuid::Uuid::now_v7().to_string().parse::<SessionId>()?;
    let header = Header {
        session: id.as_str().to_owned(),
        cwd: cwd.to_owned(),
        created: now,
        build: env!("CARGO_PKG_VERSION").to_owned(),
        forked_from: None,
        spawned_by,
    };
    begin(sessions, &id, header, &[])
}

/// Opens a session for writing.
///
/// # Errors
/// [`OpenError`] if another process has it, or its transcript is not what was written.
pub fn open(sessions: &Sessions, id: &SessionId) -> Result<OpenSession, OpenError> {
    let opened = sessions.open(id)?;
    let (header, entries) = read(&opened.transcript)?;
    Ok(OpenSession {
        conversation: replay(header, &entries)?,
        store: opened.store,
        cut: opened.cut,
        index_lost: opened.index_lost,
    })
}

/// Copies a session under a new name; the other one may be in use.
///
/// # Errors
/// [`OpenError`] as for [`open`] and [`create`].
pub fn fork(sessions: &Sessions, from: &SessionId, now: Millis) -> Result<OpenSession, OpenError> {
    let inspection = sessions.inspect(from)?;
    let (header, entries) = read(&inspection.transcript)?;
    let id = uuid::Uuid::now_v7().to_string().parse::<SessionId>()?;
    let last = entries.last().map_or_else(Default::default, |entry| entry.id);
    let header = Header {
        session: id.as_str().to_owned(),
        created: now,
        build: env!("CARGO_PKG_VERSION").to_owned(),
        forked_from: Some((from.as_str().to_owned(), last)),
        // A copy works for nobody.
        spawned_by: None,
        cwd: header.cwd,
    };
    begin(sessions, &id, header, &entries)
}

/// Reads a transcript's records; every line's chain is checked.
///
/// # Errors
/// [`OpenError`] names the first line that is not what was written.
pub fn read(transcript: &[u8]) -> Result<(Header, Vec<Entry>), OpenError> {
    let mut header = None;
    let mut entries = Vec::new();
    for (index, line) in Reader::new(transcript).enumerate() {
        let number = index as u64 + 1;
        let line = line.map_err(|error| OpenError::Line { line: number, error })?;
        let record = |error| OpenError::Record { line: number, error };
        if header.is_none() {
            header = Some(Header::decode(line.object).map_err(record)?);
        } else {
            entries.push(Entry::decode(line.object).map_err(record)?);
        }
    }
    Ok((header.ok_or(OpenError::Empty)?, entries))
}

/// Applies a transcript's records.
///
/// # Errors
/// [`OpenError::Apply`] names the first record that does not fit.
pub fn replay(header: Header, entries: &[Entry]) -> Result<Conversation, OpenError> {
    let mut conversation = Conversation::new(header);
    for entry in entries {
        conversation.apply(entry).map_err(|error| OpenError::Apply { line: entry.id.0 + 1, error })?;
    }
    Ok(conversation)
}

fn begin(
    sessions: &Sessions,
    id: &SessionId,
    header: Header,
    entries: &[Entry],
) -> Result<OpenSession, OpenError> {
    let mut store = sessions.create(id)?;
    let mut objects = vec![header.encode()];
    objects.extend(entries.iter().map(Entry::encode));
    // Made durable together with the first request, before which nothing of the session is worth keeping.
    store.append(store.head(), &objects, Durability::Buffered)?;
    Ok(OpenSession { conversation: replay(header, entries)?, store, cut: None, index_lost: false })
}
