//! Pages from a scripted server on the loopback, which must be allowed first.

use antefix_http::fetch::{FetchError, Page, Web, WebOptions};

use crate::upstream::{Act, Upstream, within};

fn answer(head: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    vec![
        Act::Head,
        Act::Send(format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()),
        Act::Finish,
    ]
}

fn web(server: &Upstream) -> Web {
    Web::new(WebOptions { private_hosts: vec![server.addr.to_string()], ..WebOptions::default() })
}

async fn get(web: &Web, url: &str) -> Result<Page, String> {
    within(web.get(url)).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_page_comes_as_it_is() {
    let server = Upstream::start(vec![answer("200 OK\r\ncontent-type: text/html", "<p>Hi")]).await;
    let url = format!("{}/a?b=c%20d", server.base_url());
    let page = get(&web(&server), &format!("{url}#part")).await.unwrap();
    let expect = Page {
        url,
        status: 200,
        content_type: Some("text/html".to_owned()),
        body: b"<p>Hi".to_vec(),
        is_cut: false,
        elsewhere: None,
    };
    assert_eq!(page, expect);
    let head = &server.seen().await[0].head;
    assert!(head.starts_with("GET /a?b=c%20d HTTP/1.1\r\n"), "{head}");
    for name in ["cookie", "authorization", "referer"] {
        assert!(!head.contains(name), "{head}");
    }
}

#[tokio::test]
async fn redirects_stay_on_the_host_and_have_an_end() {
    let to = |place: &str| answer(&format!("302 Found\r\nlocation: {place}"), "");
    let server = Upstream::start(vec![to("/b"), answer("200 OK", "there")]).await;
    let page = get(&web(&server), &server.base_url()).await.unwrap();
    assert_eq!((page.url, page.body), (format!("{}/b", server.base_url()), b"there".to_vec()));

    for elsewhere in ["https://elsewhere.example/x", "http://169.254.169.254/latest", "http://127.0.0.1/"] {
        let server = Upstream::start(vec![to(elsewhere)]).await;
        let page = get(&web(&server), &server.base_url()).await.unwrap();
        assert_eq!(page.elsewhere, Some(elsewhere.replace("http:", "https:")), "it is told and not asked");
    }
    let server = Upstream::start((0..6).map(|_| to("/again")).collect()).await;
    let error = get(&web(&server), &server.base_url()).await.unwrap_err();
    assert!(error.ends_with("redirects more than 5 times"), "{error}");
    assert_eq!(server.seen().await.len(), 6);

    let server = Upstream::start(vec![to("file:///etc/passwd")]).await;
    let error = get(&web(&server), &server.base_url()).await.unwrap_err();
    assert_eq!(error, "`file:///etc/passwd` begins with neither `https://` nor `http://`");
}

#[tokio::test]
async fn bodies_have_a_largest_size_and_no_encoding() {
    let server = Upstream::start(vec![answer("200 OK", "0123456789")]).await;
    let options =
        WebOptions { largest: 4, private_hosts: vec!["127.0.0.1".to_owned()], ..WebOptions::default() };
    let page = get(&Web::new(options), &server.base_url()).await.unwrap();
    assert_eq!((page.body, page.is_cut), (b"0123".to_vec(), true));
    let server = Upstream::start(vec![answer("200 OK\r\ncontent-encoding: gzip", "x")]).await;
    let error = get(&web(&server), &server.base_url()).await.unwrap_err();
    assert_eq!(error, "the answer is encoded as `gzip`, which was not asked for");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up() {
    let server = Upstream::start(vec![vec![Act::Head, Act::Hold]]).await;
    let options = WebOptions {
        time: std::time::Duration::from_secs(5),
        private_hosts: vec![server.addr.to_string()],
        ..WebOptions::default()
    };
    let error = Web::new(options).get(&server.base_url()).await.unwrap_err();
    assert!(matches!(error, FetchError::Time(_) | FetchError::Http(_)), "{error}");
}

/// Nothing listens for what is refused, and no name of the open internet is asked for.
#[tokio::test]
async fn what_is_not_public_is_refused_however_it_is_written() {
    let web = Web::new(WebOptions { private_hosts: vec!["127.0.0.1:1".to_owned()], ..WebOptions::default() });
    for (url, expect) in [
        ("https://127.0.0.1/", "`127.0.0.1` is at 127.0.0.1, which is no public address"),
        ("https://127.1/", "`127.0.0.1` is at 127.0.0.1, which is no public address"),
        ("https://2130706433/", "`127.0.0.1` is at 127.0.0.1, which is no public address"),
        ("https://0x7f.0.0.1/", "`127.0.0.1` is at 127.0.0.1, which is no public address"),
        ("https://0177.0.0.1/", "`127.0.0.1` is at 127.0.0.1, which is no public address"),
        ("https://127.0.0.1:2/", "`127.0.0.1` is at 127.0.0.1, which is no public address"),
        ("http://169.254.169.254/", "`169.254.169.254` is at 169.254.169.254, which is no public address"),
        ("https://[::1]/", "`[::1]` is at ::1, which is no public address"),
        ("https://[::ffff:10.0.0.1]/", "`[::ffff:a00:1]` is at ::ffff:10.0.0.1, which is no public address"),
        (
            "https://[64:ff9b::7f00:1]/",
            "`[64:ff9b::7f00:1]` is at 64:ff9b::7f00:1, which is no public address",
        ),
        ("https://localhost/", "`localhost` is at "),
        ("http://1.1.1.1:8080/", "`http://1.1.1.1:8080/` asks for a port without TLS"),
        ("https://a@1.1.1.1/", "`https://a@1.1.1.1/` holds a user or a password"),
        ("file:///etc/passwd", "`file:///etc/passwd` begins with neither `https://` nor `http://`"),
        ("ftp://1.1.1.1/", "`ftp://1.1.1.1/` begins with neither `https://` nor `http://`"),
        ("1.1.1.1", "`1.1.1.1` is no address"),
        ("https:///", "`https:///` is no address"),
    ] {
        let error = get(&web, url).await.unwrap_err();
        assert!(error.starts_with(expect), "{url}: {error}");
    }
}
