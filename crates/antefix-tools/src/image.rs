//! Pictures that others give: whether a provider takes them.

use crate::base64;
use crate::read::media::{MAX_PIXELS, Media, size};

/// What an image is by its bytes: `image/png`, `image/jpeg`, `image/gif` or `image/webp`, which are the types that the
/// Messages API takes (<https://platform.claude.com/docs/en/build-with-claude/vision>, 2026-11-30). What somebody says it
/// is does not count: one that is labelled otherwise than it is makes the API refuse the request, and every later one.
///
/// # Errors
/// In words, if it cannot be sent: more than `most` bytes of base64, no base64, none of these types, too many pixels.
pub fn image_type(data: &str, most: u64) -> Result<&'static str, String> {
    if data.len() as u64 > most {
        return Err(format!("it has {} bytes of base64, and {most} are possible", data.len()));
    }
    let bytes = base64::decode(data).ok_or("it is no base64")?;
    let Media::Image(media_type) = Media::of(&bytes) else {
        return Err("it is no PNG, JPEG, GIF or WebP".to_owned());
    };
    match size(&bytes) {
        Some((width, height)) if width.max(height) > MAX_PIXELS => {
            Err(format!("it is {width} × {height} pixels, and {MAX_PIXELS} × {MAX_PIXELS} are possible"))
        }
        Some((0, _) | (_, 0)) => Err("it has no pixels".to_owned()),
        _ => Ok(media_type),
    }
}

/// Pixels of an image's longer side, from its base64; `None` where its header does not say.
pub fn image_side(data: &str) -> Option<u32> {
    let (width, height) = size(&base64::decode(data)?)?;
    Some(width.max(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let head = *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        [&head[..], &width.to_be_bytes(), &height.to_be_bytes(), b"\x08\x06\0\0\0"].concat()
    }

    #[test]
    fn an_image_is_what_its_bytes_say() {
        for (bytes, expect) in [
            (png(1, 1), Ok("image/png")),
            (b"\xff\xd8\xff\xe0".to_vec(), Ok("image/jpeg")),
            (b"GIF89a\x01\0\x01\0".to_vec(), Ok("image/gif")),
            (b"<svg/>".to_vec(), Err("it is no PNG, JPEG, GIF or WebP")),
            (Vec::new(), Err("it is no PNG, JPEG, GIF or WebP")),
            (png(8001, 1), Err("it is 8001 × 1 pixels, and 8000 × 8000 are possible")),
            (png(0, 1), Err("it has no pixels")),
            (png(1, 1).repeat(5), Err("it has 196 bytes of base64, and 160 are possible")),
        ] {
            assert_eq!(image_type(&base64::encode(&bytes), 160), expect.map_err(str::to_owned), "{bytes:?}");
        }
        for (bytes, expect) in [(png(3, 7), Some(7)), (png(9, 7), Some(9)), (b"<svg/>".to_vec(), None)] {
            assert_eq!(image_side(&base64::encode(&bytes)), expect);
        }
        assert_eq!(image_type("not base64!", 160), Err("it is no base64".to_owned()));
    }
}
