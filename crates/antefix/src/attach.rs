use std::path::Path;

use antefix_runtime::driver::source_block;
use bytes::Bytes;

use crate::failure::Failure;

/// Bytes of a file that can be attached at most; the API takes 32 MB in one request.
const LIMIT: u64 = 20 << 20;

/// An image or PDF as a content block.
///
/// # Errors
/// If the file cannot be read, is too large, or is neither.
pub fn block(path: &Path) -> Result<Bytes, Failure> {
    let name = path.display();
    let metadata = std::fs::metadata(path)
        .map_err(|error| Failure::usage(format!("cannot attach `{name}`: {error}")))?;
    if !metadata.is_file() || metadata.len() > LIMIT {
        return Err(Failure::usage(format!(
            "cannot attach `{name}`: it must be a file of at most {LIMIT} bytes"
        )));
    }
    let bytes =
        std::fs::read(path).map_err(|error| Failure::usage(format!("cannot attach `{name}`: {error}")))?;
    let (kind, media_type) = kind_of(&bytes).ok_or_else(|| {
        Failure::usage(format!("cannot attach `{name}`: it is no PNG, JPEG, GIF, WebP or PDF"))
    })?;
    Ok(source_block(kind, media_type, &antefix_tools::base64_encode(&bytes)))
}

fn kind_of(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    Some(match bytes {
        _ if starts(b"\x89PNG\r\n\x1a\n") => ("image", "image/png"),
        _ if starts(b"\xff\xd8\xff") => ("image", "image/jpeg"),
        _ if starts(b"GIF87a") || starts(b"GIF89a") => ("image", "image/gif"),
        _ if starts(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => ("image", "image/webp"),
        _ if starts(b"%PDF-") => ("document", "application/pdf"),
        _ => return None,
    })
}
