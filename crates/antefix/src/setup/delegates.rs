//! What an agent hands work to, or takes instructions from: subagents and skills.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use antefix_models::{PriceBook, Rules};
use antefix_runtime::agents::Agents;
use antefix_runtime::driver::{Purse, subagent_of};
use antefix_runtime::head::HeadSpec;
use antefix_runtime::skills::Skills;
use antefix_runtime::store::{Sessions, Summary};
use antefix_runtime::subagents::{SubagentSpec, Subagents, Surround};
use antefix_runtime::transcript::{self, OpenError};
use antefix_session::conversation::Conversation;
use antefix_session::guard::Limits;
use antefix_session::machine::Settings;
use antefix_session::spend::{Spend, of_conversation};
use antefix_tools::{Registry, Skill, Task, Tool};

use crate::endpoint::{self, Endpoint};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::settings::Settings as Holding;
use crate::surroundings::{self, Callable};

/// Where work is handed to, and where instructions come from.
pub struct Delegates {
    /// The skills of the user and of the folder.
    pub skills: Arc<Skills>,
    /// What runs subagents.
    pub subagents: Arc<Subagents>,
}

impl Delegates {
    /// The tools that give skills and hand work on.
    pub fn tools(&self) -> [Arc<dyn Tool>; 2] {
        let (skills, subagents) =
            (Arc::<Skills>::clone(&self.skills), Arc::<Subagents>::clone(&self.subagents));
        [Arc::new(Skill::new(skills)), Arc::new(Task::new(subagents))]
    }

    /// What the model is told of them, as far as there is a tool for it.
    pub fn callable(&self, registry: &Registry) -> Callable {
        Callable {
            skills: registry.get(Skill::NAME).map(|_| Arc::clone(&self.skills)),
            agents: registry.get(Task::NAME).map(|_| self.subagents.agents().clone()),
        }
    }
}

/// What subagents are to have from the session that they work for.
pub struct Employer<'a> {
    /// Where the user's own files are.
    pub environment: &'a Environment,
    /// Who answers.
    pub endpoint: &'a Endpoint,
    /// What holds in the folder.
    pub holding: &'a Holding,
}

impl Employer<'_> {
    /// What is there for a session in `cwd`: subagents go behind the head that it begins with.
    pub fn delegates(
        &self,
        sessions: &Sessions,
        cwd: &Path,
        head: HeadSpec,
        settings: &Settings,
    ) -> Delegates {
        let skills = Arc::new(Skills::new(own_folders(self.environment, "skills"), cwd));
        let subagents = Arc::new(Subagents::new(SubagentSpec {
            sessions: sessions.clone(),
            agents: Agents::new(own_folders(self.environment, "agents"), cwd),
            head,
            rules: self.rules(),
            settings: settings.clone(),
            surroundings: self.surroundings(settings.limits, &skills),
        }));
        Delegates { skills, subagents }
    }

    fn rules(&self) -> Box<dyn Fn(&str) -> Rules + Send + Sync> {
        let (preset, platform) = (self.endpoint.preset.clone(), self.endpoint.platform);
        Box::new(move |model| endpoint::rules_at(preset.as_ref(), platform, model))
    }

    fn surroundings(&self, limits: Limits, skills: &Arc<Skills>) -> Box<Surround> {
        let (environment, holding) = (self.environment.clone(), self.holding.clone());
        let skills = Arc::clone(skills);
        Box::new(move |context| {
            // A subagent names no agents: it starts no subagents.
            let callable = Callable { skills: Some(Arc::clone(&skills)), agents: None };
            let watcher = surroundings::watcher(&environment, &holding, context, limits, callable, None);
            (watcher, surroundings::surroundings(context, &holding))
        })
    }
}

/// The user's own folders of a kind, those for all agents and those for this one.
fn own_folders(environment: &Environment, kind: &str) -> Vec<PathBuf> {
    let all = environment.home.as_ref().map(|home| home.join(".claude").join(kind));
    let own = environment.config.as_ref().map(|config| config.join(kind));
    all.into_iter().chain(own).collect()
}

/// Notes what subagents of a session have spent in earlier processes, and gives what could not be read of that.
///
/// # Errors
/// If some of it cannot be read and there is a limit to keep.
pub fn spent_before(
    sessions: &Sessions,
    conversation: &Conversation,
    settings: &Settings,
    purse: &Purse,
) -> Result<Vec<String>, Failure> {
    let session = &conversation.header().session;
    let is_theirs = |summary: &Summary| folders::spawned_by(summary).is_some_and(|by| by.session == *session);
    let listed = sessions.list(None)?.into_iter().filter(is_theirs).map(|summary| summary.id.to_string());
    // One whose first line is damaged is in no list, but its call has returned.
    let named = conversation.results().values().filter_map(subagent_of);
    let mut unread = Vec::new();
    for id in listed.chain(named).collect::<BTreeSet<_>>() {
        match spent(sessions, &id, &settings.prices) {
            Ok(spent) => purse.set(&id, spent),
            Err(why) if settings.limits.max_cost.is_some() => {
                let text = format!(
                    "what the subagent {id} has spent cannot be read, so that `--max-usd` cannot be kept to: {why}"
                );
                return Err(Failure::usage(text).hint(format!(
                    "`antefix verify {id}` says more of it; without `--max-usd` the session goes on"
                )));
            }
            Err(why) => {
                unread.push(format!("what the subagent {id} has spent is not counted: {why}"));
            }
        }
    }
    Ok(unread)
}

fn spent(sessions: &Sessions, id: &str, prices: &PriceBook) -> Result<Spend, OpenError> {
    let (header, entries) = transcript::read(&sessions.inspect(&id.parse()?)?.transcript)?;
    Ok(of_conversation(&transcript::replay(header, &entries)?, prices))
}
