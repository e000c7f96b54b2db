//! What the model is told of its surroundings: the date, the folder, instruction files, and whatever else may change.
//!
//! A [`Source`] looks at one kind of thing. What it sees when a session begins stands in the head (the baseline) and is
//! never touched again; what is otherwise later is told once, behind all that was said (drift). The [`Watcher`] asks the
//! sources side by side and compares what they see with what the conversation on record knows, so that a new process, a
//! rewind or a kill neither loses a change nor tells it twice. A source that fails, or takes too long, has seen
//! nothing: what was known stays.

mod budget;
mod date;
mod definitions;
mod diagnostics;
mod environment;
mod files;
mod git;
mod hooks;
mod instructions;
mod lines;
mod memory;
mod permissions;
mod text_file;
mod todo;
mod watcher;

pub use budget::Budget;
pub use date::Date;
pub use definitions::Definitions;
pub use diagnostics::Diagnostics;
pub use environment::Environment;
pub use files::Files;
pub use git::{Git, GitStatus};
pub(crate) use hooks::sighting;
pub use hooks::{HOOK, StartHooks};
pub use instructions::Instructions;
pub use memory::Memory;
pub use permissions::Permissions;
pub(crate) use todo::{KIND as TODO, items_of as todo_items};
pub use todo::{Todo, TodoStand};
pub use watcher::{Baseline, NoKind, Reminders, Watcher};

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use antefix_session::conversation::Offers;
use antefix_session::record::{ContextRecord, Millis};
use antefix_session::spend::Spend;
use antefix_tools::permission::{Policy, Verdict};
use antefix_tools::{Access, FileTable};
use antefix_wire::json::{Body, write_string};
use bytes::Bytes;
use jiff::tz::TimeZone;

/// One kind of thing that the model is told of.
///
/// States are compact JSON texts that are compared byte for byte: equal states are one state, and nothing is told.
/// `null` as a known state means that the model knows of nothing, or was told that it is gone.
pub trait Source: Send {
    /// What it looks at, one of [`KINDS`]. Sources may share a kind if each [speaks for](Self::speaks_for) keys of its
    /// own.
    fn kind(&self) -> &'static str;

    /// Looks. It may block, since it runs in a thread of its own; what comes after its [patience](Self::patience) is
    /// dropped.
    ///
    /// # Errors
    /// [`Unavailable`] if nothing can be said; all that is known stays.
    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable>;

    /// What the head says of it; a text that starts with `#` is a section of its own, any other a line of the first.
    /// `None` if the head need not say it.
    fn baseline(&self, _sighting: &Sighting) -> Option<String> {
        None
    }

    /// What the model is told where the state differs from the known one. With an empty text nothing is told, and the
    /// state is the known one from then on; with `None` the next comparison is with the same known state as this one.
    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String>;

    /// What the model is told where what it knows is not there any more; nothing where there is always something.
    fn removed(&self, _key: &str, _known: &[u8]) -> Option<String> {
        None
    }

    /// Whether a known key that the last look did not sight is gone. Not if the look could not tell, or the key belongs
    /// to another source of the kind.
    fn speaks_for(&self, _key: &str) -> bool {
        true
    }

    /// When it is asked.
    fn moment(&self) -> Moment {
        Moment::Prompt
    }

    /// Whether it answers from memory, so that it needs no thread.
    fn is_instant(&self) -> bool {
        false
    }

    /// How long it is waited for.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Bytes of a text at most, where the user's settings say nothing.
    fn cap(&self) -> usize {
        16 * 1024
    }

    /// What the user should know of the last look, such as a file that was left out.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// When a source is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// For the head, and in front of each prompt.
    Prompt,
    /// In front of each prompt, but no session's first request waits for it: what it sees when the session begins goes
    /// on record without a word, and drift is told from there.
    Later,
    /// For the head, in front of each prompt, and whenever calls have returned.
    Calls,
}

/// One thing that a source sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// Which of its kind: a path, a server's name; empty if there is but one.
    pub key: String,
    /// Its state, as compact JSON: small, and all that a later comparison needs.
    pub state: Bytes,
    /// What the texts need beside the state; it does not go on record.
    pub detail: String,
}

impl Sighting {
    /// One whose texts need no more than its state.
    pub fn new(key: impl Into<String>, state: impl Into<Bytes>) -> Self {
        Self { key: key.into(), state: state.into(), detail: String::new() }
    }

    /// Sets what the texts need beside the state.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}

/// Nothing can be said now, which is not the same as that nothing is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Where and when sources look.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The time.
    pub now: Millis,
    /// The machine's time zone.
    pub zone: TimeZone,
    /// The folder that tools work in.
    pub folder: PathBuf,
    /// The rules that refuse files, as they were when the process began; none if there are none.
    pub policy: Option<Arc<Policy>>,
    /// The files the model has seen.
    pub files: Arc<FileTable>,
    /// What the session has used.
    pub spent: Spend,
    /// The list of what is to be done; `None` where a session begins.
    pub todo: Option<TodoStand>,
    /// How the tools of the lane's array stand; none where they can be neither offered nor withdrawn.
    pub offers: Option<Arc<Offers>>,
    /// The tools that the model knows to be refused, as it was told last.
    pub refused: Option<Bytes>,
    /// Calls have just returned; in front of a prompt and for the head they have not.
    pub is_behind_calls: bool,
}

impl Surroundings {
    /// Those of a folder where nothing has been said, seen or used, and nothing is refused.
    pub fn of(folder: impl Into<PathBuf>, now: Millis, zone: TimeZone) -> Self {
        Self {
            now,
            zone,
            folder: folder.into(),
            policy: None,
            files: Arc::default(),
            spent: Spend::default(),
            todo: None,
            offers: None,
            refused: None,
            is_behind_calls: false,
        }
    }

    /// Whether a rule refuses that a file is read: then no source may tell what is in it either.
    pub fn is_denied(&self, path: &Path) -> bool {
        let Some(policy) = &self.policy else { return false };
        let mut input = b"{\"path\":".to_vec();
        write_string(&mut input, &path.to_string_lossy());
        input.push(b'}');
        let Ok(input) = Body::parse(input) else { return true };
        let decided = policy.decide("read", &Access::Reads(path.to_owned()), &input);
        matches!(decided.verdict, Verdict::Deny { .. })
    }
}

/// The kinds, in the order in which they are told.
pub const KINDS: [&str; 15] = [
    "environment",
    "date",
    "git",
    "instructions",
    "memory",
    "skills",
    "agents",
    "mcp",
    "tools",
    "hook",
    "permissions",
    "files",
    "todo",
    "budget",
    "diagnostics",
];

/// The first line that a baseline says of its surroundings, told from its records; `None` if it says nothing that they
/// hold whole.
pub(crate) fn first_line(records: &[ContextRecord]) -> Option<String> {
    records.iter().find_map(|record| {
        let sighting = Sighting::new(&*record.key, record.state.clone());
        let text = match record.kind.as_str() {
            "environment" => Environment::new("").baseline(&sighting),
            "date" => Date.baseline(&sighting),
            "git" => Git.baseline(&sighting),
            _ => None,
        };
        Some(text?.lines().next()?.to_owned())
    })
}

/// A member of an object that is a text.
fn text_of(state: &[u8], member: &str) -> Option<String> {
    let body = antefix_wire::json::Body::parse(state.to_vec()).ok()?;
    Some(body.root().get(member)?.str()?.into_owned())
}

/// An object of texts.
pub(crate) fn object_of(members: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>) -> Bytes {
    let mut out = vec![b'{'];
    for (index, (name, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(&mut out, name.as_ref());
        out.push(b':');
        write_string(&mut out, value.as_ref());
    }
    out.push(b'}');
    out.into()
}
