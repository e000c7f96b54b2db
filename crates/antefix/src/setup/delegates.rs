//! What an agent hands work to, or takes instructions from: subagents and skills.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antefix_runtime::agents::Agents;
use antefix_runtime::driver::Purse;
use antefix_runtime::head::HeadSpec;
use antefix_runtime::skills::Skills;
use antefix_runtime::store::{Sessions, Summary};
use antefix_runtime::subagents::{SubagentSpec, Subagents};
use antefix_runtime::transcript;
use antefix_session::machine::{Session, Settings};
use antefix_tools::{Skill, Task, Tool};

use crate::endpoint::{self, Endpoint};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::settings::Settings as Holding;
use crate::surroundings::{self, Callable};

/// The skills that may be called in a folder: the user's own and the project's.
pub fn skills(environment: &Environment, cwd: &Path) -> Skills {
    Skills::new(own_folders(environment, "skills"), cwd)
}

/// The tools that give them and hand work on.
pub fn tools(skills: &Arc<Skills>, subagents: &Arc<Subagents>) -> [Arc<dyn Tool>; 2] {
    let (skills, subagents) = (Arc::<Skills>::clone(skills), Arc::<Subagents>::clone(subagents));
    [Arc::new(Skill::new(skills)), Arc::new(Task::new(subagents))]
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

/// What subagents are to have from the session that they work for.
pub struct Employer<'a> {
    /// Where the user's own files are.
    pub environment: &'a Environment,
    /// Who answers.
    pub endpoint: &'a Endpoint,
    /// What holds in the folder.
    pub holding: &'a Holding,
    /// The skills there.
    pub skills: &'a Arc<Skills>,
}

impl Employer<'_> {
    /// What runs subagents in `cwd`, behind the head that a session here begins with.
    pub fn subagents(
        &self,
        sessions: &Sessions,
        cwd: &Path,
        head: HeadSpec,
        settings: &Settings,
    ) -> Subagents {
        let (preset, platform) = (self.endpoint.preset.clone(), self.endpoint.platform);
        let (environment, holding) = (self.environment.clone(), self.holding.clone());
        let (limits, skills) = (settings.limits, Arc::clone(self.skills));
        Subagents::new(SubagentSpec {
            sessions: sessions.clone(),
            agents: Agents::new(own_folders(self.environment, "agents"), cwd),
            head,
            rules: Box::new(move |model| endpoint::rules_at(preset.as_ref(), platform, model)),
            settings: settings.clone(),
            surroundings: Box::new(move |context| {
                // A subagent names no agents: it starts no subagents.
                let callable = Callable { skills: Some(Arc::clone(&skills)), agents: None };
                let watcher = surroundings::watcher(&environment, &holding, context, limits, callable);
                (watcher, surroundings::surroundings(context, &holding))
            }),
        })
    }
}
