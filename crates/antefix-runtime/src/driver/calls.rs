use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use antefix_session::closure::text_block;
use antefix_session::conversation::{Call, Conversation};
use antefix_session::event::{Event, Returned};
use antefix_session::record::ResultRecord;
use antefix_tools::hooks::Occasion;
use antefix_tools::{Access, Cancellation, Content, Context, Executor, Output, ProgressKind, ShellState};
use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::gate::Gate;
use super::hooked::{self, Reviewed, review};
use super::images::Images;
use super::recall::write_facts;
use super::{Agent, Inbox, Running};
use crate::store::TranscriptStore;

impl<S: TranscriptStore> Agent<S> {
    /// Asks hooks about all calls and then the user in the calls' order, and starts those that may run; each result comes
    /// back as soon as it is there and hooks have seen it.
    pub(super) fn run_calls(&mut self, calls: Vec<Call>, turn: &mut Running) {
        turn.stop = Cancellation::new();
        let progress = turn.outbox.clone();
        let context = self.context.clone().with_cancellation(turn.stop.clone()).with_progress(move |news| {
            if let ProgressKind::Text(text) = news.kind {
                drop(progress.send(Inbox::Progress { call: news.call_id.to_string(), text }));
            }
        });
        let (executor, outbox, gate) = (self.executor.clone(), turn.outbox.clone(), self.gate.clone());
        let images = self.images.images(self.session.conversation(), self.session.rules().images());
        let returns = Arc::new(Returns { outbox: outbox.clone(), images });
        let (refused, calls) = self.kin.refuse(calls);
        for (call, reason) in refused {
            returns.give_back(&call.id, &Output::error(reason));
        }
        let hooks = self.hooks.clone();
        let Prepared { batch, broken } = prepared(&executor, &calls);
        turn.tasks.spawn(async move {
            let mut admitted = Vec::new();
            for (call, output) in &broken {
                returns.give_back(call, output);
            }
            for one in review(hooks.as_ref(), &context, batch).await {
                hooked::pass_on(&one.request.name, &one.outcome, &outbox);
                match admit(gate.as_ref(), &executor, &context, &one, &outbox).await {
                    Ok(access) => admitted.push(antefix_tools::Call { admitted: access, ..one.request }),
                    Err(output) => returns.give_back(&one.call.id, &output),
                }
            }
            let ran = admitted.clone();
            let mut seen_by_hooks = JoinSet::new();
            let give = |index: usize, output: &Output| {
                let Some(request) = ran.get(index) else { return };
                let (call, tool, input) = (&request.id, &request.name, &request.input);
                let occasion = Occasion::PostToolUse { call, tool, input, output };
                match hooks.as_ref().filter(|hooks| !output.is_error && hooks.listen_to(&occasion)) {
                    None => returns.give_back(&request.id, output),
                    Some(hooks) => {
                        let (hooks, context, returns) = (hooks.clone(), context.clone(), returns.clone());
                        let (request, output) = (request.clone(), output.clone());
                        seen_by_hooks.spawn(async move {
                            let (call, tool, input) = (&request.id, &request.name, &request.input);
                            let occasion = Occasion::PostToolUse { call, tool, input, output: &output };
                            let outcome = hooks.ask(&context, &occasion).await;
                            hooked::pass_on(tool, &outcome, &returns.outbox);
                            returns.give_back(&request.id, &output);
                        });
                    }
                }
            };
            executor.run_each(&context, admitted, give).await;
            while seen_by_hooks.join_next().await.is_some() {}
        });
    }
}

/// Calls in front of all decisions.
#[derive(Default)]
struct Prepared {
    /// The calls that are meant, and as their tools take them.
    batch: Vec<(Call, antefix_tools::Call)>,
    /// The results of those that cannot be run, by the call's id.
    broken: Vec<(String, Output)>,
}

fn prepared(executor: &Executor, calls: &[Call]) -> Prepared {
    let mut prepared = Prepared::default();
    for call in calls {
        let call = call.effective().into_owned();
        match executor.prepare(tool_call(&call)) {
            Ok(request) => prepared.batch.push((call, request)),
            Err(failure) => prepared.broken.push((call.id, Output::error(failure.0))),
        }
    }
    prepared
}

/// What a call may touch, or the result of one that may not run: hooks decide first, then the policy.
async fn admit(
    gate: Option<&Arc<Gate>>,
    executor: &Executor,
    context: &Context,
    one: &Reviewed,
    outbox: &mpsc::UnboundedSender<Inbox>,
) -> Result<Option<Access>, Output> {
    if let Some((output, decided)) = one.refusal() {
        drop(outbox.send(Inbox::Decided(Box::new(decided))));
        return Err(output);
    }
    match gate {
        Some(gate) => gate.admit(executor, context, one, outbox).await.map(Some),
        None => {
            if let Some(decided) = one.allowance() {
                drop(outbox.send(Inbox::Decided(Box::new(decided))));
            }
            Ok(None)
        }
    }
}

/// Where the results of a batch go.
struct Returns {
    outbox: mpsc::UnboundedSender<Inbox>,
    images: Images,
}

impl Returns {
    /// Hands a result to the session.
    fn give_back(&self, call: &str, output: &Output) {
        let output = returned(&self.images.admit(output));
        let event = Event::Returned { call: call.to_owned(), output };
        // The turn may be gone; what is sent to it then is of no interest.
        drop(self.outbox.send(Inbox::Event(Box::new(event))));
    }
}

/// Where the next shell command starts, from the results on record: the newest that says so holds.
pub fn shell_state(conversation: &Conversation) -> ShellState {
    let history = conversation.history();
    // What a rewind has left does not count.
    let live: BTreeSet<&str> =
        history.iter().flat_map(|message| message.calls()).map(|call| call.id.as_str()).collect();
    let results = conversation.results().values().rev().filter(|result| live.contains(result.call.as_str()));
    let states = results.filter_map(|result| {
        let body = Body::parse(result.facts.to_vec()).ok()?;
        body.root().items().find_map(|fact| read_shell(fact.get("shell")?))
    });
    states.into_iter().next().unwrap_or_default()
}

/// How many commands have been started in the background, from the results on record.
pub fn jobs_started(conversation: &Conversation) -> u64 {
    let numbers = conversation.results().values().filter_map(|result| {
        let body = Body::parse(result.facts.to_vec()).ok()?;
        body.root().items().find_map(read_job)
    });
    numbers.max().unwrap_or_default()
}

/// The session of the subagent that has done what a result tells of.
pub fn subagent_of(result: &ResultRecord) -> Option<String> {
    let body = Body::parse(result.facts.to_vec()).ok()?;
    body.root().items().find_map(|fact| Some(fact.get("subagent")?.str()?.into_owned()))
}

fn read_job(fact: Node<'_>) -> Option<u64> {
    fact.get("job")?.u64()
}

fn tool_call(call: &Call) -> antefix_tools::Call {
    // INVARIANT: the input is a span of a message that was scanned.
    let input = Body::parse(call.input.to_vec()).or_else(|_| Body::parse(*b"{}"));
    #[allow(clippy::expect_used)]
    let input = input.expect("an empty object is JSON");
    antefix_tools::Call { id: call.id.clone(), name: call.name.clone(), input, admitted: None }
}

fn returned(output: &Output) -> Returned {
    Returned {
        content: output.content.iter().map(content_block).collect(),
        is_error: output.is_error,
        facts: write_facts(output),
    }
}

fn content_block(content: &Content) -> Bytes {
    match content {
        Content::Text(text) => text_block(text),
        Content::Image { media_type, base64 } => source_block("image", media_type, base64),
        Content::Document { media_type, base64 } => source_block("document", media_type, base64),
        Content::ToolReference { name } => reference_block(name),
    }
}

fn reference_block(name: &str) -> Bytes {
    let mut out = br#"{"type":"tool_reference","tool_name":"#.to_vec();
    write_string(&mut out, name);
    out.push(b'}');
    out.into()
}

/// An image or a document as a content block.
pub fn source_block(kind: &str, media_type: &str, base64: &str) -> Bytes {
    let mut out = format!(r#"{{"type":"{kind}","source":{{"type":"base64","media_type":"#).into_bytes();
    write_string(&mut out, media_type);
    out.extend_from_slice(br#","data":"#);
    write_string(&mut out, base64);
    out.extend_from_slice(b"}}");
    out.into()
}

pub(super) fn write_shell(out: &mut Vec<u8>, shell: &ShellState) {
    out.extend_from_slice(b"{\"shell\":{");
    if let Some(folder) = &shell.folder {
        out.extend_from_slice(b"\"folder\":");
        write_string(out, &folder.to_string_lossy());
        out.push(b',');
    }
    out.extend_from_slice(b"\"set\":[");
    for (index, (name, value)) in shell.set.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b",[" } else { b"[" });
        write_string(out, name);
        out.push(b',');
        write_string(out, value);
        out.push(b']');
    }
    out.extend_from_slice(b"],\"unset\":[");
    for (index, name) in shell.unset.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, name);
    }
    out.extend_from_slice(b"]}}");
}

fn read_shell(node: Node<'_>) -> Option<ShellState> {
    let text = |node: Node<'_>| node.str().map(|text| text.into_owned());
    let pair = |node: Node<'_>| {
        let mut items = node.items();
        Some((text(items.next()?)?, text(items.next()?)?))
    };
    Some(ShellState {
        folder: node.get("folder").and_then(text).map(PathBuf::from),
        set: node.get("set")?.items().map(pair).collect::<Option<_>>()?,
        unset: node.get("unset")?.items().map(text).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_on_record_is_the_shell_that_was() {
        let set = [("A", "x\n\"y\""), ("B", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let full = ShellState {
            folder: Some("/w/a b".into()),
            set: set.into(),
            unset: ["C", "D"].map(str::to_owned).into(),
        };
        for state in [full, ShellState::default()] {
            let output = Output {
                shell: Some(state.clone()),
                job: Some(3),
                subagent: Some("s \"1\"".to_owned()),
                ..Output::text("")
            };
            let facts = write_facts(&output);
            let body = Body::parse(facts.to_vec()).unwrap();
            let read = body.root().items().find_map(|fact| read_shell(fact.get("shell")?));
            assert_eq!(read, Some(state));
            assert_eq!(body.root().items().find_map(read_job), Some(3));
            let result = ResultRecord {
                call: String::new(),
                tool: String::new(),
                is_error: false,
                fragment: Bytes::new(),
                facts,
            };
            assert_eq!(subagent_of(&result).as_deref(), Some("s \"1\""));
        }
    }
}
