//! Skills and agents: their lists, and what of them comes, changes and goes.

use crate::definitions::{Listing, Words};

use super::{Sighting, Source, Surroundings, Unavailable};

/// The skills, or the agents, that there are.
pub struct Definitions {
    kind: &'static str,
    words: &'static Words,
    look: Box<dyn Fn() -> Option<Listing> + Send>,
    /// What was there at the last look.
    last: Listing,
}

impl Definitions {
    /// Looks for skills with `look`, which gives nothing while a folder cannot be read.
    pub fn skills(look: impl Fn() -> Option<Listing> + Send + 'static) -> Self {
        Self::new("skills", &crate::skills::WORDS, look)
    }

    /// Looks for agents, likewise.
    pub fn agents(look: impl Fn() -> Option<Listing> + Send + 'static) -> Self {
        Self::new("agents", &crate::agents::WORDS, look)
    }

    fn new(
        kind: &'static str,
        words: &'static Words,
        look: impl Fn() -> Option<Listing> + Send + 'static,
    ) -> Self {
        Self { kind, words, look: Box::new(look), last: Listing::default() }
    }
}

impl Source for Definitions {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn observe(&mut self, _: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let listing = (self.look)().ok_or_else(|| Unavailable("a folder cannot be read".to_owned()))?;
        let state = listing.state();
        self.last = listing;
        Ok(vec![Sighting::new("", state)])
    }

    fn baseline(&self, _: &Sighting) -> Option<String> {
        self.last.text(self.words)
    }

    fn drift(&self, known: &[u8], _: &Sighting) -> Option<String> {
        // A change of what is not told, such as the place of a file, is none.
        Some(self.last.drift(known, self.words).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::watcher::tests::{around, at};

    #[test]
    fn a_folder_that_cannot_be_read_has_what_it_had() {
        let mut source = Definitions::skills(|| None);
        let seen = source.observe(&around("/w", at("2026-11-30T12:00:00Z")));
        assert_eq!(seen, Err(Unavailable("a folder cannot be read".to_owned())));
    }
}
