//! Files that the user names.

use std::io::{self, Read};
use std::path::Path;

/// Reads what was named, a pipe too. What never ends is refused after [`LARGEST`] bytes.
///
/// # Errors
/// As for [`std::fs::read`], and if it is too large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// Also if it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::other("it is not text in UTF-8"))
}

/// Bodies are some megabytes; a device gives bytes for ever.
const LARGEST: u64 = 256 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 268435456 bytes");
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
        assert!(read(Path::new("/no/such/file")).is_err());
    }
}
