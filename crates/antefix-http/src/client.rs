//! The client: one request out, one answer in, byte for byte.

mod classify;
mod incoming;
mod outgoing;
mod retry_after;
mod tls;

pub use incoming::Incoming;
pub use outgoing::{HeaderText, Observer, Outgoing, Secret};
pub use retry_after::retry_after;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body::Body as _;

use crate::error::{Fault, HttpError, in_words};
use outgoing::{OutgoingBody, Progress};

/// Sends requests to one server. Cheap to clone; clones share their connections.
///
/// Redirects are not followed, nothing is retried, nothing is decompressed. Dropping the future of
/// [`send`](Client::send) or the [`Incoming`] it gave cancels the exchange.
#[derive(Clone)]
pub struct Client {
    inner: reqwest::Client,
    base: reqwest::Url,
    timeouts: Timeouts,
}

impl Client {
    /// Prepares a client; connects to nothing. TLS is set up, and the platform's root certificates are read,
    /// only if the server or a proxy is `https`.
    ///
    /// # Errors
    /// [`Fault::Url`], [`Fault::ProxyAddress`] or [`Fault::Roots`].
    pub fn new(options: ClientOptions) -> Result<Self, HttpError> {
        let base = base_url(&options.base_url)?;
        let needs_tls = base.scheme() == "https" || options.proxies.any_https();
        let config = if needs_tls { tls::trusting(&options.extra_roots)? } else { tls::unused()? };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(options.connect_timeout);
        if let Some(host) = base.host_str().filter(|_| !options.addresses.is_empty()) {
            builder = builder.resolve_to_addrs(host, &options.addresses);
        }
        for proxy in options.proxies.build()? {
            builder = builder.proxy(proxy);
        }
        let inner = builder.build().map_err(|_| {
            HttpError::new(Fault::Other, false, "the HTTP client could not be set up".to_owned())
        })?;
        let timeouts = Timeouts { header: options.header_timeout, idle: options.idle_timeout };
        Ok(Self { inner, base, timeouts })
    }

    /// Sends a request and waits for the answer's head; the body follows through [`Incoming::chunk`].
    ///
    /// A status of 400 or more is an answer, not an error. When the server answers before it has read the
    /// whole body, the rest is still handed on until the [`Incoming`] is dropped.
    ///
    /// # Errors
    /// [`HttpError`] says whose fault it is and whether a byte may have left.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Incoming, HttpError> {
        let progress = Arc::new(Progress::default());
        let request = self.request(outgoing, &progress)?;
        let answer = progress.wait(self.timeouts.header, self.inner.execute(request)).await;
        match answer {
            Some(Ok(response)) => Ok(Incoming::new(response, self.host(), self.timeouts.idle)),
            Some(Err(error)) => Err(classify::failed(&error, &self.host(), progress.started())),
            None => {
                let limit = in_words(self.timeouts.header);
                let text = format!("`{}` sent no answer within {limit}", self.host());
                Err(HttpError::new(Fault::HeaderTimeout, progress.started(), text))
            }
        }
    }

    /// The server's host and port, for messages.
    pub fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        self.base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    fn request(&self, outgoing: Outgoing, progress: &Arc<Progress>) -> Result<reqwest::Request, HttpError> {
        let method = reqwest::Method::from_bytes(outgoing.method.as_bytes()).map_err(|_| {
            HttpError::new(Fault::Url, false, format!("`{}` is not an HTTP method", outgoing.method))
        })?;
        let bodiless = outgoing.body.is_empty() && matches!(method.as_str(), "GET" | "HEAD");
        let mut request = reqwest::Request::new(method, self.url(&outgoing.path)?);
        for (name, value) in &outgoing.headers {
            let (name, value) = outgoing::header(name, value)?;
            request.headers_mut().append(name, value);
        }
        if !bodiless {
            let body = OutgoingBody::new(outgoing.body, outgoing.observe, Arc::clone(progress));
            if body.is_end_stream() {
                // The library leaves the length of an empty body out.
                request.headers_mut().insert(reqwest::header::CONTENT_LENGTH, 0.into());
            }
            *request.body_mut() = Some(reqwest::Body::wrap(body));
        }
        Ok(request)
    }

    fn url(&self, path: &str) -> Result<reqwest::Url, HttpError> {
        let unusable = || HttpError::new(Fault::Url, false, "the request's path cannot be used".to_owned());
        if !path.starts_with('/') || path.contains('#') {
            return Err(unusable());
        }
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url.set_query(query);
        Ok(url)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("host", &self.host()).finish_non_exhaustive()
    }
}

/// Where to send, and how long to wait.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// `http://` or `https://`, a host, and perhaps a port and a path that goes before each request's own.
    pub base_url: String,
    /// How long to wait for a connection, TLS and proxy included.
    pub connect_timeout: Duration,
    /// How long to wait for the answer's head, counted from the last piece of the request that was handed on.
    pub header_timeout: Duration,
    /// How long an answer may be silent. Any byte counts, so a stream that sends pings stays alive.
    pub idle_timeout: Duration,
    /// Proxies to go through.
    pub proxies: Proxies,
    /// Root certificates to trust beside the platform's, as PEM.
    pub extra_roots: Vec<u8>,
    /// Connect to these, tried in order, and do not resolve the host's name; resolve it if there are none.
    pub addresses: Vec<SocketAddr>,
}

impl ClientOptions {
    /// The defaults for a server: 15 s to connect, 10 min to the head, 5 min of silence, no proxy.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            connect_timeout: Duration::from_secs(15),
            header_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(300),
            proxies: Proxies::default(),
            extra_roots: Vec::new(),
            addresses: Vec::new(),
        }
    }
}

/// Proxies, as the variables `http_proxy`, `https_proxy` and `no_proxy` usually give them.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// For `http://` servers: `http://[user:password@]host:port`.
    pub http: Option<Secret>,
    /// For `https://` servers.
    pub https: Option<Secret>,
    /// Hosts, domains and address ranges that are reached directly, separated by commas; `*` is all of them.
    pub no_proxy: Option<String>,
}

impl Proxies {
    fn any_https(&self) -> bool {
        [&self.http, &self.https].into_iter().flatten().any(|proxy| proxy.expose().starts_with("https:"))
    }

    fn build(&self) -> Result<Vec<reqwest::Proxy>, HttpError> {
        let unusable = |scheme: &str| {
            let text = format!("the proxy for {scheme} servers is not `http://host:port`");
            HttpError::new(Fault::ProxyAddress, false, text)
        };
        let direct = self.no_proxy.as_deref().and_then(reqwest::NoProxy::from_string);
        let mut built = Vec::new();
        if let Some(proxy) = &self.http {
            let proxy = reqwest::Proxy::http(proxy.expose()).map_err(|_| unusable("http"))?;
            built.push(proxy.no_proxy(direct.clone()));
        }
        if let Some(proxy) = &self.https {
            let proxy = reqwest::Proxy::https(proxy.expose()).map_err(|_| unusable("https"))?;
            built.push(proxy.no_proxy(direct));
        }
        Ok(built)
    }
}

#[derive(Clone, Copy, Debug)]
struct Timeouts {
    header: Duration,
    idle: Duration,
}

fn base_url(text: &str) -> Result<reqwest::Url, HttpError> {
    let unusable = |why: &str| HttpError::new(Fault::Url, false, format!("the base URL {why}"));
    let url = reqwest::Url::parse(text.trim()).map_err(|_| unusable("is not a URL"))?;
    let why = if !matches!(url.scheme(), "http" | "https") {
        "must start with `http://` or `https://`"
    } else if !url.username().is_empty() || url.password().is_some() {
        "must not hold a user or password"
    } else if url.query().is_some() || url.fragment().is_some() {
        "must end with the path, without `?` or `#`"
    } else {
        return Ok(url);
    };
    Err(unusable(why))
}
