//! Agents: prompts for subagents that users and projects keep as Markdown files, each with the tools it may use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use antefix_tools::is_selected;

use crate::definitions::{
    Finds, Found, Frontmatter, Listed, Listing, Places, Words, is_markdown, is_name, on_one_line,
};

/// The agents of a user and a project, looked for anew whenever they are asked for.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    places: Places,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    /// What it is called.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// The tools that it may use, by the names they have here; `None`: all.
    pub tools: Option<BTreeSet<String>>,
    /// The tools that it may not use.
    pub denied: BTreeSet<String>,
    /// The model that it wants; `None`: that of the session.
    pub model: Option<String>,
    /// Its prompt.
    pub prompt: String,
    /// Digest of the whole file.
    pub digest: String,
}

impl Agents {
    /// The agents for `cwd`: those in the folders of the user's own, and in `.claude/agents` of the project.
    pub fn new(user: Vec<PathBuf>, cwd: &Path) -> Self {
        Self { places: Places::new(user, cwd, ".claude/agents") }
    }

    /// The agents there are now in order of their names, and a note for each file that is none, or that says something
    /// of its tools that is not taken.
    pub fn find(&self) -> (Vec<AgentFile>, Vec<String>) {
        self.look().0
    }

    /// As [`find`](Self::find); and whether something could not be read, so that there may be more.
    fn look(&self) -> ((Vec<AgentFile>, Vec<String>), bool) {
        let Finds { files, mut notes, is_cut_short } = self.places.find("", is_markdown);
        let mut agents: Vec<AgentFile> = Vec::new();
        for file in &files {
            let path = on_one_line(&file.path.to_string_lossy(), 300);
            match AgentFile::read(file) {
                Ok((agent, _)) if agents.iter().any(|earlier| earlier.name == agent.name) => {}
                Ok((agent, remark)) => {
                    notes.extend(remark.map(|remark| format!("`{path}`: {remark}")));
                    agents.push(agent);
                }
                Err(problem) => notes.push(format!("`{path}` is left out: {problem}")),
            }
        }
        agents.sort_by(|a, b| a.name.cmp(&b.name));
        ((agents, notes), is_cut_short)
    }

    /// What the model is told of the agents; `None` while something cannot be read.
    pub fn listing(&self) -> Option<Listing> {
        let ((agents, _), is_cut_short) = self.look();
        let mut listing = Listing::default();
        for agent in agents {
            listing.add(&agent.name, Listed { description: agent.description, digest: agent.digest });
        }
        (!is_cut_short).then_some(listing)
    }
}

impl AgentFile {
    /// Whether it may use a tool. `mcp__server` stands for all tools of that server.
    pub fn may_use(&self, tool: &str) -> bool {
        let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>();
        is_selected(tool, self.tools.as_ref().map(names).as_deref(), &names(&self.denied))
    }

    /// Reads a file; gives what of its tools is not taken beside it, and in words why it is no agent.
    fn read(file: &Found) -> Result<(Self, Option<String>), String> {
        let (head, prompt) = Frontmatter::read(&file.text).map_err(|error| error.to_string())?;
        let stem = || Some(file.path.file_stem()?.to_string_lossy().into_owned());
        let name = head.text("name").or_else(stem).unwrap_or_default();
        if !is_name(&name) {
            let name = on_one_line(&name, 80);
            return Err(format!("its name `{name}` is not 1 to 64 of a-z, A-Z, 0-9, `-` and `_`"));
        }
        let description = head.text("description").ok_or("it has no `description`")?;
        let (tools, odd) = match head.list("tools") {
            // Nothing behind the field is as if it were not there.
            Some(list) if list.is_empty() => (None, Vec::new()),
            Some(list) => {
                let (patterns, names): (Vec<String>, Vec<String>) =
                    list.into_iter().partition(|name| name.contains('('));
                (Some(names.iter().map(|name| own_name(name)).collect::<BTreeSet<_>>()), patterns)
            }
            None => (None, Vec::new()),
        };
        let denied = head.list("disallowedTools").unwrap_or_default();
        let remark = (!odd.is_empty()).then(|| {
            let odd = on_one_line(&odd.join(", "), 200);
            format!("`tools` are names: {odd} is left out, so that the agent may not use it")
        });
        let model = head.text("model").filter(|model| !model.eq_ignore_ascii_case("inherit"));
        let agent = Self {
            name,
            description: on_one_line(&description, DESCRIPTION),
            tools,
            denied: denied.iter().map(|name| own_name(name)).collect(),
            model: model.map(|model| on_one_line(&model, 100)),
            prompt: prompt.trim().to_owned(),
            digest: blake3::hash(file.text.as_bytes()).to_hex().to_string(),
        };
        Ok((agent, remark))
    }
}

/// The name that a tool has here: agents that were written for Claude Code name its tools.
fn own_name(name: &str) -> String {
    let known = NAMES.iter().find(|(other, _)| *other == name);
    known.map_or_else(|| name.to_owned(), |(_, own)| (*own).to_owned())
}

/// Tools of Claude Code, by their public names of November 2026, and those here that do the same.
const NAMES: [(&str, &str); 12] = [
    ("Read", "read"),
    ("Grep", "grep"),
    ("Glob", "glob"),
    ("Edit", "edit"),
    ("MultiEdit", "multi_edit"),
    ("Write", "write"),
    ("Bash", "bash"),
    ("BashOutput", "bash_output"),
    ("KillShell", "bash_kill"),
    ("TodoWrite", "todo"),
    ("WebFetch", "web_fetch"),
    ("Skill", "skill"),
];

/// How the list of agents is spoken of.
pub const WORDS: Words = Words {
    heading: "# Agents\nThe tool `task` takes the name of one of these as `agent`:",
    added: "Agents that are new:",
    described: "Agents that have changed:",
    edited: "Agents whose prompt has changed, which holds for later tasks:",
    gone: "Agents that are there no more:",
};

/// Letters of a description that are listed.
const DESCRIPTION: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(files: &[(&str, &str)]) -> (Vec<AgentFile>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".claude/agents");
        std::fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            std::fs::write(path.join(name), text).unwrap();
        }
        let (agents, notes) = Agents::new(Vec::new(), folder.path()).find();
        let from = path.to_string_lossy().into_owned();
        (agents, notes.into_iter().map(|note| note.replace(&from, "DIR")).collect())
    }

    #[test]
    fn tools_and_models_are_read() {
        for (head, tools, model) in [
            ("", None, None),
            ("tools:", None, None),
            ("tools: Read, Grep, mcp__a__b", Some("grep mcp__a__b read"), None),
            ("tools: [Bash, bash]", Some("bash"), None),
            ("tools: Read, Bash(git log:*)", Some("read"), None),
            ("tools: Bash(git log:*)", Some(""), None),
            ("model: inherit", None, None),
            ("model: opus", None, Some("opus")),
        ] {
            let (agents, _) = agents(&[("a.md", &format!("---\ndescription: d\n{head}\n---\nPrompt.\n"))]);
            let tools: Option<BTreeSet<String>> =
                tools.map(|tools: &str| tools.split_whitespace().map(str::to_owned).collect());
            let found = &agents[0];
            assert_eq!((&found.tools, found.model.as_deref()), (&tools, model), "{head}");
            assert_eq!((found.name.as_str(), found.prompt.as_str()), ("a", "Prompt."));
        }
    }

    #[test]
    fn an_agent_may_use_what_its_file_says() {
        for (head, expect) in [
            ("", "read bash"),
            ("tools: Read", "read"),
            ("disallowedTools: Bash", "read"),
            ("tools: Read, Bash\ndisallowedTools: Read", "bash"),
        ] {
            let (agents, _) = agents(&[("a.md", &format!("---\ndescription: d\n{head}\n---\nx"))]);
            let may = ["read", "bash"].into_iter().filter(|tool| agents[0].may_use(tool));
            assert_eq!(may.collect::<Vec<_>>().join(" "), expect, "{head}");
        }
    }

    #[test]
    fn what_is_no_agent_is_left_out() {
        let (found, notes) = agents(&[
            ("bare.md", "Do it."),
            ("mute.md", "---\nname: mute\n---\nx"),
            ("odd.md", "---\nname: a/b\ndescription: d\n---\nx"),
            ("part.md", "---\ndescription: d\ntools: Read, Bash(ls)\n---\nx"),
            ("rest.txt", "---\ndescription: d\n---\nx"),
        ]);
        assert_eq!(found.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["part"]);
        assert_eq!(
            notes,
            [
                "`DIR/bare.md` is left out: it does not begin with a line of `---` and its fields",
                "`DIR/mute.md` is left out: it has no `description`",
                "`DIR/odd.md` is left out: its name `a/b` is not 1 to 64 of a-z, A-Z, 0-9, `-` and `_`",
                "`DIR/part.md`: `tools` are names: Bash(ls) is left out, so that the agent may not use it",
            ]
        );
    }
}
