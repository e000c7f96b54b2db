//! Judges what was read and prices what was found.

use antefix_ledger::{Entry, Row, Steady, Totals, dedupe, rewritten_counts, waste};
use antefix_models::{Modifiers, Money, PriceBook, Prices, cost};
use antefix_prefix::verdict::{
    Evidence, Finding, Kind, Lineage, Observation, Prompt, Segment, Severity, Value, bloat, cold_start,
    judge_alone, lineages, series,
};
use antefix_session::record::Trigger;
use antefix_wire::json::Body;

use super::source::{Compacted, Known, Source};
use crate::failure::Failure;

/// What `explain` says.
#[derive(Default)]
pub struct Report {
    pub requests: usize,
    pub lineages: Vec<Vec<usize>>,
    pub breaks: Vec<Found>,
    pub faults: Vec<Found>,
    pub usage: Vec<Found>,
    pub notes: Vec<String>,
    /// What of the input was read, first requests, expiry and planned breaks aside.
    pub steady: Steady,
}

/// A finding with where it is and what it cost.
pub struct Found {
    pub between: (usize, usize),
    pub finding: Finding,
    pub usd: Option<Money>,
}

impl Report {
    /// Leaves out what was said: pieces of the requests, and values that stood in them. Places, names of tools and
    /// numbers stay.
    pub fn redact(&mut self) {
        let hidden = |text: &String| format!("[{} bytes]", text.len());
        for found in self.breaks.iter_mut().chain(&mut self.faults).chain(&mut self.usage) {
            let finding = &mut found.finding;
            finding.earlier = finding.earlier.as_ref().map(hidden);
            finding.later = finding.later.as_ref().map(hidden);
            for name in ["values", "volatile_span"] {
                if finding.evidence.get(name).is_some() {
                    finding.evidence.note(name, "[redacted]");
                }
            }
        }
    }

    /// Whether anything was lost that should not have been.
    pub fn is_broken(&self) -> bool {
        let is_fault = |found: &Found| found.finding.severity == Severity::Fault;
        !self.breaks.is_empty() || self.faults.iter().any(is_fault) || self.usage.iter().any(is_fault)
    }
}

/// Judges all requests of `source`.
///
/// # Errors
/// If a body is no request.
pub fn report(source: &Source) -> Result<Report, Failure> {
    let both = source
        .requests
        .iter()
        .map(|known| Ok((prompt(known.body.as_ref())?, prompt(known.client.as_ref())?)));
    let prompts: Vec<(Option<Prompt<'_>>, Option<Prompt<'_>>)> = both.collect::<Result<_, Failure>>()?;
    let observations: Vec<Observation<'_>> = source
        .requests
        .iter()
        .zip(&prompts)
        .map(|(known, (body, client))| observe(known, body.as_ref(), client.as_ref()))
        .collect();
    let mut report = Report {
        requests: observations.len(),
        notes: source.notes.clone(),
        steady: Steady::of(&observations),
        ..Report::default()
    };
    if observations.iter().any(|one| one.prompt.is_some()) {
        judge_bodies(source, &observations, &mut report);
    } else if !observations.is_empty() {
        report.lineages = vec![(0..observations.len()).collect()];
        for (between, finding) in series(&observations) {
            report.usage.push(priced(source, between, finding));
        }
    }
    ledger(source, &mut report);
    Ok(report)
}

fn prompt(body: Option<&Body>) -> Result<Option<Prompt<'_>>, Failure> {
    body.map(|body| Prompt::read(body.root()).map_err(Failure::usage)).transpose()
}

fn observe<'a>(
    known: &'a Known,
    body: Option<&'a Prompt<'a>>,
    client: Option<&'a Prompt<'a>>,
) -> Observation<'a> {
    let hints = &known.hints;
    Observation {
        prompt: body,
        implicit: known.implicit,
        client,
        usage: known.usage.map(|row| row.counts),
        refused: known.refused.is_some(),
        started_at: known.started_at,
        first_byte_at: known.first_byte_at,
        ttl: known.ttl,
        process: hints.process.clone(),
        session: hints.session.clone(),
        agent: hints.agent.clone(),
        account: hints.account.clone(),
        provider: hints.provider.clone(),
        region: hints.region.clone(),
        betas: hints.betas.clone(),
        client_betas: hints.client_betas.clone(),
        prefix: hints.prefix.clone(),
        server_reason: hints.server_reason.clone(),
        edits: known.edits,
        is_altered: known.is_altered,
        ..Observation::new(known.rules.clone())
    }
}

fn judge_bodies(source: &Source, observations: &[Observation<'_>], report: &mut Report) {
    let lineage = lineages(observations);
    let mut said_alone: Vec<Kind> = Vec::new();
    for (index, (later, parent)) in observations.iter().zip(&lineage.parents).enumerate() {
        if let Some(status) = source.requests.get(index).and_then(|known| known.refused) {
            report.notes.push(format!("request {}: refused with status {status}: {REFUSED}", index + 1));
            continue;
        }
        for finding in judge_alone(later) {
            // A layout stays as it is; once is enough.
            if !said_alone.contains(&finding.kind) {
                said_alone.push(finding.kind);
                report.faults.push(priced(source, (index, index), finding));
            }
        }
        let Some((parent, verdict)) = parent.zip(lineage.judge(observations, index)) else {
            let before = observations.get(..index).unwrap_or_default().iter().enumerate();
            let cold = before.rev().find_map(|(at, sibling)| Some((at, cold_start(sibling, later)?)));
            report.faults.extend(cold.map(|(at, finding)| priced(source, (at, index), finding)));
            continue;
        };
        let between = (parent, index);
        report.breaks.extend(verdict.breaks.into_iter().map(|finding| priced(source, between, finding)));
        report.faults.extend(verdict.faults.into_iter().map(|finding| priced(source, between, finding)));
        let planned = verdict.planned.into_iter().map(|finding| planned(&priced(source, between, finding)));
        let notes = planned.chain(verdict.notes);
        report.notes.extend(notes.map(|note| format!("requests {} → {}: {note}", parent + 1, index + 1)));
    }
    whole_conversations(source, observations, &lineage, report);
    report.lineages = lineage.groups;
    report.notes.extend(source.requests.iter().enumerate().filter_map(|one| server_summary(source, one)));
}

/// What is said of something that was meant to be: with its price, where the user has asked for it.
fn planned(found: &Found) -> String {
    let (row, path) = (found.finding.kind.row(), &found.finding.path);
    let asked = (row.segment == Segment::Parameters).then(|| {
        let spent = found.usd.map_or_else(String::new, |usd| format!(", {usd:.4}"));
        format!(" (as it was asked{spent})")
    });
    format!("{} at {path}: {}{}", row.id, row.sentence, asked.unwrap_or_default())
}

/// What a summary cost that the provider has made by itself.
fn server_summary(source: &Source, (index, known): (usize, &Known)) -> Option<String> {
    let counts = known.summary?.counts;
    let day = known.day().or_else(today);
    let prices = day.and_then(|day| {
        source.book.price(known.platform, &known.model, day, Modifiers::default(), counts.prompt())
    });
    let spent =
        prices.map_or_else(|| "unpriced".to_owned(), |prices| format!("{:.4}", cost(&prices, &counts)));
    let (prompt, read, output) = (counts.prompt().0, counts.read.0, counts.output.0);
    Some(format!(
        "request {}: {}: the summary took in {prompt} tokens, {read} of them read from the cache, and has {output}: {spent}",
        index + 1,
        Kind::ServerCompaction.row().id
    ))
}

/// What is said of a conversation as a whole: how it began, if it is not the only one, and what it repeats.
fn whole_conversations(
    source: &Source,
    observations: &[Observation<'_>],
    lineage: &Lineage,
    report: &mut Report,
) {
    for (at, group) in lineage.groups.iter().enumerate() {
        let (Some(first), Some(last)) = (group.first().copied(), group.last().copied()) else { continue };
        if at > 0 {
            let planned = source.requests.get(first).and_then(|known| known.compacted);
            if let Some(compacted) = planned {
                report.notes.push(compaction(source, first, compacted));
                continue;
            }
            if let Some(row) = lineage.opening(observations, first).map(|opening| opening.kind.row()) {
                report.notes.push(format!("request {}: {}: {}", first + 1, row.id, row.sentence));
            }
        }
        let repeated = observations.get(last).and_then(|one| one.prompt).and_then(bloat);
        report.faults.extend(repeated.map(|finding| priced(source, (last, last), finding)));
    }
}

/// What is said of a compaction that the session itself speaks of, with what it cost.
fn compaction(source: &Source, first: usize, compacted: Compacted) -> String {
    let row = Kind::Compaction.row();
    let spent = |known: &Known| Some(cost(&prices(&source.book, known)?, &known.usage?.counts));
    let amount = |at: Option<usize>| {
        let spent = at.and_then(|at| source.requests.get(at)).and_then(spent);
        spent.map_or_else(|| "unpriced".to_owned(), |spent| format!("{spent:.4}"))
    };
    let why = match compacted.trigger {
        Trigger::Command => "as asked",
        Trigger::Share => "at its share of the context window",
    };
    let asked = compacted.asked.map_or_else(String::new, |asked| {
        format!("request {} for the summary cost {}, ", asked + 1, amount(Some(asked)))
    });
    format!(
        "request {}: {}, {why}: {} {asked}this request {}",
        first + 1,
        row.id,
        row.sentence,
        amount(Some(first))
    )
}

/// Prices a finding: rewritten tokens × (as billed − read).
fn priced(source: &Source, between: (usize, usize), finding: Finding) -> Found {
    let later = source.requests.get(between.1);
    let usd = finding.rewritten.zip(later).and_then(|(tokens, known)| {
        Some(waste(&prices(&source.book, known)?, &rewritten_counts(&known.usage?.counts, tokens)))
    });
    Found { between, finding, usd }
}

/// Prices of a request whose usage is known, on its day.
fn prices(book: &PriceBook, known: &Known) -> Option<Prices> {
    let day = known.day().or_else(today)?;
    let prompt = known.usage?.counts.prompt();
    book.price(known.platform, &known.model, day, Modifiers::default(), prompt)
}

fn today() -> Option<jiff::civil::Date> {
    let now = i64::try_from(antefix_runtime::clock::now().0).ok()?;
    Some(jiff::Timestamp::from_millisecond(now).ok()?.to_zoned(jiff::tz::TimeZone::UTC).date())
}

/// What the book-keeping had to put right.
fn ledger(source: &Source, report: &mut Report) {
    if !source.lines.is_empty() {
        let kept = dedupe(source.lines.iter().cloned());
        report.requests = kept.entries.len();
        let rows: Vec<Row> = kept.entries.iter().map(|entry| entry.row).collect();
        let naive: Vec<Row> = source.lines.iter().map(|entry: &Entry| entry.row).collect();
        if kept.repeats > 0 {
            let mut evidence = Evidence::default();
            evidence.note("requests", rows.len()).note("lines", naive.len());
            evidence.note("totals", totals(&rows)).note("naive_totals", totals(&naive));
            evidence.note(
                "rule",
                "group by (message.id, requestId); keep the line with the greatest output_tokens, whole",
            );
            report.usage.push(noted(Kind::DuplicateLines, evidence));
        }
    }
    if let Some(first) = source.rows.first() {
        let mut evidence = Evidence::default();
        let counts = first.counts;
        let canonical = vec![
            ("uncached", counts.uncached.0.into()),
            ("read", counts.read.0.into()),
            ("write", (counts.write_5m + counts.write_1h).0.into()),
            ("output", counts.output.0.into()),
            ("prompt_total", counts.prompt().0.into()),
        ];
        evidence.note("canonical", Value::Group(canonical));
        evidence.note("all_rows_equal", source.rows.iter().all(|row| row.counts == counts));
        if let Some(share) = first.read_share() {
            evidence.note("hit_ratio", Value::Share(share));
        }
        report.requests = source.rows.len();
        report.usage.push(noted(Kind::Convention, evidence));
    }
}

fn noted(kind: Kind, evidence: Evidence) -> Found {
    let finding = Finding::of_usage(kind, evidence);
    Found { between: (0, 0), finding, usd: None }
}

fn totals(rows: &[Row]) -> Value {
    let counts = Totals::of(rows).counts;
    Value::Group(vec![
        ("input_tokens", counts.uncached.0.into()),
        ("cache_read_input_tokens", counts.read.0.into()),
        ("cache_creation_input_tokens", (counts.write_5m + counts.write_1h).0.into()),
        ("output_tokens", counts.output.0.into()),
    ])
}

/// What is said of a request that the server refused.
const REFUSED: &str = "nothing of it was kept or billed, so that none is compared with it";
