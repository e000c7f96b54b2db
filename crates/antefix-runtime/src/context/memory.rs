use std::path::PathBuf;

use super::text_file::{self, Reading};
use super::{Sighting, Source, Surroundings, Unavailable, lines};

/// A file of notes that the user keeps for all sessions.
#[derive(Debug)]
pub struct Memory {
    file: PathBuf,
    notes: Vec<String>,
}

impl Memory {
    /// With the file.
    pub fn new(file: PathBuf) -> Self {
        Self { file, notes: Vec::new() }
    }
}

impl Source for Memory {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn observe(&mut self, _around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let key = self.file.to_string_lossy().into_owned();
        self.notes.clear();
        match text_file::read(&self.file, None) {
            Reading::Nothing => Ok(Vec::new()),
            Reading::LeftOut(why) => {
                self.notes.push(format!("{key} was left out: {why}"));
                Ok(Vec::new())
            }
            Reading::Unclear(why) => Err(Unavailable(format!("{key} could not be read: {why}"))),
            Reading::Text { text, note, .. } => {
                self.notes.extend(note.map(|note| format!("{key}: {note}")));
                Ok(vec![Sighting::new(key, lines::state(&text)).with_detail(text)])
            }
        }
    }

    fn baseline(&self, sighting: &Sighting) -> Option<String> {
        Some(format!("# Notes of the user from {}\n{}", sighting.key, sighting.detail.trim_end()))
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let path = &now.key;
        if known == b"null" {
            return Some(format!("There are notes of the user in {path}:\n{}", now.detail.trim_end()));
        }
        Some(lines::edited(&format!("The notes of the user in {path} were edited"), known, &now.detail))
    }

    fn removed(&self, key: &str, _known: &[u8]) -> Option<String> {
        Some(format!("The notes of the user in {key} do not hold any more: there are none there now."))
    }

    fn cap(&self) -> usize {
        text_file::LIMIT + 1024
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::watcher::tests::{around, at};

    #[test]
    fn notes_that_cannot_be_read_are_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.md");
        let mut source = Memory::new(path.clone());
        let mut look = || source.observe(&around("/w", at("2026-11-30T12:00:00Z")));
        assert_eq!(look(), Ok(Vec::new()));
        // Not even the superuser can follow it.
        std::os::unix::fs::symlink("x".repeat(300), &path).unwrap();
        let Unavailable(why) = look().unwrap_err();
        assert!(why.starts_with(&format!("{} could not be read: ", path.display())), "{why}");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "mine").unwrap();
        assert_eq!(look().unwrap()[0].detail, "mine");
    }
}
