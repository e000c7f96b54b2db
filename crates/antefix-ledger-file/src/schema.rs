use rusqlite::{Connection, TransactionBehavior};

use crate::LedgerFileError;

/// Brings the file to the version of this build. Two processes that make the file at once take turns.
pub(crate) fn prepare(connection: &mut Connection) -> Result<(), LedgerFileError> {
    // Answers with a row; the mode stays with the file.
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")?;
    match version(connection)? {
        VERSION => return Ok(()),
        found if found > VERSION => return Err(LedgerFileError::Newer { found, known: VERSION }),
        _ => {}
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version(&transaction)? < VERSION {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(transaction.commit()?)
}

fn version(connection: &Connection) -> Result<i64, LedgerFileError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Version of the tables; in the file as `user_version`.
const VERSION: i64 = 1;

/// See `docs/formats/ledger.md`.
const TABLES: &str = "
CREATE TABLE rows (
    session TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    part INTEGER NOT NULL,
    message INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    platform TEXT NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    status INTEGER,
    terms TEXT NOT NULL,
    ordinary INTEGER,
    read INTEGER,
    write_5m INTEGER,
    write_1h INTEGER,
    output INTEGER,
    reasoning INTEGER,
    web_searches INTEGER,
    estimated TEXT,
    relation TEXT NOT NULL,
    reachable INTEGER,
    before INTEGER,
    verdict TEXT,
    severity TEXT,
    lost INTEGER,
    PRIMARY KEY (session, attempt, part)
) WITHOUT ROWID, STRICT;
CREATE INDEX rows_by_time ON rows (at_ms);
CREATE TABLE quota (
    session TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session, attempt, place)
) WITHOUT ROWID, STRICT;
CREATE TABLE sessions (
    session TEXT PRIMARY KEY,
    lines INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    judged_by INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
";
