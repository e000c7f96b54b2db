use std::path::PathBuf;

use super::column::Column;

/// One row of the matrix: what changes between a first task and the message behind it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name in reports.
    pub name: &'static str,
    /// What changes.
    pub about: &'static str,
    /// What is there before the session begins.
    pub before: Vec<Step>,
    /// A session of an earlier build that stands in the place of the first task.
    pub old_session: fn(Column) -> Option<OldSession>,
    /// What the first task's command line asks for; the column's model if nothing.
    pub task: &'static [&'static str],
    /// What happens behind the first task.
    pub change: Vec<Step>,
    /// How the messages behind the change take the session up.
    pub goes_on: fn(Column) -> &'static [&'static str],
    /// What the first of them adds to its command line.
    pub message: &'static [&'static str],
    /// What the user says in it, where it is not [`MESSAGE`].
    pub prompt: &'static str,
    /// What happens between this message and the last one.
    pub later: Vec<Step>,
    /// The message goes back behind the first task, so that this is the prompt to be kept.
    pub goes_back: bool,
    /// What is lost is lost again with each message, whatever the column.
    always_loses: bool,
    /// Tools that the first task has to offer: without them, the row would show nothing.
    pub offers: &'static [&'static str],
    /// What the model is told of the change.
    pub told: Told,
    /// Tools that are withdrawn (`-NAME`) and offered (`+NAME`) behind the first task, in order, by models that take
    /// such changes among their messages.
    pub changes: &'static [&'static str],
    /// Whether a column has the row.
    pub is_in: Columns,
    /// What a column is expected to do; the first that holds, and else everything is kept.
    declared: Vec<(Columns, Declared)>,
}

/// Something that happens in a scene. Paths begin with `project/`, `home/` or `config/`.
#[derive(Clone, Debug)]
pub enum Step {
    /// A file is written, its folders made.
    Write(&'static str, &'static str),
    /// A file or folder is removed.
    Remove(&'static str),
    /// `git` runs in the project.
    Git(&'static [&'static str]),
    /// All later processes run where it is another day.
    AnotherDay,
    /// The provider's clock moves on by minutes, while nothing happens.
    Minutes(u64),
    /// The user says something, with further arguments, to a new process that ends well.
    Say(&'static str, &'static [&'static str]),
    /// The user says something, and the process is killed at the first event of this type.
    Kill(&'static str, &'static str),
    /// The user says something, and interrupts it at the first event of this type.
    Interrupt(&'static str, &'static str),
    /// The session goes on from a summary of itself.
    Compact,
    /// The user says something, and the turn ends badly.
    Fail(&'static str),
    /// The project names the MCP servers of this file.
    ServersOf(PathBuf),
    /// The project names these MCP servers, each of which follows its script `NAME.json`.
    Servers(&'static [&'static str]),
    /// All later runs get these arguments too.
    With(&'static [&'static str]),
}

/// A session as a build left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldSession {
    /// Its transcript.
    pub transcript: &'static str,
    /// The last request that was sent.
    pub last_body: &'static str,
}

/// What the model is told of a change, and must not be told twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Each of these stands once behind the old prompt.
    Words(&'static [&'static str]),
    /// Nothing but what the user says.
    Nothing,
    /// Whatever: the row is about something else.
    Whatever,
}

/// What is expected of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Every old position is kept, and as much is read as if nothing had changed.
    Kept,
    /// The prompt begins anew once, for this reason, and is kept from there on.
    Planned(&'static str),
    /// The provider's own rules do not let the cache be read; this is where they stand.
    Limited(&'static str),
}

impl Row {
    /// A row in which nothing has changed yet.
    pub fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            before: Vec::new(),
            old_session: |_| None,
            task: &[],
            change: Vec::new(),
            goes_on: |_| &["--continue"],
            message: &[],
            prompt: MESSAGE,
            later: Vec::new(),
            goes_back: false,
            always_loses: false,
            offers: &[],
            told: Told::Nothing,
            changes: &[],
            is_in: |_| true,
            declared: Vec::new(),
        }
    }

    /// What is there before the session begins.
    pub fn before(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.before.extend(steps);
        self
    }

    /// A session of an earlier build that stands in the place of the first task.
    pub fn old_session(self, old_session: fn(Column) -> Option<OldSession>) -> Self {
        Self { old_session, ..self }
    }

    /// What the first task's command line asks for, in the place of the column's model.
    pub fn task(self, task: &'static [&'static str]) -> Self {
        Self { task, ..self }
    }

    /// These columns alone have the row.
    pub fn only_in(self, holds: Columns) -> Self {
        Self { is_in: holds, ..self }
    }

    /// What happens behind the first task.
    pub fn change(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.change.extend(steps);
        self
    }

    /// How the messages behind the change take the session up, where not as the last of the folder.
    pub fn goes_on(self, goes_on: fn(Column) -> &'static [&'static str]) -> Self {
        Self { goes_on, ..self }
    }

    /// What the message behind the change adds to its command line.
    pub fn message(self, message: &'static [&'static str]) -> Self {
        Self { message, ..self }
    }

    /// What the user says behind the change.
    pub fn prompt(self, prompt: &'static str) -> Self {
        Self { prompt, ..self }
    }

    /// The message goes back behind the first task.
    pub fn goes_back(self) -> Self {
        Self { goes_back: true, ..self }
    }

    /// What is lost is lost again with each message, whatever the column.
    pub fn always_loses(self) -> Self {
        Self { always_loses: true, ..self }
    }

    /// Tools that the first task has to offer.
    pub fn offers(self, offers: &'static [&'static str]) -> Self {
        Self { offers, ..self }
    }

    /// What the model is told.
    pub fn told(self, words: &'static [&'static str]) -> Self {
        Self { told: Told::Words(words), ..self }
    }

    /// Tools that are withdrawn (`-`) and offered (`+`) among the messages, in this order; one that ends in `*` stands for
    /// all that begin so.
    pub fn changes(self, changes: &'static [&'static str]) -> Self {
        Self { changes, ..self }
    }

    /// What the model is told is not what the row is about.
    pub fn whatever_is_told(self) -> Self {
        Self { told: Told::Whatever, ..self }
    }

    /// All is kept in these columns, although their templates move something elsewhere.
    pub fn kept(mut self, holds: Columns) -> Self {
        self.declared.push((holds, Declared::Kept));
        self
    }

    /// The prompt begins anew in these columns.
    pub fn planned(mut self, holds: Columns, why: &'static str) -> Self {
        self.declared.push((holds, Declared::Planned(why)));
        self
    }

    /// The provider's rules stand in the way in these columns.
    pub fn limited(mut self, holds: Columns, source: &'static str) -> Self {
        self.declared.push((holds, Declared::Limited(source)));
        self
    }

    /// The tools that are withdrawn and offered in a column.
    pub fn changes_in(&self, column: Column) -> &'static [&'static str] {
        if column == Column::InBand { self.changes } else { &[] }
    }

    /// What is expected of a column.
    pub fn declared(&self, column: Column) -> Declared {
        let own = self.declared.iter().find(|(holds, _)| holds(column)).map(|(_, declared)| *declared);
        own.unwrap_or_else(|| column.limit().map_or(Declared::Kept, Declared::Limited))
    }

    /// Whether what is lost in a column is lost again with each message.
    pub fn loses_on(&self, column: Column) -> bool {
        self.always_loses || column.limit().is_some()
    }
}

impl Declared {
    /// The word for it in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Planned(_) => "planned",
            Self::Limited(_) => "provider-limited",
        }
    }
}

/// Whether something holds for a column.
type Columns = fn(Column) -> bool;

/// The first task.
pub const TASK: &str = "First task: find out what the project does.";
/// The message behind the change.
pub const MESSAGE: &str = "Second message: what is left to do?";
/// The message behind that one.
pub const AGAIN: &str = "Third message: thank you.";
