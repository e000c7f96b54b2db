//! Ways to shorten a conversation, each with what is lost by it.

use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use super::condition::History;
use super::session::Said;

/// A history that is shortened when it has become too long, and stays so: what was left out once does not return.
pub struct Shortened {
    how: History,
    limit: usize,
    /// Messages at the front that are left out.
    left_out: usize,
    /// Messages whose results are cleared.
    cleared: usize,
    /// Stands for what was left out.
    summary: Option<Bytes>,
    /// Bytes of messages that are no longer told.
    pub lost_bytes: usize,
    /// How often it was shortened.
    pub times: u64,
}

/// What one request sends.
pub struct Told {
    /// Its messages.
    pub said: Vec<Bytes>,
    /// Bytes of a summary that is asked for in front of it; the whole history before it is the prompt.
    pub summary_bytes: Option<usize>,
}

impl Shortened {
    /// A history that is shortened when head and messages are longer than `limit` bytes.
    pub fn new(how: History, limit: usize) -> Self {
        Self { how, limit, left_out: 0, cleared: 0, summary: None, lost_bytes: 0, times: 0 }
    }

    /// The messages of the next request, of which `all` would be sent.
    pub fn tell(&mut self, all: &[Said], head: usize) -> Told {
        // A rewind behind what was left out begins anew.
        self.left_out = self.left_out.min(all.len().saturating_sub(1));
        let told = self.messages(all);
        let length = head + told.iter().map(Bytes::len).sum::<usize>();
        if self.how == History::Keep || length <= self.limit {
            return Told { said: told, summary_bytes: None };
        }
        let summary_bytes = self.shorten(all, length);
        Told { said: self.messages(all), summary_bytes }
    }

    fn messages(&self, all: &[Said]) -> Vec<Bytes> {
        let kept = all.iter().enumerate().skip(self.left_out);
        let kept = kept.map(
            |(at, said)| {
                if at < self.cleared { without_results(&said.text) } else { said.text.clone() }
            },
        );
        self.summary.iter().cloned().chain(kept).collect()
    }

    fn shorten(&mut self, all: &[Said], length: usize) -> Option<usize> {
        match self.how {
            History::Keep => None,
            History::ClearResults => {
                // The newest results stay: the model works on them.
                let upto = all.len().saturating_sub(KEPT);
                let size = |upto: usize| {
                    all.iter()
                        .take(upto)
                        .map(|said| said.text.len() - without_results(&said.text).len())
                        .sum::<usize>()
                };
                let lost = size(upto);
                if upto > self.cleared && lost >= self.lost_bytes + self.limit / CLEAR_AT_LEAST {
                    (self.cleared, self.lost_bytes) = (upto, lost);
                    self.times += 1;
                }
                None
            }
            History::DropOldest => {
                let goal = length.saturating_sub(self.limit / 2);
                self.leave_out(all, goal);
                None
            }
            History::Summarise => {
                let before = self.left_out;
                self.leave_out(all, usize::MAX);
                if self.left_out == before {
                    return None;
                }
                let told = all.get(before..self.left_out).into_iter().flatten().map(|said| said.text.len());
                let size = (told.sum::<usize>() / SUMMARY_SHARE).max(SHORTEST_SUMMARY);
                self.summary = Some(summary(size));
                Some(size)
            }
        }
    }

    /// Leaves out whole turns until `goal` bytes are gone; the last turn stays.
    fn leave_out(&mut self, all: &[Said], goal: usize) {
        let mut gone = 0;
        let mut end = self.left_out;
        for at in self.left_out + 1..all.len() {
            gone += all.get(at - 1).map_or(0, |said| said.text.len());
            if all.get(at).is_some_and(|said| said.opens) {
                end = at;
                if gone >= goal {
                    break;
                }
            }
        }
        if end > self.left_out {
            self.lost_bytes +=
                all.get(self.left_out..end).into_iter().flatten().map(|said| said.text.len()).sum::<usize>();
            self.left_out = end;
            self.times += 1;
        }
    }
}

/// The same message with the content of its tool results taken out.
fn without_results(message: &Bytes) -> Bytes {
    let Ok(body) = Body::parse(message.to_vec()) else { return message.clone() };
    let text = body.text();
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for block in body.root().get("content").into_iter().flat_map(Node::items) {
        let is_result = block.get("type").is_some_and(|kind| kind.is_str("tool_result"));
        let Some(content) =
            block.get("content").filter(|content| is_result && content.raw().len() > CLEARED.len())
        else {
            continue;
        };
        let range = content.range();
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str(CLEARED);
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out.into()
}

fn summary(size: usize) -> Bytes {
    let text = "what was done so far ".repeat(size / 21 + 1);
    let text = text.get(..size).unwrap_or(&text);
    format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}},{{"role":"assistant","content":[{{"type":"text","text":"Understood."}}]}}"#).into()
}

/// What stands in place of a cleared result.
const CLEARED: &str = r#""[cleared]""#;

/// Clearing rewrites all behind it, so it waits until this part of the limit is gained.
const CLEAR_AT_LEAST: usize = 5;

/// Newest messages whose results are never cleared.
const KEPT: usize = 4;

/// A summary is taken to have this part of what it stands for, and no less than [`SHORTEST_SUMMARY`].
const SUMMARY_SHARE: usize = 10;

const SHORTEST_SUMMARY: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation() -> Vec<Said> {
        let said = |text: String, opens| Said { text: text.into(), opens };
        let mut all = Vec::new();
        for turn in 0..4 {
            all.push(said(
                format!(r#"{{"role":"user","content":[{{"type":"text","text":"question {turn}"}}]}}"#),
                true,
            ));
            all.push(said(format!(r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"c{turn}","name":"t","input":{{}}}}]}}"#), false));
            let result = "x".repeat(1_000);
            all.push(said(format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{turn}","content":"{result}"}}]}}"#), false));
            all.push(said(
                format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"answer {turn}"}}]}}"#),
                false,
            ));
        }
        all.push(said(r#"{"role":"user","content":[{"type":"text","text":"last"}]}"#.to_owned(), true));
        all
    }

    /// The messages as told, each as `u` or `a`, with `c` for a cleared result and `s` for a summary.
    fn shape(told: &Told) -> String {
        let letter = |text: &Bytes| {
            let text = String::from_utf8_lossy(text);
            match () {
                () if text.contains("so far") => "s",
                () if text.contains("[cleared]") => "c",
                () if text.contains("tool_result") => "r",
                () if text.starts_with(r#"{"role":"user""#) => "u",
                () => "a",
            }
        };
        told.said.iter().map(letter).collect()
    }

    #[test]
    fn each_way_shortens_only_what_is_too_long_and_stays_short() {
        let all = conversation();
        for (how, limit, expect, times) in [
            (History::Keep, 10, "uarauarauarauarau", 0),
            (History::DropOldest, 100_000, "uarauarauarauarau", 0),
            (History::DropOldest, 3_000, "uarau", 1),
            (History::ClearResults, 3_000, "uacauacauacauarau", 1),
            (History::Summarise, 3_000, "su", 1),
        ] {
            let mut history = Shortened::new(how, limit);
            assert_eq!(shape(&history.tell(&all, 100)), expect, "{how:?} {limit}");
            assert_eq!(
                (shape(&history.tell(&all, 100)), history.times),
                (expect.to_owned(), times),
                "{how:?} again"
            );
            assert_eq!(history.lost_bytes > 0, times > 0, "{how:?}");
        }
    }
}
