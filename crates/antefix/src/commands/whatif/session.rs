//! The requests of a session as they are needed to send them again.

use antefix_ledger::Row;
use antefix_models::{Platform, Ttl};
use antefix_prefix::Marker;
use antefix_runtime::transcript::read;
use antefix_session::conversation::{ComposedBody, Conversation, Lane};
use antefix_session::dialect::Dialect;
use antefix_session::record::{AttemptId, Origin, Purpose, Record};
use antefix_wire::json::Body;
use bytes::Bytes;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;

/// A request that was answered.
pub struct Step {
    attempt: AttemptId,
    /// When it left, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Number of the user's message it worked on.
    pub message: u64,
    /// Where the model runs.
    pub platform: Platform,
    /// The model.
    pub model: String,
    /// How long its entries live; `None` if no markers were sent.
    pub ttl: Option<Ttl>,
    /// The body as sent.
    pub body: ComposedBody,
    /// The body up to the first message, without markers.
    pub head: Bytes,
    /// The messages, without markers.
    pub said: Vec<Said>,
    /// Positions in the body.
    pub positions: u64,
    /// What it used.
    pub used: Option<Row>,
}

/// A message.
#[derive(Clone)]
pub struct Said {
    /// Its bytes.
    pub text: Bytes,
    /// Whether the user typed it, so that a conversation can begin with it.
    pub opens: bool,
}

/// The answered requests of a session, in order.
///
/// # Errors
/// If there is no such session, it cannot be read, or it speaks another protocol than the simulator replays.
pub fn steps(asked: &str, environment: &Environment) -> Result<Vec<Step>, Failure> {
    let sessions = folders::sessions(environment)?;
    let id = folders::find(&sessions, Some(asked), &folders::working_folder(None)?)?;
    let (header, entries) = read(&sessions.inspect(&id)?.transcript)?;
    let mut conversation = Conversation::new(header);
    let (mut steps, mut open): (Vec<Step>, Option<Step>) = (Vec::new(), None);
    for entry in &entries {
        match &entry.record {
            // Another way of going about it would keep other entries warm.
            Record::Attempt(attempt) if attempt.purpose == Purpose::Warm => {}
            Record::Attempt(attempt) => {
                let mark = |(at, ttl): &(u64, Ttl)| Marker { position: *at as usize, ttl: *ttl };
                let body = conversation.compose(&attempt.markers.iter().map(mark).collect::<Vec<_>>())?;
                let lane = conversation.lane().ok_or_else(|| Failure::failed("a request without a lane"))?;
                if lane.dialect() != Dialect::Anthropic {
                    return Err(Failure::usage(
                        "whatif replays sessions of the Messages API, and this one has others",
                    )
                    .hint(
                        "other servers keep their caches by other rules, which the simulator does not bill",
                    ));
                }
                open = Some(step(attempt.attempt, entry.at.0, attempt.positions, body, lane, &conversation));
            }
            Record::Outcome(outcome) => {
                let own = open.take_if(|step| step.attempt == outcome.attempt);
                if let Some(step) = own.filter(|_| outcome.status == Some(200)) {
                    let usage = outcome.usage.as_ref().and_then(|raw| Body::parse(raw.to_vec()).ok());
                    let used = usage.map(|usage| {
                        Row::read(usage.root(), antefix_ledger::Convention::detect(usage.root()))
                    });
                    steps.push(Step { used, ..step });
                }
            }
            _ => {}
        }
        conversation.apply(entry)?;
    }
    if steps.is_empty() {
        return Err(Failure::usage(format!("session {id} has no answered request to replay")));
    }
    Ok(steps)
}

fn step(
    attempt: AttemptId,
    at_ms: u64,
    positions: u64,
    body: ComposedBody,
    lane: &Lane,
    conversation: &Conversation,
) -> Step {
    let spec = lane.spec();
    let said = conversation
        .path()
        .map(|message| Said { text: message.fragment().clone(), opens: message.origin() == Origin::User });
    Step {
        attempt,
        at_ms,
        message: conversation.turn(),
        platform: spec.platform,
        model: spec.model.clone(),
        ttl: spec.cache,
        body,
        head: lane.head().clone(),
        said: said.collect(),
        positions,
        used: None,
    }
}
