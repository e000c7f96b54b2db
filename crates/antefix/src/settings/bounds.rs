use std::path::{Path, PathBuf};

use antefix_tools::permission::Source;
use antefix_tools::sandbox::{Available, Confinement, Sandbox};

use crate::failure::Failure;

/// What settings and flags say about the bounds of commands.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// What commands may change.
    pub mode: (Confinement, Source),
    /// Whether they may use the network.
    pub network: (bool, Source),
    /// Folders besides the workspace that they may change.
    pub writable: Vec<(PathBuf, Source)>,
    /// Whether somebody asked for bounds, who must get them then.
    asked: bool,
}

impl Bounds {
    /// Takes in a value; says whether it holds. One that is not the user's own holds only if it makes things stricter.
    ///
    /// # Errors
    /// In words, if it is not understood.
    pub(super) fn add(
        &mut self,
        (key, text, source): (&str, &str, &Source),
        is_own: bool,
        home: Option<&Path>,
    ) -> Result<bool, String> {
        match key {
            MODE => {
                let mode = Confinement::from_name(text).ok_or_else(|| format!("`{text}` is no sandbox"))?;
                Ok(self.set_mode(mode, source, is_own))
            }
            NETWORK => {
                let network = match text {
                    "on" => true,
                    "off" => false,
                    _ => return Err(format!("`{NETWORK}` is `{text}`, neither `on` nor `off`")),
                };
                Ok(self.set_network(network, source, is_own))
            }
            _ => {
                let path = folder(text, home)?;
                if is_own {
                    self.writable.push((path, source.clone()));
                }
                Ok(is_own)
            }
        }
    }

    /// Sets what commands may change.
    pub(super) fn set_mode(&mut self, mode: Confinement, source: &Source, is_own: bool) -> bool {
        let holds = is_own || mode <= self.mode.0;
        if holds {
            self.asked |= mode != Confinement::Off;
            self.mode = (mode, source.clone());
        }
        holds
    }

    /// Sets whether they may use the network.
    pub(super) fn set_network(&mut self, network: bool, source: &Source, is_own: bool) -> bool {
        let holds = is_own || !network;
        if holds {
            self.asked |= !network;
            self.network = (network, source.clone());
        }
        holds
    }

    /// The sandbox, with a remark where this system has none and nobody has asked for one.
    ///
    /// # Errors
    /// If somebody has asked for one and this system has none.
    pub fn sandbox(
        &self,
        available: Available,
        home: Option<&Path>,
        temporary: PathBuf,
    ) -> Result<(Sandbox, Option<String>), Failure> {
        let writable = self.writable.iter().map(|(path, _)| path.clone()).collect();
        let sandbox = Sandbox {
            offline: !self.network.0,
            writable,
            temporary: Some(temporary),
            ..Sandbox::new(self.mode.0, home)
        };
        match available.lacks() {
            Some(why) if sandbox.is_on() && self.asked => {
                Err(Failure::usage(format!("commands cannot be confined: {why}"))
                    .hint("--sandbox off --network on runs them unconfined"))
            }
            Some(why) if sandbox.is_on() => {
                Ok((Sandbox::default(), Some(format!("commands are not confined: {why}"))))
            }
            _ => Ok((sandbox, None)),
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        let source = Source::new("built-in");
        let (mode, network) = ((Confinement::Workspace, source.clone()), (true, source));
        Self { mode, network, writable: Vec::new(), asked: false }
    }
}

/// An absolute path, or one below the home folder.
pub(super) fn folder(text: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    if path.is_absolute() { Ok(path) } else { Err(format!("`{text}` is no absolute path")) }
}

pub(super) const MODE: &str = "sandbox.mode";
pub(super) const NETWORK: &str = "sandbox.network";
pub(super) const WRITE: &str = "sandbox.write";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_given_or_refused() {
        let nothing = Available { landlock: None, filter: true };
        let all = Available { landlock: Some(7), filter: true };
        let source = Source::new("flag");
        let made = |bounds: &Bounds, available| bounds.sandbox(available, None, "/t".into());
        let mut bounds = Bounds::default();
        assert_eq!(made(&bounds, all).unwrap().0.confinement, Confinement::Workspace);
        let (sandbox, notice) = made(&bounds, nothing).unwrap();
        assert!(!sandbox.is_on() && notice.unwrap().contains("not confined"));
        bounds.set_mode(Confinement::ReadOnly, &source, true);
        assert!(made(&bounds, nothing).is_err());
        assert_eq!(made(&bounds, all).unwrap().0.confinement, Confinement::ReadOnly);
        bounds.set_mode(Confinement::Off, &source, true);
        assert!(!made(&bounds, nothing).unwrap().0.is_on());
    }

    #[test]
    fn folders_that_may_be_changed() {
        let home = Path::new("/home/u");
        for (text, expect) in [("~/c", Ok("/home/u/c")), ("/c", Ok("/c")), ("c", Err(())), ("~x/c", Err(()))]
        {
            let got = folder(text, Some(home)).map_err(|_| ());
            assert_eq!(got, expect.map(PathBuf::from), "{text}");
        }
    }
}
