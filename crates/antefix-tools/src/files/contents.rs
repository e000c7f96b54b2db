//! Contents of files, the least recently used of which are let go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Contents of at most [`MOST_FILES`] files and [`MOST_BYTES`].
#[derive(Debug, Default)]
pub(super) struct Contents {
    held: BTreeMap<PathBuf, Held>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Held {
    digest: String,
    content: Arc<[u8]>,
    used: u64,
}

impl Contents {
    /// Keeps a content; one that is larger than all may be is not kept.
    pub(super) fn put(&mut self, path: &Path, digest: &str, content: Arc<[u8]>) {
        self.remove(path);
        if content.len() > MOST_BYTES {
            return;
        }
        self.clock += 1;
        self.bytes += content.len();
        let held = Held { digest: digest.to_owned(), content, used: self.clock };
        self.held.insert(path.to_owned(), held);
        while self.held.len() > MOST_FILES || self.bytes > MOST_BYTES {
            let oldest = self.held.iter().min_by_key(|(_, held)| held.used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { return };
            self.remove(&oldest);
        }
    }

    /// The content of a file in a state.
    pub(super) fn get(&mut self, path: &Path, digest: &str) -> Option<Arc<[u8]>> {
        self.clock += 1;
        let held = self.held.get_mut(path).filter(|held| held.digest == digest)?;
        held.used = self.clock;
        Some(held.content.clone())
    }

    pub(super) fn remove(&mut self, path: &Path) {
        if let Some(held) = self.held.remove(path) {
            self.bytes -= held.content.len();
        }
    }
}

pub(super) const MOST_FILES: usize = 100;

pub(super) const MOST_BYTES: usize = 25_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_go_first() {
        let mut contents = Contents::default();
        let path = |number: usize| PathBuf::from(format!("/{number}"));
        for number in 0..MOST_FILES {
            contents.put(&path(number), "d", [1].as_slice().into());
        }
        assert!(contents.get(&path(0), "d").is_some());
        assert!(contents.get(&path(0), "other").is_none());
        contents.put(&path(MOST_FILES), "d", [1].as_slice().into());
        let kept = |contents: &mut Contents| {
            (0..=MOST_FILES).filter(|number| contents.get(&path(*number), "d").is_none()).collect::<Vec<_>>()
        };
        assert_eq!(kept(&mut contents), [1]);
        contents.put(&path(0), "d", vec![0; MOST_BYTES - 1].into());
        assert_eq!((contents.held.len(), contents.bytes), (2, MOST_BYTES));
        contents.put(&path(0), "d", vec![0; MOST_BYTES + 1].into());
        assert_eq!((contents.held.len(), contents.bytes), (1, 1));
    }
}
