//! What is explained, read from disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use antefix_ledger::{Convention, Entry, Row, samplings};
use antefix_models::{Platform, PriceBook, Rules, Ttl, rules};
use antefix_prefix::Marker;
use antefix_prefix::verdict::{Edits, Millis};
use antefix_runtime::transcript::read;
use antefix_session::conversation::Conversation;
use antefix_session::record::{Purpose, Record, RecordId, Trigger};
use antefix_wire::json::{Body, Node};
use jiff::civil::Date;

use super::case;
use super::speaker::read_speaker;
use crate::commands::diff::body;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::price_file;

/// All that is known, one entry for each request.
#[derive(Default)]
pub struct Source {
    pub requests: Vec<Known>,
    /// Lines of a transcript that report usage.
    pub lines: Vec<Entry>,
    /// Usage of one prompt as several vendors report it.
    pub rows: Vec<Row>,
    pub notes: Vec<String>,
    /// What tokens cost.
    pub book: PriceBook,
}

/// What is known of one request.
pub struct Known {
    pub body: Option<Body>,
    /// What the client sent, where a gateway stands between.
    pub client: Option<Body>,
    pub platform: Platform,
    pub model: String,
    pub rules: Rules,
    pub usage: Option<Row>,
    /// The status that it was refused with.
    pub refused: Option<u16>,
    /// Its usage counts as that of a provider that caches without being asked.
    pub implicit: bool,
    pub started_at: Option<Millis>,
    pub first_byte_at: Option<Millis>,
    pub ttl: Option<Ttl>,
    pub hints: Hints,
    /// What the answer says was done to the prompt; `None` if it is not known.
    pub edits: Option<Edits>,
    /// What the provider's own summary used, where it has made one on the way.
    pub summary: Option<Row>,
    /// It is the first behind a summary that our own transcript speaks of.
    pub compacted: Option<Compacted>,
    /// The session's user has asked for other parameters from this request on.
    pub is_altered: bool,
}

/// A compaction on record.
#[derive(Clone, Copy)]
pub struct Compacted {
    /// What set it off.
    pub trigger: Trigger,
    /// Number of the request for the summary, from 0; `None` if it belongs to what was forked from.
    pub asked: Option<usize>,
}

/// What else a client or a gateway said of a request.
#[derive(Default)]
pub struct Hints {
    pub process: Option<String>,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub account: Option<String>,
    pub provider: Option<String>,
    pub region: Option<String>,
    pub betas: Option<String>,
    pub client_betas: Option<String>,
    pub prefix: Option<String>,
    pub server_reason: Option<String>,
}

impl Known {
    /// A request of which the body alone is known, or not even that.
    pub fn new(body: Option<Body>, platform: Platform) -> Self {
        let named = body.as_ref().and_then(|body| body.root().get("model").and_then(Node::str));
        let model = named.map(|name| name.into_owned()).unwrap_or_default();
        Self {
            rules: rules(platform, &model),
            body,
            client: None,
            platform,
            model,
            usage: None,
            refused: None,
            implicit: false,
            started_at: None,
            first_byte_at: None,
            ttl: None,
            hints: Hints::default(),
            edits: None,
            summary: None,
            compacted: None,
            is_altered: false,
        }
    }

    /// Takes what a usage object tells.
    fn read_usage(&mut self, node: Option<Node<'_>>) {
        self.usage = usage(node);
        let samplings = node.map(|node| samplings(node, Convention::detect(node))).unwrap_or_default();
        let summary = samplings.iter().find(|one| one.purpose == antefix_ledger::Purpose::Compaction);
        self.summary = summary.map(|summary| summary.row);
        self.edits = self.edits.or(self.summary.map(|_| Edits { summarised: true, cleared: None }));
    }

    /// The day on which it was sent.
    pub fn day(&self) -> Option<Date> {
        let at = jiff::Timestamp::from_millisecond(self.started_at?.0).ok()?;
        Some(at.to_zoned(jiff::tz::TimeZone::UTC).date())
    }
}

/// Reads what was named.
///
/// # Errors
/// If it is none of a case file, bodies, a capture directory, or a session.
pub fn open(inputs: &[PathBuf], environment: &Environment) -> Result<Source, Failure> {
    Ok(Source { book: price_file::book(environment)?, ..named(inputs, environment)? })
}

fn named(inputs: &[PathBuf], environment: &Environment) -> Result<Source, Failure> {
    match inputs {
        [one] if one.is_dir() => captures(one),
        [one] if one.is_file() => {
            let found = body(one)?;
            if found
                .root()
                .get("input")
                .is_some_and(|input| input.get("requests").is_some() || case::is_case(found.root()))
            {
                return case::read(found.root());
            }
            Err(Failure::usage(format!("`{}` is one request; two or more can be compared", one.display())))
        }
        [one] => session(&one.to_string_lossy(), environment),
        many => {
            let known = |path: &PathBuf| {
                let body = body(path)?;
                if body.root().get("messages").is_none() && body.root().get("input").is_none() {
                    return Err(Failure::usage(format!("`{}` is not a request", path.display())));
                }
                if case::is_case(body.root()) {
                    let text = format!("`{}` is a case file, and there are other inputs", path.display());
                    return Err(Failure::usage(text).hint("explain one case file at a time"));
                }
                Ok(Known::new(Some(body), Platform::Anthropic))
            };
            let requests = many.iter().map(known).collect::<Result<_, _>>()?;
            Ok(Source { requests, ..Source::default() })
        }
    }
}

/// A folder of `NNNNNN.body.json` and `NNNNNN.meta.json`.
fn captures(folder: &Path) -> Result<Source, Failure> {
    let name = folder.display();
    let read = std::fs::read_dir(folder)
        .map_err(|error| Failure::usage(format!("cannot read `{name}`: {error}")))?;
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".body.json"));
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::usage(format!("`{name}` holds no captured requests"))
            .hint("a capture has files such as 000001.body.json; `--capture DIR` writes them"));
    }
    let requests = paths.iter().map(|path| captured(path)).collect::<Result<_, _>>()?;
    Ok(Source { requests, ..Source::default() })
}

fn captured(path: &Path) -> Result<Known, Failure> {
    let mut known = Known::new(Some(body(path)?), Platform::Anthropic);
    let meta = PathBuf::from(path.to_string_lossy().replace(".body.json", ".meta.json"));
    if meta.is_file() {
        let meta = body(&meta)?;
        let meta = meta.root();
        let at =
            |key: &str| meta.get(key).and_then(Node::u64).and_then(|at| i64::try_from(at).ok()).map(Millis);
        known.started_at = at("at_ms");
        known.first_byte_at = at("first_byte_at_ms");
        known.read_usage(meta.get("usage"));
        let status = meta.get("status").and_then(Node::u64).and_then(|status| u16::try_from(status).ok());
        known.refused = status.filter(|status| is_refusal(*status));
        read_speaker(&mut known.hints, meta, known.body.as_ref());
        let betas = meta.get("headers").and_then(|headers| headers.get("anthropic-beta"));
        known.hints.betas = betas.and_then(Node::str).map(|text| text.into_owned());
    }
    Ok(known)
}

/// Whether a request that was answered so was refused: nothing of it was kept or billed.
const fn is_refusal(status: u16) -> bool {
    status >= 400
}

/// Reads a usage object, whatever its convention; `None` for `null` and what is no object.
pub fn usage(node: Option<Node<'_>>) -> Option<Row> {
    let node = node.filter(|node| node.kind() == antefix_wire::json::Kind::Object)?;
    Some(Row::read(node, Convention::detect(node)))
}

/// The requests of a session, rebuilt from its transcript.
fn session(asked: &str, environment: &Environment) -> Result<Source, Failure> {
    let sessions = folders::sessions(environment)?;
    let id = folders::find(&sessions, Some(asked), &folders::working_folder(None)?)?;
    let (header, entries) = read(&sessions.inspect(&id)?.transcript)?;
    let mut conversation = Conversation::new(header);
    let mut source = Source::default();
    let mut attempts = Vec::new();
    let mut platform = Platform::Anthropic;
    // The compaction that a lane stands behind, and what is to be said of it with its first request.
    let mut behind: BTreeMap<RecordId, RecordId> = BTreeMap::new();
    let (mut asked, mut compacted, mut is_altered) = (None, None, false);
    for entry in &entries {
        match &entry.record {
            Record::Lane(lane) => {
                platform = lane.platform;
                is_altered = conversation.lane().is_some();
                let before = conversation.lane().and_then(|lane| behind.get(&lane.record()).copied());
                behind.extend(before.map(|before| (entry.id, before)));
            }
            Record::Compact(record) => {
                behind.insert(entry.id, entry.id);
                compacted = Some(Compacted { trigger: record.trigger, asked });
            }
            // It repeats one that is there.
            Record::Attempt(attempt) if attempt.purpose == Purpose::Warm => {}
            Record::Attempt(attempt) => {
                let markers =
                    attempt.markers.iter().map(|(at, ttl)| Marker { position: *at as usize, ttl: *ttl });
                let composed = conversation.compose(&markers.collect::<Vec<_>>()).map_err(Failure::failed)?;
                let parsed = Body::parse(composed.chunks.concat()).map_err(Failure::failed)?;
                let mut known = Known::new(Some(parsed), platform);
                known.started_at = i64::try_from(entry.at.0).ok().map(Millis);
                // What stands behind a summary extends nothing that was sent in front of it.
                let epoch = behind.get(&attempt.lane).map_or(0, |record| record.0);
                known.hints.session = Some(id.to_string());
                known.hints.agent = Some(format!("epoch {epoch}"));
                if attempt.purpose == Purpose::Compaction {
                    asked = Some(source.requests.len());
                }
                known.compacted = compacted.take();
                known.is_altered = std::mem::take(&mut is_altered);
                attempts.push(attempt.attempt);
                source.requests.push(known);
            }
            Record::Outcome(outcome) => {
                let at = attempts.iter().rposition(|attempt| *attempt == outcome.attempt);
                if let Some(known) = at.and_then(|at| source.requests.get_mut(at)) {
                    known.first_byte_at =
                        outcome.first_byte.and_then(|at| i64::try_from(at.0).ok()).map(Millis);
                    let raw = outcome.usage.as_ref().and_then(|raw| Body::parse(raw.to_vec()).ok());
                    known.edits = outcome.edits();
                    known.read_usage(raw.as_ref().map(Body::root));
                    known.refused = outcome.status.filter(|status| is_refusal(*status));
                }
            }
            _ => {}
        }
        conversation.apply(entry).map_err(Failure::failed)?;
    }
    Ok(source)
}
