//! A simulator of Anthropic's prompt cache and Messages API on a virtual clock, with a scripted model.
//!
//! It is a judge that can disagree with the rest of the workspace: it reads, renders and compares requests in
//! its own naive way (the cache is a tree whose edges are the full texts of rendered blocks) and shares no
//! code with the planner or the verdicts. Time comes in as an argument; nothing here sleeps or opens a socket.
//!
//! ```
//! use antefix_sim::{Config, HttpRequest, Millis, Script, Simulator};
//!
//! let mut simulator = Simulator::new(Config::default(), Script::default_script());
//! let headers = [("x-api-key", "acme/main/secret"), ("anthropic-version", "2023-06-01")]
//!     .map(|(name, value)| (name.to_owned(), value.to_owned()));
//! let body = br#"{"model":"claude-sonnet-4-6","max_tokens":99,"messages":[{"role":"user","content":"Hi"}]}"#;
//! let request = HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body };
//! let response = simulator.handle(&request, Millis(0));
//! assert_eq!(response.status, 200);
//! assert_eq!(simulator.log()[0].read, 0);
//! ```

mod answer;
mod binding;
mod cache;
mod catalogue;
mod check;
mod config;
mod error;
mod http;
mod memory;
mod meter;
mod render;
mod request;
mod script;
mod simulator;
mod threads;

pub use config::{
    BetaKey, Binding, Config, Grey, ImageRule, Latency, Limits, OtherTtl, Refresh, Tokenizer, UnifiedQuota,
};
pub use http::{Chunk, HttpRequest, HttpResponse, Millis, ResponseBody, StreamEnd};
pub use script::{Script, ScriptError};
pub use simulator::{Billed, Simulator};
