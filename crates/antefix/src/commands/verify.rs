use std::process::ExitCode;

use antefix_runtime::store::Unfinished;
use antefix_runtime::transcript::read;
use antefix_session::line::LineError;
use antefix_session::verify::{Finding, Report, verify as check};

use crate::cli::VerifyArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::out::{prose, say, tell};
use crate::stream_json::{Object, SCHEMA_VERSION, array, quoted};
use crate::text::{grouped, short};

/// `antefix verify`
pub fn verify(args: &VerifyArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let sessions = folders::sessions(environment)?;
    let id = folders::find(&sessions, args.id.as_deref(), &folders::working_folder(None)?)?;
    let mut notes = Vec::new();
    let report = match sessions.inspect(&id) {
        Ok(inspection) => {
            if inspection.index_lost {
                notes.push(
                    "the index is lost: nobody can say whether records are missing at the end".to_owned(),
                );
            }
            let mut report = match read(&inspection.transcript) {
                Ok((header, entries)) => check(header, &entries),
                Err(error) => broken(error.to_string()),
            };
            if let Some(unfinished) = inspection.unfinished {
                unfinished_end(&unfinished, &mut report, &mut notes);
            }
            report
        }
        Err(error) => broken(error.to_string()),
    };
    if args.json {
        say!("{}", render_json(id.as_str(), &report, &notes));
    } else {
        print_text(id.as_str(), &report, &notes);
    }
    Ok(ExitCode::from(u8::from(!report.is_ok())))
}

/// A torn last line is what a crash leaves, and the next writer cuts it off. A complete line that is not what was
/// written may be one as well, but nobody can tell it from damage.
fn unfinished_end(unfinished: &Unfinished, report: &mut Report, notes: &mut Vec<String>) {
    match &unfinished.reason {
        LineError::Torn { .. } => {
            notes.push(format!("{} unfinished bytes at the end are left out", unfinished.bytes));
        }
        LineError::Broken { line, offset, reason } => report.findings.push(Finding {
            record: line.saturating_sub(1),
            text: format!(
                "line {line}, at byte {offset}: {reason}; the {} bytes from there on were never said to be durable",
                unfinished.bytes
            ),
        }),
    }
}

fn broken(text: String) -> Report {
    Report { findings: vec![Finding { record: 0, text }], ..Report::default() }
}

fn print_text(id: &str, report: &Report, notes: &[String]) {
    for note in notes {
        tell!("note: {note}");
    }
    for finding in &report.findings {
        prose!("✗ record {}: {}", finding.record, finding.text);
    }
    if report.is_ok() {
        prose!(
            "✓ session {id}: {} of {} request bodies rebuilt byte for byte ({} bytes); {}",
            grouped(report.requests),
            grouped(report.requests),
            short(report.bytes),
            relations(report),
        );
    }
}

/// How the requests relate to those before them, in words; what is not there is left out.
pub fn relations(report: &Report) -> String {
    let parts = [
        (report.first, "first"),
        (report.extends, "extend what was sent before"),
        (report.branches, "branch as planned"),
        (report.allowed, "let through by --allow-break"),
    ];
    let parts: Vec<_> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    if parts.is_empty() { "nothing was sent yet".to_owned() } else { parts.join(", ") }
}

/// The report as JSON.
pub fn render_json(id: &str, report: &Report, notes: &[String]) -> String {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).text("session_id", id).boolean("ok", report.is_ok());
    object
        .number("requests", report.requests)
        .number("bytes", report.bytes)
        .number("first", report.first)
        .number("extends", report.extends);
    object.number("branches", report.branches).number("allowed", report.allowed);
    let findings = report.findings.iter().map(|finding| {
        let mut one = Object::new();
        one.number("record", finding.record).text("text", &finding.text);
        one.close()
    });
    object.raw("findings", &array(findings));
    object.raw("notes", &array(notes.iter().map(|note| quoted(note))));
    object.close()
}
