//! A simulator of Anthropic's prompt cache and Messages API on a virtual clock, with a scripted model.
//!
//! It is a judge that can disagree with the rest of the workspace: it reads, renders and compares requests in
//! its own naive way (the cache is a tree whose edges are the full texts of rendered blocks) and shares no
//! code with the planner or the verdicts. Time comes in as an argument; nothing here sleeps or opens a socket.

mod config;
mod http;
mod script;
mod simulator;

pub use config::Config;
pub use http::{Chunk, HttpRequest, HttpResponse, Millis, ResponseBody, StreamEnd};
pub use script::{Script, ScriptError};
pub use simulator::{Billed, Simulator};
