//! One connection to a server, once it stands.

mod tap;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, ElicitationCapability,
    FormElicitationCapability, Implementation, ProtocolVersion, ServerPeerInfo, UrlElicitationCapability,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RunningService, ServiceError};
use rmcp::{ClientLifecycleMode, Peer, RoleClient, serve_client_with_lifecycle};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::call::Progress;
use crate::error::{ConnectError, McpError};

pub(crate) use tap::{Answer, Changes, Tap};
pub(crate) use wire::{Carrier, Wire};

/// A connection that stands: requests go through it.
#[derive(Clone)]
pub(crate) struct Link {
    server: String,
    peer: Peer<RoleClient>,
    tap: Arc<Tap>,
}

/// What runs a connection; dropped, the connection ends.
pub(crate) type Running = RunningService<RoleClient, ClientConfig>;

/// What one request is.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// The members of its parameters, without the braces.
    pub(crate) members: Bytes,
    /// How long the server may be silent; while it waits for the user, it is not.
    pub(crate) patience: Duration,
}

impl Link {
    /// Shakes hands: as versions up to 2025-11-25 do, or, for a server that knows no such handshake, as
    /// `server/discover` of 2026-07-28 does, for which `wire` is asked a second time.
    pub(crate) async fn connect(
        wire: Wire,
        era: Era,
        client: (&str, &str),
    ) -> Result<(Self, Running), ConnectError> {
        let (server, tap) = (wire.server.clone(), Arc::clone(&wire.tap));
        let can_ask = wire.questions.as_ref().is_some_and(|questions| questions.is_anybody_there());
        let config = client_config(client, can_ask);
        let running = serve_client_with_lifecycle(config, wire, era.mode()).await;
        let running = running
            .map_err(|error| ConnectError::passing(tap.notes.short(&handshake_failure(&error), 400)))?;
        Ok((Self { server, peer: running.peer().clone(), tap }, running))
    }

    /// What the server has said of itself.
    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Asks, and gives the raw text of the result.
    pub(crate) async fn request(
        &self,
        request: Request<'_>,
        cancelled: impl Future<Output = ()>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Bytes, McpError> {
        let (sender, receiver) = mpsc::channel(PROGRESS_WAITING);
        let mut message = CustomRequest::new(request.method, None);
        message.extensions.insert(tap::Raw { members: request.members.clone(), progress: sender });
        let message = ClientRequest::CustomRequest(message);
        let handle = self.peer.send_cancellable_request(message, PeerRequestOptions::no_options()).await;
        let handle = handle.map_err(|error| self.failed(request.method, error))?;
        let pending = Pending { link: self, id: handle.id.to_string() };
        self.wait(handle, &request, cancelled, (receiver, progress)).await?;
        pending.answer(request.method)
    }

    async fn wait(
        &self,
        mut handle: RequestHandle<RoleClient>,
        request: &Request<'_>,
        cancelled: impl Future<Output = ()>,
        (mut receiver, progress): (mpsc::Receiver<Progress>, &(dyn Fn(Progress) + Sync)),
    ) -> Result<(), McpError> {
        let mut cancelled = std::pin::pin!(cancelled);
        let mut asking = self.tap.asking();
        let mut deadline = Instant::now() + request.patience;
        loop {
            let waits_for_user = *asking.borrow_and_update() > 0;
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    // What was said before the answer is told before it.
                    while let Ok(news) = receiver.try_recv() {
                        progress(news);
                    }
                    return match answer {
                        Ok(Ok(_)) => Ok(()),
                        Ok(Err(error)) => Err(self.failed(request.method, error)),
                        Err(_) => Err(self.failed(request.method, ServiceError::TransportClosed)),
                    };
                }
                Some(news) = receiver.recv() => {
                    deadline = Instant::now() + request.patience;
                    progress(news);
                }
                // While the user is asked the server waits, and is not silent.
                Ok(()) = asking.changed() => deadline = Instant::now() + request.patience,
                () = &mut cancelled => {
                    self.give_up(handle, "cancelled by the user").await;
                    return Err(McpError::Cancelled);
                }
                () = sleep_until(deadline), if !waits_for_user => {
                    self.give_up(handle, "no answer in time").await;
                    let (server, method) = (self.server.clone(), request.method.to_owned());
                    return Err(McpError::Timeout { server, method, patience: request.patience });
                }
            }
        }
    }

    /// Tells the server that nobody waits any more; a server that does not read is not waited for.
    async fn give_up(&self, handle: RequestHandle<RoleClient>, why: &str) {
        let _ = tokio::time::timeout(GIVE_UP, handle.cancel(Some(why.to_owned()))).await;
    }

    fn failed(&self, method: &str, error: ServiceError) -> McpError {
        let server = self.server.clone();
        let clean = |text: &str| self.tap.notes.short(text, 400);
        match error {
            ServiceError::McpError(error) => McpError::Refused {
                server,
                method: method.to_owned(),
                code: error.code.0.to_string(),
                message: clean(&error.message),
            },
            ServiceError::TransportClosed => {
                let last = self.tap.notes.last_words();
                let last = last.map(|words| format!("; its last words: {words}")).unwrap_or_default();
                McpError::NotConnected { server, why: format!("{}{last}", self.tap.notes.closed_for()) }
            }
            ServiceError::TransportSend(error) => {
                McpError::NotConnected { server, why: clean(&error.error.to_string()) }
            }
            error => {
                let what = clean(&error.to_string());
                McpError::NotUnderstood { server, method: method.to_owned(), what }
            }
        }
    }
}

/// Which handshake a server is greeted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize`, versions up to 2025-11-25.
    Initialize,
    /// `server/discover`, version 2026-07-28.
    Discover,
}

impl Era {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Discover => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
        }
    }
}

/// A request whose answer is taken from the tap; dropped, nothing of it stays behind.
struct Pending<'a> {
    link: &'a Link,
    id: String,
}

impl Pending<'_> {
    fn answer(&self, method: &str) -> Result<Bytes, McpError> {
        let (server, method) = (self.link.server.clone(), method.to_owned());
        match self.link.tap.take(&self.id) {
            Some(Answer::Result(result)) => Ok(result),
            Some(Answer::Error { code, message }) => {
                let message = self.link.tap.notes.short(&message, 2000);
                Err(McpError::Refused { server, method, code, message })
            }
            None => Err(McpError::NotUnderstood { server, method, what: "there is no result".to_owned() }),
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.link.tap.take(&self.id);
    }
}

fn client_config((name, version): (&str, &str), can_ask: bool) -> ClientConfig {
    let mut capabilities = ClientCapabilities::default();
    if can_ask {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        capabilities.elicitation = Some(elicitation);
    }
    ClientConfig::new(capabilities, Implementation::new(name, version))
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

fn handshake_failure(error: &rmcp::service::ClientInitializeError) -> String {
    use rmcp::service::ClientInitializeError as Error;
    match error {
        Error::ConnectionClosed(_) => "it ended before it had answered the handshake".to_owned(),
        Error::TransportError { error, .. } => error.error.to_string(),
        Error::JsonRpcError(error) => {
            format!("it refused the handshake with error {}: {}", error.code.0, error.message)
        }
        Error::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<_> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            format!(
                "it speaks no version of the protocol that is known here (it speaks: {})",
                versions.join(", ")
            )
        }
        Error::ExpectedInitResult(_) => "its answer to the handshake is not understood".to_owned(),
        other => format!("the handshake failed: {other}"),
    }
}

/// Words of progress of one call that wait to be taken.
const PROGRESS_WAITING: usize = 64;

/// How long it may take to tell a server that a request is cancelled.
const GIVE_UP: Duration = Duration::from_secs(1);
