//! The web as the tools see it.

use std::sync::Arc;

use antefix_http::fetch::{Web, WebOptions};
use antefix_tools::{BoxFuture, Failure, Fetched, Fetcher, WebFetch};

/// The tool that fetches pages of the open web, and of the hosts that may be private.
pub fn web_fetch(private_hosts: Vec<String>) -> WebFetch {
    WebFetch::new(Arc::new(Pages(Web::new(WebOptions { private_hosts, ..WebOptions::default() }))))
}

struct Pages(Web);

impl Fetcher for Pages {
    fn get<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, Failure>> {
        Box::pin(async move {
            let page = self.0.get(url).await.map_err(|error| Failure::new(error.to_string()))?;
            Ok(Fetched {
                url: page.url,
                status: page.status,
                content_type: page.content_type,
                body: page.body,
                is_cut: page.is_cut,
                elsewhere: page.elsewhere,
            })
        })
    }
}
