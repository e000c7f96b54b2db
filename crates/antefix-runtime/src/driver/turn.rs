//! A turn at work: does what the session asks for, and waits for what comes of it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use antefix_session::event::{Command, Event, SessionEvent};
use antefix_session::record::Millis;
use antefix_tools::Cancellation;
use antefix_wire::assemble::Delta;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::kin::{self, FromSubagent};
use super::{Agent, Answer, Choice, Decided, DriverError, Question, Shown, TurnEnd};
use crate::clock;
use crate::store::TranscriptStore;

/// What an event of the user has led to.
pub(super) enum Ended {
    Turn(TurnEnd),
    /// Why it came to nothing, if so.
    Compaction(Option<String>),
}

/// What a turn is waiting for.
pub(super) struct Running {
    pub(super) queue: VecDeque<Command>,
    pub(super) inbox: mpsc::UnboundedReceiver<Inbox>,
    pub(super) outbox: mpsc::UnboundedSender<Inbox>,
    /// Ended with the turn.
    pub(super) tasks: JoinSet<()>,
    pub(super) stop: Cancellation,
    pub(super) due: Option<Millis>,
    pub(super) warm_due: Option<Millis>,
    /// Calls that have not returned.
    pub(super) open: usize,
    /// Calls that wait for an answer, by the question.
    pub(super) waiting: BTreeMap<u64, oneshot::Sender<Choice>>,
}

/// What tasks of a turn send to it.
pub(super) enum Inbox {
    Delta(Delta),
    Progress { call: String, text: String },
    Question { question: Question, reply: oneshot::Sender<Choice> },
    Decided(Box<Decided>),
    Notice(String),
    Event(Box<Event>),
}

impl Running {
    pub(super) fn new(commands: Vec<Command>) -> Self {
        let (outbox, inbox) = mpsc::unbounded_channel();
        Self {
            queue: commands.into(),
            inbox,
            outbox,
            tasks: JoinSet::new(),
            stop: Cancellation::new(),
            due: None,
            warm_due: None,
            open: 0,
            waiting: BTreeMap::new(),
        }
    }

    fn answer(&mut self, question: u64, choice: Choice) -> Option<()> {
        self.waiting.remove(&question)?.send(choice).ok()
    }
}

impl<S: TranscriptStore> Agent<S> {
    /// Does what the session asks for until it rests.
    pub(super) async fn run(
        &mut self,
        commands: Vec<Command>,
        interrupts: &mut mpsc::UnboundedReceiver<()>,
        show: &mut impl FnMut(Shown<'_>),
    ) -> Result<Ended, DriverError> {
        let mut turn = Running::new(commands);
        loop {
            if let Some(end) = self.work_off(&mut turn, show).await? {
                // What is left of the step goes on record.
                self.append_all(turn.queue.into())?;
                return Ok(end);
            }
            let event = match self.wait(&mut turn, interrupts).await {
                Woken::Task(Inbox::Event(event)) => {
                    self.look_around(&event, &mut turn, interrupts).await?;
                    self.show_notes(show);
                    Some(self.wanted_of(*event))
                }
                Woken::Task(message) => self.heed(message, &mut turn, show),
                Woken::Subagent(message) => {
                    self.heed_subagent(message, &mut turn, show);
                    None
                }
                Woken::Answer(answer) => {
                    self.take_answer(answer, &mut turn);
                    None
                }
                Woken::Event(event) => Some(event),
            };
            if let Some(event) = event {
                turn.queue.extend(self.session.step(event, clock::now())?);
            }
        }
    }

    /// Does all that is asked for now, unless the turn ends with it.
    async fn work_off(
        &mut self,
        turn: &mut Running,
        show: &mut impl FnMut(Shown<'_>),
    ) -> Result<Option<Ended>, DriverError> {
        while let Some(command) = turn.queue.pop_front() {
            if matches!(command, Command::Refresh)
                && let Some(refreshed) = self.refreshed().await
            {
                self.show_notes(show);
                let event = Event::Refreshed(Box::new(refreshed));
                turn.queue.extend(self.session.step(event, clock::now())?);
            }
            if let Some(end) = self.command(command, turn, show)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    async fn wait(&mut self, turn: &mut Running, interrupts: &mut mpsc::UnboundedReceiver<()>) -> Woken {
        tokio::select! {
            biased;
            Some(()) = interrupts.recv() => Woken::Event(Event::Interrupt),
            message = kin::next(&mut self.kin.subagents) => Woken::Subagent(message),
            Some(message) = turn.inbox.recv() => Woken::Task(message),
            answer = next_answer(&mut self.answers) => Woken::Answer(answer),
            () = sleep_until(turn.due) => {
                turn.due = None;
                Woken::Event(Event::Due)
            }
            () = sleep_until(turn.warm_due) => {
                turn.warm_due = None;
                Woken::Event(Event::WarmDue)
            }
        }
    }

    /// Notes what an event makes worth looking at, unless the user does not wait for it.
    async fn look_around(
        &mut self,
        event: &Event,
        turn: &mut Running,
        interrupts: &mut mpsc::UnboundedReceiver<()>,
    ) -> Result<(), DriverError> {
        let seen = tokio::select! {
            biased;
            Some(()) = interrupts.recv() => Some(Event::Interrupt),
            news = self.news(event, &mut turn.open, &turn.stop) => (!news.is_empty()).then(|| Event::Note(news)),
        };
        if let Some(seen) = seen {
            turn.queue.extend(self.session.step(seen, clock::now())?);
        }
        Ok(())
    }

    /// Shows what a task sends; gives what the session is to hear of it.
    fn heed(
        &mut self,
        message: Inbox,
        turn: &mut Running,
        show: &mut impl FnMut(Shown<'_>),
    ) -> Option<Event> {
        match message {
            // What comes of a summary is told in one event.
            Inbox::Delta(_) if self.session.is_compacting() => {}
            Inbox::Delta(delta) => show(Shown::Delta(&delta)),
            Inbox::Progress { call, text } => show(Shown::Progress { call: &call, text: &text }),
            Inbox::Question { question, reply } => self.question(question, reply, turn, show),
            Inbox::Notice(text) => show(Shown::Event(&SessionEvent::Notice(text))),
            Inbox::Decided(decided) => {
                show(Shown::Decided(&decided));
                return Some(Event::Decided(decided.record));
            }
            Inbox::Event(event) => return Some(*event),
        }
        None
    }

    fn heed_subagent(&mut self, message: FromSubagent, turn: &mut Running, show: &mut impl FnMut(Shown<'_>)) {
        match message {
            FromSubagent::News(subagent, news) => {
                show(Shown::Subagent { subagent: &subagent, news: &news });
            }
            FromSubagent::Question(question, reply) => self.question(question, reply, turn, show),
        }
    }

    /// Shows a question to whoever answers, or passes it on to those who may know somebody; dropped, it is refused.
    fn question(
        &self,
        question: Question,
        reply: oneshot::Sender<Choice>,
        turn: &mut Running,
        show: &mut impl FnMut(Shown<'_>),
    ) {
        if let Some(parent) = &self.kin.parent {
            parent.ask(question, reply);
        } else if self.answers.is_some() {
            turn.waiting.insert(question.id, reply);
            show(Shown::Question(&question));
        }
    }

    /// Passes an answer on to who waits for it; once nobody answers any more, all questions are refused.
    fn take_answer(&mut self, answer: Option<Answer>, turn: &mut Running) {
        match answer {
            // A call that was stopped meanwhile has no use for it.
            Some(Answer { question, choice }) => drop(turn.answer(question, choice)),
            None => {
                self.answers = None;
                turn.waiting.clear();
            }
        }
    }
}

/// Why a turn that waited goes on.
enum Woken {
    Event(Event),
    Task(Inbox),
    Subagent(FromSubagent),
    /// `None` once nobody answers any more.
    Answer(Option<Answer>),
}

/// The next answer; waits for ever where there is nobody to answer, and gives `None` once they are gone.
async fn next_answer(answers: &mut Option<mpsc::UnboundedReceiver<Answer>>) -> Option<Answer> {
    match answers {
        Some(answers) => answers.recv().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(due: Option<Millis>) {
    match due {
        Some(due) => tokio::time::sleep(Duration::from_millis(due.0.saturating_sub(clock::now().0))).await,
        None => std::future::pending().await,
    }
}
