//! The tools of a coding agent (files, search, shell, a list of what is to be done), the [`Tool`] trait they implement, and the
//! [`Executor`] that runs a batch of calls.
//!
//! A tool's definition is a frozen run of bytes ([`Definition::json`]) that goes into the request as it is,
//! and a tool's result text is a function of its input and of the files: no dates, durations, process ids or
//! random order, because a result stays in the prompt for as long as the session lives.
//!
//! What this crate must not know: models, transcripts, providers. It reads no environment variable and no
//! clock.

mod base64;
mod bash;
mod cancellation;
mod context;
mod definition;
mod edit;
mod executor;
mod files;
mod glob;
mod grep;
pub mod hooks;
mod image;
mod input;
mod multi_edit;
mod output;
mod paths;
pub mod permission;
pub mod place;
mod preview;
mod read;
mod registry;
mod regular;
pub mod sandbox;
pub mod schema;
mod shown;
mod skill;
mod spill;
mod store;
mod task;
mod todo;
mod tool;
mod walk;
mod web_fetch;
mod write;

pub use base64::encode as base64_encode;
pub use bash::{
    Bash, BashKill, BashOutput, Exchange, ExchangeEnd, Exchanged, Jobs, SECRET_NAMES, SECRET_PARTS,
    SECRET_SUFFIXES, Shell, ShellState, is_secret,
};
pub use cancellation::Cancellation;
pub use context::{Context, Limits, Progress, ProgressKind};
pub use definition::{Definition, DefinitionError};
pub use edit::Edit;
pub use executor::{Call, Executor};
pub use files::{Comparison, FileFact, FileTable, Now, Present, Scope, Step};
pub use glob::Glob;
pub use grep::Grep;
pub use image::{image_side, image_type};
pub use input::Fields;
pub use multi_edit::MultiEdit;
pub use output::{Content, Failure, Output};
pub use preview::preview;
pub use read::Read;
pub use registry::{Arrivals, CONTRACT, Listing, Registered, Registry, is_selected};
pub use skill::{Shelf, Skill};
pub use task::{Delegate, Order, Report, Task};
pub use todo::{Todo, TodoItem, TodoLine, TodoList, TodoListError, TodoState};
pub use tool::{Access, BoxFuture, Tool};
pub use web_fetch::{Fetched, Fetcher, WebFetch};
pub use write::Write;
