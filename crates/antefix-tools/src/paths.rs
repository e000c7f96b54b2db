//! Paths with their symbolic links resolved.

use std::path::{Component, Path, PathBuf};

/// Resolves symbolic links and `..` of an absolute path, as far as it exists; the rest is taken as written.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(found) = ancestor.canonicalize() {
            return append(found, missing.iter().rev().copied());
        }
        missing.extend(ancestor.components().next_back());
    }
    append(PathBuf::from("/"), path.components())
}

fn append<'a>(mut base: PathBuf, rest: impl Iterator<Item = Component<'a>>) -> PathBuf {
    for part in rest {
        match part {
            Component::ParentDir => {
                base.pop();
            }
            Component::Normal(name) => base.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_and_missing_parts_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        for (path, expect) in [
            ("real/file", "real/file"),
            ("link/file", "real/file"),
            ("link/new", "real/new"),
            ("link/a/../b", "real/b"),
            ("link/./a/b", "real/a/b"),
            ("none/../real/file", "real/file"),
        ] {
            assert_eq!(resolve(&root.join(path)), root.join(expect), "{path}");
        }
    }
}
