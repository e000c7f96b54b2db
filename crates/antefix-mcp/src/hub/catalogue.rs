use std::sync::Arc;
use std::time::Duration;

use crate::config::ServerConfig;
use crate::tool::ToolInfo;

/// What is known of all servers at a moment.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// In the order of their keys.
    pub servers: Vec<ServerView>,
}

impl Catalogue {
    /// The tools of all servers: servers by key, tools by name, first of a [`ToolInfo::wire_name`] wins. Tools of a
    /// server that has failed or is gone are those it listed last, since what cannot be reached is not removed.
    pub fn tools(&self) -> Vec<&ToolInfo> {
        let mut tools: Vec<&ToolInfo> = Vec::new();
        let mut taken = std::collections::BTreeSet::new();
        for tool in self.servers.iter().flat_map(|server| server.tools.iter()) {
            if taken.insert(tool.wire_name.as_str()) {
                tools.push(tool);
            }
        }
        tools
    }

    /// A server.
    pub fn server(&self, name: &str) -> Option<&ServerView> {
        self.servers.iter().find(|server| server.name == name)
    }
}

/// What is known of one server.
#[derive(Clone, Debug)]
pub struct ServerView {
    /// Its key in the configuration.
    pub name: String,
    /// How it is configured.
    pub config: ServerConfig,
    /// How it is.
    pub state: State,
    /// Its name and version in its own words.
    pub software: Option<(String, String)>,
    /// The version of the protocol that was agreed on.
    pub protocol: Option<String>,
    /// How it is best used, for the model; cut at 16 KiB.
    pub instructions: Option<String>,
    /// What it says it offers besides tools: `resources`, `prompts`.
    pub offers: Vec<&'static str>,
    /// What it listed last, in the order of the names.
    pub tools: Arc<[ToolInfo]>,
    /// The names in the order in which it listed them.
    pub listed_order: Arc<[String]>,
    /// How long it says its list lives.
    pub ttl: Option<Duration>,
    /// Whose its list is: `public` or `private`, in its own words.
    pub cache_scope: Option<String>,
    /// How often it has been listed; 0 if never.
    pub listed: u64,
    /// What is odd about it.
    pub notes: Vec<String>,
    /// The end of what it has said on standard error.
    pub log: String,
}

/// How a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It has been started and has not been heard of; only before it has come up or failed for the first time.
    Starting,
    /// It is connected and has listed its tools.
    Ready,
    /// It has never come up.
    Failed {
        /// Why.
        why: String,
        /// Whether it is tried again.
        retries: bool,
    },
    /// It was connected and is not any more.
    Gone {
        /// Why.
        why: String,
        /// Whether it is tried again.
        retries: bool,
    },
}

impl State {
    /// In one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed { .. } => "failed",
            Self::Gone { .. } => "gone",
        }
    }

    /// Why it is not ready.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Failed { why, .. } | Self::Gone { why, .. } => Some(why),
            Self::Starting | Self::Ready => None,
        }
    }
}
