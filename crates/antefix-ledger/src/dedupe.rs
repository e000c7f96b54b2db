use crate::Row;

/// One line that reports usage, with the ids that tell which response it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The message's id.
    pub message: Option<String>,
    /// The request's id.
    pub request: Option<String>,
    /// The usage on the line.
    pub row: Row,
}

/// Entries with one for each response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dedupe {
    /// One entry for each response, in the order in which the responses first came.
    pub entries: Vec<Entry>,
    /// How many lines were repeats.
    pub repeats: usize,
}

/// Keeps one entry of each response: of those with the same message and request id the one with the largest output,
/// whole. Lines in front of the last may carry a placeholder for the output, and all repeat the prompt's counts. A
/// line without a message id stands for itself.
pub fn dedupe(lines: impl IntoIterator<Item = Entry>) -> Dedupe {
    let mut kept = Dedupe::default();
    let mut index = std::collections::BTreeMap::new();
    for entry in lines {
        let key = entry.message.clone().map(|message| (message, entry.request.clone()));
        let known = key.as_ref().and_then(|key| index.get(key).copied());
        match known.and_then(|at: usize| kept.entries.get_mut(at)) {
            Some(first) => {
                kept.repeats += 1;
                if entry.row.counts.output > first.row.counts.output {
                    *first = entry;
                }
            }
            None => {
                if let Some(key) = key {
                    index.insert(key, kept.entries.len());
                }
                kept.entries.push(entry);
            }
        }
    }
    kept
}

/// The rows of which `rows` are running totals; `None` if they are not: some count falls, or it is one row only.
///
/// Counters that never fall over three rows or more, in every category, and whose input at least doubles what one
/// request could add, are only *possibly* totals; so this is for sources that are known to report totals.
pub fn differences(rows: &[Row]) -> Option<Vec<Row>> {
    let mut before: Option<&Row> = None;
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        out.push(match before {
            None => *row,
            Some(before) => less(row, before)?,
        });
        before = Some(row);
    }
    (rows.len() > 1).then_some(out)
}

fn less(row: &Row, before: &Row) -> Option<Row> {
    let (now, then) = (row.counts, before.counts);
    let grew = now.uncached >= then.uncached
        && now.read >= then.read
        && now.write_5m >= then.write_5m
        && now.write_1h >= then.write_1h
        && now.output >= then.output;
    let counts = antefix_models::Counts {
        uncached: now.uncached - then.uncached,
        read: now.read - then.read,
        write_5m: now.write_5m - then.write_5m,
        write_1h: now.write_1h - then.write_1h,
        output: now.output - then.output,
    };
    grew.then_some(Row { counts, reasoning: row.reasoning - before.reasoning, ..*row })
}

#[cfg(test)]
mod tests {
    use antefix_models::{Counts, Tokens};

    use super::*;
    use crate::Exactness;

    fn row(read: u64, output: u64) -> Row {
        let counts = Counts { read: Tokens(read), output: Tokens(output), ..Counts::default() };
        Row { counts, reasoning: Tokens::ZERO, exactness: Exactness::Exact }
    }

    fn entry(message: Option<&str>, request: Option<&str>, output: u64) -> Entry {
        Entry {
            message: message.map(str::to_owned),
            request: request.map(str::to_owned),
            row: row(9, output),
        }
    }

    #[test]
    fn one_entry_is_kept_of_each_response() {
        let lines = [
            entry(Some("a"), Some("1"), 1),
            entry(None, None, 5),
            entry(Some("a"), Some("1"), 260),
            entry(Some("a"), Some("2"), 3),
            entry(Some("a"), Some("1"), 2),
            entry(None, None, 5),
        ];
        let outputs =
            |kept: &Dedupe| kept.entries.iter().map(|one| one.row.counts.output.0).collect::<Vec<_>>();
        let kept = dedupe(lines);
        assert_eq!((outputs(&kept), kept.repeats), (vec![260, 5, 3, 5], 2));
    }

    #[test]
    fn running_totals_become_rows() {
        let totals = [row(10, 1), row(30, 3), row(30, 8)];
        assert_eq!(differences(&totals), Some(vec![row(10, 1), row(20, 2), row(0, 5)]));
        assert_eq!(differences(&[row(10, 1), row(9, 3)]), None);
        assert_eq!(differences(&[row(10, 1)]), None);
    }
}
