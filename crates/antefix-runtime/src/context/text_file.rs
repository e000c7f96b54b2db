//! A text file that the model is told of.

use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// What came of reading a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// There is none, or nothing in it.
    Nothing,
    /// There is one, and it is not taken.
    LeftOut(String),
    /// Nobody can say what is in it.
    Unclear(String),
    /// It says something.
    Text {
        /// Where it is, links resolved.
        real: PathBuf,
        /// What it says; bytes that are not UTF-8 are replaced.
        text: String,
        /// What the user should know of it.
        note: Option<String>,
    },
}

/// Reads a file; one that lies outside `root`, or is a link out of it, is left out, since it could be any file of the
/// user.
pub(super) fn read(path: &Path, root: Option<&Path>) -> Reading {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) => return failed(&error),
    };
    match std::fs::metadata(&real) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(metadata) if metadata.is_dir() => return Reading::Nothing,
        Ok(_) => return Reading::LeftOut("it is no regular file".to_owned()),
        Err(error) => return failed(&error),
    }
    if root.is_some_and(|root| !real.starts_with(root)) {
        return Reading::LeftOut("it leads out of the repository".to_owned());
    }
    let mut file = match std::fs::File::open(&real) {
        Ok(file) => file,
        Err(error) => return failed(&error),
    };
    // Somebody may have put a link in the way since: what was opened must be what stands within the root now.
    if let Some(root) = root
        && !is_within(&file, path, root)
    {
        return Reading::Unclear("it was changed while it was looked at".to_owned());
    }
    let mut bytes = Vec::new();
    match file.by_ref().take(LIMIT as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) => text(real, &bytes),
        Err(error) => failed(&error),
    }
}

/// Whether an open file is the one that a path leads to, links resolved, within a root.
fn is_within(file: &std::fs::File, path: &Path, root: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let (Ok(opened), Ok(there)) = (file.metadata(), std::fs::symlink_metadata(&real)) else { return false };
    real.starts_with(root) && (opened.dev(), opened.ino()) == (there.dev(), there.ino())
}

fn text(real: PathBuf, bytes: &[u8]) -> Reading {
    if bytes.contains(&0) {
        return Reading::LeftOut("it is no text".to_owned());
    }
    let is_cut = bytes.len() > LIMIT;
    let kept = bytes.get(..LIMIT).filter(|_| is_cut).unwrap_or(bytes);
    let mut text = String::from_utf8_lossy(kept).into_owned();
    if text.trim().is_empty() {
        return Reading::Nothing;
    }
    let mut note =
        std::str::from_utf8(bytes).is_err().then(|| "what is not UTF-8 in it was replaced".to_owned());
    if is_cut {
        // Whole lines only, where there are any.
        text.truncate(text.rfind('\n').map_or(text.len(), |end| end + 1));
        text.push_str(&format!("[the file is longer; only its first {LIMIT} bytes are taken]\n"));
        note = Some(format!("only its first {LIMIT} bytes were taken"));
    }
    Reading::Text { real, text, note }
}

fn failed(error: &std::io::Error) -> Reading {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Reading::Nothing,
        // A ring of links will never be a file.
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            Reading::LeftOut("its links lead in a ring".to_owned())
        }
        _ => Reading::Unclear(error.to_string()),
    }
}

/// Bytes of a file that are taken at most.
pub(super) const LIMIT: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever cannot read a file cannot say that it is gone.
    #[test]
    fn only_what_is_not_there_is_nothing() {
        for (errno, expect) in [
            (Errno::NOENT, Reading::Nothing),
            (Errno::NOTDIR, Reading::Nothing),
            (Errno::LOOP, Reading::LeftOut("its links lead in a ring".to_owned())),
            (Errno::ACCESS, Reading::Unclear("Permission denied (os error 13)".to_owned())),
            (Errno::IO, Reading::Unclear("Input/output error (os error 5)".to_owned())),
            (Errno::STALE, Reading::Unclear("Stale file handle (os error 116)".to_owned())),
        ] {
            assert_eq!(failed(&errno.into()), expect);
        }
    }
}
