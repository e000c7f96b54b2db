//! `task`: a piece of work for a subagent.

use std::sync::Arc;

use antefix_wire::json::Body;

use crate::executor::LOST;
use crate::spill::Page;
use crate::tool::built_in;
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool};

/// What runs subagents. This crate knows neither models nor sessions.
pub trait Delegate: Send + Sync + 'static {
    /// Has a piece of work done by a subagent; ends when it is done, or soon after the context is cancelled.
    ///
    /// # Errors
    /// [`Failure`] in words for the model where no subagent was started.
    fn run<'a>(&'a self, context: &'a Context, order: Order) -> BoxFuture<'a, Result<Report, Failure>>;
}

/// A piece of work for a subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// A few words for the user's screen.
    pub description: String,
    /// What is to be done.
    pub prompt: String,
    /// The agent that is to do it; none is the general one.
    pub agent: Option<String>,
}

/// What came of a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The subagent's last words.
    pub text: String,
    /// Why it did not come to an end by itself, if so.
    pub stopped: Option<String>,
    /// Its session.
    pub session: String,
    /// What it used, in words.
    pub usage: String,
}

/// `task`: hands a piece of work to a subagent and gives its report as one result.
pub struct Task {
    definition: Definition,
    delegate: Arc<dyn Delegate>,
}

impl Task {
    /// Name of the tool.
    pub const NAME: &'static str = "task";

    /// Makes the tool.
    pub fn new(delegate: Arc<dyn Delegate>) -> Self {
        Self { definition: built_in(Self::NAME, DESCRIPTION, SCHEMA), delegate }
    }
}

impl Tool for Task {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Delegated
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let order = match order(&input) {
                Ok(order) => order,
                Err(failure) => return Err(failure).into(),
            };
            match self.delegate.run(context, order).await {
                Ok(report) => told(context, report).await,
                Err(failure) => Err(failure).into(),
            }
        })
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

/// The report as a result: what is over the cap is in a file.
async fn told(context: &Context, report: Report) -> Output {
    let (own, text) = (context.clone(), report.text);
    let shown = tokio::task::spawn_blocking(move || {
        let mut page = Page::new(&own, usize::MAX, own.limits.report_bytes);
        text.lines().for_each(|line| page.push("", line, true));
        page.finish(&own, Task::NAME, "lines of the report")
    });
    let Ok(shown) = shown.await else { return Output::error(LOST) };
    let mut text = shown.text;
    let usage = format!("subagent {}: {}", report.session, report.usage);
    let is_error = report.stopped.is_some();
    let notes = shown.rest.into_iter().chain(report.stopped).chain([usage]);
    text.push_str(&notes.map(|note| format!("[{note}]")).collect::<Vec<_>>().join("\n"));
    Output { is_error, subagent: Some(report.session), ..Output::text(text) }
}

fn order(input: &Body) -> Result<Order, Failure> {
    let fields = Fields::new(input)?;
    let prompt = fields.string("prompt", "what is to be done")?;
    if prompt.trim().is_empty() {
        return Err(Failure::new("`prompt` is empty: say what is to be done"));
    }
    let named = fields.optional_string("agent", "the name of an agent")?;
    Ok(Order {
        description: fields.optional_string("description", "a few words")?.unwrap_or_default(),
        prompt,
        agent: named.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()),
    })
}

const DESCRIPTION: &str = "Hands a piece of work to a subagent and gives its report. The subagent has your tools and a \
    conversation of its own, and knows nothing of this one: `prompt` must say all it needs, and what to report. Of use \
    for work that reads much and has a short answer, and for independent pieces of work: several calls in one step run \
    at the same time. A subagent can ask nothing and starts no subagents. Its report is what it says, not what you have \
    seen: look at what matters yourself.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "The work in three to six words, for the user"},
        "prompt": {"type": "string", "description": "What is to be done, all that is needed for it, and what to report"},
        "agent": {"type": "string", "description": "One of the agents that were listed, if one fits"}
    },
    "required": ["description", "prompt"],
    "additionalProperties": false
}"#;

#[cfg(test)]
mod tests {
    use super::*;

    struct Repeats;

    impl Delegate for Repeats {
        fn run<'a>(&'a self, _: &'a Context, order: Order) -> BoxFuture<'a, Result<Report, Failure>> {
            Box::pin(async move {
                if order.agent.as_deref() == Some("none") {
                    return Err(Failure::new("there is no agent `none`"));
                }
                let stopped = (order.prompt == "stop").then(|| "it was stopped".to_owned());
                let text = format!("{}|{}|{:?}", order.description, order.prompt, order.agent);
                Ok(Report { text, stopped, session: "s1".to_owned(), usage: "1 request".to_owned() })
            })
        }
    }

    #[tokio::test]
    async fn an_order_is_read_and_its_report_is_the_result() {
        let (tool, context) = (Task::new(Arc::new(Repeats)), Context::new("/w", "/s"));
        let done = |text: &str| Output { subagent: Some("s1".to_owned()), ..Output::text(text) };
        let stopped = "|stop|None\n[it was stopped]\n[subagent s1: 1 request]";
        for (input, expect) in [
            (r#"{"description":"d","prompt":"p"}"#, done("d|p|None\n[subagent s1: 1 request]")),
            (r#"{"prompt":"p","agent":" a "}"#, done("|p|Some(\"a\")\n[subagent s1: 1 request]")),
            (r#"{"prompt":"p","agent":""}"#, done("|p|None\n[subagent s1: 1 request]")),
            (r#"{"prompt":"stop"}"#, Output { is_error: true, ..done(stopped) }),
            (r#"{"prompt":"p","agent":"none"}"#, Output::error("there is no agent `none`")),
            (r#"{"prompt":" "}"#, Output::error("`prompt` is empty: say what is to be done")),
            (r"{}", Output::error("`prompt` is missing: expected what is to be done as a string")),
        ] {
            assert_eq!(tool.call(&context, Body::parse(input).unwrap()).await, expect, "{input}");
        }
    }

    #[tokio::test]
    async fn a_long_report_is_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = Context::new(folder.path(), folder.path().join("outputs"));
        context.limits.report_bytes = 8;
        let input = Body::parse(r#"{"description":"one\ntwo\nthree","prompt":"p"}"#).unwrap();
        let output = Task::new(Arc::new(Repeats)).call(&context, input).await;
        let text = output.as_text();
        assert!(text.starts_with("one\ntwo\n[the first 2 of 3 lines of the report; all are in "), "{text}");
    }

    #[test]
    fn the_definition_is_frozen() {
        let tool = Task::new(Arc::new(Repeats));
        let digest = blake3::hash(tool.definition().json().as_bytes()).to_hex();
        assert_eq!(&digest[..16], "a6cbaa4d5126f156", "a changed byte costs every new session its cache");
    }
}
