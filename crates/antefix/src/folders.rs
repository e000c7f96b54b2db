use std::path::{Path, PathBuf};

use antefix_runtime::store::{SessionId, Sessions, Summary};
use antefix_session::record::{Header, Spawned};

use crate::environment::Environment;
use crate::failure::Failure;

/// Where sessions are kept.
///
/// # Errors
/// If neither `XDG_STATE_HOME` nor `HOME` is set.
pub fn sessions(environment: &Environment) -> Result<Sessions, Failure> {
    let state = environment.state.clone().ok_or_else(|| {
        Failure::usage("there is no place for sessions").hint("set HOME, or XDG_STATE_HOME, to a folder")
    })?;
    Ok(Sessions::at(state))
}

/// The folder to work in, with symbolic links resolved.
///
/// # Errors
/// If it is not there or not a folder.
pub fn working_folder(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = asked.unwrap_or(Path::new("."));
    let resolved = std::fs::canonicalize(folder)
        .map_err(|error| Failure::usage(format!("cannot work in `{}`: {error}", folder.display())))?;
    if resolved.is_dir() {
        Ok(resolved)
    } else {
        Err(Failure::usage(format!("`{}` is not a folder", folder.display())))
    }
}

/// The call that a session works for, if it is a subagent's.
pub fn spawned_by(summary: &Summary) -> Option<Spawned> {
    Header::decode(&summary.header).ok()?.spawned_by
}

/// The session of that name or with a name that begins so; the last one of `cwd` if nothing is asked for.
///
/// # Errors
/// If there is none, or more than one name begins so.
pub fn find(sessions: &Sessions, asked: Option<&str>, cwd: &Path) -> Result<SessionId, Failure> {
    let cwd = cwd.to_string_lossy();
    let Some(asked) = asked else {
        // What a subagent has said is not what the user goes on with.
        let last = sessions.list(Some(&cwd))?.into_iter().find(|summary| spawned_by(summary).is_none());
        return last.map(|summary| summary.id).ok_or_else(|| {
            Failure::usage(format!("there is no session of `{cwd}`"))
                .hint("`antefix sessions --all` lists all")
        });
    };
    // A session whose first line is damaged is not in the list; by its whole name it is found.
    if let Ok(exact) = asked.parse::<SessionId>()
        && sessions.exists(&exact)?
    {
        return Ok(exact);
    }
    let all = sessions.list(None)?;
    let matching: Vec<Summary> = all
        .into_iter()
        .filter(|summary| summary.id.as_str().starts_with(asked) && !asked.is_empty())
        .collect();
    match matching.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => {
            Err(Failure::usage(format!("there is no session `{asked}`"))
                .hint("`antefix sessions` lists them"))
        }
        many => {
            let names: Vec<_> = many.iter().map(|summary| summary.id.as_str()).collect();
            Err(Failure::usage(format!("`{asked}` could be {}", names.join(", "))))
        }
    }
}
