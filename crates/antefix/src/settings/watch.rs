use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use antefix_runtime::driver::Policies;
use antefix_tools::Shell;
use antefix_tools::permission::{Policy, Rule};

use super::{Flags, LOCAL, PROJECT, SHARED, Settings, claude, trust};
use crate::environment::Environment;

/// The settings of a running session, looked at again in front of each call: a rule that is added to a file holds for
/// the next one. A file that is no longer understood leaves what it said before in force, and is told of once.
pub struct Watch {
    settings: Settings,
    policy: Arc<Policy>,
    readable: Vec<PathBuf>,
    environment: Environment,
    flags: Flags,
    seen: Vec<Option<Stamp>>,
}

impl Watch {
    /// Watches the files that the settings come from; `readable` are folders that may be read like the workspace.
    pub fn new(settings: Settings, readable: Vec<PathBuf>, environment: Environment, flags: Flags) -> Self {
        let policy = Arc::new(with_readable(settings.policy(), &readable));
        let seen = Vec::new();
        let mut watch = Self { settings, policy, readable, environment, flags, seen };
        watch.seen = watch.stamps();
        watch
    }

    /// Sets the shell whose commands are judged.
    pub fn with_shell(mut self, shell: &Arc<Shell>) -> Self {
        let policy = with_readable(self.settings.policy(), &self.readable).with_shell(shell);
        self.policy = Arc::new(policy);
        self
    }

    /// The policy that holds, to which what is remembered is added.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    fn stamps(&self) -> Vec<Option<Stamp>> {
        let folder = &self.settings.folder;
        let user = self.environment.config.as_ref().map(|config| config.join("settings.toml"));
        let trust = self.environment.state.as_ref().map(|state| trust::place(state, folder));
        let own =
            [PROJECT, LOCAL, SHARED, claude::PROJECT, claude::LOCAL].map(|name| Some(folder.join(name)));
        [user, trust].iter().chain(&own).map(|file| Stamp::of(file.as_deref()?)).collect()
    }
}

impl Policies for Watch {
    fn current(&mut self) -> (Arc<Policy>, Option<String>) {
        let stamps = self.stamps();
        if stamps == self.seen {
            return (Arc::clone(&self.policy), None);
        }
        // Taken before the files are read, so that a change meanwhile is found the next time.
        self.seen = stamps;
        let news = match Settings::read(&self.settings.folder, &self.environment, &self.flags) {
            Ok(settings) => {
                let news = changes(&self.settings, &settings, &self.policy);
                let policy = with_readable(settings.policy(), &self.readable);
                self.policy = Arc::new(policy.sharing_answers_with(&self.policy));
                self.settings = settings;
                news
            }
            Err(failure) => Some(format!(
                "the settings were changed and cannot be read, so those from before hold: {}",
                failure.text()
            )),
        };
        (Arc::clone(&self.policy), news)
    }
}

fn with_readable(policy: Policy, folders: &[PathBuf]) -> Policy {
    folders.iter().fold(policy, |policy, folder| policy.with_readable(folder))
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// What of the permissions is otherwise now, in words; not what an answer has added.
fn changes(before: &Settings, after: &Settings, policy: &Policy) -> Option<String> {
    let mut found = Vec::new();
    if before.trust.is_given() != after.trust.is_given() {
        found.push(format!("this folder is {}", after.trust.text()));
    }
    if before.mode.0 != after.mode.0 {
        found.push(format!("mode {} ({})", after.mode.0.name(), after.mode.1));
    }
    let is_in = |rules: &[Rule], rule: &Rule| {
        rules.iter().any(|other| (other.effect(), other.text()) == (rule.effect(), rule.text()))
    };
    let word = |rule: &Rule| format!("{} {}", rule.effect().word(), rule.text());
    for rule in after.rules.iter().filter(|rule| !is_in(&before.rules, rule)) {
        if !policy.remembers(rule.text()) {
            found.push(format!("now {} ({})", word(rule), rule.source()));
        }
    }
    for rule in before.rules.iter().filter(|rule| !is_in(&after.rules, rule)) {
        found.push(format!("no longer {}", word(rule)));
    }
    (!found.is_empty()).then(|| format!("the settings were changed: {}", found.join("; ")))
}
