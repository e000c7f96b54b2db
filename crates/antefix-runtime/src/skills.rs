//! Skills: texts of instructions that users and projects keep in folders, each with a `SKILL.md`.

use std::path::{Path, PathBuf};

use antefix_tools::{Failure, Shelf};

use crate::definitions::{Finds, Found, Frontmatter, Listed, Listing, Places, Words, is_name, on_one_line};

/// The skills of a user and a project, looked for anew whenever they are asked for.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    places: Places,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// What it is called by.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// Whether the model may call it; otherwise the user alone may.
    pub is_for_model: bool,
    /// Whether the user may call it.
    pub is_for_user: bool,
    /// The folder that its relative paths start at.
    pub folder: PathBuf,
    /// Its text.
    pub text: String,
    /// Digest of the whole file.
    pub digest: String,
}

impl Skills {
    /// The skills for `cwd`: those in the folders of the user's own, and in `.claude/skills` of the project.
    pub fn new(user: Vec<PathBuf>, cwd: &Path) -> Self {
        Self { places: Places::new(user, cwd, ".claude/skills") }
    }

    /// The user's own folders, which may lie outside the workspace.
    pub fn user_folders(&self) -> &[PathBuf] {
        self.places.user()
    }

    /// The skills there are now in order of their names, and a note for each file that is none.
    pub fn find(&self) -> (Vec<SkillFile>, Vec<String>) {
        self.look().0
    }

    /// As [`find`](Self::find); and whether something could not be read, so that there may be more.
    fn look(&self) -> ((Vec<SkillFile>, Vec<String>), bool) {
        let Finds { files, mut notes, is_cut_short } = self.places.find("SKILL.md", |_| true);
        let mut skills: Vec<SkillFile> = Vec::new();
        for file in &files {
            match SkillFile::read(file) {
                Ok(skill) if skills.iter().any(|earlier| earlier.name == skill.name) => {}
                Ok(skill) => skills.push(skill),
                Err(problem) => {
                    let path = on_one_line(&file.path.to_string_lossy(), 300);
                    notes.push(format!("`{path}` is left out: {problem}"));
                }
            }
        }
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        ((skills, notes), is_cut_short)
    }

    /// What the model is told of the skills; `None` while something cannot be read.
    pub fn listing(&self) -> Option<Listing> {
        let ((skills, _), is_cut_short) = self.look();
        let mut listing = Listing::default();
        for skill in skills.into_iter().filter(|skill| skill.is_for_model) {
            listing.add(&skill.name, Listed { description: skill.description, digest: skill.digest });
        }
        (!is_cut_short).then_some(listing)
    }

    /// What the user means with a prompt that begins with `/NAME`, where NAME is a skill: the prompt, and the skill's
    /// text behind it.
    pub fn invocation(&self, prompt: &str) -> Option<String> {
        let line = prompt.trim_start().strip_prefix('/')?;
        let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if !is_name(name) {
            return None;
        }
        let skill = self.find().0.into_iter().find(|skill| skill.name == name && skill.is_for_user)?;
        let text = skill.with_arguments(Some(arguments.trim()).filter(|text| !text.is_empty()));
        Some(format!(
            "{}\n\nThe user calls the skill of that name with this; its text:\n\n{text}",
            prompt.trim()
        ))
    }
}

impl Shelf for Skills {
    fn take(&self, name: &str, arguments: Option<&str>) -> Result<String, Failure> {
        let skills = self.find().0;
        let Some(skill) = skills.iter().find(|skill| skill.name == name) else {
            let names: Vec<&str> =
                skills.iter().filter(|skill| skill.is_for_model).map(|skill| skill.name.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let name = on_one_line(name, 80);
            return Err(Failure::new(format!("there is no skill `{name}`; there is: {there}")));
        };
        if !skill.is_for_model {
            return Err(Failure::new(format!("only the user may call the skill `{name}`, with `/{name}`")));
        }
        Ok(skill.with_arguments(arguments))
    }
}

impl SkillFile {
    /// Reads a `SKILL.md`; in words why it is none.
    fn read(file: &Found) -> Result<Self, String> {
        let (head, text) = Frontmatter::read(&file.text).map_err(|error| error.to_string())?;
        let folder = file.path.parent().unwrap_or(Path::new("")).to_owned();
        let name = head.text("name");
        let name =
            name.or_else(|| Some(folder.file_name()?.to_string_lossy().into_owned())).unwrap_or_default();
        if !is_name(&name) {
            let name = on_one_line(&name, 80);
            return Err(format!("its name `{name}` is not 1 to 64 of a-z, A-Z, 0-9, `-` and `_`"));
        }
        let described = head.text("description").map(|text| match head.text("when_to_use") {
            Some(when) => format!("{text} {when}"),
            None => text,
        });
        let first = || text.split("\n\n").map(str::trim).find(|part| !part.is_empty()).map(str::to_owned);
        Ok(Self {
            description: on_one_line(&described.or_else(first).unwrap_or_default(), DESCRIPTION),
            is_for_model: !head.flag("disable-model-invocation").unwrap_or(false),
            is_for_user: head.flag("user-invocable").unwrap_or(true),
            text: text.trim().to_owned(),
            digest: blake3::hash(file.text.as_bytes()).to_hex().to_string(),
            name,
            folder,
        })
    }

    /// The text as it is given: with the arguments in the places it has for them, or behind it.
    fn with_arguments(&self, arguments: Option<&str>) -> String {
        let given = arguments.unwrap_or_default();
        let folder = self.folder.to_string_lossy();
        let filled = filled(&self.text, given, &folder);
        let behind = if !given.is_empty() && !self.text.contains("$ARGUMENTS") && filled.used_none {
            format!("\n\nArguments: {given}")
        } else {
            String::new()
        };
        format!("[skill {}; its relative paths start at {folder}]\n\n{}{behind}", self.name, filled.text)
    }
}

struct Filled {
    text: String,
    /// No argument had a place in the text.
    used_none: bool,
}

/// Fills in `$ARGUMENTS` (all), `$ARGUMENTS[N]` and `$N` (one, from 0 as skills count them) and `${CLAUDE_SKILL_DIR}`. In
/// one pass, so that nothing that is filled in is looked at again. A `$` before anything else stays.
fn filled(text: &str, arguments: &str, folder: &str) -> Filled {
    let one = |number: &str| {
        let index: usize = number.parse().ok()?;
        Some(arguments.split_whitespace().nth(index).unwrap_or_default())
    };
    let (mut out, mut rest, mut used_none) = (String::with_capacity(text.len()), text, true);
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let behind = from.strip_prefix("$ARGUMENTS");
        let indexed = behind.and_then(|behind| behind.strip_prefix('[')?.split_once(']'));
        if let Some((argument, after)) = indexed.and_then(|(number, after)| Some((one(number)?, after))) {
            out.push_str(argument);
            (rest, used_none) = (after, false);
        } else if let Some(after) = behind {
            out.push_str(arguments);
            (rest, used_none) = (after, false);
        } else if let Some(after) = from.strip_prefix("${CLAUDE_SKILL_DIR}") {
            out.push_str(folder);
            rest = after;
        } else {
            let count = digits(from.get(1..).unwrap_or_default());
            let (number, after) = from.split_at(1 + count);
            match number.get(1..).and_then(one) {
                // Without arguments a number behind `$` may well be money.
                Some(argument) if !arguments.is_empty() => {
                    out.push_str(argument);
                    used_none = false;
                }
                _ => out.push_str(number),
            }
            rest = after;
        }
    }
    out.push_str(rest);
    Filled { text: out, used_none }
}

/// How the list of skills is spoken of.
pub const WORDS: Words = Words {
    heading: "# Skills\nThe tool `skill` gives the text of each of these:",
    added: "Skills that are new:",
    described: "Skills that have changed; what `skill` gave of them before is out of date:",
    edited: "Skills whose text has changed; what `skill` gave of them before is out of date:",
    gone: "Skills that are there no more:",
};

/// Letters of a description that are listed.
const DESCRIPTION: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn skills(files: &[(&str, &str)]) -> (tempfile::TempDir, Skills) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(".claude/skills").join(name);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("SKILL.md"), text).unwrap();
        }
        let skills = Skills::new(Vec::new(), folder.path());
        (folder, skills)
    }

    #[test]
    fn a_file_says_what_it_is() {
        let (_folder, skills) = skills(&[
            ("plain", "---\ndescription: Does it.\nallowed-tools: Bash\nfuture-field: 1\n---\nDo it.\n"),
            ("named", "---\nname: other\nwhen_to_use: When it rains.\ndescription: D.\n---\n"),
            ("first", "---\nname: first\n---\n# Title\n\nMore.\n"),
            ("hidden", "---\ndescription: H.\ndisable-model-invocation: true\n---\nH\n"),
            ("bare", "Do it.\n"),
            ("open", "---\ndescription: Never closed.\n"),
            ("up", "---\nname: ../../up\n---\n"),
        ]);
        let (found, notes) = skills.find();
        let shown: Vec<_> =
            found.iter().map(|one| (one.name.as_str(), one.description.as_str(), one.is_for_model)).collect();
        assert_eq!(
            shown,
            [
                ("first", "# Title", true),
                ("hidden", "H.", false),
                ("other", "D. When it rains.", true),
                ("plain", "Does it.", true)
            ]
        );
        let problems: Vec<_> = notes.iter().filter_map(|note| note.split_once("is left out: ")).collect();
        assert_eq!(
            problems.iter().map(|(_, problem)| *problem).collect::<Vec<_>>(),
            [
                "it does not begin with a line of `---` and its fields",
                "the line of `---` that ends its fields is missing",
                "its name `../../up` is not 1 to 64 of a-z, A-Z, 0-9, `-` and `_`"
            ]
        );
        let text = skills.listing().unwrap().text(&WORDS).unwrap();
        assert!(text.contains("- plain: Does it.") && !text.contains("hidden"), "{text}");
    }

    #[test]
    fn arguments_have_their_places() {
        for (text, arguments, expect) in [
            ("Do it.", None, "Do it."),
            ("Do it.", Some("a b"), "Do it.\n\nArguments: a b"),
            ("Do $ARGUMENTS now.", Some("a b"), "Do a b now."),
            ("Do $ARGUMENTS now.", None, "Do  now."),
            ("$0, $1, $2.", Some("a b"), "a, b, ."),
            ("$ARGUMENTS[1] and $ARGUMENTS[x]", Some("a b"), "b and a b[x]"),
            ("It costs $5 or ${X}.", None, "It costs $5 or ${X}."),
            ("In ${CLAUDE_SKILL_DIR}/x", None, "In /s/x"),
            ("$ARGUMENTS", Some("$0 $ARGUMENTS"), "$0 $ARGUMENTS"),
        ] {
            let skill = SkillFile {
                name: "n".to_owned(),
                description: String::new(),
                is_for_model: true,
                is_for_user: true,
                folder: "/s".into(),
                text: text.to_owned(),
                digest: String::new(),
            };
            let expect = format!("[skill n; its relative paths start at /s]\n\n{expect}");
            assert_eq!(skill.with_arguments(arguments), expect, "{text}");
        }
    }

    #[test]
    fn the_user_and_the_model_call_what_is_for_them() {
        let (_folder, skills) = skills(&[
            ("both", "---\ndescription: B.\n---\nBoth $ARGUMENTS\n"),
            ("mine", "---\ndisable-model-invocation: true\n---\nMine\n"),
            ("yours", "---\nuser-invocable: false\n---\nYours\n"),
        ]);
        for (prompt, expect) in [
            ("/both a b", Some("Both a b")),
            ("  /mine", Some("Mine")),
            ("/yours", None),
            ("/none", None),
            ("/etc/hosts is what?", None),
            ("both", None),
        ] {
            let text = skills.invocation(prompt);
            assert_eq!(text.is_some(), expect.is_some(), "{prompt}");
            let is_right = text.is_none_or(|text| {
                text.starts_with(prompt.trim()) && text.ends_with(expect.unwrap_or_default())
            });
            assert!(is_right, "{prompt}");
        }
        let taken = |name: &str| skills.take(name, None).map_err(|failure| failure.0);
        assert!(taken("both").unwrap().ends_with("Both "));
        assert_eq!(taken("mine").unwrap_err(), "only the user may call the skill `mine`, with `/mine`");
        assert_eq!(taken("../x").unwrap_err(), "there is no skill `../x`; there is: both, yours");
    }
}
