use antefix_tools::permission::Mode;

use super::{Sighting, Source, Surroundings, Unavailable, object_of, text_of};

/// The permission mode. What it was when the session began is not said: a call that may not run is told why.
#[derive(Debug)]
pub struct Permissions {
    mode: Mode,
}

impl Permissions {
    /// With the mode that holds.
    pub fn new(mode: Mode) -> Self {
        Self { mode }
    }
}

impl Source for Permissions {
    fn kind(&self) -> &'static str {
        "permissions"
    }

    fn observe(&mut self, _around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        Ok(vec![Sighting::new("", object_of([("mode", self.mode.name())]))])
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let mode = text_of(&now.state, "mode")?;
        let meaning = MEANINGS.iter().find(|(name, _)| *name == mode).map_or("", |(_, meaning)| meaning);
        let before = text_of(known, "mode").map(|before| format!(" It was `{before}` before."));
        Some(format!("The permission mode is `{mode}`: {meaning}.{}", before.unwrap_or_default()))
    }

    fn is_instant(&self) -> bool {
        true
    }
}

/// What happens in each mode to calls that no rule speaks of.
const MEANINGS: [(&str, &str); 4] = [
    ("read-only", "calls that would change something are refused"),
    ("ask", "the user is asked about calls that would change something"),
    (
        "accept-edits",
        "edits of the workspace run, and the user is asked about other calls that would change something",
    ),
    ("full", "calls run without a question"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_has_a_meaning() {
        let modes = ["read-only", "ask", "accept-edits", "full"].map(|name| Mode::from_name(name).unwrap());
        for mode in modes {
            assert!(MEANINGS.iter().any(|(name, _)| *name == mode.name()));
        }
        let now = Sighting::new("", object_of([("mode", "read-only")]));
        assert_eq!(
            Permissions::new(modes[0]).drift(br#"{"mode":"full"}"#, &now).as_deref(),
            Some(
                "The permission mode is `read-only`: calls that would change something are refused. It was `full` before."
            )
        );
    }
}
