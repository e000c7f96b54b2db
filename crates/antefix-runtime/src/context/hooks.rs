use antefix_tools::hooks::Said;

use super::{Sighting, Source, Surroundings, Unavailable};

/// The kind of what hooks tell the model.
pub const HOOK: &str = "hook";

/// What hooks said when the session began or went on. What they said in an earlier process stays said.
#[derive(Debug)]
pub struct StartHooks {
    said: Vec<Said>,
}

impl StartHooks {
    /// With what they said in this process.
    pub fn new(said: Vec<Said>) -> Self {
        Self { said }
    }
}

impl Source for StartHooks {
    fn kind(&self) -> &'static str {
        HOOK
    }

    fn observe(&mut self, _around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        Ok(self.said.iter().map(sighting).collect())
    }

    fn baseline(&self, sighting: &Sighting) -> Option<String> {
        Some(format!("# From the user's SessionStart hook\n{}", sighting.detail))
    }

    fn drift(&self, _known: &[u8], now: &Sighting) -> Option<String> {
        Some(format!("The user's SessionStart hook says:\n{}", now.detail))
    }

    /// Hooks at other moments have keys of their own, and one that is silent now takes back nothing.
    fn speaks_for(&self, _key: &str) -> bool {
        false
    }

    fn is_instant(&self) -> bool {
        true
    }
}

/// What a hook says, by its digest.
pub(crate) fn sighting(said: &Said) -> Sighting {
    let digest = blake3::hash(said.text.as_bytes()).to_hex();
    // INVARIANT: the digest has 64 digits.
    let state = format!("\"{}\"", &digest[..16]);
    Sighting::new(said.key.clone(), state).with_detail(said.text.clone())
}
