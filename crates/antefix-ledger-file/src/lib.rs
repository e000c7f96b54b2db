//! The ledger on disk: one SQLite file, safe for several processes at once.
//!
//! Every process that runs a session writes to it, at the same time as others, and reports read it meanwhile. That
//! is what SQLite's write-ahead log is for: readers never wait, writers take turns for as long as one row takes. (An
//! embedded store that one process holds open alone, as redb is, cannot do it.) The transcripts stay the truth: the
//! file can be deleted and is made anew from them. `docs/formats/ledger.md` draws the tables.
//!
//! Rows are keyed by session, request and sampling; writing one twice leaves one. Amounts of money are not kept:
//! prices are dated and can be corrected, so a report prices what was used on the day it was used.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! use antefix_ledger_file::{LedgerFile, Read};
//!
//! let mut ledger = LedgerFile::open(&folder.path().join("ledger.sqlite"))?;
//! assert_eq!(ledger.postings(Read::default())?, []);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod row;
mod schema;

use std::path::Path;
use std::time::Duration;

use antefix_ledger::Posting;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

/// Why the ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerFileError {
    /// The database says no.
    #[error("the ledger file: {0}")]
    Database(#[from] rusqlite::Error),
    /// A newer build wrote it.
    #[error("the ledger file has version {found}, and this build knows {known}")]
    Newer {
        /// Version of the file.
        found: i64,
        /// Version that this build writes.
        known: i64,
    },
    /// A row holds what no build writes.
    #[error("the ledger file: row {session}/{attempt}/{part} is damaged: `{field}`")]
    Damaged {
        /// Session of the row.
        session: String,
        /// Number of its request.
        attempt: i64,
        /// Number of its sampling.
        part: i64,
        /// The field that cannot be read.
        field: &'static str,
    },
}

/// How far the transcript of a session was taken into the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Complete lines.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Version of the rules the rows were judged by; another one makes them be judged anew.
    pub judged_by: u64,
}

/// Which rows are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read<'a> {
    /// Of this session alone.
    pub session: Option<&'a str>,
    /// Of requests that left at this moment or later, in milliseconds since the Unix epoch.
    pub since_ms: Option<i64>,
    /// Of requests that left before this moment.
    pub until_ms: Option<i64>,
}

/// The ledger, open.
#[derive(Debug)]
pub struct LedgerFile {
    connection: Connection,
}

impl LedgerFile {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// [`LedgerFileError`] if it cannot be opened, or a newer build wrote it.
    pub fn open(path: &Path) -> Result<Self, LedgerFileError> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        schema::prepare(&mut connection)?;
        Ok(Self { connection })
    }

    /// Writes a row; one with the same session, request and sampling is replaced. Durable against the end of the
    /// process, not against a loss of power: the transcript is.
    ///
    /// # Errors
    /// [`LedgerFileError::Database`]
    pub fn write(&mut self, posting: &Posting) -> Result<(), LedgerFileError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        row::write(&transaction, posting)?;
        Ok(transaction.commit()?)
    }

    /// Puts `postings` in the place of all rows of a session, and notes how far its transcript was read, at once or
    /// not at all.
    ///
    /// # Errors
    /// [`LedgerFileError::Database`]
    pub fn replace_session(
        &mut self,
        session: &str,
        postings: &[Posting],
        progress: Progress,
    ) -> Result<(), LedgerFileError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        row::delete(&transaction, session)?;
        for posting in postings {
            row::write(&transaction, posting)?;
        }
        let [lines, bytes, judged_by] = [progress.lines, progress.bytes, progress.judged_by].map(row::stored);
        transaction.execute(
            "INSERT OR REPLACE INTO sessions (session, lines, bytes, judged_by) VALUES (?1, ?2, ?3, ?4)",
            params![session, lines, bytes, judged_by],
        )?;
        Ok(transaction.commit()?)
    }

    /// How far a session's transcript was taken in; `None` if never.
    ///
    /// # Errors
    /// [`LedgerFileError::Database`]
    pub fn progress(&self, session: &str) -> Result<Option<Progress>, LedgerFileError> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Progress {
                lines: row::counted(row.get(0)?),
                bytes: row::counted(row.get(1)?),
                judged_by: row::counted(row.get(2)?),
            })
        };
        let sql = "SELECT lines, bytes, judged_by FROM sessions WHERE session = ?1";
        Ok(self.connection.query_row(sql, [session], read).optional()?)
    }

    /// Rows in order of time, then of session, request and sampling.
    ///
    /// # Errors
    /// [`LedgerFileError`] if it cannot be read.
    pub fn postings(&mut self, read: Read<'_>) -> Result<Vec<Posting>, LedgerFileError> {
        // One transaction, so that rows and quota headers are of one moment.
        let transaction = self.connection.transaction()?;
        let postings = row::read(&transaction, read)?;
        drop(transaction);
        Ok(postings)
    }

    /// Forgets every row and how far transcripts were read.
    ///
    /// # Errors
    /// [`LedgerFileError::Database`]
    pub fn clear(&mut self) -> Result<(), LedgerFileError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch("DELETE FROM rows; DELETE FROM quota; DELETE FROM sessions;")?;
        Ok(transaction.commit()?)
    }
}

/// How long a writer waits for another; a row takes well under a millisecond, a whole session some more.
const PATIENCE: Duration = Duration::from_secs(10);
