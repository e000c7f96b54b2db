//! What differs from one protocol to another on the way to a server and back. Nothing outside this module asks which
//! it is.

use antefix_http::client::Outgoing;
use antefix_session::dialect::Dialect;
use antefix_wire::assemble::{self, AssembleError, Assembled, ChatAssembler, Delta};
use antefix_wire::json::Body;
use antefix_wire::sse::Event;

use super::{Credential, Refusal, chat, messages};

/// Behind the base URL.
pub(super) fn path(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => messages::PATH,
        Dialect::OpenAiChat => chat::PATH,
    }
}

pub(super) fn authenticated(dialect: Dialect, outgoing: Outgoing, credential: &Credential) -> Outgoing {
    match dialect {
        Dialect::Anthropic => messages::authenticated(outgoing, credential),
        Dialect::OpenAiChat => chat::authenticated(outgoing, credential),
    }
}

/// The protocol's own headers, which may be shown.
pub(super) fn headers(dialect: Dialect, betas: &[String]) -> Vec<(String, String)> {
    match dialect {
        Dialect::Anthropic => messages::headers(betas),
        Dialect::OpenAiChat => Vec::new(),
    }
}

/// What the names of headers about quotas begin with.
pub(super) fn quota(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => messages::QUOTA,
        Dialect::OpenAiChat => chat::QUOTA,
    }
}

pub(super) fn refusal(dialect: Dialect, body: &Body) -> Refusal {
    match dialect {
        Dialect::Anthropic => messages::refusal(body),
        Dialect::OpenAiChat => chat::refusal(body),
    }
}

pub(super) fn hint(dialect: Dialect, status: u16, message: &str) -> Option<&'static str> {
    match dialect {
        Dialect::Anthropic => messages::hint(status, message),
        Dialect::OpenAiChat => chat::hint(status, message),
    }
}

/// Why a model stopped that is done, or that calls tools.
pub(super) fn stop_reason(dialect: Dialect, calls: bool) -> &'static str {
    match (dialect, calls) {
        (Dialect::Anthropic, false) => "end_turn",
        (Dialect::Anthropic, true) => "tool_use",
        (Dialect::OpenAiChat, false) => "stop",
        (Dialect::OpenAiChat, true) => "tool_calls",
    }
}

/// Puts a streamed answer together.
pub(super) enum Assembler {
    Messages(Box<assemble::Assembler>),
    Chat(Box<ChatAssembler>),
}

impl Assembler {
    pub(super) fn new(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Anthropic => Self::Messages(Box::default()),
            Dialect::OpenAiChat => Self::Chat(Box::default()),
        }
    }

    pub(super) fn event(&mut self, event: &Event) -> Result<Vec<Delta>, AssembleError> {
        match self {
            Self::Messages(assembler) => assembler.event(event),
            Self::Chat(assembler) => assembler.event(event),
        }
    }

    pub(super) fn finish(self) -> Assembled {
        match self {
            Self::Messages(assembler) => assembler.finish(),
            Self::Chat(assembler) => assembler.finish(),
        }
    }
}
