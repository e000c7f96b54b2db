//! What an agent hands work to, or takes instructions from: subagents and skills.

use std::path::{Path, PathBuf};

use antefix_runtime::agents::Agents;
use antefix_runtime::driver::Purse;
use antefix_runtime::head::HeadSpec;
use antefix_runtime::skills::Skills;
use antefix_runtime::store::{Sessions, Summary};
use antefix_runtime::subagents::{SubagentSpec, Subagents};
use antefix_runtime::transcript;
use antefix_session::machine::{Session, Settings};

use crate::endpoint::{self, Endpoint};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;

/// The skills that may be called in a folder: the user's own and the project's.
pub fn skills(environment: &Environment, cwd: &Path) -> Skills {
    Skills::new(own_folders(environment, "skills"), cwd)
}

/// The user's own folders of a kind, those for all agents and those for this one.
fn own_folders(environment: &Environment, kind: &str) -> Vec<PathBuf> {
    let all = environment.home.as_ref().map(|home| home.join(".claude").join(kind));
    let own = environment.config.as_ref().map(|config| config.join(kind));
    all.into_iter().chain(own).collect()
}

/// Notes what subagents of a session have spent in earlier processes. One that cannot be read is not counted: `verify`
/// says what is wrong with it.
pub fn spent_before(
    sessions: &Sessions,
    session: &str,
    endpoint: &Endpoint,
    purse: &Purse,
) -> Result<(), Failure> {
    let is_theirs = |summary: &Summary| folders::spawned_by(summary).is_some_and(|by| by.session == session);
    for summary in sessions.list(None)?.iter().filter(|summary| is_theirs(summary)) {
        let told =
            sessions.inspect(&summary.id).ok().and_then(|found| transcript::read(&found.transcript).ok());
        let told = told.and_then(|(header, entries)| transcript::replay(header, &entries).ok());
        if let Some(conversation) = told {
            let rules = endpoint.rules(conversation.lane().map_or("", |lane| lane.spec().model.as_str()));
            let spent = Session::new(conversation, rules, Settings::default()).spent();
            purse.set(summary.id.as_str(), spent);
        }
    }
    Ok(())
}

/// What runs subagents, behind the head that a session here begins with.
pub fn subagents(
    environment: &Environment,
    sessions: &Sessions,
    endpoint: &Endpoint,
    head: HeadSpec,
    settings: &Settings,
) -> Subagents {
    let agents = Agents::new(own_folders(environment, "agents"), &head.cwd);
    let (preset, platform) = (endpoint.preset.clone(), endpoint.platform);
    let rules = Box::new(move |model: &str| endpoint::rules_at(preset.as_ref(), platform, model));
    let (sessions, settings) = (sessions.clone(), settings.clone());
    Subagents::new(SubagentSpec { sessions, agents, head, rules, settings })
}
