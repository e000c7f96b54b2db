//! Whether a repository's configuration is one that `git status` runs no program for.

/// Whether nothing in a configuration can name a program, another file or another folder: all of it is in a short list
/// of harmless keys, written in the plain way. What is not understood is not plain.
pub(super) fn is_plain(config: &str) -> bool {
    let mut section = String::new();
    for line in config.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.ends_with('\\') {
            return false;
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some(name) = header.strip_suffix(']').and_then(|header| header.split_whitespace().next())
            else {
                return false;
            };
            section = name.to_ascii_lowercase();
            if header.matches(']').count() > 1 {
                return false;
            }
        } else {
            let key = line.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
            let keys = HARMLESS.iter().filter(|(name, _)| *name == section).flat_map(|(_, keys)| keys.iter());
            if !keys.copied().any(|harmless| harmless == key) {
                return false;
            }
        }
    }
    true
}

/// Keys that `git init`, `git clone`, `git branch` and `git config user.name` write, by section.
const HARMLESS: [(&str, &[&str]); 9] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
        ],
    ),
    ("extensions", &["objectformat", "refstorage"]),
    ("remote", &["url", "pushurl", "fetch", "tagopt"]),
    ("branch", &["remote", "merge", "rebase", "description"]),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
    ("submodule", &["url", "active"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_no_program_is_plain() {
        for (config, expect) in [
            ("", true),
            ("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n", true),
            ("[remote \"origin\"]\n\turl = https://example.com/x\n\tfetch = +refs/*:refs/*\n# words\n", true),
            ("[branch \"a\"]\n\tremote = origin\n\tmerge = refs/heads/a\n[user]\n\tname = A\n", true),
            ("[core]\n\tfsmonitor = ./evil\n", false),
            ("[CORE]\n\tFSMonitor = ./evil\n", false),
            ("[core]\n\thooksPath = hooks\n", false),
            ("[core]\n\tworktree = /\n", false),
            ("[core] fsmonitor = ./evil\n", false),
            ("[core]fsmonitor=./evil\n", false),
            ("[user]\n\tname = a\\\n[core]\n", false),
            ("[filter \"x\"]\n\tclean = ./evil\n", false),
            ("[include]\n\tpath = evil\n", false),
            ("[includeIf \"gitdir:/\"]\n\tpath = evil\n", false),
            ("[extensions]\n\tworktreeConfig = true\n", false),
            ("[remote \"origin\"]\n\tpromisor = true\n", false),
            ("[remote \"origin\"]\n\tuploadpack = ./evil\n", false),
            ("fsmonitor = ./evil\n", false),
            ("[remote \"]\"]\n\turl = x\n", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_plain(config), expect, "{config}");
        }
    }
}
