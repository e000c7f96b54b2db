use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antefix_wire::json::Node;
use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::{Options, ServerView, State, text_member};
use crate::call::{CallOutput, Progress};
use crate::config::{ServerConfig, Transport};
use crate::error::McpError;
use crate::link::{Link, Request};
use crate::notes::Notes;
use crate::tool::{Listed, ToolInfo, cut, next_cursor, result};

/// One server: what is known of it, and the connection while there is one.
pub(super) struct Server {
    pub(super) config: ServerConfig,
    pub(super) options: Arc<Options>,
    pub(super) notes: Notes,
    /// Somebody wants to know its tools, and its last list is too old.
    pub(super) outdated: Notify,
    known: Mutex<Known>,
    settled: watch::Sender<bool>,
    changed: watch::Sender<u64>,
}

struct Known {
    state: State,
    link: Option<Link>,
    software: Option<(String, String)>,
    protocol: Option<String>,
    instructions: Option<String>,
    offers: Vec<&'static str>,
    tools: Arc<[ToolInfo]>,
    order: Arc<[String]>,
    ttl: Option<Duration>,
    cache_scope: Option<String>,
    listed: u64,
    /// When it was asked for its list last: one that does not answer is not asked with each message either.
    asked_at: Option<Instant>,
}

impl Server {
    pub(super) fn new(config: ServerConfig, options: Arc<Options>, changed: watch::Sender<u64>) -> Self {
        let notes = Notes::new(&config.secrets());
        let known = Known {
            state: State::Starting,
            link: None,
            software: None,
            protocol: None,
            instructions: None,
            offers: Vec::new(),
            tools: Arc::new([]),
            order: Arc::new([]),
            ttl: None,
            cache_scope: None,
            listed: 0,
            asked_at: None,
        };
        let (outdated, known, settled) = (Notify::new(), Mutex::new(known), watch::Sender::new(false));
        Self { config, options, notes, outdated, known, settled, changed }
    }

    /// Waits until it has come up or failed for the first time.
    pub(super) async fn settled(&self) {
        // The sender lives in `self`, so the wait can only end with the value.
        let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
    }

    pub(super) fn view(&self) -> ServerView {
        let known = self.known();
        ServerView {
            name: self.config.name.clone(),
            config: self.config.clone(),
            state: known.state.clone(),
            software: known.software.clone(),
            protocol: known.protocol.clone(),
            instructions: known.instructions.clone(),
            offers: known.offers.clone(),
            tools: Arc::clone(&known.tools),
            listed_order: Arc::clone(&known.order),
            ttl: known.ttl,
            cache_scope: known.cache_scope.clone(),
            listed: known.listed,
            notes: self.notes.texts(),
            log: self.notes.log_text(),
        }
    }

    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.known().tools.iter().any(|tool| tool.name == name)
    }

    /// Whether its last list has outlived what it said.
    pub(super) fn is_stale(&self) -> bool {
        let known = self.known();
        let (Some(ttl), Some(at), Some(_)) = (known.ttl, known.asked_at, &known.link) else { return false };
        // A list that may not be kept at all is still not asked for with each message.
        at.elapsed() >= ttl.max(SHORTEST_TTL)
    }

    /// Takes in a connection that stands.
    pub(super) fn connected(&self, link: Link) {
        let info = link.info();
        let mut known = self.known();
        if let Some(info) = info {
            known.software =
                info.server_info.as_ref().map(|about| (about.name.clone(), about.version.clone()));
            known.protocol = Some(info.protocol_version.as_str().to_owned());
            known.instructions =
                info.instructions.as_deref().filter(|text| !text.trim().is_empty()).map(|text| {
                    if text.len() <= LONGEST_INSTRUCTIONS {
                        return text.to_owned();
                    }
                    self.notes.add(&format!("its instructions have {} bytes and are cut", text.len()));
                    cut(text, LONGEST_INSTRUCTIONS)
                });
            let capabilities = &info.capabilities;
            let offers = [
                ("resources", capabilities.resources.is_some()),
                ("prompts", capabilities.prompts.is_some()),
            ];
            known.offers = offers.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
        }
        known.link = Some(link);
    }

    /// Sets how it is; from then on nobody waits for it.
    pub(super) fn set(&self, state: State) {
        {
            let mut known = self.known();
            if state != State::Ready {
                known.link = None;
            }
            known.state = state;
        }
        self.settled.send_replace(true);
        self.changed.send_modify(|count| *count += 1);
    }

    /// Whether it has ever been ready.
    pub(super) fn was_ready(&self) -> bool {
        self.known().listed > 0
    }

    /// Lists its tools, all pages.
    pub(super) async fn list_tools(&self) -> Result<(), McpError> {
        let mut listed = Listed::default();
        let mut lives = Lives::default();
        self.known().asked_at = Some(Instant::now());
        if let Transport::Local(local) = &self.config.transport {
            local.tools().into_iter().for_each(|tool| listed.add(tool.of_server(&self.config.name)));
        } else {
            self.pages("tools/list", &mut |page| {
                listed.add_page(&self.config.name, page);
                lives.add_page(page);
            })
            .await?;
        }
        listed.remarks.iter().for_each(|remark| self.notes.add(remark));
        let is_new = {
            let mut known = self.known();
            let is_new = known.tools[..] != listed.tools[..] || known.order[..] != listed.order[..];
            known.tools = listed.tools.into();
            known.order = listed.order.into();
            (known.ttl, known.cache_scope) = (lives.ttl, lives.scope);
            known.listed += 1;
            is_new
        };
        if is_new {
            self.changed.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    /// Takes in all pages of a list.
    pub(super) async fn pages(
        &self,
        method: &str,
        take: &mut (dyn FnMut(Node<'_>) + Send),
    ) -> Result<(), McpError> {
        let mut cursor: Option<String> = None;
        let mut seen = BTreeSet::new();
        for _ in 0..MOST_PAGES {
            let members = cursor.as_deref().map(|cursor| text_member("cursor", cursor)).unwrap_or_default();
            let page = self.ask(method, members).await?;
            let body = result(&page).ok_or_else(|| self.not_understood(method))?;
            take(body.root());
            let Some(next) = next_cursor(body.root()) else { return Ok(()) };
            if !seen.insert(next.clone()) {
                break;
            }
            cursor = Some(next);
        }
        self.notes.add(&format!("its answers to `{method}` have no end; what came first is taken"));
        Ok(())
    }

    pub(super) async fn ask(&self, method: &str, members: Vec<u8>) -> Result<Bytes, McpError> {
        let request = Request { method, members: members.into(), patience: self.config.timeout };
        self.link()?.request(request, std::future::pending(), &|_| ()).await
    }

    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Bytes,
        cancelled: impl Future<Output = ()> + Send,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<CallOutput, McpError> {
        let patience = self.config.call_timeout;
        let method = "tools/call";
        if let Transport::Local(local) = &self.config.transport {
            let timeout = || McpError::Timeout {
                server: self.config.name.clone(),
                method: method.to_owned(),
                patience,
            };
            return tokio::select! {
                biased;
                () = cancelled => Err(McpError::Cancelled),
                output = tokio::time::timeout(patience, local.call(tool, arguments)) => output.map_err(|_| timeout()),
            };
        }
        let mut members = text_member("name", tool);
        members.extend_from_slice(b",\"arguments\":");
        members.extend_from_slice(arguments.trim_ascii());
        let request = Request { method, members: members.into(), patience };
        let result = self.link()?.request(request, cancelled, progress).await?;
        CallOutput::read(&result).ok_or_else(|| self.not_understood(method))
    }

    pub(super) fn not_understood(&self, method: &str) -> McpError {
        McpError::NotUnderstood {
            server: self.config.name.clone(),
            method: method.to_owned(),
            what: "the result is no object".to_owned(),
        }
    }

    fn link(&self) -> Result<Link, McpError> {
        let known = self.known();
        known.link.clone().ok_or_else(|| {
            let why = known.state.why().unwrap_or("it is still starting");
            McpError::NotConnected { server: self.config.name.clone(), why: why.to_owned() }
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a list lives, over its pages: the shortest, and private if one page is.
#[derive(Default)]
struct Lives {
    pages: u64,
    ttl: Option<Duration>,
    scope: Option<String>,
}

impl Lives {
    fn add_page(&mut self, page: Node<'_>) {
        let ttl = page.get("ttlMs").and_then(Node::u64).map(Duration::from_millis);
        let scope = page.get("cacheScope").and_then(Node::str).map(|scope| scope.into_owned());
        self.pages += 1;
        if self.pages == 1 {
            (self.ttl, self.scope) = (ttl, scope);
            return;
        }
        self.ttl = self.ttl.zip(ttl).map(|(one, other)| one.min(other));
        if scope.as_deref() == Some("private") || self.scope.as_deref() != Some("private") && scope.is_none()
        {
            self.scope = scope;
        }
    }
}

/// Pages of one list.
const MOST_PAGES: usize = 200;

/// Bytes of instructions that reach a model.
const LONGEST_INSTRUCTIONS: usize = 16 << 10;

/// The shortest time between two lists for age alone.
const SHORTEST_TTL: Duration = Duration::from_secs(5);
