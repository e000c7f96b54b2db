use antefix_models::Tokens;
use antefix_wire::json::{Body, Node};

/// When and in which words a conversation goes on from a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionSettings {
    /// The share of the context window, in thousandths, at which a prompt is compacted without being asked; `None`:
    /// never.
    ///
    /// Four fifths by default. The rest must hold the reply, the results that come before the next request, and the
    /// request for the summary; and a summary is the better the less of the window it is pressed for.
    pub share: Option<u64>,
    /// The model's context window, where it is not the one of the model data.
    pub window: Option<Tokens>,
    /// What is said. Once said it is on record, so that another build's texts change nothing.
    pub texts: CompactionTexts,
}

/// What a compaction says in the user's, the model's or the tools' place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionTexts {
    /// Asks for the summary.
    pub ask: &'static str,
    /// Stands in the model's place where it has not spoken yet, in front of that.
    pub pause: &'static str,
    /// The result of a call in the reply that should be the summary.
    pub no_tools: &'static str,
    /// Stands in front of the summary.
    pub intro: &'static str,
    /// Stands behind a summary that a limit has cut off.
    pub cut: &'static str,
    /// Stands in front of the user's words that are being worked on.
    pub request: &'static str,
    /// The model's answer to a summary, where the user speaks next.
    pub taken: &'static str,
    /// Said by the user behind what was kept of a turn that goes on.
    pub go_on: &'static str,
    /// In the place of a long result for which there is no room.
    pub left_out: &'static str,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { share: Some(800), window: None, texts: CompactionTexts::default() }
    }
}

impl Default for CompactionTexts {
    fn default() -> Self {
        Self {
            ask: "The context window is filling up. Write a summary of this conversation now: the work goes on from it, and of all that was said above only the last messages will stay beside it. Do not call a tool, and do not go on with the work in this reply.\n\nSay as briefly as accuracy allows, each under a heading of its own:\n1. Goal: what the user wants, with every condition, in their own words where the wording matters.\n2. Facts: the names, paths, numbers, commands, error messages and decisions that later work needs, exactly as they were.\n3. Done: what was changed or found out, file by file, and what was tried and did not work.\n4. Open: what is still to be done, in order, and what comes next.",
            pause: "[The work pauses here for a summary.]",
            no_tools: "This call was not run: no tool runs while the summary is written. Answer with the summary as text alone.",
            intro: "This is the summary of our conversation so far, as you wrote it:",
            cut: "[The summary was cut off here by the limit of a reply's length.]",
            request: "The request that is being worked on, word for word:",
            taken: "I go on from this summary.",
            go_on: "Go on with the work from here.",
            left_out: "[This result was left out when the conversation was summarised. Call the tool again if it is needed.]",
        }
    }
}

/// How much fits into the context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// The whole window.
    pub(super) window: Tokens,
    /// The longest prompt that leaves room for a reply.
    pub(super) limit: Tokens,
    /// The share of the window at which a prompt is to be compacted without being asked; `None`: none is.
    pub(super) share: Option<Tokens>,
    /// Length of a prompt at which that is done.
    pub(super) threshold: Option<Tokens>,
    /// The most that is kept of the messages as they are.
    pub(super) tail: Tokens,
}

impl Room {
    /// The room of a window for requests with this envelope and a head of so many tokens, where the last compaction has
    /// left so many behind it.
    ///
    /// A share that can hardly hold the head, or what a compaction leaves behind it, would be reached again after
    /// every few results, each time for the price of a summary. It is raised until there is room for work.
    pub(super) fn of(
        window: Tokens,
        settings: &CompactionSettings,
        envelope: &[u8],
        (head, left): (Tokens, Tokens),
    ) -> Self {
        let reply = longest_reply(envelope).unwrap_or(USUAL_REPLY).min(window.0 / 8);
        let limit = Tokens(window.0 - reply);
        let share = settings.share.map(|share| Tokens(window.0 / 1000 * share).min(limit));
        let least = head + LEAST.max(Tokens(left.0.saturating_mul(2)));
        let threshold = share.map(|share| share.max(least).min(limit));
        let kept = threshold.map_or(window, |threshold| Tokens((threshold - head).0 / 4));
        Self { window, limit, share, threshold, tail: kept.min(Tokens(window.0 / 10)) }
    }

    /// What is kept to in the place of a share that is too small.
    pub(super) fn raised(&self) -> Option<(Tokens, Tokens)> {
        self.share.zip(self.threshold).filter(|(share, threshold)| share < threshold)
    }
}

/// The longest reply that an envelope asks for, in tokens.
fn longest_reply(envelope: &[u8]) -> Option<u64> {
    let body = Body::parse(envelope.to_vec()).ok()?;
    ["max_tokens", "max_completion_tokens"].iter().find_map(|name| body.root().get(name).and_then(Node::u64))
}

/// Tokens behind the head that a prompt must have before it is compacted unasked: a summary and the last messages have
/// about half of them.
const LEAST: Tokens = Tokens(8_000);

/// Tokens of a reply where no limit is asked for.
const USUAL_REPLY: u64 = 8_192;
