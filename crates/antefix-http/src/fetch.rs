//! Fetches pages of the open web. Each name is resolved once, what it resolves to is checked, and the connection goes
//! to that very address: a name that resolves otherwise the next time reaches nothing.

mod address;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::client::{Client, ClientOptions, Incoming, Outgoing};
use crate::error::{HttpError, in_words};
use address::is_public;

/// Fetches pages. It asks with `GET`, keeps no cookies, sends no header that says who asks, and uses no proxy, since
/// that would resolve the name itself.
#[derive(Clone, Debug)]
pub struct Web {
    options: WebOptions,
}

/// What may be fetched, and how much.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// Bytes of a body that are read at most.
    pub largest: usize,
    /// How long a fetch may take, redirects included.
    pub time: Duration,
    /// `host` or `host:port` that may have addresses of this machine or a private network, and may be asked without
    /// TLS.
    pub private_hosts: Vec<String>,
    /// Root certificates to trust beside the platform's, as PEM.
    pub extra_roots: Vec<u8>,
}

impl Default for WebOptions {
    /// 5 MiB, 30 s, public addresses only.
    fn default() -> Self {
        let time = Duration::from_secs(30);
        Self { largest: 5 << 20, time, private_hosts: Vec::new(), extra_roots: Vec::new() }
    }
}

/// A page as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it came from: the address behind redirects within the host.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// `content-type`
    pub content_type: Option<String>,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// There was more than may be read.
    pub is_cut: bool,
    /// The address on another host that the page redirects to, which was not asked.
    pub elsewhere: Option<String>,
}

/// Why a page could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address cannot be fetched from.
    #[error("`{url}` {why}")]
    Url {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The host is on this machine, on a private network, or nowhere.
    #[error("`{host}` is at {address}, which is no public address")]
    NotPublic {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
    },
    /// The host's name has no address.
    #[error("`{0}` has no address")]
    Unknown(String),
    /// There are more redirects than are followed.
    #[error("`{0}` redirects more than {REDIRECTS} times")]
    Redirects(String),
    /// It took too long.
    #[error("nothing whole came within {0}")]
    Time(String),
    /// The body is compressed although that was not asked for.
    #[error("the answer is encoded as `{0}`, which was not asked for")]
    Encoding(String),
    /// The exchange failed.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl Web {
    /// Makes a fetcher; connects to nothing.
    pub fn new(options: WebOptions) -> Self {
        Self { options }
    }

    /// Fetches a page. `http` becomes `https`, redirects within the host are followed, those to another are told.
    ///
    /// # Errors
    /// [`FetchError`]
    pub async fn get(&self, url: &str) -> Result<Page, FetchError> {
        let time = self.options.time;
        match tokio::time::timeout(time, self.follow(url)).await {
            Ok(page) => page,
            Err(_) => Err(FetchError::Time(in_words(time))),
        }
    }

    async fn follow(&self, url: &str) -> Result<Page, FetchError> {
        let mut target = self.target(url)?;
        for _ in 0..=REDIRECTS {
            let mut incoming = self.ask(&target).await?;
            let Some(next) = redirection(&incoming) else { return self.page(&target, &mut incoming).await };
            let next = target.join(next).map_err(|_| wrong(next, "is where it redirects, and no address"))?;
            let next = self.target(next.as_str())?;
            if (next.host_str(), next.port_or_known_default())
                != (target.host_str(), target.port_or_known_default())
            {
                return Ok(Page {
                    url: target.to_string(),
                    status: incoming.status,
                    content_type: None,
                    body: Vec::new(),
                    is_cut: false,
                    elsewhere: Some(next.to_string()),
                });
            }
            target = next;
        }
        Err(FetchError::Redirects(url.to_owned()))
    }

    /// Reads an address: `http` becomes `https`, and what a server is not sent is left out.
    fn target(&self, text: &str) -> Result<reqwest::Url, FetchError> {
        let mut url = reqwest::Url::parse(text).map_err(|_| wrong(text, "is no address"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(text, "begins with neither `https://` nor `http://`"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(text, "holds a user or a password"));
        }
        url.set_fragment(None);
        if url.scheme() == "http" && !self.may_be_private(&url) {
            if url.port().is_some() {
                return Err(wrong(text, "asks for a port without TLS"));
            }
            // INVARIANT: both are schemes of the web.
            let _ = url.set_scheme("https");
        }
        Ok(url)
    }

    fn may_be_private(&self, url: &reqwest::Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let with_port = url.port_or_known_default().map(|port| format!("{host}:{port}"));
        self.options.private_hosts.iter().any(|one| one == host || Some(one) == with_port.as_ref())
    }

    async fn ask(&self, url: &reqwest::Url) -> Result<Incoming, FetchError> {
        let addresses = self.addresses(url).await?;
        let mut origin = url.clone();
        origin.set_path("");
        origin.set_query(None);
        let mut options = ClientOptions::new(origin.to_string());
        (options.addresses, options.extra_roots) = (addresses, self.options.extra_roots.clone());
        (options.header_timeout, options.idle_timeout) = (self.options.time, self.options.time);
        let path =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let request = Outgoing::get(path)
            .header("accept", "text/html, text/*, application/json, application/xml;q=0.9, */*;q=0.1")
            .header("accept-encoding", "identity")
            .header("user-agent", "antefix");
        Ok(Client::new(options)?.send(request).await?)
    }

    /// What the host resolves to, if all of it may be connected to.
    async fn addresses(&self, url: &reqwest::Url) -> Result<Vec<SocketAddr>, FetchError> {
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(443);
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let found: Vec<SocketAddr> = match literal {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => tokio::net::lookup_host((host, port))
                .await
                .map_err(|_| FetchError::Unknown(host.to_owned()))?
                .collect(),
        };
        if found.is_empty() {
            return Err(FetchError::Unknown(host.to_owned()));
        }
        let refused = found.iter().find(|address| !is_public(address.ip()));
        match refused.filter(|_| !self.may_be_private(url)) {
            Some(address) => Err(FetchError::NotPublic { host: host.to_owned(), address: address.ip() }),
            None => Ok(found),
        }
    }

    async fn page(&self, url: &reqwest::Url, incoming: &mut Incoming) -> Result<Page, FetchError> {
        if let Some(encoding) = incoming.header("content-encoding").filter(|name| *name != "identity") {
            return Err(FetchError::Encoding(encoding.to_owned()));
        }
        let (body, is_whole) = incoming.read_up_to(self.options.largest).await?;
        Ok(Page {
            url: url.to_string(),
            status: incoming.status,
            content_type: incoming.header("content-type").map(str::to_owned),
            body,
            is_cut: !is_whole,
            elsewhere: None,
        })
    }
}

fn redirection(incoming: &Incoming) -> Option<&str> {
    let is_redirect = matches!(incoming.status, 301 | 302 | 303 | 307 | 308);
    incoming.header("location").filter(|_| is_redirect)
}

fn wrong(url: &str, why: &'static str) -> FetchError {
    FetchError::Url { url: url.to_owned(), why }
}

/// Redirects that are followed.
const REDIRECTS: usize = 5;
