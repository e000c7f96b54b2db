//! What a file is, by its first bytes.

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Text,
    /// With its media type.
    Image(&'static str),
    Pdf,
    /// With words for it.
    Binary(&'static str),
}

impl Media {
    /// Looks at the first bytes of a file.
    pub(crate) fn of(head: &[u8]) -> Self {
        match head {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Self::Image("image/png"),
            [0xff, 0xd8, 0xff, ..] => Self::Image("image/jpeg"),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Self::Image("image/gif"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Self::Image("image/webp"),
            [b'%', b'P', b'D', b'F', b'-', ..] => Self::Pdf,
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Self::Binary("UTF-16 text"),
            [0x7f, b'E', b'L', b'F', ..] => Self::Binary("an ELF program or library"),
            [b'P', b'K', 3, 4, ..] => Self::Binary("a zip archive"),
            [0x1f, 0x8b, ..] => Self::Binary("a gzip file"),
            [b'S', b'Q', b'L', b'i', b't', b'e', b' ', ..] => Self::Binary("an SQLite database"),
            _ if head.contains(&0) => Self::Binary("a binary file"),
            _ => Self::Text,
        }
    }
}

/// Width and height of an image in pixels, where its header says.
pub(crate) fn size(image: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(image.get(at..at + 4)?.try_into().ok()?));
    let small = |at: usize| Some(u32::from(u16::from_le_bytes(image.get(at..at + 2)?.try_into().ok()?)));
    match Media::of(image) {
        Media::Image("image/png") => Some((big(16)?, big(20)?)),
        Media::Image("image/gif") => Some((small(6)?, small(8)?)),
        Media::Image("image/jpeg") => jpeg_size(image),
        Media::Image("image/webp") => match image.get(12..16)? {
            b"VP8X" => Some((
                small(24)? + (u32::from(*image.get(26)?) << 16) + 1,
                small(27)? + (u32::from(*image.get(29)?) << 16) + 1,
            )),
            b"VP8L" => {
                let bits = u32::from_le_bytes(image.get(21..25)?.try_into().ok()?);
                Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
            }
            _ => Some((small(26)? & 0x3fff, small(28)? & 0x3fff)),
        },
        _ => None,
    }
}

/// Goes through a JPEG's segments to its frame header.
fn jpeg_size(image: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u16::from_be_bytes(image.get(at..at + 2)?.try_into().ok()?));
    let mut at = 2;
    loop {
        let marker = *image.get(at + 1)?;
        if image.get(at) != Some(&0xff) {
            return None;
        }
        let is_frame = (0xc0..=0xcf).contains(&marker) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
        if is_frame {
            return Some((u32::from(number(at + 7)?), u32::from(number(at + 5)?)));
        }
        // A fill byte may stand before a marker.
        at += if marker == 0xff { 1 } else { 2 + usize::from(number(at + 2)?) };
    }
}

/// Bytes at a file's start that are looked at.
pub(super) const SNIFF_BYTES: u64 = 8 << 10;

/// The most pixels of an image's side that the Messages API takes
/// (<https://platform.claude.com/docs/en/build-with-claude/vision>, 2026-11-30).
pub(crate) const MAX_PIXELS: u32 = 8_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        for (head, expect) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Media::Image("image/png")),
            (b"\xff\xd8\xff\xe0", Media::Image("image/jpeg")),
            (b"GIF89a", Media::Image("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Media::Image("image/webp")),
            (b"RIFF\0\0\0\0WAVE", Media::Binary("a binary file")),
            (b"%PDF-1.7", Media::Pdf),
            (b"\x7fELF\x02", Media::Binary("an ELF program or library")),
            (b"\xff\xfea\0", Media::Binary("UTF-16 text")),
            (b"ab\0c", Media::Binary("a binary file")),
            (b"\xef\xbb\xbftext", Media::Text),
            (b"caf\xe9", Media::Text),
            (b"", Media::Text),
        ] {
            assert_eq!(Media::of(head), expect, "{head:?}");
        }
    }

    #[test]
    fn images_say_how_large_they_are() {
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08\x01\x02\x03\x04\x03";
        for (image, expect) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x00\0\0\0\x02"[..], Some((256, 2))),
            (b"GIF89a\x03\x00\x00\x01", Some((3, 256))),
            (jpeg, Some((0x304, 0x102))),
            (b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x0f\0\0\x01\0\0", Some((16, 2))),
            (b"RIFF\0\0\0\0WEBPVP8L\x0a\0\0\0\x2f\x01\xc0\0\0", Some((2, 4))),
            (b"RIFF\0\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x05\0\x06\0", Some((5, 6))),
            (b"\xff\xd8\xff\xe0\0\x04ab", None),
            (b"GIF89a", None),
            (b"text", None),
        ] {
            assert_eq!(size(image), expect, "{image:?}");
        }
    }
}
