//! `web_fetch`: the text of a page of the web.

mod entities;
mod html;

use std::sync::Arc;

use antefix_wire::json::Body;
use encoding_rs::Encoding;
use url::Url;

use crate::spill::Page;
use crate::tool::built_in;
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool};

/// Brings a page from where it is. This crate speaks no HTTP; whoever implements this decides which addresses may be
/// connected to, how much is read and how long that may take.
pub trait Fetcher: Send + Sync + 'static {
    /// Gets a page: `url` is absolute, `http` or `https`.
    ///
    /// # Errors
    /// [`Failure`] in words for the model.
    fn get<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, Failure>>;
}

/// A page as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Where it came from.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// `content-type`
    pub content_type: Option<String>,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// There was more than is read.
    pub is_cut: bool,
    /// The address on another host that the page redirects to.
    pub elsewhere: Option<String>,
}

/// `web_fetch`: the text of a page of the web.
///
/// Of HTML only the text is given, with marks for headings, list items and links; other text is given as it is, and
/// what is no text is refused. A redirect to another host is told and not followed, so that a rule for that host
/// decides about it.
pub struct WebFetch {
    definition: Definition,
    fetcher: Arc<dyn Fetcher>,
}

impl WebFetch {
    /// Makes the tool.
    pub fn new(fetcher: Arc<dyn Fetcher>) -> Self {
        Self { definition: built_in(NAME, DESCRIPTION, SCHEMA), fetcher }
    }
}

impl Tool for WebFetch {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Nothing
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        Box::pin(async move { self.fetch(context, &input).await.into() })
    }
}

impl WebFetch {
    async fn fetch(&self, context: &Context, input: &Body) -> Result<Output, Failure> {
        let given = Fields::new(input)?.string("url", "an address")?;
        let url = address(&given).ok_or_else(|| not_an_address(&given))?;
        let fetched = tokio::select! {
            biased;
            () = context.cancellation.cancelled() => return Err(Failure::new("cancelled by the user")),
            fetched = self.fetcher.get(url.as_str()) => fetched?,
        };
        if let Some(elsewhere) = &fetched.elsewhere {
            return Ok(Output::text(format!(
                "{} redirects to another host, which was not asked: {elsewhere}",
                fetched.url
            )));
        }
        let text = text_of(&fetched)?;
        let context = context.clone();
        let shown = tokio::task::spawn_blocking(move || show(&context, &fetched, &text)).await;
        shown.map_err(|_| Failure::new("the page could not be shown"))
    }
}

impl std::fmt::Debug for WebFetch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebFetch").finish_non_exhaustive()
    }
}

/// The address that a text is, if it is one of the web: what is fetched, and what rules are compared with.
pub(crate) fn address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_web =
        matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty());
    (is_web && url.username().is_empty() && url.password().is_none()).then_some(url)
}

/// Why no address is fetched from a text.
pub(crate) fn not_an_address(text: &str) -> Failure {
    let start: String = text.chars().take(200).collect();
    Failure::new(format!("`{start}` is no address like `https://host/path`, without user and password"))
}

fn show(context: &Context, fetched: &Fetched, text: &str) -> Output {
    let mut page = Page::new(context, usize::MAX, SHOWN_BYTES);
    text.lines().for_each(|line| page.push("", line, true));
    if fetched.is_cut {
        page.close();
    }
    let shown = page.finish(context, "web", "lines");
    let rest = shown.rest.map(|rest| format!("\n[{rest}]")).unwrap_or_default();
    let kind =
        fetched.content_type.as_deref().map(|kind| format!(", {}", media_type(kind))).unwrap_or_default();
    let head = format!("{} (status {}{kind})", fetched.url, fetched.status);
    let text = format!("{head}\n\n{}{rest}", shown.text.trim_end());
    if fetched.status < 400 { Output::text(text) } else { Output::error(text) }
}

/// The text of a page.
fn text_of(fetched: &Fetched) -> Result<String, Failure> {
    let kind = media_type(fetched.content_type.as_deref().unwrap_or("text/plain"));
    let is_html = matches!(kind.as_str(), "text/html" | "application/xhtml+xml");
    let is_text = kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || TEXT_TYPES.contains(&kind.as_str());
    if !is_text || !is_html && fetched.body.iter().take(SNIFFED).any(|byte| *byte == 0) {
        let size = fetched.body.len();
        return Err(Failure::new(format!("{} is `{kind}` of {size} bytes, which is no text", fetched.url)));
    }
    let encoding = encoding(fetched, is_html);
    let (text, ..) = encoding.decode(&fetched.body);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let control = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    let text = text.replace(control, "\u{fffd}");
    Ok(if is_html { html::text(&text) } else { text })
}

/// `text/html` of `Text/HTML; charset=utf-8`
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What the header says, else what the page says in its first bytes, else UTF-8.
fn encoding(fetched: &Fetched, is_html: bool) -> &'static Encoding {
    let of = |text: &str| {
        let lower = text.to_ascii_lowercase();
        let (_, rest) = lower.split_once("charset=")?;
        let label = rest.trim_start_matches(['"', '\'']).split(['"', '\'', ';', ' ', '>', '/']).next()?;
        Encoding::for_label(label.as_bytes())
    };
    let said = fetched.content_type.as_deref().and_then(of);
    let start = || String::from_utf8_lossy(fetched.body.get(..SNIFFED).unwrap_or(&fetched.body));
    said.or_else(|| of(&start()).filter(|_| is_html)).unwrap_or(encoding_rs::UTF_8)
}

/// The tool's name.
pub(crate) const NAME: &str = "web_fetch";

const DESCRIPTION: &str = "Gets a page of the web with GET and gives its text: of HTML the text only, other text as it \
is. `http` becomes `https`; addresses of private networks are refused unless the user allows them; a redirect to \
another host is told, not followed. Long pages are cut, and the rest is in a file that `read` can page.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "url": {"type": "string", "description": "The address, with `https://`"}
    },
    "required": ["url"]
}"#;

/// Bytes of text that are shown; the rest is kept in a file.
const SHOWN_BYTES: usize = 30_000;

/// Bytes at the start that are looked at to tell what a body is.
const SNIFFED: usize = 1_024;

const TEXT_TYPES: [&str; 9] = [
    "application/json",
    "application/xml",
    "application/javascript",
    "application/ecmascript",
    "application/x-ndjson",
    "application/toml",
    "application/yaml",
    "application/x-yaml",
    "application/sql",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the same page to everybody.
    struct Given(Fetched);

    impl Fetcher for Given {
        fn get<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, Failure>> {
            let url = if self.0.url.is_empty() { url.to_owned() } else { self.0.url.clone() };
            Box::pin(async move { Ok(Fetched { url, ..self.0.clone() }) })
        }
    }

    fn page(content_type: &str, body: &[u8]) -> Fetched {
        let content_type = (!content_type.is_empty()).then(|| content_type.to_owned());
        Fetched { status: 200, content_type, body: body.to_vec(), ..Fetched::default() }
    }

    async fn fetch(context: &Context, page: Fetched, url: &str) -> (String, bool) {
        let input = Body::parse(format!("{{\"url\":\"{url}\"}}")).unwrap();
        let output = WebFetch::new(Arc::new(Given(page))).call(context, input).await;
        (output.as_text(), output.is_error)
    }

    #[tokio::test]
    async fn what_a_page_is_decides_what_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let context = Context::new(folder.path(), folder.path().join("kept"));
        for (content_type, body, expect, is_error) in [
            (
                "text/html",
                &b"<h1>A</h1><p>b"[..],
                "https://x.example/ (status 200, text/html)\n\n# A\n\nb",
                false,
            ),
            (
                "Text/HTML; charset=ISO-8859-1",
                b"caf\xe9",
                "https://x.example/ (status 200, text/html)\n\ncaf\u{e9}",
                false,
            ),
            (
                "text/html",
                b"<meta charset=\"latin1\">\xe9",
                "https://x.example/ (status 200, text/html)\n\n\u{e9}",
                false,
            ),
            (
                "text/plain",
                b"a\r\nb\x1b[2J\xff",
                "https://x.example/ (status 200, text/plain)\n\na\nb\u{fffd}[2J\u{fffd}",
                false,
            ),
            ("", b"\xef\xbb\xbfplain", "https://x.example/ (status 200)\n\nplain", false),
            (
                "application/ld+json",
                b"{\"<b>\":1}",
                "https://x.example/ (status 200, application/ld+json)\n\n{\"<b>\":1}",
                false,
            ),
            ("image/png", b"\x89PNG", "https://x.example/ is `image/png` of 4 bytes, which is no text", true),
            ("text/plain", b"a\0b", "https://x.example/ is `text/plain` of 3 bytes, which is no text", true),
        ] {
            let (text, failed) = fetch(&context, page(content_type, body), "https://x.example").await;
            assert_eq!((text.as_str(), failed), (expect, is_error), "{content_type}");
        }
    }

    #[tokio::test]
    async fn what_is_no_address_is_not_asked_for() {
        let context = Context::new("/w", "/s");
        for url in [
            "x",
            "file:///etc/passwd",
            "https://u:p@x.example/",
            "https://u@x.example/",
            "https://",
            "ftp://x/",
        ] {
            let (text, failed) = fetch(&context, page("", b"never seen"), url).await;
            assert!(failed && text.starts_with(&format!("`{url}` is no address")), "{text}");
        }
    }

    #[tokio::test]
    async fn errors_redirects_and_long_pages_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let context = Context::new(folder.path(), folder.path().join("kept"));
        let missing = Fetched { status: 404, ..page("text/plain", b"not there") };
        let (text, failed) = fetch(&context, missing, "https://x.example/a").await;
        assert_eq!(
            (text.as_str(), failed),
            ("https://x.example/a (status 404, text/plain)\n\nnot there", true)
        );
        let moved = Fetched { elsewhere: Some("https://y.example/".to_owned()), ..page("", b"") };
        let (text, failed) = fetch(&context, moved, "https://x.example/a").await;
        let expect = "https://x.example/a redirects to another host, which was not asked: https://y.example/";
        assert_eq!((text.as_str(), failed), (expect, false));
        let line = "x".repeat(99);
        let long = page("text/plain", format!("{line}\n").repeat(1_000).as_bytes());
        let first = fetch(&context, long.clone(), "https://x.example/").await;
        assert!(
            first.0.len() < 31_000 && first.0.contains("[the first 300 of 1000 lines; all are in "),
            "{}",
            first.0
        );
        assert_eq!(first, fetch(&context, long, "https://x.example/").await, "the same page, the same bytes");
    }

    #[test]
    fn the_definition_is_frozen() {
        let tool = WebFetch::new(Arc::new(Given(Fetched::default())));
        let digest = blake3::hash(tool.definition().json().as_bytes()).to_hex();
        assert_eq!(&digest[..16], "806f15002751e728", "a changed byte costs every new session its cache");
    }
}
