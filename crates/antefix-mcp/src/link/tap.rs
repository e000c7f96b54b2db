use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antefix_wire::json::{Body, Kind, Limits, Node};
use bytes::Bytes;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, GetMeta, NumberOrString, ServerJsonRpcMessage};
use rmcp::transport::async_rw::JsonRpcMessageCodec;
use tokio::sync::{mpsc, watch};
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};

use crate::call::Progress;
use crate::notes::Notes;
use crate::question::Elicitation;

/// Stands between a connection and `rmcp`, and keeps the raw text of what matters.
///
/// `rmcp` does the protocol: versions, ids, the fate of requests. What the requests of ours say and what they are
/// answered goes past it as bytes: parameters are put into the message behind it, and of an answer it sees `{}` in
/// the place of the result, while the result's text is kept here under the request's id.
pub(crate) struct Tap {
    state: Mutex<State>,
    /// Goes up when the server says that a list has changed.
    changes: watch::Sender<Changes>,
    /// How many questions of the server wait for the user.
    asking: watch::Sender<usize>,
    pub(crate) notes: Notes,
}

/// A question that waits for the user, until it is dropped.
pub(super) struct Waiting(Arc<Tap>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.asking.send_modify(|count| *count -= 1);
    }
}

/// How often the server has said that a list is another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) tools: u64,
}

/// The raw text that a request of ours takes along, in the extensions of `rmcp`'s request.
#[derive(Clone)]
pub(super) struct Raw {
    /// Members of the parameters without the braces: `"name":"x","arguments":{}`.
    pub(super) members: Bytes,
    pub(super) progress: mpsc::Sender<Progress>,
}

/// How a request of ours was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The text of `result`.
    Result(Bytes),
    /// The members of `error`.
    Error {
        /// As the server wrote it.
        code: String,
        message: String,
    },
}

/// What came in.
pub(super) enum Arrival {
    /// For `rmcp`.
    Message(Box<ServerJsonRpcMessage>),
    /// A question to the user, with the id to answer under.
    Question(String, Elicitation),
    /// Dealt with.
    Nothing,
}

#[derive(Default)]
struct State {
    /// Requests that are out, by id; with the answer, once it is there.
    awaited: BTreeMap<String, Option<Answer>>,
    /// Where progress goes, by token; with the request's id.
    progress: BTreeMap<String, (String, mpsc::Sender<Progress>)>,
}

impl Tap {
    pub(crate) fn new(notes: Notes) -> Self {
        let (changes, asking) = (watch::Sender::default(), watch::Sender::default());
        Self { state: Mutex::default(), changes, asking, notes }
    }

    /// Tells of lists that have changed.
    pub(crate) fn changes(&self) -> watch::Receiver<Changes> {
        self.changes.subscribe()
    }

    /// How many questions of the server wait for the user.
    pub(super) fn asking(&self) -> watch::Receiver<usize> {
        self.asking.subscribe()
    }

    /// A question waits for the user from now on.
    pub(super) fn wait_for_user(self: &Arc<Self>) -> Waiting {
        self.asking.send_modify(|count| *count += 1);
        Waiting(Arc::clone(self))
    }

    /// The bytes of a message of `rmcp`, without the line's end; raw parameters are put in.
    pub(super) fn outgoing(&self, message: &ClientJsonRpcMessage) -> std::io::Result<Vec<u8>> {
        let bytes = encode(message)?;
        let ClientJsonRpcMessage::Request(request) = message else { return Ok(bytes) };
        let Some(raw) = request.request.extensions().get::<Raw>() else { return Ok(bytes) };
        let id = request.id.to_string();
        let mut state = self.state();
        if let Some(token) = request.request.get_meta().get_progress_token() {
            state.progress.insert(token_text(&token.0), (id.clone(), raw.progress.clone()));
        }
        state.awaited.insert(id, None);
        with_members(bytes, &raw.members)
    }

    /// Takes in a line or an event's data.
    pub(super) fn incoming(&self, text: &[u8]) -> Arrival {
        let text = text.trim_ascii();
        if text.is_empty() {
            return Arrival::Nothing;
        }
        let body = match Body::parse_with(text, LIMITS) {
            Ok(body) if body.root().kind() == Kind::Object => body,
            Ok(_) | Err(_) => {
                self.notes.stray(text);
                return Arrival::Nothing;
            }
        };
        let root = body.root();
        let method = root.get("method").and_then(Node::str);
        match (method.as_deref(), root.get("id")) {
            (None, Some(id)) => self.answer(root, id),
            (Some("elicitation/create"), Some(id)) => {
                let params = root.get("params").map_or("{}", Node::raw);
                Arrival::Question(id.raw().to_owned(), Elicitation::read(params))
            }
            (Some("notifications/progress"), _) => {
                self.progress(root);
                Arrival::Nothing
            }
            (Some("notifications/tools/list_changed"), _) => {
                self.changes.send_modify(|changes| changes.tools += 1);
                Arrival::Nothing
            }
            (Some(method), None) if method.starts_with("notifications/") && !PASSED_ON.contains(&method) => {
                Arrival::Nothing
            }
            _ => self.decoded(text),
        }
    }

    /// The answer of a request that is done, and nothing of it stays behind.
    pub(super) fn take(&self, id: &str) -> Option<Answer> {
        let mut state = self.state();
        state.progress.retain(|_, (of, _)| of != id);
        state.awaited.remove(id).flatten()
    }

    fn answer(&self, root: Node<'_>, id: Node<'_>) -> Arrival {
        let id = token(id);
        let mut state = self.state();
        let Some(awaited) = state.awaited.get_mut(&id) else {
            drop(state);
            return self.decoded(root.raw().as_bytes());
        };
        if awaited.is_some() {
            self.notes.add("it has answered a request twice; the first answer holds");
            return Arrival::Nothing;
        }
        *awaited = Some(match (root.get("result"), root.get("error")) {
            (Some(result), None) => Answer::Result(Bytes::copy_from_slice(result.raw().as_bytes())),
            (_, Some(error)) => Answer::Error {
                code: error
                    .get("code")
                    .map_or_else(|| "without a code".to_owned(), |code| code.raw().to_owned()),
                message: error.get("message").and_then(Node::str).unwrap_or_default().into_owned(),
            },
            (None, None) => Answer::Error {
                code: "without a code".to_owned(),
                message: "the answer has neither a result nor an error".to_owned(),
            },
        });
        drop(state);
        self.decoded(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}").as_bytes())
    }

    fn progress(&self, root: Node<'_>) {
        let Some(params) = root.get("params") else { return };
        let Some(progress_token) = params.get("progressToken").map(token) else { return };
        let raw = |key: &str| params.get(key).filter(|node| node.kind() == Kind::Number).map(Node::raw);
        let progress = Progress {
            done: raw("progress").unwrap_or_default().to_owned(),
            total: raw("total").map(str::to_owned),
            message: params.get("message").and_then(Node::str).map(|text| text.into_owned()),
        };
        if let Some((_, sender)) = self.state().progress.get(&progress_token) {
            // Where nobody keeps up, what is newer follows.
            let _ = sender.try_send(progress);
        }
    }

    fn decoded(&self, text: &[u8]) -> Arrival {
        let mut line = BytesMut::from(text);
        line.extend_from_slice(b"\n");
        match JsonRpcMessageCodec::<ServerJsonRpcMessage>::new().decode(&mut line) {
            Ok(Some(message)) => Arrival::Message(Box::new(message)),
            Ok(None) => Arrival::Nothing,
            Err(_) => {
                self.notes.stray(text);
                Arrival::Nothing
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn encode(message: &ClientJsonRpcMessage) -> std::io::Result<Vec<u8>> {
    let mut line = BytesMut::new();
    JsonRpcMessageCodec::<ClientJsonRpcMessage>::new().encode(message.clone(), &mut line)?;
    let mut line = line.to_vec();
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(line)
}

/// Puts members at the start of a message's parameters.
fn with_members(message: Vec<u8>, members: &[u8]) -> std::io::Result<Vec<u8>> {
    if members.is_empty() {
        return Ok(message);
    }
    let failed = |error: &dyn std::fmt::Display| std::io::Error::other(error.to_string());
    let body = Body::parse(message).map_err(|error| failed(&error))?;
    let root = body.root();
    let edit = match root.get("params").filter(|params| params.kind() == Kind::Object) {
        Some(params) => {
            let comma: &[u8] = if params.members().next().is_some() { b"," } else { b"" };
            antefix_wire::Edit::insert(params.range().start + 1, [members, comma].concat())
        }
        None => antefix_wire::Edit::insert(
            root.range().end - 1,
            [&b",\"params\":{"[..], members, &b"}"[..]].concat(),
        ),
    };
    antefix_wire::splice(body.bytes(), &[edit]).map_err(|error| failed(&error))
}

/// An id or token as text, whether it is a number or a string.
fn token(node: Node<'_>) -> String {
    node.str().map_or_else(|| node.raw().to_owned(), |text| text.into_owned())
}

fn token_text(token: &NumberOrString) -> String {
    token.to_string()
}

/// Notifications that `rmcp` acts on.
const PASSED_ON: [&str; 2] = ["notifications/cancelled", "notifications/message"];

/// Of one message.
const LIMITS: Limits = Limits { bytes: crate::LONGEST_MESSAGE, depth: 512, spans: 4 << 20 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_put_in_as_they_are() {
        for (message, members, expect) in [
            (
                r#"{"id":1,"params":{"_meta":{}}}"#,
                r#""a":1.0e2"#,
                r#"{"id":1,"params":{"a":1.0e2,"_meta":{}}}"#,
            ),
            (r#"{"id":1,"params":{}}"#, r#""a":1"#, r#"{"id":1,"params":{"a":1}}"#),
            (r#"{"id":1}"#, r#""a":1"#, r#"{"id":1,"params":{"a":1}}"#),
            (r#"{"id":1}"#, "", r#"{"id":1}"#),
        ] {
            let bytes = with_members(message.into(), members.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(bytes).unwrap(), expect);
        }
    }
}
