//! How the environment of a command gets past the helper.
//!
//! The helper is not confined when it starts, so no variable that a command has exported may act on it: with
//! `LD_PRELOAD`, a library of the workspace would run outside the sandbox. Each name is carried with a prefix.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// A variable as the helper carries it.
pub(crate) fn carried(name: &OsStr) -> OsString {
    let mut out = OsString::from(PREFIX);
    out.push(name);
    out
}

/// The variables of the command, out of the helper's own.
pub(super) fn delivered(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    environment.filter_map(|(name, value)| {
        let name = name.as_bytes().strip_prefix(PREFIX.as_bytes())?;
        (!name.is_empty()).then(|| (OsString::from_vec(name.to_owned()), value))
    })
}

const PREFIX: &str = "antefix:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_carried_is_delivered() {
        let carry = |name: &str| (carried(OsStr::new(name)), OsString::from("1"));
        let environment =
            [carry("LD_PRELOAD"), ("PATH".into(), "/own".into()), carry("antefix:X"), carry("")];
        let names: Vec<_> = delivered(environment.into_iter()).map(|(name, _)| name).collect();
        assert_eq!(names, ["LD_PRELOAD", "antefix:X"]);
    }
}
