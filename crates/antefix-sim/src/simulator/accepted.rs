use antefix_models::{Rules, Ttl};

use crate::answer::{self, Content};
use crate::binding::{Digest, Dropped};
use crate::check::markers;
use crate::config::Config;
use crate::edits::Applied;
use crate::error::ApiError;
use crate::render::{Rendered, render};
use crate::request::{Compact, Request};
use crate::script::Reply;

/// A request that has passed all checks.
pub(super) struct Accepted {
    /// As it was sent.
    pub(super) request: Request,
    /// As the model reads it, where that is not the same.
    pub(super) edited: Option<Request>,
    /// What was left out of it.
    pub(super) applied: Vec<Applied>,
    pub(super) rules: Rules,
    pub(super) scope: String,
    pub(super) blocks: Vec<Rendered>,
    pub(super) markers: Vec<(usize, Ttl)>,
    pub(super) dropped: Vec<Dropped>,
    /// Of what the client sent.
    pub(super) digest: Digest,
}

impl Accepted {
    /// The request as the model reads it.
    pub(super) fn prompt(&self) -> &Request {
        self.edited.as_ref().unwrap_or(&self.request)
    }

    fn tokens(&self) -> u64 {
        self.blocks.iter().map(|block| block.tokens).sum()
    }

    /// The summary that the provider makes before it answers: where it was asked for, the prompt is long enough or the
    /// script has it so.
    pub(super) fn summary(&self, reply: &Reply) -> Option<(Compact, String)> {
        let compact = self.request.params.edits.compact?;
        let is_due = self.tokens() >= compact.trigger || reply.summary.is_some();
        is_due.then(|| (compact, reply.summary.clone().unwrap_or_else(|| SUMMARY.to_owned())))
    }

    /// What the model reads behind that summary: the head, and the summary.
    pub(super) fn behind(&self, summary: &Content, config: &Config) -> Result<Self, ApiError> {
        let mut prompt = self.prompt().clone();
        prompt.messages = vec![answer::as_message(std::slice::from_ref(summary))?];
        let blocks = render(&prompt, &self.rules, config);
        Ok(Self {
            request: self.request.clone(),
            markers: markers(&prompt, &blocks, &self.rules)?,
            edited: Some(prompt),
            applied: self.applied.clone(),
            rules: self.rules.clone(),
            scope: self.scope.clone(),
            blocks,
            dropped: self.dropped.clone(),
            digest: self.digest,
        })
    }
}

/// What the provider makes of a conversation where the script does not say.
const SUMMARY: &str = "antefix-sim: what was said so far, in short.";
