//! Rows as they are stored.

use antefix_ledger::{Estimated, Loss, Posting, Purpose, Relation, Row, Standing};
use antefix_models::{Counts, Modifiers, Platform, Tokens};
use antefix_prefix::verdict::Severity;
use rusqlite::{Connection, params};

use crate::{LedgerFileError, Read};

/// A count as SQLite keeps it: its integers are signed, and no count comes near the limit.
pub(crate) fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as it was stored.
pub(crate) fn counted(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

pub(crate) fn delete(connection: &Connection, session: &str) -> Result<(), LedgerFileError> {
    connection.execute("DELETE FROM rows WHERE session = ?1", [session])?;
    connection.execute("DELETE FROM quota WHERE session = ?1", [session])?;
    Ok(())
}

pub(crate) fn write(connection: &Connection, posting: &Posting) -> Result<(), LedgerFileError> {
    let (session, attempt) = (&posting.session, stored(posting.attempt));
    let count = |pick: fn(&Row) -> u64| posting.row.as_ref().map(|row| stored(pick(row)));
    let loss = posting.standing.loss.as_ref();
    let told = |tokens: Option<Tokens>| tokens.map(|tokens| stored(tokens.0));
    connection.prepare(INSERT)?.execute(params![
        session,
        attempt,
        stored(posting.part),
        stored(posting.message),
        posting.at_ms,
        posting.platform.name(),
        posting.model,
        posting.purpose.name(),
        posting.status,
        terms(posting.modifiers),
        count(|row| row.counts.uncached.0),
        count(|row| row.counts.read.0),
        count(|row| row.counts.write_5m.0),
        count(|row| row.counts.write_1h.0),
        count(|row| row.counts.output.0),
        count(|row| row.reasoning.0),
        count(|row| row.web_searches),
        posting.row.map(|row| row.estimated.names()),
        posting.standing.relation.name(),
        told(posting.standing.reachable),
        told(posting.standing.before),
        loss.map(|loss| &loss.kind),
        loss.map(|loss| loss.severity.word()),
        loss.map(|loss| stored(loss.tokens.0)),
    ])?;
    if posting.part == 0 {
        connection
            .execute("DELETE FROM quota WHERE session = ?1 AND attempt = ?2", params![session, attempt])?;
        for (place, (name, value)) in posting.quota.iter().enumerate() {
            let values = params![session, attempt, stored(place as u64), name, value];
            connection.prepare(INSERT_QUOTA)?.execute(values)?;
        }
    }
    Ok(())
}

pub(crate) fn read(connection: &Connection, read: Read<'_>) -> Result<Vec<Posting>, LedgerFileError> {
    let mut statement = connection.prepare(SELECT)?;
    let mut rows = statement.query(params![read.session, read.since_ms, read.until_ms])?;
    let mut postings = Vec::new();
    while let Some(row) = rows.next()? {
        let mut posting = posting(row)?;
        if posting.part == 0 {
            posting.quota = quota(connection, &posting)?;
        }
        postings.push(posting);
    }
    Ok(postings)
}

fn quota(connection: &Connection, posting: &Posting) -> Result<Vec<(String, String)>, LedgerFileError> {
    let mut statement = connection.prepare(SELECT_QUOTA)?;
    let pair = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found = statement.query_map(params![posting.session, stored(posting.attempt)], pair)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn posting(row: &rusqlite::Row<'_>) -> Result<Posting, LedgerFileError> {
    let session: String = row.get(0)?;
    let (attempt, part): (i64, i64) = (row.get(1)?, row.get(2)?);
    let damaged = |field| LedgerFileError::Damaged { session: session.clone(), attempt, part, field };
    let text = |index: usize| row.get::<_, String>(index);
    Ok(Posting {
        attempt: counted(attempt),
        part: counted(part),
        message: counted(row.get(3)?),
        at_ms: row.get(4)?,
        platform: Platform::from_name(&text(5)?).ok_or_else(|| damaged("platform"))?,
        model: text(6)?,
        purpose: Purpose::from_name(&text(7)?).ok_or_else(|| damaged("purpose"))?,
        status: row.get(8)?,
        modifiers: modifiers(&text(9)?).ok_or_else(|| damaged("terms"))?,
        row: used(row, &damaged)?,
        standing: Standing {
            relation: Relation::from_name(&text(18)?).ok_or_else(|| damaged("relation"))?,
            reachable: tokens(row, 19)?,
            before: tokens(row, 20)?,
            loss: loss(row, &damaged)?,
        },
        quota: Vec::new(),
        session: session.clone(),
    })
}

fn used(
    row: &rusqlite::Row<'_>,
    damaged: &impl Fn(&'static str) -> LedgerFileError,
) -> Result<Option<Row>, LedgerFileError> {
    let Some(estimated) = row.get::<_, Option<String>>(17)? else { return Ok(None) };
    let count = |index: usize| row.get::<_, i64>(index).map(counted);
    let counts = Counts {
        uncached: Tokens(count(10)?),
        read: Tokens(count(11)?),
        write_5m: Tokens(count(12)?),
        write_1h: Tokens(count(13)?),
        output: Tokens(count(14)?),
    };
    Ok(Some(Row {
        counts,
        reasoning: Tokens(count(15)?),
        web_searches: count(16)?,
        estimated: Estimated::from_names(&estimated).ok_or_else(|| damaged("estimated"))?,
    }))
}

fn loss(
    row: &rusqlite::Row<'_>,
    damaged: &impl Fn(&'static str) -> LedgerFileError,
) -> Result<Option<Loss>, LedgerFileError> {
    let Some(kind) = row.get::<_, Option<String>>(21)? else { return Ok(None) };
    let severity = match row.get::<_, Option<String>>(22)?.as_deref() {
        Some("fault") => Severity::Fault,
        Some("expected") => Severity::Expected,
        Some("info") => Severity::Info,
        _ => return Err(damaged("severity")),
    };
    let tokens = tokens(row, 23)?.ok_or_else(|| damaged("lost"))?;
    Ok(Some(Loss { kind, severity, tokens }))
}

fn tokens(row: &rusqlite::Row<'_>, index: usize) -> Result<Option<Tokens>, LedgerFileError> {
    Ok(row.get::<_, Option<i64>>(index)?.map(|stored| Tokens(counted(stored))))
}

/// The terms as words with commas between them.
fn terms(modifiers: Modifiers) -> String {
    let words = [
        (modifiers.batch, "batch"),
        (modifiers.fast, "fast"),
        (modifiers.geo_us, "geo_us"),
        (modifiers.regional, "regional"),
    ];
    words.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect::<Vec<_>>().join(",")
}

fn modifiers(terms: &str) -> Option<Modifiers> {
    let mut words = terms.split(',').filter(|word| !word.is_empty());
    words.try_fold(Modifiers::default(), |sum, word| {
        Some(match word {
            "batch" => Modifiers { batch: true, ..sum },
            "fast" => Modifiers { fast: true, ..sum },
            "geo_us" => Modifiers { geo_us: true, ..sum },
            "regional" => Modifiers { regional: true, ..sum },
            _ => return None,
        })
    })
}

const INSERT: &str = "
INSERT OR REPLACE INTO rows (session, attempt, part, message, at_ms, platform, model, purpose, status, terms,
    ordinary, read, write_5m, write_1h, output, reasoning, web_searches, estimated,
    relation, reachable, before, verdict, severity, lost)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)";

const INSERT_QUOTA: &str =
    "INSERT INTO quota (session, attempt, place, name, value) VALUES (?1, ?2, ?3, ?4, ?5)";

const SELECT: &str = "
SELECT session, attempt, part, message, at_ms, platform, model, purpose, status, terms,
    ordinary, read, write_5m, write_1h, output, reasoning, web_searches, estimated,
    relation, reachable, before, verdict, severity, lost
FROM rows
WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR at_ms >= ?2) AND (?3 IS NULL OR at_ms < ?3)
ORDER BY at_ms, session, attempt, part";

const SELECT_QUOTA: &str = "SELECT name, value FROM quota WHERE session = ?1 AND attempt = ?2 ORDER BY place";
