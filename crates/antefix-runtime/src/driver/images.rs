//! Which images a conversation may still take in.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use antefix_models::ImageRules;
use antefix_session::conversation::Conversation;
use antefix_session::dialect::Dialect;
use antefix_session::record::RecordId;
use antefix_tools::{Content, Output, image_side};
use antefix_wire::json::{Body, Node};

/// Images of each message by their longer sides in pixels (0 where that is not known). A message is looked at once:
/// images are what makes conversations large.
#[derive(Debug, Default)]
pub(super) struct Counted(BTreeMap<RecordId, Vec<u32>>);

impl Counted {
    /// Those that every request of a conversation carries.
    pub(super) fn images(&mut self, conversation: &Conversation, rules: ImageRules) -> Images {
        if conversation.dialect() != Dialect::Anthropic {
            // Servers of Chat Completions have no limit in common, and are shown none of a tool's images.
            return Images { held: None, rules };
        }
        let mut held = Held::default();
        for message in conversation.path() {
            let sides = self.0.entry(message.record()).or_insert_with(|| sides_of(message.fragment()));
            for side in sides.iter() {
                held.add(*side);
            }
        }
        Images { held: Some(Mutex::new(held)), rules }
    }
}

/// Holds images to what the API takes, which refuses a request with others, and every later one of the session with it.
#[derive(Debug)]
pub(super) struct Images {
    /// `None` where there is no limit.
    held: Option<Mutex<Held>>,
    rules: ImageRules,
}

/// The images of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    count: usize,
    /// Pixels of the longest side.
    side: u32,
}

impl Images {
    /// An output with as many of its images as still fit, in their order; a word in the place of the others.
    pub(super) fn admit<'a>(&self, output: &'a Output) -> Cow<'a, Output> {
        let Some(held) = &self.held else { return Cow::Borrowed(output) };
        let mut admitted = Cow::Borrowed(output);
        for (index, content) in output.content.iter().enumerate() {
            let Content::Image { base64, .. } = content else { continue };
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            let Err(why) = held.take(image_side(base64).unwrap_or(0), self.rules) else { continue };
            if let Some(content) = admitted.to_mut().content.get_mut(index) {
                *content = Content::Text(format!("[an image is left out: {why}]"));
            }
        }
        admitted
    }
}

impl Held {
    /// Takes one more in, or says why that cannot be.
    fn take(&mut self, side: u32, rules: ImageRules) -> Result<(), String> {
        let ImageRules { most, many, side_of_many } = rules;
        if self.count >= most {
            return Err(format!("the conversation holds {most} images, the most that a request may"));
        }
        if self.count >= many && side.max(self.side) > side_of_many {
            return Err(format!(
                "beside more than {many} images, none may be larger than {side_of_many} × {side_of_many} pixels"
            ));
        }
        self.add(side);
        Ok(())
    }

    fn add(&mut self, side: u32) {
        self.count += 1;
        self.side = self.side.max(side);
    }
}

/// The longer sides of the images in a message.
fn sides_of(fragment: &[u8]) -> Vec<u32> {
    let Ok(message) = Body::parse(fragment.to_vec()) else { return Vec::new() };
    let mut sides = Vec::new();
    for block in content(message.root()) {
        sides.extend(side_of(block));
        sides.extend(content(block).filter_map(side_of));
    }
    sides
}

fn content(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    node.get("content").into_iter().flat_map(Node::items)
}

/// `None` if the block is no image.
fn side_of(block: Node<'_>) -> Option<u32> {
    block.get("type").filter(|kind| kind.is_str("image"))?;
    let data = block.pointer("/source/data").and_then(Node::str);
    Some(data.and_then(|data| image_side(&data)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::source_block;

    /// A GIF of so many pixels in a row: `GIF89a`, width and height.
    fn gif(width: u16) -> String {
        let [low, high] = width.to_le_bytes();
        let bytes = [b'G', b'I', b'F', b'8', b'9', b'a', low, high, 1, 0, 0, 0];
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let sixes = |chunk: &[u8]| {
            let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
            [18, 12, 6, 0].map(|shift| char::from(LETTERS[(bits >> shift & 63) as usize]))
        };
        bytes.chunks(3).flat_map(sixes).collect()
    }

    #[test]
    fn images_are_found_where_they_stand() {
        let image =
            |width| String::from_utf8(source_block("image", "image/gif", &gif(width)).to_vec()).unwrap();
        let quoted = r#"{"type":"text","text":"{\"type\":\"image\",\"source\":7}"}"#;
        let result = format!(r#"{{"type":"tool_result","content":[{},{quoted}]}}"#, image(3));
        let blocks =
            format!("{},{result},{quoted},{}", image(2), r#"{"type":"image","source":{"type":"url"}}"#);
        let message = format!(r#"{{"role":"user","content":[{blocks}]}}"#);
        assert_eq!(sides_of(message.as_bytes()), [2, 3, 0]);
        assert_eq!(sides_of(br#"{"role":"user","content":"words"}"#), [0_u32; 0]);
    }

    #[test]
    fn what_a_request_may_not_carry_is_left_out() {
        const RULES: ImageRules = ImageRules { most: 6, many: 3, side_of_many: 100 };
        let full = "the conversation holds 6 images, the most that a request may";
        let large = "beside more than 3 images, none may be larger than 100 × 100 pixels";
        for (held, sides, expect) in [
            (0, &[100, 100, 100, 100, 100, 100, 100][..], vec!["", "", "", "", "", "", full]),
            (5, &[1, 1], vec!["", full]),
            (0, &[101, 101, 101, 101, 1], vec!["", "", "", large, large]),
            (2, &[1, 101, 1], vec!["", large, ""]),
            (3, &[101, 100], vec![large, ""]),
        ] {
            let held = Some(Mutex::new(Held { count: held, side: 100 }));
            let images = Images { held, rules: RULES };
            let image =
                |side: &u16| Content::Image { media_type: "image/gif".to_owned(), base64: gif(*side) };
            let mut content = vec![Content::Text("words".to_owned())];
            content.extend(sides.iter().map(image));
            let output = Output { content, ..Output::default() };
            let admitted = images.admit(&output).into_owned();
            let mut expected = output.clone();
            for (content, why) in expected.content.iter_mut().skip(1).zip(expect) {
                if !why.is_empty() {
                    *content = Content::Text(format!("[an image is left out: {why}]"));
                }
            }
            assert_eq!(admitted, expected, "{sides:?}");
            assert_eq!(*Images { held: None, rules: RULES }.admit(&output), output);
        }
    }
}
