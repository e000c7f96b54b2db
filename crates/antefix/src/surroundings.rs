//! What the model is told of its surroundings: which sources there are, and in which order they are told.

use std::ffi::OsString;
use std::sync::Arc;

use antefix_runtime::agents::Agents;
use antefix_runtime::clock;
use antefix_runtime::context::{
    Budget, Date, Definitions, Diagnostics, Environment as Place, Files, Git, GitStatus, Instructions,
    Memory, Permissions, Surroundings, Todo, Watcher,
};
use antefix_runtime::skills::Skills;
use antefix_session::guard::Limits;
use antefix_tools::{Bash, Context, TodoLine};

use crate::environment::{self, Environment};
use crate::settings::Settings;

/// Where and when the first look is.
pub fn surroundings(context: &Context, holding: &Settings) -> Surroundings {
    Surroundings {
        policy: Some(Arc::new(holding.policy())),
        files: Arc::clone(&context.files),
        ..Surroundings::of(&context.cwd, clock::now(), environment::zone())
    }
}

/// What the user and the project have written for the agent, as far as it may be called.
#[derive(Clone, Default)]
pub struct Callable {
    /// For `skill`.
    pub skills: Option<Arc<Skills>>,
    /// For `task`.
    pub agents: Option<Agents>,
}

/// All that is watched; `wanted` is the list of what is to be done, where the user has made another of it.
pub fn watcher(
    environment: &Environment,
    holding: &Settings,
    context: &Context,
    limits: Limits,
    callable: Callable,
    wanted: Option<Vec<TodoLine>>,
) -> Watcher {
    let mut watcher = Watcher::new(holding.reminders.clone());
    watcher.add(Place::new(Bash::shell(context)));
    watcher.add(Date);
    watcher.add(Git);
    watcher.add(GitStatus::new(environment_of_git(context)));
    watcher.add(Instructions::new(environment.config.clone(), environment.home.clone()));
    if let Some(file) = holding.memory() {
        watcher.add(Memory::new(file));
    }
    if let Some(skills) = callable.skills {
        watcher.add(Definitions::skills(move || skills.listing()));
    }
    if let Some(agents) = callable.agents {
        watcher.add(Definitions::agents(move || agents.listing()));
    }
    watcher.add(Permissions::new(holding.mode.0));
    watcher.add(Files::default());
    watcher.add(Todo::new(wanted));
    watcher.add(Budget::new(limits));
    if let Some((command, timeout)) = holding.diagnostics() {
        watcher.add(Diagnostics::new(command, timeout, context.clone()));
    }
    watcher
}

/// What `git` needs to find itself and the user's own configuration.
fn environment_of_git(context: &Context) -> Vec<(OsString, OsString)> {
    let is_needed = |name: &OsString| NEEDED.iter().any(|needed| name == needed);
    context.environment.iter().filter(|(name, _)| is_needed(name)).cloned().collect()
}

const NEEDED: [&str; 5] = ["PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "LD_LIBRARY_PATH"];
