//! A simulator of prompt caches on a virtual clock, with a scripted model: Anthropic's behind the Messages API;
//! vLLM's, llama.cpp's and OpenAI's behind Chat Completions.
//!
//! It is a judge that can disagree with the rest of the workspace: it reads, renders and compares requests in
//! its own naive way (the cache is a tree whose edges are the full texts of rendered blocks) and shares no
//! code with the planner or the verdicts. Time comes in as an argument; nothing here sleeps or opens a
//! socket.
//!
//! [`Config`] holds a knob for everything the provider does not document, [`Script`] says what the model
//! answers, [`Simulator::handle`] takes a request as bytes and gives a response as bytes with the times they
//! are due, and [`Simulator::log`] says what was billed. `docs/formats/simulator.md` says what is counted.
//!
//! ```
//! use antefix_sim::{Config, HttpRequest, Millis, Script, Simulator};
//!
//! let mut simulator = Simulator::new(Config::default(), Script::default_script());
//! let headers = [("x-api-key", "acme/main/secret"), ("anthropic-version", "2023-06-01")]
//!     .map(|(name, value)| (name.to_owned(), value.to_owned()));
//! let body = format!(
//!     r#"{{"model":"claude-sonnet-4-6","max_tokens":99,"cache_control":{{"type":"ephemeral"}},
//!         "messages":[{{"role":"user","content":"{}"}}]}}"#,
//!     "A long story. ".repeat(1_000)
//! );
//! let request =
//!     HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body: body.as_bytes() };
//! for (minutes, written, read) in [(0, 4_004, 0), (4, 0, 4_004), (9, 4_004, 0)] {
//!     assert_eq!(simulator.handle(&request, Millis(minutes * 60_000)).status, 200);
//!     let billed = simulator.log().last().ok_or("a request is billed")?;
//!     assert_eq!((billed.write_5m, billed.read), (written, read), "an entry lives five minutes");
//! }
//! # Ok::<(), &str>(())
//! ```

mod answer;
mod binding;
mod cache;
mod catalogue;
mod chat;
mod check;
mod config;
mod edits;
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
    BetaKey, Binding, BlockRules, ChatConfig, Config, Engine, ErrorShape, Grey, ImageRule, Latency, Limits,
    OtherTtl, Refresh, SlotRules, TemplateClass, Tokenizer, UnifiedQuota,
};
pub use http::{Chunk, HttpRequest, HttpResponse, Millis, ResponseBody, StreamEnd};
pub use script::{Script, ScriptError};
pub use simulator::{Billed, Simulator};
