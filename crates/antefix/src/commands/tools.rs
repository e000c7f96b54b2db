//! `antefix tools diff`: the tools array of each request against the one before.

mod compare;

use std::path::PathBuf;
use std::process::ExitCode;

use antefix_wire::json::{Body, Node};

use super::explain::source;
use crate::cli::{ToolsAction, ToolsArgs};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::out::{prose, say};
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION, array};
use crate::text::grouped;

use compare::{Change, Tool, compare};

/// What became of the tools array over some requests.
struct Report {
    requests: u64,
    /// Number of tools and bytes in the last request, and its deferred tools.
    last: (u64, u64, u64),
    /// Number of a request, from 1, and what is not as it was in the one before.
    changes: Vec<(u64, Change)>,
}

/// `antefix tools`
pub fn tools(args: &ToolsArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let ToolsAction::Diff { inputs, json } = &args.action;
    let inputs = if inputs.is_empty() { vec![last_session(environment)?] } else { inputs.clone() };
    let source = source::open(&inputs, environment)?;
    let bodies: Vec<&Body> = source.requests.iter().filter_map(|known| known.body.as_ref()).collect();
    if bodies.is_empty() {
        return Err(Failure::usage("no request body is among what was named"));
    }
    let report = Report::of(&bodies);
    if *json {
        say!("{}", report.json());
    } else {
        report.print();
    }
    Ok(ExitCode::from(u8::from(report.changes.iter().any(|(_, change)| change.breaks()))))
}

fn last_session(environment: &Environment) -> Result<PathBuf, Failure> {
    let sessions = folders::sessions(environment)?;
    Ok(PathBuf::from(folders::find(&sessions, None, &folders::working_folder(None)?)?.as_str()))
}

impl Report {
    fn of(bodies: &[&Body]) -> Self {
        let all: Vec<Vec<Tool<'_>>> = bodies.iter().map(|body| tools_of(body)).collect();
        let pairs = all.windows(2).zip(2..);
        let changes = pairs.flat_map(|(pair, request)| match pair {
            [before, after] => compare(before, after).into_iter().map(|change| (request, change)).collect(),
            _ => Vec::new(),
        });
        let changes = changes.collect();
        let last = all.last().map_or(&[][..], Vec::as_slice);
        let bytes = bodies.last().and_then(|body| array_of(body)).map_or(0, |tools| tools.raw().len() as u64);
        let deferred = last.iter().filter(|tool| tool.is_deferred).count() as u64;
        Self { requests: bodies.len() as u64, last: (last.len() as u64, bytes, deferred), changes }
    }

    fn print(&self) {
        let (tools, bytes, deferred) = self.last;
        let deferred =
            if deferred > 0 { format!(", {} of them deferred", grouped(deferred)) } else { String::new() };
        let array = format!("{} tools{deferred}, {} bytes", grouped(tools), grouped(bytes));
        if self.changes.is_empty() {
            return prose!("{array}: the same in all {} requests", grouped(self.requests));
        }
        for (request, change) in &self.changes {
            prose!("request {request}: {}", harmless(&change.to_string()));
        }
        let breaking = self.changes.iter().filter(|(_, change)| change.breaks()).count();
        prose!(
            "{array} in the last of {} requests; {breaking} changes re-write the prompt from the tool on, {} do not",
            grouped(self.requests),
            self.changes.len() - breaking
        );
    }

    fn json(&self) -> String {
        let (tools, bytes, deferred) = self.last;
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION).number("requests", self.requests);
        object.number("tools", tools).number("deferred", deferred).number("bytes", bytes);
        object.boolean("same", self.changes.is_empty());
        let changes = self.changes.iter().map(|(request, change)| {
            let mut row = Object::new();
            row.number("request", *request).text("kind", change.kind.word()).text("tool", &change.tool);
            row.boolean("breaks", change.breaks());
            match &change.detail {
                Some((path, before, after)) => {
                    row.text("path", path).text("before", before).text("after", after)
                }
                None => row.raw("path", "null").raw("before", "null").raw("after", "null"),
            };
            row.close()
        });
        object.raw("changes", &array(changes));
        object.close()
    }
}

/// The array of tools, wherever the protocol has it.
fn array_of(body: &Body) -> Option<Node<'_>> {
    body.root().get("tools")
}

fn tools_of(body: &Body) -> Vec<Tool<'_>> {
    let items = array_of(body).into_iter().flat_map(Node::items);
    // Gemini lists functions inside of one entry or several.
    let flat = items.flat_map(|item| {
        let inner = item.get("functionDeclarations").or_else(|| item.get("function_declarations"));
        inner.map_or_else(|| vec![item], |inner| inner.items().collect())
    });
    flat.map(Tool::read).collect()
}
