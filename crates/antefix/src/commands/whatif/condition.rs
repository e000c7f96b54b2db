//! The conditions a session can be replayed under, and whether they apply to it.

use std::collections::BTreeSet;

use antefix_models::{Ttl, rules};
use antefix_wire::json::{Body, Node};

use super::session::Step;
use crate::cli::What;

/// How a session is sent again.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Exactly as sent; nothing else is looked at.
    pub as_sent: bool,
    /// Lifetime of all entries; `None`: no markers.
    pub ttl: Option<Ttl>,
    /// A further marker in the midst of each step that is wider than the lookback.
    pub more_markers: bool,
    /// The model.
    pub model: Option<String>,
    /// Tools that are deferred.
    pub deferred: BTreeSet<String>,
    /// Blocks with this text in a reminder are left out.
    pub without: Option<String>,
    /// The entry is read again before it expires.
    pub keep_warm: bool,
    /// What becomes of old history.
    pub history: History,
    /// What this means, for people.
    pub note: String,
}

/// What becomes of old history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// It is kept.
    #[default]
    Keep,
    /// The oldest turns are left out.
    DropOldest,
    /// Old tool results are cleared.
    ClearResults,
    /// What was said is summarised.
    Summarise,
}

/// What is asked of a session.
pub struct Ask<'a> {
    /// Its requests.
    pub steps: &'a [Step],
    /// Another model.
    pub model: Option<&'a str>,
    /// A kind of reminder.
    pub reminder: Option<&'a str>,
}

impl Ask<'_> {
    /// The plan for a condition, or why it does not apply.
    pub fn plan(&self, what: What) -> Result<Plan, String> {
        let ttl = self.steps.iter().find_map(|step| step.ttl);
        let plan = Plan { ttl: ttl.or(Some(Ttl::FiveMinutes)), ..Plan::default() };
        match what {
            What::AsSent => Ok(Plan { as_sent: true, note: "as it was sent".to_owned(), ..plan }),
            What::NoCache => Ok(Plan { ttl: None, note: "no markers".to_owned(), ..plan }),
            What::OneHour => self.one_hour(plan),
            What::MoreMarkers => self.more_markers(plan),
            What::OtherModel => self.other_model(plan),
            What::NoReminder => self.no_reminder(plan),
            What::DeferralOn => self.deferral_on(plan),
            What::DeferralOff => self.deferral_off(),
            What::KeepWarm => self.keep_warm(plan),
            What::DropOldest => Ok(Plan { history: History::DropOldest, ..plan }),
            What::ClearResults => Ok(Plan { history: History::ClearResults, ..plan }),
            What::Summarise => Ok(Plan { history: History::Summarise, ..plan }),
        }
    }

    fn one_hour(&self, plan: Plan) -> Result<Plan, String> {
        if self.steps.iter().all(|step| step.ttl == Some(Ttl::OneHour)) {
            return Err("its entries live one hour already".to_owned());
        }
        let note = format!(
            "{} pauses of more than five minutes, {} of more than an hour",
            self.gaps(300),
            self.gaps(3600)
        );
        Ok(Plan { ttl: Some(Ttl::OneHour), note, ..plan })
    }

    fn more_markers(&self, plan: Plan) -> Result<Plan, String> {
        let wide =
            self.pairs().filter(|(one, next)| next.positions.saturating_sub(one.positions) > WIDE).count();
        if wide == 0 {
            return Err("no step adds more positions than a marker looks back over".to_owned());
        }
        Ok(Plan { more_markers: true, note: format!("{wide} steps add more than {WIDE} positions"), ..plan })
    }

    fn other_model(&self, plan: Plan) -> Result<Plan, String> {
        let model = self.model.ok_or("--model NAME says which")?;
        if self.steps.iter().all(|step| step.model == model) {
            return Err("it is the model of this session".to_owned());
        }
        let known = self.steps.first().is_some_and(|step| rules(step.platform, model).known);
        if !known {
            return Err(format!("`{model}` is not in the model table"));
        }
        let note =
            "its own prices and shortest prefix; it may count other tokens for the same text".to_owned();
        Ok(Plan { model: Some(model.to_owned()), note, ..plan })
    }

    fn no_reminder(&self, plan: Plan) -> Result<Plan, String> {
        let kind = self.reminder.ok_or("--reminder TEXT says which")?;
        let is_there = |step: &Step| step.said.iter().any(|said| holds_reminder(&said.text, kind));
        if !self.steps.iter().any(is_there) {
            return Err(format!("no reminder with `{kind}` in it was sent"));
        }
        Ok(Plan {
            without: Some(kind.to_owned()),
            note: format!("without reminders that say `{kind}`"),
            ..plan
        })
    }

    fn deferral_on(&self, plan: Plan) -> Result<Plan, String> {
        let tools = self.tools();
        let called = self.called();
        let idle: BTreeSet<String> =
            tools.iter().filter(|(name, _)| !called.contains(name)).map(|(name, _)| name.clone()).collect();
        if tools.iter().any(|(_, deferred)| *deferred) {
            return Err("tools are deferred already".to_owned());
        }
        if idle.is_empty() {
            return Err("every tool was called, so each would be loaded all the same".to_owned());
        }
        if idle.len() == tools.len() {
            return Err("no tool was called; one at least cannot be deferred".to_owned());
        }
        let note = format!(
            "{} of {} tools were never called and are deferred; the search tool is not counted",
            idle.len(),
            tools.len()
        );
        Ok(Plan { deferred: idle, note, ..plan })
    }

    fn deferral_off(&self) -> Result<Plan, String> {
        let deferred = self.tools().iter().any(|(_, deferred)| *deferred);
        if deferred {
            return Err("sessions with deferred tools cannot be replayed without them: nobody knows what would have been called".to_owned());
        }
        Err("no tool is deferred in this session".to_owned())
    }

    fn keep_warm(&self, plan: Plan) -> Result<Plan, String> {
        let lifetime = plan.ttl.unwrap_or_default().seconds();
        let gaps = self.gaps(lifetime);
        if gaps == 0 {
            return Err("no pause was longer than entries live".to_owned());
        }
        Ok(Plan {
            keep_warm: true,
            note: format!("{gaps} pauses bridged by reading the entry again before it expires"),
            ..plan
        })
    }

    fn pairs(&self) -> impl Iterator<Item = (&Step, &Step)> {
        self.steps.iter().zip(self.steps.iter().skip(1))
    }

    /// Pauses of so many seconds or more between the starts of two requests.
    fn gaps(&self, seconds: u64) -> usize {
        self.pairs().filter(|(one, next)| next.at_ms.saturating_sub(one.at_ms) >= seconds * 1000).count()
    }

    /// Names of the tools in the head, and whether they are deferred.
    fn tools(&self) -> Vec<(String, bool)> {
        let Some(head) = self.steps.last().map(|step| [&step.head[..], b"]}"].concat()) else {
            return Vec::new();
        };
        let Ok(body) = Body::parse(head) else { return Vec::new() };
        let tool = |tool: Node<'_>| {
            let name = tool.get("name")?.str()?.into_owned();
            Some((name, tool.get("defer_loading").and_then(Node::bool).unwrap_or(false)))
        };
        body.root().get("tools").into_iter().flat_map(Node::items).filter_map(tool).collect()
    }

    /// Names of the tools that were called.
    fn called(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for said in self.steps.iter().flat_map(|step| &step.said) {
            let Ok(body) = Body::parse(said.text.to_vec()) else { continue };
            let blocks = body.root().get("content").into_iter().flat_map(Node::items);
            let calls = blocks.filter(|block| block.get("type").is_some_and(|kind| kind.is_str("tool_use")));
            names.extend(calls.filter_map(|call| Some(call.get("name")?.str()?.into_owned())));
        }
        names
    }
}

/// Whether a text block of the message is a reminder that says this.
pub fn holds_reminder(message: &[u8], kind: &str) -> bool {
    let Ok(body) = Body::parse(message.to_vec()) else { return false };
    body.root().get("content").into_iter().flat_map(Node::items).any(|block| is_reminder(block, kind))
}

/// Whether a block is a reminder that says this.
pub fn is_reminder(block: Node<'_>, kind: &str) -> bool {
    let text = block.get("text").and_then(Node::str);
    text.is_some_and(|text| text.trim_start().starts_with("<system-reminder>") && text.contains(kind))
}

/// Positions that a step may add so that the marker at its end still finds the entry before: twenty are tested, its
/// own and that of the entry among them. Source: platform.claude.com/docs/en/build-with-claude/prompt-caching,
/// September 2026.
pub const WIDE: u64 = 18;
