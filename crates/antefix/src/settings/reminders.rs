use antefix_runtime::context::{NoKind, Reminders};

/// What a file says of one kind of reminder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Not at all.
    Off,
    /// As it is built in.
    On,
    /// With texts of so many bytes at most.
    Cap(usize),
}

impl Wanted {
    /// Reads `true`, `false` or a number of bytes.
    pub(super) fn read(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Boolean(true) => Some(Self::On),
            toml::Value::Boolean(false) => Some(Self::Off),
            toml::Value::Integer(bytes) => {
                usize::try_from(*bytes).ok().filter(|bytes| *bytes > 0).map(Self::Cap)
            }
            _ => None,
        }
    }

    /// As it is written in a file.
    pub(super) fn text(self) -> String {
        match self {
            Self::Off => "false".to_owned(),
            Self::On => "true".to_owned(),
            Self::Cap(bytes) => bytes.to_string(),
        }
    }

    /// Adds it to what holds.
    pub(super) fn add_to(self, reminders: &mut Reminders, kind: &str) -> Result<(), NoKind> {
        match self {
            Self::Off => reminders.switch_off(kind),
            Self::On => reminders.switch_on(kind),
            Self::Cap(bytes) => reminders.cap(kind, bytes),
        }
    }
}

pub(super) const REMINDERS: &str = "reminders";
pub(super) const MEMORY: &str = "memory.file";
pub(super) const DIAGNOSTICS: &str = "diagnostics.command";
pub(super) const DIAGNOSTICS_TIMEOUT: &str = "diagnostics.timeout_s";
