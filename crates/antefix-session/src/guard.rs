//! Guards: one ordered pipeline that a turn and each of its requests pass.
//!
//! The order is fixed: input guard, then for each request token budget, money budget, maximum of steps, refused calls. Caches
//! take their places in it later (semantic and embedding in front, tool results inside the loop).

use antefix_models::{Money, Tokens};
use bytes::Bytes;

/// What a guard may look at.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Requests made in this turn.
    pub steps: u64,
    /// Input and output tokens of the session so far.
    pub tokens: Tokens,
    /// Cost of the session so far; `None` if any of it is unpriced.
    pub cost: Option<Money>,
    /// Calls of this turn, up to the last one, that were all refused by one rule for one tool.
    pub refused: u64,
}

/// What a guard decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Go,
    /// Do not; the text says why and what can be done.
    Stop(String),
}

/// One guard of the pipeline.
pub trait Guard: Send {
    /// Its name, as recorded with its decisions.
    fn name(&self) -> &'static str;

    /// Looks at what the user says before it becomes part of the conversation.
    fn before_turn(&self, _prompt: &[Bytes], _view: &View) -> Verdict {
        Verdict::Go
    }

    /// Looks at the state before each request.
    fn before_request(&self, _view: &View) -> Verdict {
        Verdict::Go
    }
}

/// Guards in the order they are asked.
pub struct Pipeline(Vec<Box<dyn Guard>>);

/// Limits of the built-in guards; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests in one turn.
    pub max_steps: Option<u64>,
    /// Input and output tokens of the session.
    pub max_tokens: Option<Tokens>,
    /// Cost of the session.
    pub max_cost: Option<Money>,
}

impl Pipeline {
    /// The built-in guards.
    pub fn new(limits: Limits) -> Self {
        Self(vec![
            Box::new(Input),
            Box::new(TokenBudget(limits.max_tokens)),
            Box::new(MoneyBudget(limits.max_cost)),
            Box::new(MaxSteps(limits.max_steps)),
            Box::new(Refusals),
        ])
    }

    /// Adds a guard behind the others.
    pub fn push(&mut self, guard: Box<dyn Guard>) {
        self.0.push(guard);
    }

    /// Asks the guards about a prompt; the first that stops it.
    pub fn before_turn(&self, prompt: &[Bytes], view: &View) -> Option<(&'static str, String)> {
        self.first(|guard| guard.before_turn(prompt, view))
    }

    /// Asks the guards about a request; the first that stops it.
    pub fn before_request(&self, view: &View) -> Option<(&'static str, String)> {
        self.first(|guard| guard.before_request(view))
    }

    fn first(&self, ask: impl Fn(&dyn Guard) -> Verdict) -> Option<(&'static str, String)> {
        self.0.iter().find_map(|guard| match ask(guard.as_ref()) {
            Verdict::Go => None,
            Verdict::Stop(reason) => Some((guard.name(), reason)),
        })
    }
}

/// Largest prompt that is taken; the API's own limit for a request is 32 MB.
const MAX_PROMPT: usize = 30 * 1024 * 1024;

struct Input;

impl Guard for Input {
    fn name(&self) -> &'static str {
        "input"
    }

    fn before_turn(&self, prompt: &[Bytes], _view: &View) -> Verdict {
        let len: usize = prompt.iter().map(Bytes::len).sum();
        if prompt.is_empty() {
            Verdict::Stop("the prompt is empty; say what is wanted".to_owned())
        } else if len > MAX_PROMPT {
            Verdict::Stop(format!("the prompt is {len} bytes; at most {MAX_PROMPT} can be sent"))
        } else {
            Verdict::Go
        }
    }
}

struct TokenBudget(Option<Tokens>);

impl Guard for TokenBudget {
    fn name(&self) -> &'static str {
        "token_budget"
    }

    fn before_request(&self, view: &View) -> Verdict {
        match self.0 {
            Some(limit) if view.tokens >= limit => {
                Verdict::Stop(format!("the session has used {} of {} tokens", view.tokens.0, limit.0))
            }
            _ => Verdict::Go,
        }
    }
}

struct MoneyBudget(Option<Money>);

impl Guard for MoneyBudget {
    fn name(&self) -> &'static str {
        "money_budget"
    }

    fn before_request(&self, view: &View) -> Verdict {
        match (self.0, view.cost) {
            (Some(limit), Some(cost)) if cost >= limit => {
                Verdict::Stop(format!("the session has cost ${} of ${}", cost.usd(), limit.usd()))
            }
            (Some(_), None) => Verdict::Stop(
                "the session has a money limit and its model has no known price; drop the limit or the model"
                    .to_owned(),
            ),
            _ => Verdict::Go,
        }
    }
}

struct MaxSteps(Option<u64>);

impl Guard for MaxSteps {
    fn name(&self) -> &'static str {
        "max_turns"
    }

    fn before_request(&self, view: &View) -> Verdict {
        match self.0 {
            Some(limit) if view.steps >= limit => {
                Verdict::Stop(format!("this turn has made {} requests, the limit is {limit}", view.steps))
            }
            _ => Verdict::Go,
        }
    }
}

/// Calls of a tool that one rule may refuse one after the other: a model that goes on calling what it may not call is stopped.
pub const MOST_REFUSED: u64 = 8;

struct Refusals;

impl Guard for Refusals {
    fn name(&self) -> &'static str {
        "refusals"
    }

    fn before_request(&self, view: &View) -> Verdict {
        if view.refused < MOST_REFUSED {
            return Verdict::Go;
        }
        Verdict::Stop(format!("the last {} calls of this turn were all refused by one rule", view.refused))
    }
}
