//! Does what a session's state machine asks: appends, sends, runs tools, waits.

mod anew;
mod calls;
mod gate;
mod hooked;
mod images;
mod kin;
mod recall;
mod todo;
mod turn;
mod watch;

pub use calls::{jobs_started, shell_state, source_block, subagent_of};
pub use gate::{Answer, Choice, Decided, Policies, Question, take_up_answers};
pub(crate) use kin::{FromSubagent, Parent};
pub use kin::{Purse, Restriction, Subagent, SubagentNews};
pub use recall::recall;
pub use todo::todo_list;

use std::sync::Arc;

use antefix_session::event::{Command, Event, SessionEvent};
use antefix_session::machine::{Session, SessionError};
use antefix_session::record::{AttemptId, EndReason, LaneRecord, Millis};
use antefix_tools::hooks::{Hooks, Said};
use antefix_tools::{Cancellation, Context, Executor};
use antefix_wire::assemble::Delta;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::clock;
use crate::provider::Provider;
use crate::store::{AppendError, Durability, TranscriptStore};
use gate::Gate;
use hooked::{Submitted, hook_news};
use kin::Kin;
use todo::changes_list;
use turn::{Ended, Inbox, Running};
use watch::Watch;

/// Why a turn could not be brought to an end. The session on disk is intact: opening it again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A record could not be written; nothing that relies on it was sent.
    #[error("the transcript could not be written, so nothing was sent: {0}")]
    Append(#[from] AppendError),
    /// The state machine was used out of order.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Something to show while a turn runs.
#[derive(Debug)]
pub enum Shown<'a> {
    /// Something happened in the session.
    Event(&'a SessionEvent),
    /// A part of the reply arrived.
    Delta(&'a Delta),
    /// A running call printed something.
    Progress {
        /// The call's id.
        call: &'a str,
        /// What it printed.
        text: &'a str,
    },
    /// A call waits for an answer, which [`Agent::guard`] tells where to send.
    Question(&'a Question),
    /// Something was decided about a call.
    Decided(&'a Decided),
    /// A subagent shows something.
    Subagent {
        /// Which.
        subagent: &'a Subagent,
        /// What.
        news: &'a SubagentNews,
    },
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    /// Why it ended.
    pub reason: EndReason,
    /// What went wrong or was decided, in words.
    pub message: Option<String>,
}

/// One session at work: its machine, its transcript, its tools and its provider.
pub struct Agent<S> {
    session: Session,
    store: S,
    executor: Executor,
    context: Context,
    provider: Arc<Provider>,
    longest_retry_wait: Option<u64>,
    gate: Option<Arc<Gate>>,
    hooks: Option<Arc<Hooks>>,
    answers: Option<mpsc::UnboundedReceiver<Answer>>,
    watch: Option<Watch>,
    /// Calls were stopped, and what the tools remember of them may not be on record.
    stale: bool,
    kin: Kin,
    images: images::Counted,
}

impl<S: TranscriptStore> Agent<S> {
    /// Puts a session to work.
    pub fn new(session: Session, store: S, executor: Executor, context: Context, provider: Provider) -> Self {
        let provider = Arc::new(provider);
        Self {
            session,
            store,
            executor,
            context,
            provider,
            longest_retry_wait: None,
            gate: None,
            hooks: None,
            answers: None,
            watch: None,
            stale: false,
            kin: Kin::default(),
            images: images::Counted::default(),
        }
    }

    /// Holds every call to a policy from now on, which is looked at anew in front of each; without one, all calls run.
    /// What is decided goes on record. Questions are shown, and their answers come through `answers`; without it, or
    /// once it is closed, calls that would be asked about do not run.
    pub fn guard(&mut self, policies: impl Policies, answers: Option<mpsc::UnboundedReceiver<Answer>>) {
        self.gate = Some(Arc::new(Gate::new(policies)));
        self.answers = answers;
    }

    /// Waits at most so many milliseconds before a request is made again, whatever the server asks for.
    pub fn limit_retry_wait(&mut self, milliseconds: u64) {
        self.longest_retry_wait = Some(milliseconds);
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The provider.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Opens a lane; gives what the user should be told of it.
    ///
    /// # Errors
    /// [`DriverError`] if its record cannot be written or a turn is running.
    pub fn open_lane(&mut self, lane: LaneRecord) -> Result<Vec<String>, DriverError> {
        let commands = self.session.open_lane(lane, clock::now())?;
        let notice = |command: &Command| match command {
            Command::Emit(SessionEvent::Notice(text)) => Some(text.clone()),
            _ => None,
        };
        let notices = commands.iter().filter_map(notice).collect();
        self.append_all(commands)?;
        Ok(notices)
    }

    /// Goes back to in front of a turn.
    ///
    /// # Errors
    /// [`DriverError`] if there is no such turn or the record cannot be written.
    pub fn rewind(&mut self, turn: u64) -> Result<(), DriverError> {
        let commands = self.session.step(Event::Rewind { turn }, clock::now())?;
        self.append_all(commands)?;
        recall(self.session.conversation(), &mut self.context);
        Ok(())
    }

    /// Runs one turn of the user to its end, and on while hooks object to that. Each message on `interrupts` asks once for it to stop.
    ///
    /// # Errors
    /// [`DriverError`] if a record cannot be written; the session must be opened again then.
    pub async fn prompt(
        &mut self,
        blocks: Vec<Bytes>,
        interrupts: &mut mpsc::UnboundedReceiver<()>,
        mut show: impl FnMut(Shown<'_>),
    ) -> Result<TurnEnd, DriverError> {
        let said = match self.submitted(&blocks, interrupts, &mut show).await? {
            Submitted::Begins(said) => said,
            Submitted::Ends(end) => return Ok(end),
        };
        let mut end = self.turn(blocks, &said, interrupts, &mut show).await?;
        let mut times = 0;
        while let Some(blocks) = self.objected(&end, times, interrupts, &mut show).await {
            times += 1;
            end = self.turn(blocks, &[], interrupts, &mut show).await?;
        }
        Ok(end)
    }

    async fn turn(
        &mut self,
        blocks: Vec<Bytes>,
        said: &[Said],
        interrupts: &mut mpsc::UnboundedReceiver<()>,
        show: &mut impl FnMut(Shown<'_>),
    ) -> Result<TurnEnd, DriverError> {
        if std::mem::take(&mut self.stale) {
            recall(self.session.conversation(), &mut self.context);
        }
        if let Some(gate) = &self.gate {
            gate.begin_turn();
        }
        let mut commands = self.session.step(Event::Settle, clock::now())?;
        // What is known now is what the next request goes on from.
        let mut context = self.drift(show).await;
        context.extend(self.wanted(hook_news(self.session.conversation(), said)));
        let changes_list = changes_list(&context);
        commands.extend(self.session.step(Event::Prompt { blocks, context }, clock::now())?);
        if changes_list {
            self.context.todo.take_over(&todo_list(self.session.conversation()));
        }
        match self.run(commands, interrupts, show).await? {
            Ended::Turn(end) => Ok(end),
            Ended::Compaction(message) => Ok(TurnEnd { reason: EndReason::Failed, message }),
        }
    }

    /// Lets the conversation go on from a summary; gives why that came to nothing, if so. Each message on `interrupts`
    /// asks once for it to stop.
    ///
    /// # Errors
    /// [`DriverError`] if a record cannot be written; the session must be opened again then.
    pub async fn compact(
        &mut self,
        interrupts: &mut mpsc::UnboundedReceiver<()>,
        mut show: impl FnMut(Shown<'_>),
    ) -> Result<Option<String>, DriverError> {
        if std::mem::take(&mut self.stale) {
            recall(self.session.conversation(), &mut self.context);
        }
        let commands = self.session.step(Event::Compact, clock::now())?;
        match self.run(commands, interrupts, &mut show).await? {
            Ended::Turn(end) => Ok(end.message),
            Ended::Compaction(failure) => Ok(failure),
        }
    }

    fn command(
        &mut self,
        command: Command,
        turn: &mut Running,
        show: &mut impl FnMut(Shown<'_>),
    ) -> Result<Option<Ended>, DriverError> {
        match command {
            Command::Append { .. } => self.append(command)?,
            Command::Send { attempt, body } => self.send(attempt, body, turn),
            Command::Run(calls) => {
                turn.open = calls.len();
                self.run_calls(calls, turn);
            }
            Command::Wait(due) => turn.due = Some(self.sooner(due)),
            // Answered where it is waited for.
            Command::Refresh => {}
            Command::WarmAt(due) => turn.warm_due = Some(due),
            Command::Warm { attempt, body } => self.warm(attempt, body, turn),
            Command::StopRequest => turn.stop.cancel(),
            Command::StopCalls => {
                turn.stop.cancel();
                self.stale = true;
            }
            Command::Emit(event) => {
                if let SessionEvent::RequestFinished(_) = event {
                    self.kin.spent(&self.session);
                }
                show(Shown::Event(&event));
                match event {
                    SessionEvent::TurnEnded { reason, message, .. } => {
                        return Ok(Some(Ended::Turn(TurnEnd { reason, message })));
                    }
                    SessionEvent::CompactionEnded { failure, .. } => {
                        recall(self.session.conversation(), &mut self.context);
                        return Ok(self.session.is_idle().then_some(Ended::Compaction(failure)));
                    }
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    fn sooner(&self, due: Millis) -> Millis {
        let latest = self.longest_retry_wait.map(|wait| clock::now().0.saturating_add(wait));
        Millis(latest.map_or(due.0, |latest| latest.min(due.0)))
    }

    fn append_all(&mut self, commands: Vec<Command>) -> Result<(), DriverError> {
        commands.into_iter().try_for_each(|command| self.append(command))
    }

    fn append(&mut self, command: Command) -> Result<(), DriverError> {
        let Command::Append { entries, durable } = command else { return Ok(()) };
        let objects: Vec<Vec<u8>> = entries.iter().map(antefix_session::record::Entry::encode).collect();
        let durability =
            if durable { Durability::Durable { at_ms: clock::now().0 } } else { Durability::Buffered };
        self.store.append(self.store.head(), &objects, durability)?;
        Ok(())
    }

    fn send(
        &self,
        attempt: AttemptId,
        body: antefix_session::conversation::ComposedBody,
        turn: &mut Running,
    ) {
        turn.stop = Cancellation::new();
        let (provider, outbox, stop) = (Arc::clone(&self.provider), turn.outbox.clone(), turn.stop.clone());
        let betas = self.betas();
        turn.tasks.spawn(async move {
            let deltas = outbox.clone();
            // The turn may be gone; what is sent to it then is of no interest.
            let show = |delta| drop(deltas.send(Inbox::Delta(delta)));
            let end = provider.send(body, &betas, &stop, show).await;
            drop(outbox.send(Inbox::Event(Box::new(Event::Response { attempt, end }))));
        });
    }

    /// The betas that the lane's requests name.
    fn betas(&self) -> Vec<String> {
        self.session.conversation().lane().map(|lane| lane.spec().betas.clone()).unwrap_or_default()
    }

    /// Sends an earlier request once more; nothing of its reply is shown.
    fn warm(
        &self,
        attempt: AttemptId,
        body: antefix_session::conversation::ComposedBody,
        turn: &mut Running,
    ) {
        let (provider, outbox, betas) = (Arc::clone(&self.provider), turn.outbox.clone(), self.betas());
        turn.tasks.spawn(async move {
            let end = provider.send(body, &betas, &Cancellation::new(), |_| ()).await;
            drop(outbox.send(Inbox::Event(Box::new(Event::Response { attempt, end }))));
        });
    }
}
