use antefix_models::Tokens;

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
/// This is for sources that are known to report totals; [`are_running_totals`] recognises those that do not say.
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

/// Whether `rows`, the usages of one conversation in order, are running totals of it.
///
/// A sum never falls in any category. That a single row's does not either can be chance, so one of two things must
/// be added: a row claims more input than the model's window holds, or the output grows from each of five rows or
/// more to the next, and what is written to the cache grows or stays (by chance, 1 series in 100 or fewer does).
/// What is read proves nothing: sums of a perfect conversation obey the same rule as its rows.
pub fn are_running_totals(rows: &[Row], window: Tokens) -> bool {
    let grows = |(now, then): (&Row, &Row)| now.counts.output > then.counts.output;
    let beyond = |row: &Row| !window.is_zero() && row.counts.prompt() > window;
    let steady = rows.len() >= 5 && rows.iter().skip(1).zip(rows).all(grows);
    (steady || rows.iter().any(beyond)) && differences(rows).is_some()
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
    let web_searches = row.web_searches.saturating_sub(before.web_searches);
    grew.then_some(Row { counts, reasoning: row.reasoning - before.reasoning, web_searches, ..*row })
}

#[cfg(test)]
mod tests {
    use antefix_models::Counts;

    use super::*;
    use crate::Totals;

    fn row(read: u64, output: u64) -> Row {
        let counts = Counts { read: Tokens(read), output: Tokens(output), ..Counts::default() };
        Row { counts, ..Row::default() }
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

    /// The counts of a conversation grow too, but not all of them and not each time.
    #[test]
    fn running_totals_are_told_from_a_growing_conversation() {
        let usage = |read, write, output| Row {
            counts: Counts { write_5m: Tokens(write), uncached: Tokens(3), ..row(read, output).counts },
            ..Row::default()
        };
        let single = [
            usage(0, 1_000, 80),
            usage(1_000, 200, 300),
            usage(1_200, 300, 20),
            usage(1_500, 50, 90),
            usage(1_550, 90, 91),
        ];
        let mut sum = Totals::default();
        let totals = single.map(|row| {
            sum.add(&row);
            Row { counts: sum.counts, ..Row::default() }
        });
        let window = Tokens(200_000);
        assert_eq!(differences(&totals), Some(single.to_vec()));
        for (rows, window, expect, why) in [
            (&totals[..], window, true, "five growing rows"),
            (&totals[..4], window, false, "four may be chance"),
            (&totals[..4], Tokens(5_000), true, "no request is larger than the window"),
            (&single[..], window, false, "output falls"),
            (&single[..], Tokens(1_100), false, "a count falls, so it is no sum, whatever its size"),
            (&[], window, false, "nothing"),
        ] {
            assert_eq!(are_running_totals(rows, window), expect, "{why}");
        }
    }
}
