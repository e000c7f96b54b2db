//! Questions of MCP servers to the user.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use antefix_mcp::{BoxFuture, Elicitation, Questions, Reply};
use antefix_tools::schema;
use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;
use tokio::sync::oneshot;

use super::Asked;
use crate::out::tell;
use crate::screen::laid_open;

/// Puts questions of servers to the user, or declines them where nobody can be asked.
pub struct ServerQuestions {
    terminal: Option<Sender<Asked>>,
    declined: Mutex<Declined>,
}

impl ServerQuestions {
    /// Asks through a terminal, if there is one.
    pub fn new(terminal: Option<Sender<Asked>>) -> Self {
        Self { terminal, declined: Mutex::default() }
    }
}

impl Questions for ServerQuestions {
    fn is_anybody_there(&self) -> bool {
        self.terminal.is_some()
    }

    fn ask<'a>(&'a self, server: &'a str, question: Elicitation) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let server = server.to_owned();
            let Some(terminal) = &self.terminal else {
                let mut declined = self.declined.lock().unwrap_or_else(PoisonError::into_inner);
                declined.tell(&server, question.message(), "nobody can be asked");
                return Reply::Decline;
            };
            // A terminal that is not read any more gives no answer.
            drop(terminal.send(Asked::OfServer { server, question, reply }));
            answer.await.unwrap_or(Reply::Cancel)
        })
    }
}

/// Shows a question of a server and reads the answer; the end of the input is a no.
pub(super) fn answer_of(server: &str, question: &Elicitation, input: &mut impl BufRead) -> Reply {
    tell!("? the MCP server `{}` asks:", laid_open(server));
    for line in question.message().lines().take(MOST_LINES) {
        tell!("  | {}", laid_open(line));
    }
    match question {
        Elicitation::Visit { url, .. } => {
            tell!("  The page: {}", laid_open(url).replace('\n', "\\n"));
            let has_been = agrees("  Have you been there? [y]es, [n]o: ", input);
            if has_been { Reply::Accept(None) } else { Reply::Decline }
        }
        Elicitation::Form { schema, .. } => {
            let Ok(schema) = Body::parse(schema.to_vec()) else { return Reply::Decline };
            if !agrees("  It gets what you type. Answer? [y]es, [n]o: ", input) {
                return Reply::Decline;
            }
            form(&schema, input).map_or(Reply::Decline, |answer| Reply::Accept(Some(answer)))
        }
    }
}

/// The values of a form, asked for until they fit; `None` at the end of the input or after [`MOST_TRIES`].
fn form(schema: &Body, input: &mut impl BufRead) -> Option<Bytes> {
    for _ in 0..MOST_TRIES {
        let mut out = b"{".to_vec();
        let fields = schema.root().get("properties").into_iter().flat_map(Node::members);
        for (name, field) in fields.take(MOST_FIELDS) {
            let name = name.str()?;
            let value = read_line(&format!("  {}: ", label(&name, field)), input)?;
            if value.is_empty() {
                continue;
            }
            out.extend_from_slice(if out.len() > 1 { b"," } else { b"" });
            write_string(&mut out, &name);
            out.push(b':');
            write_string(&mut out, meant(&value, field));
        }
        out.push(b'}');
        match schema::checked(schema, Body::parse(out).ok()?) {
            Ok(answer) => return Some(answer.into_bytes().into()),
            Err(problems) => tell!("  ! that does not fit: {}", laid_open(&problems.join("; "))),
        }
    }
    None
}

/// What a field is called, what it is for, and what it may hold.
fn label(name: &str, field: Node<'_>) -> String {
    let text = |key: &str| field.get(key).and_then(Node::str).map(|text| text.into_owned());
    let choices: Vec<String> =
        field.get("enum").into_iter().flat_map(Node::items).filter_map(Node::str).map(Into::into).collect();
    let about = text("description").or_else(|| text("title"));
    let kind = text("type").filter(|kind| kind != "string").map(|kind| match kind.as_str() {
        "boolean" => "yes or no".to_owned(),
        "integer" => "a whole number".to_owned(),
        _ => format!("a {kind}"),
    });
    let choice = (!choices.is_empty()).then(|| choices.join(" | "));
    let all: Vec<String> = [about, kind, choice].into_iter().flatten().collect();
    let shown = if all.is_empty() { name.to_owned() } else { format!("{name} ({})", all.join("; ")) };
    laid_open(&shown).replace('\n', " ")
}

/// A flag is answered in words.
fn meant<'a>(value: &'a str, field: Node<'_>) -> &'a str {
    let is_flag = field.get("type").is_some_and(|kind| kind.is_str("boolean"));
    match value.to_lowercase().as_str() {
        "y" | "yes" if is_flag => "true",
        "n" | "no" if is_flag => "false",
        _ => value,
    }
}

fn agrees(prompt: &str, input: &mut impl BufRead) -> bool {
    let answer = read_line(prompt, input).unwrap_or_default();
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

/// A line that was typed, without white space around it; `None` at the end of the input.
fn read_line(prompt: &str, input: &mut impl BufRead) -> Option<String> {
    let mut out = std::io::stderr().lock();
    // A terminal that takes nothing gives nothing either.
    let _ = out.write_all(prompt.as_bytes()).and_then(|()| out.flush());
    drop(out);
    let mut line = String::new();
    if !matches!(input.read_line(&mut line), Ok(count) if count > 0) {
        return None;
    }
    Some(line.trim().to_owned())
}

/// Questions that nobody was asked, by server.
#[derive(Default)]
pub(super) struct Declined(BTreeMap<String, u32>);

impl Declined {
    /// Tells of one, and why; a server that goes on and on is told of no more.
    pub(super) fn tell(&mut self, server: &str, message: &str, why: &str) {
        let count = self.0.entry(server.to_owned()).or_default();
        *count = count.saturating_add(1);
        let (server, message) = (laid_open(server), laid_open(message.lines().next().unwrap_or_default()));
        if *count <= MOST_TOLD {
            tell!("the MCP server `{server}` asks \"{message}\": declined, since {why}");
        } else if *count == MOST_TOLD + 1 {
            tell!("the MCP server `{server}` asks on; that is declined, and told no more");
        }
    }
}

/// Declined questions of a server that are told.
const MOST_TOLD: u32 = 3;

/// Lines of a server's words that are shown.
const MOST_LINES: usize = 20;

/// Fields that are asked for.
const MOST_FIELDS: usize = 20;

/// How often a form is asked for that was not filled in as it should be.
const MOST_TRIES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_filled_in_until_they_fit() {
        let schema = r#"{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]},"n":{"type":"integer"},"sure":{"type":"boolean"}},"required":["colour"]}"#;
        let accept = |answer: &'static str| Reply::Accept(Some(Bytes::from_static(answer.as_bytes())));
        for (typed, expect) in [
            ("y\nred\n3\nyes\n", accept(r#"{"colour":"red","n":3,"sure":true}"#)),
            ("YES\nblue\n\nfalse\n", accept(r#"{"colour":"blue","sure":false}"#)),
            ("y\ngreen\n\n\nred\n\n\n", accept(r#"{"colour":"red"}"#)),
            ("y\n\n\n\n\n\n\n\n\n\n", Reply::Decline),
            ("y\nred\n", Reply::Decline),
            ("n\nred\n3\nyes\n", Reply::Decline),
            ("\n", Reply::Decline),
            ("", Reply::Decline),
        ] {
            let schema = Bytes::from_static(schema.as_bytes());
            let question = Elicitation::Form { message: "Which?".to_owned(), schema };
            assert_eq!(answer_of("c", &question, &mut typed.as_bytes()), expect, "{typed:?}");
        }
        let visit = Elicitation::Visit { message: String::new(), url: "https://a".to_owned() };
        assert_eq!(answer_of("c", &visit, &mut "y\n".as_bytes()), Reply::Accept(None));
        assert_eq!(answer_of("c", &visit, &mut "\n".as_bytes()), Reply::Decline);
    }

    #[test]
    fn labels_say_what_a_field_may_hold() {
        for (field, expect) in [
            ("{}", "f"),
            (r#"{"type":"string","description":"For\nwhat"}"#, "f (For what)"),
            (r#"{"type":"boolean","title":"T"}"#, "f (T; yes or no)"),
            (r#"{"type":"number"}"#, "f (a number)"),
            (r#"{"enum":["a","b"]}"#, "f (a | b)"),
        ] {
            let body = Body::parse(field).unwrap();
            assert_eq!(label("f", body.root()), expect);
        }
    }
}
