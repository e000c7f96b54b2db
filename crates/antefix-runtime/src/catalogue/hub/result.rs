//! What a server's result is to the model: so many parts, images and bytes of text as a request should carry for ever.
//!
//! The same result always gives the same content, and what is left out is said in it.

use antefix_mcp::{CallOutput, Content as Part};
use antefix_tools::{Content, Limits, Output, image_type};

/// What a call gave, within the bounds of a command's output.
pub(super) fn output(given: CallOutput, limits: &Limits) -> Output {
    let is_error = given.is_error;
    if given.content.is_empty() {
        return Output { is_error, ..Output::text(within(&given.to_text(), limits.shell_bytes)) };
    }
    let mut bounded =
        Bounded { limits, content: Vec::new(), images: 0, text_bytes: 0, left_out: LeftOut::default() };
    for piece in pieces(given.content) {
        bounded.add(piece);
    }
    let content = bounded.end();
    if content.is_empty() {
        return Output { is_error, ..Output::text("") };
    }
    Output { content, is_error, ..Output::default() }
}

/// A part as a model can be shown it.
enum Piece {
    Text(String),
    /// Base64.
    Image(String),
}

struct Bounded<'a> {
    limits: &'a Limits,
    content: Vec<Content>,
    images: usize,
    text_bytes: usize,
    left_out: LeftOut,
}

/// What did not fit.
#[derive(Default)]
struct LeftOut {
    texts: usize,
    text_bytes: usize,
    images: usize,
}

impl Bounded<'_> {
    fn add(&mut self, piece: Piece) {
        match piece {
            Piece::Text(text) => self.add_text(&text),
            Piece::Image(_) if self.images == MOST_IMAGES || self.is_full() => self.left_out.images += 1,
            Piece::Image(base64) => match image_type(&base64, self.limits.image_bytes) {
                Ok(media_type) => {
                    self.images += 1;
                    self.content.push(Content::Image { media_type: media_type.to_owned(), base64 });
                }
                Err(why) => self.add_text(&format!("[an image is left out: {why}]")),
            },
        }
    }

    fn add_text(&mut self, text: &str) {
        // Providers refuse a text of nothing.
        if text.trim().is_empty() {
            return;
        }
        let left = self.limits.shell_bytes.saturating_sub(self.text_bytes);
        if left == 0 || self.is_full() {
            self.left_out.texts += 1;
            self.left_out.text_bytes += text.len();
            return;
        }
        let text = within(text, left);
        self.text_bytes += text.len();
        self.content.push(Content::Text(text));
    }

    fn is_full(&self) -> bool {
        self.content.len() == MOST_PARTS
    }

    /// The content, with a word about what it lacks.
    fn end(mut self) -> Vec<Content> {
        let LeftOut { texts, text_bytes, images } = self.left_out;
        let mut lacks = Vec::new();
        if texts > 0 {
            let plural = if texts == 1 { "" } else { "s" };
            lacks.push(format!("{texts} text{plural} of {text_bytes} bytes"));
        }
        if images > 0 {
            lacks.push(format!("{images} image{}", if images == 1 { "" } else { "s" }));
        }
        if !lacks.is_empty() {
            self.content.push(Content::Text(format!(
                "[left out: {}; a result shows {MOST_PARTS} parts, {MOST_IMAGES} images and {} bytes of text at most]",
                lacks.join(" and "),
                self.limits.shell_bytes
            )));
        }
        self.content
    }
}

/// The parts in their order. Of more than a result shows, texts that follow each other are one, since some servers make a
/// part of each line.
fn pieces(parts: Vec<Part>) -> Vec<Piece> {
    let are_joined = parts.len() > MOST_PARTS;
    let mut pieces: Vec<Piece> = Vec::new();
    for part in parts {
        match (part, pieces.last_mut()) {
            (Part::Image { data, .. }, _) => pieces.push(Piece::Image(data)),
            (part, Some(Piece::Text(text))) if are_joined => {
                text.push('\n');
                text.push_str(&part.to_text());
            }
            (part, _) => pieces.push(Piece::Text(part.to_text())),
        }
    }
    pieces
}

/// A text of so many bytes at most, cut in the middle.
fn within(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut head = most / 2;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - most / 2;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    // INVARIANT: both are boundaries, and the text is longer than what is kept of it.
    format!("{}\n[{} bytes are left out here]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Parts of a result.
const MOST_PARTS: usize = 100;

/// Images of a result. Of more than 20 in a request the Messages API takes only smaller ones
/// (<https://platform.claude.com/docs/en/build-with-claude/vision>, 2026-11-30).
const MOST_IMAGES: usize = 20;

#[cfg(test)]
mod tests {
    use antefix_tools::base64_encode;

    use super::*;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn image(mime: &str, bytes: &[u8]) -> Part {
        Part::Image { mime: mime.to_owned(), data: base64_encode(bytes) }
    }

    /// The content in short: texts as they are, images as their type.
    fn shown(content: Vec<Part>) -> Vec<String> {
        let limits = Limits { shell_bytes: 1_000, image_bytes: 60, ..Limits::default() };
        let given = CallOutput { content, ..CallOutput::default() };
        let (once, twice) = (output(given.clone(), &limits), output(given, &limits));
        assert_eq!(once, twice);
        let short = |content| match content {
            Content::Text(text) => text,
            Content::Image { media_type, .. } => media_type,
            other => format!("{other:?}"),
        };
        once.content.into_iter().map(short).collect()
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";

    #[test]
    fn a_result_is_as_a_request_can_carry_it() {
        let uri = || "f:///a".to_owned();
        for (content, expect) in [
            (vec![text("a"), text(""), text(" \n"), text("b")], vec!["a", "b"]),
            (vec![text("")], vec!["(empty)"]),
            (vec![text("a"), image("image/png", PNG), text("b")], vec!["a", "image/png", "b"]),
            // What somebody says an image is does not count.
            (vec![image("image/jpeg", PNG), image("text/plain", b"GIF89a")], vec!["image/png", "image/gif"]),
            (
                vec![
                    image("image/png", b"<svg/>"),
                    Part::Image { mime: "image/png".into(), data: "no base64".into() },
                ],
                vec![
                    "[an image is left out: it is no PNG, JPEG, GIF or WebP]",
                    "[an image is left out: it is no base64]",
                ],
            ),
            (
                vec![image("image/png", &PNG.repeat(2))],
                vec!["[an image is left out: it has 80 bytes of base64, and 60 are possible]"],
            ),
            (
                vec![
                    Part::ResourceLink { uri: uri(), name: "n".into() },
                    Part::ResourceBytes { uri: uri(), mime: "image/png".into(), data: "AAAA".into() },
                    Part::ResourceText { uri: uri(), text: "t".into() },
                    Part::Audio { mime: "audio/wav".into(), data: "AAAA".into() },
                    Part::Other("{}".into()),
                ],
                vec![
                    "[resource n: f:///a]",
                    "[resource f:///a: image/png, 4 bytes of base64]",
                    "[resource f:///a]\nt",
                    "[audio audio/wav, 4 bytes of base64]",
                    "{}",
                ],
            ),
        ] {
            assert_eq!(shown(content), expect);
        }
    }

    #[test]
    fn what_is_left_out_is_said() {
        let most = "a result shows 100 parts, 20 images and 1000 bytes of text at most]";
        let images = |count| vec![image("image/png", PNG); count];
        assert_eq!(
            shown(images(500)),
            [vec!["image/png".to_owned(); 20], vec![format!("[left out: 480 images; {most}")]].concat()
        );
        let one = shown([images(21), vec![text(&"x".repeat(1_000)), text("y")]].concat());
        assert_eq!(one.last(), Some(&format!("[left out: 1 text of 1 bytes and 1 image; {most}")));
        // Ten thousand lines, each a part of its own, are one text.
        let lines = shown(vec![text("line"); 10_000]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("[48999 bytes are left out here]"), "{}", lines[0]);
        // Images between them keep them apart.
        let mixed: Vec<Part> = (0..200).flat_map(|_| [text("t"), image("image/png", PNG)]).collect();
        let mixed = shown(mixed);
        assert_eq!(mixed.len(), 101);
        assert_eq!(mixed[100], format!("[left out: 120 texts of 120 bytes and 180 images; {most}"));
        let long = "x".repeat(700);
        let many = shown(vec![text(&long); 4]);
        assert_eq!(many.len(), 3);
        assert!(many[1].contains("[400 bytes are left out here]"), "{}", many[1]);
        assert_eq!(many[2], format!("[left out: 2 texts of 1400 bytes; {most}"));
    }

    /// A hundred images that are none were a hundred lines and more.
    #[test]
    fn parts_are_counted_whatever_they_are() {
        let broken: Vec<Part> = (0..300).map(|_| image("image/png", b"x")).collect();
        let given = CallOutput { content: broken, ..CallOutput::default() };
        let content = output(given, &Limits::default()).content;
        assert_eq!(content.len(), MOST_PARTS + 1);
        let last =
            "[left out: 200 images; a result shows 100 parts, 20 images and 30000 bytes of text at most]";
        assert_eq!(content.last(), Some(&Content::Text(last.to_owned())));
    }
}
