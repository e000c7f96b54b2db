//! All servers of a session.

mod catalogue;
mod keeper;
mod server;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use antefix_http::client::Proxies;
use antefix_wire::json::{Body, Kind, Node, write_string};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::call::{CallOutput, Content, Progress};
use crate::config::ServerConfig;
use crate::error::McpError;
use crate::offer::{PromptInfo, PromptMessage, ResourceInfo, resource_contents};
use crate::question::Questions;
use server::Server;

pub use catalogue::{Catalogue, ServerView, State};

/// All servers of a session. Dropped, it ends them.
pub struct Hub {
    servers: BTreeMap<String, Arc<Server>>,
    changed: watch::Sender<u64>,
    keepers: tokio::sync::Mutex<JoinSet<()>>,
    stopping: watch::Sender<bool>,
}

impl Hub {
    /// Starts all servers at once and returns; of two with one name the first holds.
    ///
    /// Must be called within a Tokio runtime.
    pub fn start(configs: Vec<ServerConfig>, options: Options) -> Self {
        let (changed, stopping) = (watch::Sender::new(0), watch::Sender::new(false));
        let options = Arc::new(options);
        let mut servers = BTreeMap::new();
        for config in configs {
            let name = config.name.clone();
            servers
                .entry(name)
                .or_insert_with(|| Arc::new(Server::new(config, Arc::clone(&options), changed.clone())));
        }
        let mut keepers = JoinSet::new();
        for server in servers.values() {
            keepers.spawn(keeper::keep(Arc::clone(server), stopping.subscribe()));
        }
        Self { servers, changed, keepers: tokio::sync::Mutex::new(keepers), stopping }
    }

    /// A hub without servers.
    pub fn empty() -> Self {
        let (changed, stopping) = (watch::Sender::new(0), watch::Sender::new(false));
        Self { servers: BTreeMap::new(), changed, keepers: tokio::sync::Mutex::default(), stopping }
    }

    /// Waits until each of these servers has come up or has failed once. A server takes no longer than its own
    /// timeout, and one that was waited for is not waited for again, whatever becomes of it.
    pub async fn ready(&self, wait: Wait) {
        for server in self.servers.values() {
            if wait == Wait::All || server.config.required {
                server.settled().await;
            }
        }
    }

    /// What is known of all servers now.
    pub fn catalogue(&self) -> Catalogue {
        Catalogue { servers: self.servers.values().map(|server| server.view()).collect() }
    }

    /// Goes up whenever [`Hub::catalogue`] would be another.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Has the tools of those servers listed anew whose last list has outlived what they said it would live (`ttlMs`),
    /// and gives how many those are. Waits for none: [`Hub::changed`] tells what comes of it, and one that does not
    /// answer keeps its last list.
    pub fn refresh(&self) -> usize {
        let stale = self.servers.values().filter(|server| server.is_stale());
        stale.map(|server| server.outdated.notify_one()).count()
    }

    /// Lists the tools of a server anew and gives what is known of it then.
    ///
    /// # Errors
    /// [`McpError`]; what was listed last goes on holding.
    pub async fn list(&self, server: &str) -> Result<ServerView, McpError> {
        let server = self.server(server)?;
        server.list_tools().await?;
        Ok(server.view())
    }

    /// Calls a tool. When `cancelled` is done, or when no answer and no progress comes for as long as the
    /// configuration says, the server is told that nobody waits any more. Dropping the future tells it nothing.
    ///
    /// # Errors
    /// [`McpError`]. That the tool itself failed is a [`CallOutput`] with `is_error`.
    pub async fn call(
        &self,
        call: Call<'_>,
        cancelled: impl Future<Output = ()> + Send,
        progress: impl Fn(Progress) + Send + Sync,
    ) -> Result<CallOutput, McpError> {
        let server = self.server(call.server)?;
        let is_object =
            Body::parse(call.arguments.as_ref()).is_ok_and(|body| body.root().kind() == Kind::Object);
        if !is_object {
            return Err(McpError::Arguments { tool: call.tool.to_owned() });
        }
        if !server.has_tool(call.tool) {
            return Err(McpError::NoTool { server: call.server.to_owned(), tool: call.tool.to_owned() });
        }
        server.call(call.tool, call.arguments, cancelled, &progress).await
    }

    /// The resources a server lists.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn resources(&self, server: &str) -> Result<Vec<ResourceInfo>, McpError> {
        let mut found = Vec::new();
        let take = &mut |page: Node<'_>| found.extend(ResourceInfo::read_page(page));
        self.server(server)?.pages("resources/list", take).await?;
        found.sort_by(|one, other| one.uri.cmp(&other.uri));
        Ok(found)
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Vec<Content>, McpError> {
        let (method, server) = ("resources/read", self.server(server)?);
        let read = server.ask(method, text_member("uri", uri)).await?;
        resource_contents(&read).ok_or_else(|| server.not_understood(method))
    }

    /// The prompts a server lists.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn prompts(&self, server: &str) -> Result<Vec<PromptInfo>, McpError> {
        let mut found = Vec::new();
        let take = &mut |page: Node<'_>| found.extend(PromptInfo::read_page(page));
        self.server(server)?.pages("prompts/list", take).await?;
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// A prompt with these arguments put in.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptMessage>, McpError> {
        let (method, server) = ("prompts/get", self.server(server)?);
        let mut members = text_member("name", name);
        members.extend_from_slice(b",\"arguments\":{");
        let arguments: Vec<Vec<u8>> = arguments.iter().map(|(key, value)| text_member(key, value)).collect();
        members.extend_from_slice(&arguments.join(&b","[..]));
        members.push(b'}');
        let got = server.ask(method, members).await?;
        PromptMessage::read_all(&got).ok_or_else(|| server.not_understood(method))
    }

    /// Ends all servers and waits until they are gone.
    pub async fn stop(&self) {
        self.stopping.send_replace(true);
        let mut keepers = self.keepers.lock().await;
        while keepers.join_next().await.is_some() {}
    }

    fn server(&self, name: &str) -> Result<&Arc<Server>, McpError> {
        self.servers.get(name).ok_or_else(|| McpError::NoServer(name.to_owned()))
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.servers.keys()).finish()
    }
}

/// What all servers have in common.
#[derive(Clone)]
pub struct Options {
    /// The folder servers start in.
    pub folder: PathBuf,
    /// The variables of servers that are processes; what must not reach them is left out by the caller.
    pub environment: Vec<(OsString, OsString)>,
    /// Proxies of servers over HTTP.
    pub proxies: Proxies,
    /// Our name and version, as servers are told.
    pub client: (String, String),
    /// Whoever puts questions of servers to the user; without, servers are not told that they may ask.
    pub questions: Option<Arc<dyn Questions>>,
}

impl Options {
    /// Options without variables, proxies and questions.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            environment: Vec::new(),
            proxies: Proxies::default(),
            client: ("antefix".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            questions: None,
        }
    }
}

/// Which servers to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Those that the configuration calls required.
    Required,
    /// All.
    All,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The server's key.
    pub server: &'a str,
    /// The tool's name, as the server calls it.
    pub tool: &'a str,
    /// The text of a JSON object, which the server gets as it is.
    pub arguments: Bytes,
}

/// The members of parameters that hold one text.
fn text_member(key: &str, text: &str) -> Vec<u8> {
    let mut members = Vec::new();
    write_string(&mut members, key);
    members.push(b':');
    write_string(&mut members, text);
    members
}
