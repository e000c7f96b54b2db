use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::plain::is_plain;
use super::{Repository, file_up_to};
use crate::context::instructions::is_instructions;
use crate::context::{Moment, Sighting, Source, Surroundings, Unavailable, object_of, text_of};

/// What `git status` lists. The model is told of files it has not seen; those it has, and instructions, are told of
/// by their contents.
///
/// `git` is only run where the repository's configuration can name no program: what it names would run outside of the
/// sandbox, and the model's own commands can write that configuration.
#[derive(Debug, Default)]
pub struct GitStatus {
    environment: Vec<(OsString, OsString)>,
    is_silent: bool,
}

impl GitStatus {
    /// With the environment that `git` gets, but for what is meant for `git` itself.
    pub fn new(environment: Vec<(OsString, OsString)>) -> Self {
        let of_git = |name: &OsString| name.to_string_lossy().starts_with("GIT_");
        let environment = environment.into_iter().filter(|(name, _)| !of_git(name)).collect();
        Self { environment, is_silent: true }
    }

    fn list(&self, repository: &Repository) -> Result<Vec<u8>, Unavailable> {
        let failed = |error: std::io::Error| Unavailable(format!("`git status`: {error}"));
        let mut command = Command::new("git");
        command.args(ARGUMENTS).current_dir(&repository.root).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).envs(QUIET);
        if let Some(above) = repository.root.parent() {
            command.env("GIT_CEILING_DIRECTORIES", above);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        // A runtime of its own: this thread may be left behind, and its process is ended all the same.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let run = async {
            let mut child = command.spawn()?;
            let mut out = Vec::new();
            if let Some(stdout) = child.stdout.take() {
                stdout.take(LARGEST + 1).read_to_end(&mut out).await?;
            }
            Ok((out.len() as u64 <= LARGEST && child.wait().await?.success()).then_some(out))
        };
        let run = async { tokio::time::timeout(LONGEST, run).await };
        match runtime.block_on(run) {
            Ok(Ok(Some(out))) => Ok(out),
            Ok(Ok(None)) => Err(Unavailable("`git status` did not succeed".to_owned())),
            Ok(Err(error)) => Err(failed(error)),
            Err(_) => Err(Unavailable("`git status` took too long".to_owned())),
        }
    }
}

impl Source for GitStatus {
    fn kind(&self) -> &'static str {
        "git"
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        self.is_silent = true;
        let Some(repository) = Repository::around(&around.folder)? else { return Ok(Vec::new()) };
        if !has_plain_configuration(&repository) {
            return Ok(Vec::new());
        }
        let entries = entries(&self.list(&repository)?);
        let root = repository.root.canonicalize().unwrap_or(repository.root);
        let seen: BTreeSet<_> = around.files.facts().into_iter().map(|fact| fact.path).collect();
        let is_unseen = |(_, path): &&(char, String)| {
            !seen.contains(&root.join(Path::new(path))) && !is_instructions(Path::new(path))
        };
        let unseen: Vec<String> = entries.iter().filter(is_unseen).map(line).collect();
        self.is_silent = false;
        Ok(vec![Sighting::new(KEY, state(&entries)).with_detail(unseen.join("\n"))])
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let [before, after] = [digests(known), digests(&now.state)];
        let mut unseen: Vec<&str> = now.detail.lines().collect();
        if let (Some(before), Some(_)) = (&before, &after) {
            unseen.retain(|line| !before.contains(&digest(line)));
        }
        // What is not listed any more may have been committed, by the model itself too; the commit is told.
        if unseen.is_empty() {
            return Some(String::new());
        }
        let more = unseen.len().saturating_sub(MOST_NAMED);
        let mut text = format!(
            "`git status` lists {} that you have not seen and that {} not listed before:\n{}",
            count(unseen.len(), "file or folder", "files or folders"),
            if unseen.len() == 1 { "was" } else { "were" },
            unseen.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join("\n")
        );
        if more > 0 {
            text.push_str(&format!("\n… and {more} more"));
        }
        Some(text)
    }

    fn speaks_for(&self, key: &str) -> bool {
        key == KEY && !self.is_silent
    }

    fn moment(&self) -> Moment {
        Moment::Later
    }
}

fn has_plain_configuration(repository: &Repository) -> bool {
    let path = repository.shared.join("config");
    match file_up_to(&path, LARGEST_CONFIGURATION) {
        Ok(config) => (config.len() as u64) < LARGEST_CONFIGURATION && is_plain(&config),
        Err(_) => false,
    }
}

/// A letter and a path for each entry of `--porcelain=v2 -z`, sorted by path.
fn entries(out: &[u8]) -> Vec<(char, String)> {
    let text = String::from_utf8_lossy(out);
    let mut found: Vec<(char, String)> = text.split('\0').filter_map(entry).collect();
    found.sort_by(|one, other| one.1.cmp(&other.1));
    found
}

/// See <https://git-scm.com/docs/git-status#_porcelain_format_version_2>, read on 2026-11-30.
fn entry(text: &str) -> Option<(char, String)> {
    let (kind, rest) = text.split_once(' ')?;
    let skipped = match kind {
        "?" => return Some(('?', rest.to_owned())),
        "1" => 7,
        "u" => 9,
        _ => return None,
    };
    let states = rest.get(..2)?;
    let letter = match kind {
        "u" => 'U',
        _ if states.contains('D') => 'D',
        _ if states.contains('A') => 'A',
        _ => 'M',
    };
    Some((letter, rest.splitn(skipped + 1, ' ').nth(skipped)?.to_owned()))
}

/// A line of the list; letters that could forge another are replaced.
fn line((letter, path): &(char, String)) -> String {
    let path: String =
        path.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
    format!("{letter} {path}")
}

fn state(entries: &[(char, String)]) -> Bytes {
    let lines: Vec<String> = entries.iter().map(line).collect();
    let all = blake3::hash(lines.join("\n").as_bytes()).to_hex();
    let digests: String =
        if lines.len() > MOST_KEPT { String::new() } else { lines.iter().map(|line| digest(line)).collect() };
    object_of([("all", all.as_str().get(..16).unwrap_or_default()), ("each", &digests)])
}

/// The digests of a state's lines; `None` where there were too many to keep.
fn digests(state: &[u8]) -> Option<BTreeSet<String>> {
    let each = text_of(state, "each").unwrap_or_default();
    let empty = blake3::hash(b"").to_hex();
    let is_kept =
        !each.is_empty() || text_of(state, "all").is_none_or(|all| empty.as_str().starts_with(&all));
    let chunks = each.as_bytes().chunks(DIGITS).map(|chunk| String::from_utf8_lossy(chunk).into_owned());
    is_kept.then(|| chunks.collect())
}

fn digest(line: &str) -> String {
    blake3::hash(line.as_bytes()).to_hex().as_str().get(..DIGITS).unwrap_or_default().to_owned()
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

const KEY: &str = "status";

/// Nothing is written, no hook is run, no daemon asked, no submodule entered.
const ARGUMENTS: [&str; 13] = [
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "status.relativePaths=false",
    "status",
    "--porcelain=v2",
    "-z",
    "--no-renames",
    "--untracked-files=normal",
    "--ignore-submodules=all",
];

/// Nobody is asked for a password, nothing is fetched.
const QUIET: [(&str, &str); 3] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_OPTIONAL_LOCKS", "0")];

/// How long `git` may run.
const LONGEST: Duration = Duration::from_millis(900);

/// Bytes that are taken of what it prints.
const LARGEST: u64 = 4 << 20;

const LARGEST_CONFIGURATION: u64 = 64 << 10;

/// Entries whose digests are kept in a state.
const MOST_KEPT: usize = 400;

/// Entries that are named in a text.
const MOST_NAMED: usize = 20;

/// Hexadecimal digits of an entry's digest.
const DIGITS: usize = 10;

#[cfg(test)]
mod tests {
    use std::process::Command as Program;
    use std::sync::Arc;

    use antefix_tools::{FileFact, FileTable, Scope};

    use super::*;
    use crate::context::watcher::tests::{around, at};

    fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Program::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments);
        assert!(command.current_dir(folder).output().unwrap().status.success(), "{arguments:?}");
    }

    fn look(folder: &Path, seen: &[&str]) -> Option<Sighting> {
        let files = FileTable::default();
        for path in seen {
            let (path, digest) = (folder.canonicalize().unwrap().join(path), String::new());
            files.apply(&FileFact { path, digest, size: 1, mtime_ns: 1, scope: Scope::Range, lines: None });
        }
        let around = around(&folder.to_string_lossy(), at("2026-11-30T12:00:00Z"));
        let around = Surroundings { files: Arc::new(files), ..around };
        let path = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
        GitStatus::new(path).observe(&around).unwrap().pop()
    }

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q"]);
        for name in ["a.txt", "b.txt", "c d.txt"] {
            std::fs::write(folder.path().join(name), "one\n").unwrap();
        }
        git(folder.path(), &["add", "-A"]);
        git(folder.path(), &["commit", "-qm", "First"]);
        folder
    }

    #[test]
    fn what_is_newly_listed_is_told_once() {
        let folder = repository();
        let root = folder.path();
        let source = GitStatus::default();
        let clean = look(root, &[]).unwrap();
        let told = |known: &[u8], now: &Sighting| source.drift(known, now).unwrap();
        assert_eq!(told(b"null", &clean), "");
        std::fs::write(root.join("a.txt"), "two\n").unwrap();
        std::fs::write(root.join("AGENTS.md"), "").unwrap();
        std::fs::write(root.join("new\nfile"), "").unwrap();
        std::fs::remove_file(root.join("c d.txt")).unwrap();
        std::fs::create_dir(root.join("folder")).unwrap();
        std::fs::write(root.join("folder/x"), "").unwrap();
        let dirty = look(root, &[]).unwrap();
        let text = "`git status` lists 4 files or folders that you have not seen and that were not listed before:\n\
            M a.txt\nD c d.txt\n? folder/\n? new\u{fffd}file";
        assert_eq!((told(&clean.state, &dirty), told(b"null", &dirty)), (text.to_owned(), text.to_owned()));
        // The model has seen a file meanwhile, and one is added.
        std::fs::write(root.join("b.txt"), "two\n").unwrap();
        let more = look(root, &["a.txt"]).unwrap();
        let text = "`git status` lists 1 file or folder that you have not seen and that was not listed before:\nM b.txt";
        assert_eq!(told(&dirty.state, &more), text);
        assert_eq!(told(&more.state, &look(root, &["a.txt"]).unwrap()), "");
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "Second"]);
        assert_eq!(look(root, &[]).unwrap().state, clean.state);
    }

    #[test]
    fn many_entries_are_counted() {
        let folder = repository();
        let clean = look(folder.path(), &[]).unwrap();
        for number in 0..=MOST_KEPT {
            std::fs::write(folder.path().join(format!("n{number:04}")), "").unwrap();
        }
        let many = look(folder.path(), &[]).unwrap();
        let text = GitStatus::default().drift(&clean.state, &many).unwrap();
        assert!(
            text.starts_with("`git status` lists 401 files") && text.ends_with("\n? n0019\n… and 381 more"),
            "{text}"
        );
        assert!(many.state.len() < 50);
        std::fs::remove_file(folder.path().join("n0000")).unwrap();
        let fewer = look(folder.path(), &[]).unwrap();
        assert_ne!(fewer.state, many.state);
    }

    /// Each of these makes `git status` run a program of the repository.
    #[test]
    fn a_repository_runs_nothing() {
        for (name, config) in [
            ("a filter", "[filter \"x\"]\n\tclean = touch ran\n"),
            ("a monitor", "[core]\n\tfsmonitor = touch ran;\n"),
            ("an included file", "[include]\n\tpath = more\n"),
        ] {
            let folder = repository();
            let root = folder.path();
            std::fs::write(root.join(".gitattributes"), "* filter=x\n").unwrap();
            std::fs::write(root.join(".git/more"), "[filter \"x\"]\n\tclean = touch ran\n").unwrap();
            let own = std::fs::read_to_string(root.join(".git/config")).unwrap();
            std::fs::write(root.join(".git/config"), own + config).unwrap();
            std::fs::write(root.join("a.txt"), "two\n").unwrap();
            assert_eq!(look(root, &[]), None, "{name}");
            assert!(!root.join("ran").exists(), "{name}");
        }
    }
}
