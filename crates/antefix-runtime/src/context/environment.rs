use super::{Sighting, Source, Surroundings, Unavailable, object_of, text_of};

/// The folder that tools work in, the system, and the shell that runs commands.
#[derive(Debug)]
pub struct Environment {
    shell: String,
}

impl Environment {
    /// With the name of the shell that runs commands.
    pub fn new(shell: impl Into<String>) -> Self {
        Self { shell: shell.into() }
    }
}

impl Source for Environment {
    fn kind(&self) -> &'static str {
        "environment"
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let folder = around.folder.to_string_lossy();
        let members =
            [("folder", &*folder), ("platform", std::env::consts::OS), ("shell", self.shell.as_str())];
        Ok(vec![Sighting::new("", object_of(members))])
    }

    fn baseline(&self, sighting: &Sighting) -> Option<String> {
        let lines = MEMBERS
            .iter()
            .filter_map(|(member, name)| Some(format!("{name}: {}", text_of(&sighting.state, member)?)));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let changed = MEMBERS.iter().filter_map(|(member, name)| {
            let value = text_of(&now.state, member)?;
            match text_of(known, member) {
                Some(before) if before == value => None,
                Some(before) => Some(format!("{name}: now {value}, before {before}")),
                None => Some(format!("{name}: {value}")),
            }
        });
        let changed: Vec<String> = changed.collect();
        (!changed.is_empty()).then(|| changed.join("\n"))
    }

    fn is_instant(&self) -> bool {
        true
    }
}

/// Members of the state, and how they are named to the model.
const MEMBERS: [(&str, &str); 3] =
    [("folder", "Working directory"), ("platform", "Platform"), ("shell", "Shell")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::watcher::tests::{around, at};

    #[test]
    fn only_what_changed_is_told() {
        let mut source = Environment::new("bash");
        let seen = source.observe(&around("/w/new", at("2026-11-30T12:00:00Z"))).unwrap();
        let platform = std::env::consts::OS;
        let all = format!("Working directory: /w/new\nPlatform: {platform}\nShell: bash");
        assert_eq!(source.baseline(&seen[0]), Some(all.clone()));
        let known = |folder: &str, shell: &str| {
            object_of([("folder", folder), ("platform", platform), ("shell", shell)])
        };
        for (known, expect) in [
            (known("/w/new", "bash"), None),
            (known("/w", "bash"), Some("Working directory: now /w/new, before /w".to_owned())),
            (
                known("/w", "sh"),
                Some("Working directory: now /w/new, before /w\nShell: now bash, before sh".to_owned()),
            ),
            ("null".into(), Some(all)),
        ] {
            assert_eq!(source.drift(&known, &seen[0]), expect);
        }
    }
}
