//! How many images a conversation may still take in.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use antefix_session::conversation::Conversation;
use antefix_session::dialect::Dialect;
use antefix_session::record::RecordId;
use antefix_tools::{Content, Output};

/// Images of each message, which is looked at once: images are what makes conversations large.
#[derive(Debug, Default)]
pub(super) struct Counted(BTreeMap<RecordId, usize>);

impl Counted {
    /// Those that every request of a conversation carries.
    pub(super) fn images(&mut self, conversation: &Conversation) -> Images {
        if conversation.dialect() != Dialect::Anthropic {
            // Servers of Chat Completions have no limit in common, and are shown none of a tool's images.
            return Images { held: None };
        }
        let of_message = |message: &antefix_session::conversation::Message| {
            *self.0.entry(message.record()).or_insert_with(|| count(message.fragment()))
        };
        Images { held: Some(AtomicUsize::new(conversation.path().map(of_message).sum())) }
    }
}

/// Counts images in front of the API, which refuses a request with too many, and every later one of the session with it.
#[derive(Debug)]
pub(super) struct Images {
    /// `None` where there is no limit.
    held: Option<AtomicUsize>,
}

impl Images {
    /// An output with as many of its images as still fit, in their order; a word in the place of the others.
    pub(super) fn admit<'a>(&self, output: &'a Output) -> Cow<'a, Output> {
        let Some(held) = &self.held else { return Cow::Borrowed(output) };
        let fits = |content: &Content| {
            let is_image = matches!(content, Content::Image { .. });
            !is_image || held.fetch_add(1, Ordering::Relaxed) < MOST_IMAGES
        };
        let fit: Vec<bool> = output.content.iter().map(fits).collect();
        if fit.iter().all(|fits| *fits) {
            return Cow::Borrowed(output);
        }
        let mut output = output.clone();
        for (content, fits) in output.content.iter_mut().zip(fit) {
            if !fits {
                *content = Content::Text(LEFT_OUT.to_owned());
            }
        }
        Cow::Owned(output)
    }
}

/// Image blocks among bytes. Quotes within a text are escaped, so that a text that shows such a block is none.
fn count(fragment: &[u8]) -> usize {
    fragment.windows(BLOCK.len()).filter(|window| *window == BLOCK).count()
}

/// How the block of an image begins, as it is written here.
const BLOCK: &[u8] = br#"{"type":"image","#;

/// Images of a request that the Messages API takes
/// (<https://platform.claude.com/docs/en/build-with-claude/vision>, 2026-11-30).
const MOST_IMAGES: usize = 100;

const LEFT_OUT: &str =
    "[an image is left out: the conversation holds 100 images, the most that a request may]";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::source_block;

    #[test]
    fn images_are_counted_by_their_blocks() {
        let block = source_block("image", "image/png", "AAAA");
        let quoted = br#"{"type":"text","text":"{\"type\":\"image\",\"source\":7}"}"#;
        assert_eq!([count(&block), count(&block.repeat(3)), count(quoted)], [1, 3, 0]);
    }

    #[test]
    fn the_hundred_and_first_image_is_left_out() {
        let image = || Content::Image { media_type: "image/png".to_owned(), base64: "AAAA".to_owned() };
        let note = || Content::Text(LEFT_OUT.to_owned());
        let output = |content| Output { content, ..Output::default() };
        let images = Images { held: Some(AtomicUsize::new(98)) };
        let text = || Content::Text("t".to_owned());
        for (given, expect) in [
            (vec![text(), image()], vec![text(), image()]),
            (vec![image(), text(), image()], vec![image(), text(), note()]),
            (vec![image()], vec![note()]),
            (vec![text()], vec![text()]),
        ] {
            assert_eq!(*images.admit(&output(given)), output(expect));
        }
        let many = output(vec![image(); 101]);
        assert_eq!(*Images { held: None }.admit(&many), many);
    }
}
