use std::io::Read;
use std::path::{Path, PathBuf};

/// An instruction file of a project or of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// Where it is.
    pub path: PathBuf,
    /// What it says; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// Names of instruction files, the first that is there in a folder counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Bytes of an instruction file that are taken at most.
const LIMIT: u64 = 64 * 1024;

/// The instruction files for `cwd`: the user's own, then those from the repository's root down to `cwd`.
/// A file that is no regular file, or cannot be read, is left out; so is one that is reached by a link out of the
/// repository, which could be any file of the user.
pub fn find_instructions(cwd: &Path, user: Option<&Path>) -> Vec<Instructions> {
    let mut folders: Vec<&Path> = Vec::new();
    for folder in cwd.ancestors() {
        folders.push(folder);
        if folder.join(".git").exists() {
            break;
        }
    }
    if !folders.last().is_some_and(|root| root.join(".git").exists()) {
        folders.truncate(1);
    }
    let root = folders.last().and_then(|root| root.canonicalize().ok());
    let is_own = |path: &Path| {
        path.canonicalize().is_ok_and(|path| root.as_ref().is_some_and(|root| path.starts_with(root)))
    };
    let project = folders.into_iter().rev().filter_map(|folder| first_of(folder, &is_own));
    user.and_then(|folder| first_of(folder, &|_| true)).into_iter().chain(project).collect()
}

fn first_of(folder: &Path, may_be_read: &dyn Fn(&Path) -> bool) -> Option<Instructions> {
    NAMES.iter().map(|name| folder.join(name)).filter(|path| may_be_read(path)).find_map(|path| read(&path))
}

fn read(path: &Path) -> Option<Instructions> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(LIMIT).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then(|| Instructions { path: path.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_from_the_root_down() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("AGENTS.md"), "root").unwrap();
        std::fs::write(root.join("CLAUDE.md"), "not this").unwrap();
        std::fs::write(root.join("a/CLAUDE.md"), "inner").unwrap();
        std::fs::create_dir(root.join("a/b/AGENTS.md")).unwrap();
        let texts = |cwd: &Path| -> Vec<String> {
            find_instructions(cwd, None).into_iter().map(|file| file.text).collect()
        };
        assert_eq!(texts(&root.join("a/b")), ["root", "inner"]);
        assert_eq!(texts(root), ["root"]);
    }

    /// A repository whose `AGENTS.md` was a link to the user's key had it sent with every request.
    #[test]
    fn a_link_out_of_the_repository_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("real.md"), "own").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("real.md", root.join("CLAUDE.md")).unwrap();
        std::os::unix::fs::symlink("../../secret", root.join("inner/CLAUDE.md")).unwrap();
        let found = find_instructions(&root.join("inner"), None);
        assert_eq!(found.into_iter().map(|file| file.text).collect::<Vec<_>>(), ["own"]);
    }

    #[test]
    fn without_a_repository_only_the_folder_itself_counts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("AGENTS.md"), "outer").unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        assert_eq!(find_instructions(&folder.path().join("inner"), None), []);
    }
}
