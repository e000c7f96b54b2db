use std::os::unix::fs::symlink;
use std::sync::Arc;

use antefix_tools::permission::{Effect, Mode, Policy, Rule, Source as PolicySource};
use antefix_tools::{FileFact, FileTable, Scope};

use super::*;
use crate::context::watcher::tests::{around, at};

/// What one look finds: the files with their texts, and the notes, both with `/r` for the folder of the test.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    files: Vec<(String, String)>,
    notes: Vec<String>,
}

fn look(root: &Path, folder: &str, touched: &[&str], user: Option<&str>) -> Found {
    let files = FileTable::default();
    for path in touched {
        let (path, digest) = (root.join(path), String::new());
        files.apply(&FileFact { path, digest, size: 1, mtime_ns: 1, scope: Scope::Whole, lines: None });
    }
    let folder = root.join(folder);
    let around = Surroundings {
        files: Arc::new(files),
        ..around(&folder.to_string_lossy(), at("2026-11-30T12:00:00Z"))
    };
    let mut source = Instructions::new(user.map(|user| root.join(user)), Some(root.join("home")));
    let seen = source.observe(&around).unwrap();
    let shown = |text: &str| text.replace(&*root.to_string_lossy(), "/r");
    Found {
        files: seen.iter().map(|seen| (shown(&seen.key), seen.detail.clone())).collect(),
        notes: source.notes().iter().map(|note| shown(note)).collect(),
    }
}

/// Names and texts.
type Files<'a> = &'a [(&'a str, &'a str)];

fn folder(files: Files<'_>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn found(files: Files<'_>, notes: &[&str]) -> Found {
    let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    Found {
        files: files.iter().map(own).collect(),
        notes: notes.iter().map(|&note| note.to_owned()).collect(),
    }
}

#[test]
fn files_are_taken_from_the_root_down() {
    let folder = folder(&[
        ("user/CLAUDE.md", "user"),
        ("w/.git/HEAD", ""),
        ("w/AGENTS.md", "root"),
        ("w/CLAUDE.md", "not this"),
        ("w/CLAUDE.local.md", "local"),
        ("w/.claude/rules/b.md", "rule b"),
        ("w/.claude/rules/a/c.md", "rule c"),
        ("w/.claude/rules/no.txt", "no rule"),
        ("w/.claude/rules/z.md", "---\npaths: z/**/*.rs\n---\nrule for z"),
        ("w/.claude/rules/zz.md", "---\npaths: other/**\n---\nrule for other"),
        ("w/a/.claude/CLAUDE.md", "inner"),
        ("w/a/b/AGENTS.md/x", "a folder"),
        ("w/a/blank/AGENTS.md", " \n"),
        ("w/z/AGENTS.md", "below"),
        ("w/z/y/x.rs", "code"),
        ("outer/AGENTS.md", "outer"),
        ("outer/inner/x", ""),
    ]);
    let root = folder.path().canonicalize().unwrap();
    let at_root = [
        ("/r/w/AGENTS.md", "root"),
        ("/r/w/.claude/rules/a/c.md", "rule c"),
        ("/r/w/.claude/rules/b.md", "rule b"),
        ("/r/w/CLAUDE.local.md", "local"),
    ];
    let (rules, local) = at_root.split_at(3);
    let seen = [rules, &[("/r/w/.claude/rules/z.md", "rule for z")], local].concat();
    let (inner, below) = (("/r/w/a/.claude/CLAUDE.md", "inner"), ("/r/w/z/AGENTS.md", "below"));
    for (folder, touched, user, expect) in [
        ("w", vec![], None, at_root.to_vec()),
        ("w", vec![], Some("user"), [&[("/r/user/CLAUDE.md", "user")][..], &at_root].concat()),
        ("w/a/b", vec![], None, [&at_root[..], &[inner]].concat()),
        ("w/a/blank", vec![], None, [&at_root[..], &[inner]].concat()),
        // Once the model has seen a file below.
        ("w", vec!["w/z/y/x.rs", "outer/inner/x"], None, [&seen[..], &[below]].concat()),
        ("w/a", vec!["w/z/y/x.rs"], None, [&seen[..], &[inner, below]].concat()),
        // Outside a repository only the folder itself counts.
        ("outer/inner", vec![], None, vec![]),
    ] {
        assert_eq!(look(&root, folder, &touched, user), found(&expect, &[]), "{folder} {touched:?}");
    }
}

#[test]
fn imports_are_followed_once_and_not_out_of_the_repository() {
    let deep = "w/d1.md w/d2.md w/d3.md w/d4.md w/d5.md w/d6.md";
    let mut files: Vec<(&str, String)> = vec![
        ("user/AGENTS.md", "@~/mine.md".to_owned()),
        ("home/mine.md", "mine".to_owned()),
        ("secret", "secret".to_owned()),
        ("w/.git/HEAD", String::new()),
        ("w/AGENTS.md", "@b.md @../secret @~/mine.md @nobody `@c.md`".to_owned()),
        ("w/b.md", "@AGENTS.md @b.md @c.md".to_owned()),
        ("w/c.md", "see @d0.md".to_owned()),
    ];
    for (index, name) in std::iter::once("w/d0.md").chain(deep.split(' ')).enumerate() {
        files.push((name, format!("@d{}.md", index + 1)));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = folder(&files);
    let root = folder.path().canonicalize().unwrap();
    let expect = [
        ("/r/user/AGENTS.md", "@~/mine.md"),
        ("/r/home/mine.md", "mine"),
        ("/r/w/AGENTS.md", "@b.md @../secret @~/mine.md @nobody `@c.md`"),
        ("/r/w/b.md", "@AGENTS.md @b.md @c.md"),
        ("/r/w/c.md", "see @d0.md"),
        ("/r/w/d0.md", "@d1.md"),
        ("/r/w/d1.md", "@d2.md"),
        ("/r/w/d2.md", "@d3.md"),
    ];
    let notes = [
        "/r/w/d2.md: its imports were left out, since they are 5 deep",
        "/r/w/../secret was left out: it leads out of the repository",
    ];
    assert_eq!(look(&root, "w", &[], Some("user")), found(&expect, &notes));
}

/// A name, what makes the file, the files that are found, and the notes.
type Refusal<'a> = (&'a str, &'a dyn Fn(&Path), Files<'a>, &'a [&'a str]);

/// A repository whose `AGENTS.md` was a link to the user's key had it sent with every request.
#[test]
fn a_file_that_cannot_be_taken_is_a_note() {
    let cases: [Refusal<'_>; 8] = [
        (
            "a link out of the repository",
            &|own| symlink("../secret", own).unwrap(),
            &[("/r/w/CLAUDE.md", "other")],
            &["/r/w/AGENTS.md was left out: it leads out of the repository"],
        ),
        ("a link within", &|own| symlink("CLAUDE.md", own).unwrap(), &[("/r/w/AGENTS.md", "other")], &[]),
        (
            "a ring of links",
            &|own| symlink("AGENTS.md", own).unwrap(),
            &[("/r/w/CLAUDE.md", "other")],
            &["/r/w/AGENTS.md was left out: its links lead in a ring"],
        ),
        (
            "no text",
            &|own| std::fs::write(own, b"\x7fELF\0\0").unwrap(),
            &[("/r/w/CLAUDE.md", "other")],
            &["/r/w/AGENTS.md was left out: it is no text"],
        ),
        (
            "a pipe",
            &|own| {
                let made = std::process::Command::new("mkfifo").arg(own).status().unwrap();
                assert!(made.success());
            },
            &[("/r/w/CLAUDE.md", "other")],
            &["/r/w/AGENTS.md was left out: it is no regular file"],
        ),
        (
            "a device",
            &|own| symlink("/dev/zero", own).unwrap(),
            &[("/r/w/CLAUDE.md", "other")],
            &["/r/w/AGENTS.md was left out: it is no regular file"],
        ),
        (
            "not UTF-8",
            &|own| std::fs::write(own, b"caf\xe9").unwrap(),
            &[("/r/w/AGENTS.md", "caf\u{fffd}")],
            &["/r/w/AGENTS.md: what is not UTF-8 in it was replaced"],
        ),
        ("a link to nothing", &|own| symlink("nothing", own).unwrap(), &[("/r/w/CLAUDE.md", "other")], &[]),
    ];
    for (name, make, files, notes) in cases {
        let folder = folder(&[("secret", "secret"), ("w/.git/HEAD", ""), ("w/CLAUDE.md", "other")]);
        let root = folder.path().canonicalize().unwrap();
        make(&root.join("w/AGENTS.md"));
        assert_eq!(look(&root, "w", &[], None), found(files, notes), "{name}");
    }
}

/// What a rule refuses to read is not told either, neither under its own name nor behind a link; nor is what is git's own.
#[test]
fn what_may_not_be_read_is_not_told() {
    let folder = folder(&[
        ("w/.git/HEAD", ""),
        ("w/.git/config", "password"),
        ("w/AGENTS.md", "@.env @refused.md @link.md @.git/config"),
        ("w/.env", "secret"),
        ("w/other.md", "other"),
    ]);
    let root = folder.path().canonicalize().unwrap();
    let work = root.join("w");
    symlink("other.md", work.join("refused.md")).unwrap();
    symlink(".env", work.join("link.md")).unwrap();
    let source = PolicySource::new("test");
    let rule = |name: &str| {
        Rule::parse(&format!("read({name})"), Effect::Deny, source.clone(), &work, None).unwrap()
    };
    let rules = [".env", "refused.md"].map(rule).to_vec();
    let policy = Policy::new(&work, Mode::default(), source.clone()).with_rules(rules);
    let around = Surroundings {
        policy: Some(Arc::new(policy)),
        ..around(&work.to_string_lossy(), at("2026-11-30T12:00:00Z"))
    };
    let mut instructions = Instructions::default();
    let seen: Vec<String> =
        instructions.observe(&around).unwrap().into_iter().map(|seen| seen.detail).collect();
    assert_eq!(seen, ["@.env @refused.md @link.md @.git/config"]);
    let left_out = |name: &str, why: &str| format!("{}/{name} was left out: {why}", work.display());
    let refused = "a rule refuses that it is read";
    let expect = [
        left_out(".env", refused),
        left_out("refused.md", refused),
        left_out("link.md", refused),
        left_out(".git/config", "it is git's own, and may hold a password"),
    ];
    assert_eq!(instructions.notes(), expect);
}

#[test]
fn a_huge_file_is_cut_at_a_line() {
    let line = "a line of instructions\n";
    let folder = folder(&[("w/.git/HEAD", ""), ("w/AGENTS.md", &line.repeat(100_000))]);
    let root = folder.path().canonicalize().unwrap();
    let kept = line.repeat(text_file::LIMIT / line.len());
    let text = format!("{kept}[the file is longer; only its first {} bytes are taken]\n", text_file::LIMIT);
    let note = format!("/r/w/AGENTS.md: only its first {} bytes were taken", text_file::LIMIT);
    assert_eq!(look(&root, "w", &[], None), found(&[("/r/w/AGENTS.md", &text)], &[&note]));
}

/// A file that is there and cannot be read is not gone.
#[test]
fn an_unreadable_file_is_not_removed() {
    let folder = folder(&[("w/.git/HEAD", ""), ("w/AGENTS.md", "own"), ("w/CLAUDE.md", "other")]);
    let root = folder.path().canonicalize().unwrap();
    let path = root.join("w/AGENTS.md");
    std::fs::remove_file(&path).unwrap();
    // Not even root can follow it, and nobody can say what is there.
    symlink("x".repeat(300), &path).unwrap();
    let mut source = Instructions::default();
    let around = around(&root.join("w").to_string_lossy(), at("2026-11-30T12:00:00Z"));
    assert_eq!(source.observe(&around), Ok(Vec::new()));
    assert!(!source.speaks_for(&path.to_string_lossy()) && source.speaks_for("/w/other"));
    // Nor is what it stands in front of, or may import.
    assert!(!source.speaks_for(&root.join("w/CLAUDE.md").to_string_lossy()));
}

/// A folder of rules that could not be read had its rules told as gone.
#[test]
fn rules_of_an_unreadable_folder_are_not_removed() {
    let folder = folder(&[("w/.git/HEAD", ""), ("w/AGENTS.md", "own"), ("w/.claude/rules/a/b.md", "rule")]);
    let root = folder.path().canonicalize().unwrap();
    let rules = root.join("w/.claude/rules");
    let (rule, gone) = (rules.join("a/b.md"), root.join("w/gone.md"));
    let mut source = Instructions::default();
    let around = around(&root.join("w").to_string_lossy(), at("2026-11-30T12:00:00Z"));
    assert_eq!(source.observe(&around).unwrap().len(), 2);
    std::fs::remove_dir_all(&rules).unwrap();
    symlink("x".repeat(300), &rules).unwrap();
    assert_eq!(source.observe(&around).unwrap().len(), 1);
    assert!(!source.speaks_for(&rule.to_string_lossy()) && source.speaks_for(&gone.to_string_lossy()));
    assert!(source.notes()[0].contains("w/.claude/rules could not be read: "), "{:?}", source.notes());
}

/// Which rules of a large folder held depended on the order in which the system lists them, and nobody was told of the
/// rest.
#[test]
fn too_many_rules_are_cut_in_order_with_a_note() {
    let name = |prefix: &str, number: usize| format!("w/.claude/rules/{prefix}{number:04}.md");
    let deep = "w/.claude/rules/1/2/3/4/deep.md".to_owned();
    let left = "/r/w/.claude/rules was left out in part: of folders of rules no more than 1000 entries are \
                looked at";
    for (names, taken, note) in [
        (
            (0..49).map(|number| name("", number)).collect::<Vec<_>>(),
            48,
            "/r/w has too many rule files: 1 of 49 were left out",
        ),
        // What comes first by name is no rule, so that none is reached.
        (
            (0..1001).map(|number| name("", number).replace(".md", ".txt")).chain([name("z", 0)]).collect(),
            0,
            left,
        ),
        (
            vec!["w/.claude/rules/1/2/3/a.md".to_owned(), deep.clone()],
            1,
            "/r/w/.claude/rules/1/2/3/4 was left out: folders of rules are looked into no more than 3 deep",
        ),
    ] {
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), "rule")).collect();
        let folder = folder(&[&[("w/.git/HEAD", "")], &*files].concat());
        let root = folder.path().canonicalize().unwrap();
        let expect: Vec<_> = names.iter().take(taken).map(|name| format!("/r/{name}")).collect();
        let expect: Vec<_> = expect.iter().map(|name| (name.as_str(), "rule")).collect();
        assert_eq!(look(&root, "w", &[], None), found(&expect, &[note]));
        // What is left out is there.
        let mut source = Instructions::default();
        source.observe(&around(&root.join("w").to_string_lossy(), at("2026-11-30T12:00:00Z"))).unwrap();
        assert!(!source.speaks_for(&root.join(names.last().unwrap()).to_string_lossy()));
    }
}

/// A file that had become a binary was told as one of another folder.
#[test]
fn what_is_left_out_is_told_with_the_reason() {
    for (name, text, why) in [
        ("AGENTS.md", "\0", "it is no text"),
        (
            ".claude/rules/a.md",
            "---\npaths: src/[\n---\nrule",
            "error parsing glob 'src/[': unclosed character class; missing ']'",
        ),
        ("AGENTS.md", " ", "the file says nothing, or does not belong to this folder"),
    ] {
        let folder = folder(&[("w/.git/HEAD", ""), (&format!("w/{name}"), text)]);
        let root = folder.path().canonicalize().unwrap();
        let mut source = Instructions::default();
        let around = around(&root.join("w").to_string_lossy(), at("2026-11-30T12:00:00Z"));
        assert_eq!(source.observe(&around), Ok(Vec::new()));
        let key = root.join("w").join(name).to_string_lossy().into_owned();
        assert!(source.speaks_for(&key));
        let expect = format!("The instructions from {key} do not hold any more: {why}.");
        assert_eq!(source.removed(&key, b"\"\""), Some(expect));
    }
}

#[test]
fn an_edited_file_is_told_the_shorter_way() {
    let source = Instructions::default();
    let old = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n".repeat(3);
    let new = old.replacen("six\n", "6\n", 1);
    let now = |text: &str| Sighting::new("/w/AGENTS.md", lines::state(text)).with_detail(text);
    let edited = "The instructions from /w/AGENTS.md were edited";
    for (known, now, expect) in [
        (
            lines::state(&old),
            now(&new),
            format!(
                "{edited}, and hold as they are now. What changed, counted in lines of the file as it is now:\n\
                 @@ line 5 @@\n five\n[1 line is gone from here]\n+6\n seven"
            ),
        ),
        (
            lines::state(&old),
            now("all new\n"),
            format!("{edited}. In place of what they said, this holds:\nall new"),
        ),
        (
            "null".into(),
            now("all new\n"),
            "There are instructions from /w/AGENTS.md, which hold from now on:\nall new".to_owned(),
        ),
    ] {
        assert_eq!(source.drift(&known, &now), Some(expect));
    }
    assert_eq!(
        source.removed("/w/AGENTS.md", b"\"\"").as_deref(),
        Some("The instructions from /w/AGENTS.md do not hold any more: the file is gone.")
    );
}
