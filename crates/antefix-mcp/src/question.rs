//! Questions of a server to the user.

use antefix_wire::json::{Body, Kind, Node, write_string};
use bytes::Bytes;

use crate::BoxFuture;

/// Whoever can put a question of a server to the user.
pub trait Questions: Send + Sync + 'static {
    /// Whether a user can be asked; if not, servers are not told that they may, and those that ask all the same are
    /// answered by [`ask`](Self::ask).
    fn is_anybody_there(&self) -> bool {
        true
    }

    /// Asks, and waits for the answer. Dropped when the server or the session ends.
    fn ask<'a>(&'a self, server: &'a str, question: Elicitation) -> BoxFuture<'a, Reply>;
}

/// What a server wants to know (`elicitation/create`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elicitation {
    /// Values for a form.
    Form {
        /// What it is for, in the server's words.
        message: String,
        /// The JSON Schema of the answer as the server wrote it: an object of texts, numbers, flags and choices.
        schema: Bytes,
    },
    /// A page the user should visit; what is said there is not ours to see.
    Visit {
        /// What it is for, in the server's words.
        message: String,
        /// The address.
        url: String,
    },
}

impl Elicitation {
    pub(crate) fn read(params: &str) -> Self {
        let Ok(body) = Body::parse(params) else {
            return Self::Form { message: String::new(), schema: Bytes::from_static(b"{}") };
        };
        let text = |key: &str| {
            body.root().get(key).and_then(Node::str).map(|text| text.into_owned()).unwrap_or_default()
        };
        if body.root().get("mode").is_some_and(|mode| mode.is_str("url")) {
            return Self::Visit { message: text("message"), url: text("url") };
        }
        let schema = body.root().get("requestedSchema").filter(|schema| schema.kind() == Kind::Object);
        let schema = schema.map_or("{}", Node::raw);
        Self::Form { message: text("message"), schema: Bytes::copy_from_slice(schema.as_bytes()) }
    }

    /// What it is for, in the server's words.
    pub fn message(&self) -> &str {
        match self {
            Self::Form { message, .. } | Self::Visit { message, .. } => message,
        }
    }
}

/// The user's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The values as a JSON object; nothing for a page that was visited.
    Accept(Option<Bytes>),
    /// The user does not want to say.
    Decline,
    /// The user has closed the question, or nobody can be asked.
    Cancel,
}

impl Reply {
    /// The text of the result that the server gets.
    pub(crate) fn result(&self) -> Vec<u8> {
        let (action, content) = match self {
            Self::Accept(content) => ("accept", content.as_ref().filter(|content| is_object(content))),
            Self::Decline => ("decline", None),
            Self::Cancel => ("cancel", None),
        };
        let mut out = b"{\"action\":".to_vec();
        write_string(&mut out, action);
        if let Some(content) = content {
            out.extend_from_slice(b",\"content\":");
            out.extend_from_slice(content);
        }
        out.push(b'}');
        out
    }
}

fn is_object(text: &[u8]) -> bool {
    Body::parse(text).is_ok_and(|body| body.root().kind() == Kind::Object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_results() {
        for (reply, expect) in [
            (
                Reply::Accept(Some(Bytes::from_static(b"{\"a\":1.0}"))),
                r#"{"action":"accept","content":{"a":1.0}}"#,
            ),
            (Reply::Accept(Some(Bytes::from_static(b"[]"))), r#"{"action":"accept"}"#),
            (Reply::Accept(None), r#"{"action":"accept"}"#),
            (Reply::Decline, r#"{"action":"decline"}"#),
            (Reply::Cancel, r#"{"action":"cancel"}"#),
        ] {
            assert_eq!(String::from_utf8(reply.result()).unwrap(), expect);
        }
    }

    #[test]
    fn questions_are_read() {
        let form = |message: &str, schema: &'static str| Elicitation::Form {
            message: message.into(),
            schema: Bytes::from_static(schema.as_bytes()),
        };
        for (params, expect) in [
            (
                r#"{"message":"m","requestedSchema":{"type":"object", "z":1.0}}"#,
                form("m", r#"{"type":"object", "z":1.0}"#),
            ),
            (r#"{"mode":"form","message":"m"}"#, form("m", "{}")),
            (r#"{"requestedSchema":"x"}"#, form("", "{}")),
            (
                r#"{"mode":"url","message":"m","url":"https://a"}"#,
                Elicitation::Visit { message: "m".into(), url: "https://a".into() },
            ),
        ] {
            assert_eq!(Elicitation::read(params), expect, "{params}");
        }
    }
}
