//! Files that users and projects write for agents: Markdown with a head of fields. Here is where they are looked for
//! and how one is read; [`skills`](crate::skills) and [`agents`](crate::agents) say what they mean.

mod frontmatter;
mod listing;

pub use frontmatter::{Frontmatter, FrontmatterError, Value};
pub use listing::{Listed, Listing, Words};

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::folder::{Entries, is_absent};

/// Where files of one kind are looked for: the user's own folders, then those of the project from the repository's root
/// down to the working folder.
///
/// What the user has written wins over what a project brings under the same name, since anybody may have written that;
/// of two of a project the deeper one wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    user: Vec<PathBuf>,
    project: Vec<PathBuf>,
    root: PathBuf,
}

/// What is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finds {
    /// The files, those that win first.
    pub files: Vec<Found>,
    /// A note for each that is not taken.
    pub notes: Vec<String>,
    /// The system refused to read a folder or a file, so that more may be there than is found.
    pub is_cut_short: bool,
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it belongs to the project and not to the user.
    pub is_of_project: bool,
    /// What it says.
    pub text: String,
}

impl Places {
    /// The places for `cwd`: folders of the user's own, and the folder `name` of each folder of the project.
    pub fn new(user: Vec<PathBuf>, cwd: &Path, name: &str) -> Self {
        let above: Vec<&Path> = cwd.ancestors().collect();
        let root = above.iter().position(|folder| folder.join(".git").exists()).unwrap_or(0);
        let folders = above.iter().take(root + 1);
        Self {
            user,
            project: folders.map(|folder| folder.join(name)).collect(),
            root: above.get(root).map_or_else(|| cwd.to_owned(), |root| (*root).to_owned()),
        }
    }

    /// The user's own folders, which may lie outside the workspace.
    pub fn user(&self) -> &[PathBuf] {
        &self.user
    }

    /// The files at `inner` below each entry of the places (each entry itself where `inner` is empty) for which `is_one`
    /// holds.
    pub fn find(&self, inner: &str, is_one: impl Fn(&str) -> bool) -> Finds {
        let mut finds = Finds::default();
        let user = self.user.iter().map(|folder| (folder, false));
        for (folder, is_of_project) in user.chain(self.project.iter().map(|folder| (folder, true))) {
            let names = names_in(folder, &mut finds);
            for name in names.iter().filter(|name| is_one(name)) {
                let path = if inner.is_empty() { folder.join(name) } else { folder.join(name).join(inner) };
                // A folder without the file is no skill, and nothing to speak of.
                if std::fs::symlink_metadata(&path).is_err_and(|error| is_absent(&error)) {
                    continue;
                }
                match self.read(&path, is_of_project) {
                    Ok(text) => finds.files.push(Found { path, is_of_project, text }),
                    Err(problem) => {
                        finds.is_cut_short |= problem.is_of_system;
                        let problem = problem.text;
                        finds.notes.push(format!("`{}` is left out: {problem}", shown(&path)));
                    }
                }
            }
        }
        finds
    }

    /// The text of a file, or why it is not taken. A project's file is not taken from outside the project: what a link
    /// leads to could be any file of the user's.
    fn read(&self, path: &Path, is_of_project: bool) -> Result<String, Problem> {
        let real = path.canonicalize()?;
        if is_of_project && !self.root.canonicalize().is_ok_and(|root| real.starts_with(root)) {
            return Err("it is a link out of the project".into());
        }
        if !std::fs::metadata(&real)?.is_file() {
            return Err("it is no file".into());
        }
        let mut bytes = Vec::new();
        File::open(&real)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LONGEST {
            return Err(format!("it is longer than {} KiB", LONGEST >> 10).as_str().into());
        }
        let text = String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8")?;
        if text.contains('\0') { Err("it holds NUL, so it is no text".into()) } else { Ok(text) }
    }
}

/// Why a file is not taken.
struct Problem {
    text: String,
    /// Not because of what the file is: it could not be read.
    is_of_system: bool,
}

impl From<&str> for Problem {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), is_of_system: false }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        // What leads nowhere is not there.
        let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
        let is_of_system = !is_absent(&error) && !is_loop;
        Self { text: error.to_string(), is_of_system }
    }
}

/// Whether a text is a name that the model and the user can write: 1 to 64 of `a-z`, `A-Z`, `0-9`, `-` and `_`.
pub fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Whether a name is a Markdown file's.
pub fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "md")
}

/// A text on one line, without control characters, of at most so many letters.
pub fn on_one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let clean = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    let mut cut: String = line.chars().take(most).map(clean).collect();
    if line.chars().nth(most).is_some() {
        cut.push('…');
    }
    cut
}

/// Names of a folder's entries in order, as many as are looked at.
fn names_in(folder: &Path, finds: &mut Finds) -> Vec<String> {
    let refused = |finds: &mut Finds, error: &io::Error| {
        finds.is_cut_short = true;
        finds.notes.push(format!("`{}` cannot be read: {error}", shown(folder)));
    };
    let entries = match Entries::of(folder, MOST_ENTRIES) {
        Ok(entries) => entries,
        Err(error) => {
            if !is_absent(&error) {
                refused(finds, &error);
            }
            return Vec::new();
        }
    };
    if let Some(error) = &entries.problem {
        refused(finds, error);
    }
    if entries.is_cut {
        finds.notes.push(format!(
            "`{}` holds more than {MOST_ENTRIES} entries: what comes behind them by name is left out",
            shown(folder)
        ));
    }
    entries.names.into_iter().filter_map(|name| name.into_string().ok()).collect()
}

fn shown(path: &Path) -> String {
    on_one_line(&path.to_string_lossy(), 300)
}

/// Bytes of a file that is taken.
const LONGEST: u64 = 256 << 10;

/// Entries of a folder that are looked at.
const MOST_ENTRIES: usize = 200;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn found(places: &Places) -> (Vec<String>, Vec<String>) {
        let Finds { files: found, notes, is_cut_short } = places.find("", is_markdown);
        assert!(!is_cut_short, "{notes:?}");
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let texts = found.iter().map(|one| format!("{} {} {}", name(&one.path), one.is_of_project, one.text));
        let problem = |note: String| {
            let (path, problem) = note.split_once(": ").unwrap();
            let path = path.trim_start_matches('`').split('`').next().unwrap();
            format!("{}: {problem}", name(Path::new(path)))
        };
        (texts.collect(), notes.into_iter().map(problem).collect())
    }

    #[test]
    fn files_are_found_where_they_may_lie_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        let (own, inner) = (folder.path().join("own"), root.join("inner"));
        for path in [&own, &root.join(".git"), &root.join("a"), &inner.join("a")] {
            std::fs::create_dir_all(path).unwrap();
        }
        std::fs::write(folder.path().join("secret.md"), "secret").unwrap();
        std::fs::write(own.join("mine.md"), "mine").unwrap();
        std::fs::write(own.join("mine.txt"), "no").unwrap();
        std::fs::write(root.join("a/outer.md"), "outer").unwrap();
        std::fs::write(inner.join("a/inner.md"), "inner").unwrap();
        symlink("../../a/outer.md", inner.join("a/link.md")).unwrap();
        // What is hostile.
        std::fs::create_dir(root.join("a/folder.md")).unwrap();
        std::fs::write(root.join("a/binary.md"), b"\xff\xfe").unwrap();
        std::fs::write(root.join("a/nul.md"), b"a\0b").unwrap();
        std::fs::write(root.join("a/huge.md"), vec![b'a'; LONGEST as usize + 1]).unwrap();
        symlink("cycle.md", root.join("a/cycle.md")).unwrap();
        symlink("../../secret.md", root.join("a/out.md")).unwrap();
        symlink(&own, root.join("a/own.md")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("a/pipe.md"), 0o600.into()).unwrap();
        // The user's own may lead anywhere, but to a file.
        symlink("/dev/zero", own.join("zero.md")).unwrap();

        let places = Places::new(vec![own], &inner, "a");
        let (texts, notes) = found(&places);
        assert_eq!(
            texts,
            ["mine.md false mine", "inner.md true inner", "link.md true outer", "outer.md true outer"]
        );
        let looped = std::fs::read(root.join("a/cycle.md")).unwrap_err();
        assert_eq!(
            notes,
            [
                "zero.md: it is no file".to_owned(),
                "binary.md: it is not text in UTF-8".to_owned(),
                format!("cycle.md: {looped}"),
                "folder.md: it is no file".to_owned(),
                "huge.md: it is longer than 256 KiB".to_owned(),
                "nul.md: it holds NUL, so it is no text".to_owned(),
                "out.md: it is a link out of the project".to_owned(),
                "own.md: it is a link out of the project".to_owned(),
                "pipe.md: it is no file".to_owned(),
            ]
        );
    }

    /// A folder that cannot be read for a while does not mean that its files are gone.
    #[test]
    fn what_the_system_refuses_may_be_there() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let places = Places::new(vec![folder.path().join("none")], folder.path(), "a");
        assert_eq!(places.find("", |_| true), Finds::default());
        std::fs::set_permissions(folder.path().join("a"), PermissionsExt::from_mode(0o0)).unwrap();
        // Root reads it all the same.
        let is_refused = std::fs::read_dir(folder.path().join("a")).is_err();
        assert_eq!(places.find("", |_| true).is_cut_short, is_refused);
        // A name that is too long is refused to everybody.
        let places = Places::new(vec![folder.path().join("x".repeat(300))], folder.path(), "none");
        assert!(places.find("", |_| true).is_cut_short);
    }

    /// Skills whose folder could not be looked into were told as gone.
    #[test]
    fn a_folder_that_nobody_can_look_into_may_hold_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/none")).unwrap();
        std::fs::write(folder.path().join("a/file"), "").unwrap();
        let places = Places::new(Vec::new(), folder.path(), "a");
        assert_eq!(places.find("SKILL.md", |_| true), Finds::default());
        // Not even root can follow it.
        symlink("x".repeat(300), folder.path().join("a/one")).unwrap();
        let finds = places.find("SKILL.md", |_| true);
        assert!(finds.files.is_empty() && finds.is_cut_short);
        let [note] = &*finds.notes else { panic!("{:?}", finds.notes) };
        assert!(note.contains("a/one/SKILL.md` is left out: "), "{note}");
    }

    /// Which of a large folder's files counted depended on the order in which the system lists them.
    #[test]
    fn the_first_of_a_large_folder_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        // More than were listed once before they were sorted.
        for number in 0..MOST_ENTRIES * 9 {
            std::fs::write(folder.path().join(format!("a/{number:04}.md")), "").unwrap();
        }
        let places = Places::new(Vec::new(), folder.path(), "a");
        let Finds { files, notes, is_cut_short } = places.find("", is_markdown);
        let paths: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
        let path = |number| folder.path().join(format!("a/{number:04}.md"));
        assert_eq!(paths, (0..MOST_ENTRIES).map(path).collect::<Vec<_>>());
        let note = format!(
            "`{}` holds more than {MOST_ENTRIES} entries: what comes behind them by name is left out",
            folder.path().join("a").display()
        );
        assert_eq!((notes, is_cut_short), (vec![note], false));
    }

    #[test]
    fn names_are_words() {
        for (name, expect) in [
            ("review-2_x", true),
            ("", false),
            ("../x", false),
            ("a b", false),
            ("é", false),
            ("a/b", false),
            (&"x".repeat(65), false),
        ] {
            assert_eq!(is_name(name), expect, "{name}");
        }
    }

    #[test]
    fn a_description_is_one_line() {
        assert_eq!(on_one_line(" a\n\tb\u{1b}[2J  c ", 99), "a b\u{fffd}[2J c");
        assert_eq!(on_one_line("abcdef", 3), "abc…");
    }
}
