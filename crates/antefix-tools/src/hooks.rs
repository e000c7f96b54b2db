//! Hooks: commands of the user's that are asked at certain moments of a session.
//!
//! A hook is given one JSON object on its standard input and answers with its exit code and, if it likes, with a JSON
//! object on its standard output. The names of events, members and codes are those that users of Claude Code know
//! (<https://code.claude.com/docs/en/hooks>, November 2026). `docs/hooks.md` is the manual.

mod answer;
mod matcher;
mod occasion;
mod outcome;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::permission::Source;
use crate::{Context, Exchange, ExchangeEnd, Exchanged, Failure};
use answer::Answer;

pub use answer::Permission;
pub use matcher::{Matcher, MatcherError};
pub use occasion::Occasion;
pub use outcome::{ChangedInput, Outcome, Said};

/// A moment at which hooks are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEvent {
    /// A session begins or goes on in a new process.
    SessionStart,
    /// The user says something.
    UserPromptSubmit,
    /// A tool is about to be called.
    PreToolUse,
    /// A call has returned.
    PostToolUse,
    /// The model has ended its turn.
    Stop,
}

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::SessionStart, Self::UserPromptSubmit, Self::PreToolUse, Self::PostToolUse, Self::Stop];

    /// The name in settings and in what hooks are given.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
        }
    }

    /// The event of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}

/// A command that is asked at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// When it is asked.
    pub event: HookEvent,
    /// Of what it is asked: names of tools, or how a session starts.
    pub matcher: Matcher,
    /// The shell line.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Where it is set.
    pub source: Source,
}

impl Hook {
    /// Names what it says: the same for the same command at the same event, in whatever file it is set.
    pub fn key(&self) -> String {
        let digest = blake3::hash(self.command.as_bytes()).to_hex();
        // INVARIANT: the digest has 64 digits.
        format!("{}-{}", self.event.name(), &digest[..12])
    }

    /// The hook in words for the user.
    pub fn words(&self) -> String {
        let mut line: String = self.command.lines().next().unwrap_or_default().chars().take(SHOWN).collect();
        if line.len() < self.command.trim_end().len() {
            line.push('…');
        }
        format!("{} hook `{line}` ({})", self.event.name(), self.source)
    }

    /// What of its answer counts, or why it has none.
    async fn ask(&self, context: &Context, input: &[u8]) -> Result<Answer, Failure> {
        let folder = context.cwd.clone().into_os_string();
        let exchange = Exchange {
            command: &self.command,
            input,
            variables: FOLDER_VARIABLES.map(|name| (name.into(), folder.clone())).to_vec(),
            timeout: self.timeout,
            output_bytes: OUTPUT_BYTES,
            error_bytes: ERROR_BYTES,
        };
        Ok(self.read(&exchange.run(context).await?))
    }

    fn read(&self, exchanged: &Exchanged) -> Answer {
        let failed = |text: String| Answer { failure: Some(text), ..Answer::default() };
        match exchanged.end {
            ExchangeEnd::Code(_) if exchanged.is_cut => {
                failed(format!("it printed more than {OUTPUT_BYTES} bytes"))
            }
            ExchangeEnd::Code(code) => Answer::read(self.event, code, &exchanged.output, &exchanged.errors),
            ExchangeEnd::Signal(signal) => failed(format!("it was killed by signal {signal}")),
            ExchangeEnd::TimedOut => {
                failed(format!("it did not end within {} ms and was stopped", self.timeout.as_millis()))
            }
            ExchangeEnd::Cancelled => Answer::default(),
            ExchangeEnd::Unknown => failed("it ended, and its exit code is not known".to_owned()),
        }
    }
}

/// The hooks of a session.
#[derive(Clone, Debug)]
pub struct Hooks {
    hooks: Vec<Arc<Hook>>,
    session: String,
    transcript: PathBuf,
    /// Whether the model is told what they add; what they object to it is told in any case.
    is_told: bool,
    /// How many run at once.
    slots: Arc<Semaphore>,
}

impl Hooks {
    /// The hooks of a session, in the order in which their answers count. What they add for the model is left out unless
    /// it `is_told`; what they object to is not.
    pub fn new(hooks: Vec<Hook>, session: &str, transcript: &Path, is_told: bool) -> Self {
        Self {
            hooks: hooks.into_iter().map(Arc::new).collect(),
            session: session.to_owned(),
            transcript: transcript.to_owned(),
            is_told,
            slots: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Whether any would be asked.
    pub fn listen_to(&self, occasion: &Occasion<'_>) -> bool {
        !self.matching(occasion).is_empty()
    }

    /// Asks all that listen, side by side; what they say counts in the order of the settings, whichever is done first.
    /// One that fails or is too slow says nothing, and the outcome tells so; so it is where the asking itself breaks off.
    pub async fn ask(&self, context: &Context, occasion: &Occasion<'_>) -> Outcome {
        unbroken(occasion.event(), self.ask_all(context, occasion)).await
    }

    async fn ask_all(&self, context: &Context, occasion: &Occasion<'_>) -> Outcome {
        let matching = self.matching(occasion);
        if matching.is_empty() {
            return Outcome::default();
        }
        let input: Arc<[u8]> = occasion.input(&self.session, &self.transcript, &context.cwd).into();
        let mut tasks = JoinSet::new();
        for (index, hook) in matching.iter().cloned().enumerate() {
            let (context, input, slots) = (context.clone(), Arc::clone(&input), Arc::clone(&self.slots));
            tasks.spawn(async move {
                // The semaphore is never closed.
                let _slot = slots.acquire_owned().await;
                (index, hook.ask(&context, &input).await)
            });
        }
        let mut answers: Vec<Option<Answer>> = matching.iter().map(|_| None).collect();
        while let Some(joined) = tasks.join_next().await {
            let Ok((index, answer)) = joined else { continue };
            let failed = |error: Failure| Answer { failure: Some(error.to_string()), ..Answer::default() };
            if let Some(slot) = answers.get_mut(index) {
                *slot = Some(answer.unwrap_or_else(failed));
            }
        }
        let mut outcome = Outcome::default();
        for (hook, answer) in matching.iter().zip(answers) {
            // One whose task broke off has said nothing, which the user is told.
            let broken = || Answer { failure: Some("it broke off".to_owned()), ..Answer::default() };
            outcome.add(hook, answer.unwrap_or_else(broken));
        }
        if !self.is_told {
            outcome.context.clear();
        }
        outcome
    }

    /// Those that listen; of equal commands the first.
    fn matching(&self, occasion: &Occasion<'_>) -> Vec<Arc<Hook>> {
        let mut found: Vec<Arc<Hook>> = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.event == occasion.event()) {
            let is_new = found.iter().all(|known| known.command != hook.command);
            if is_new && hook.matcher.is_about(occasion.subject()) {
                found.push(Arc::clone(hook));
            }
        }
        found
    }
}

/// What hooks say; where the asking panics, that they have said nothing.
async fn unbroken(event: HookEvent, asked: impl Future<Output = Outcome>) -> Outcome {
    let mut asked = std::pin::pin!(asked);
    std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| asked.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Outcome::broken_off(event)))
    })
    .await
}

/// How long a hook may take where its settings do not say.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Variables that tell a hook where the workspace is.
const FOLDER_VARIABLES: [&str; 2] = ["ANTEFIX_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

/// Hooks that run at once.
const AT_ONCE: usize = 8;

/// Characters of a command that are shown.
const SHOWN: usize = 80;

/// Bytes of a hook's standard output that are read; one that prints more has not answered.
const OUTPUT_BYTES: usize = 256 << 10;

/// Bytes of a hook's standard error that are read.
const ERROR_BYTES: u64 = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever asked hooks went down with what broke off in antefix while they were asked.
    #[tokio::test]
    async fn what_breaks_off_has_said_nothing_and_is_told() {
        for event in HookEvent::ALL {
            let asked = async {
                tokio::task::yield_now().await;
                panic!("broken")
            };
            let notices = vec![format!("the {} hooks broke off, and nothing they say counts", event.name())];
            assert_eq!(unbroken(event, asked).await, Outcome { notices, ..Outcome::default() });
        }
    }
}
