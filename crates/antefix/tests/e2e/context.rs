//! What changes around a session between two messages, each from a process of its own: it is told once, and what was
//! sent stays as it was.
//!
//! `ANTEFIX_CONTEXT_KILLS` says how many processes are killed while they look and tell (8 in each dialect).

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use antefix_http::server::ServerOptions;

use crate::case::{Case, Invocation, ends_or_is_killed};
use crate::random::Random;

/// One thing that changes.
struct Row {
    name: &'static str,
    /// Files of the project before the first message.
    before: &'static [(&'static str, &'static str)],
    change: fn(&Case),
    /// Arguments of the second message's process.
    arguments: &'static [&'static str],
    zone: &'static str,
    /// What the model is told, once; nothing if empty.
    told: &'static str,
}

impl Row {
    const fn new(name: &'static str, change: fn(&Case), told: &'static str) -> Self {
        Self { name, before: &[], change, arguments: &[], zone: "UTC", told }
    }

    fn check(&self, case: &Case) {
        let name = self.name;
        git(&case.project(), &["init", "-q", "-b", "main"]);
        case.write("AGENTS.md", &INSTRUCTIONS.join("\n")).write("a.txt", "one\n");
        for (path, text) in self.before {
            write(case, path, text);
        }
        git(&case.project(), &["add", "-A"]);
        git(&case.project(), &["commit", "-qm", "First"]);
        let run = |prompt: &str| run(case, prompt).env("TZ", "UTC");
        run("Task").ends().code(0);
        let number = case.sent().len();
        (self.change)(case);
        let again = |prompt: &str| {
            let run = run(prompt).args(["--resume", &case.session()]).env("TZ", self.zone);
            self.arguments.iter().fold(run, |run, argument| run.arg(argument))
        };
        for prompt in ["And now?", "And now, once more?"] {
            let ended = again(prompt).args(["--output", "stream-json"]).ends().code(0);
            let news = ended.stdout.matches("\"type\":\"reminder\"").count();
            // Whoever imports a file learns of it twice: what it says, and that git lists it.
            let is_due = prompt == "And now?" && !self.told.is_empty();
            assert_eq!(news > 0, is_due, "{name}: {}", ended.stdout);
        }
        let sent = case.sent();
        let told: Vec<usize> = sent.iter().map(|body| count(&body.bytes, self.told)).collect();
        let expect: Vec<usize> = (0..sent.len()).map(|index| usize::from(index >= number)).collect();
        assert!(self.told.is_empty() || told == expect, "{name}: {told:?}");
        assert!(
            case.relations().iter().all(|relation| relation == "extends"),
            "{name}: {:?}",
            case.relations()
        );
        case.is_intact();
    }
}

fn rows() -> Vec<Row> {
    vec![
        Row::new("nothing", |_| {}, ""),
        Row::new("a file is touched", |case| write(case, "AGENTS.md", &INSTRUCTIONS.join("\n")), ""),
        Row::new(
            "instructions are edited",
            |case| write(case, "AGENTS.md", &INSTRUCTIONS.join("\n").replace("seven", "7")),
            "[1 line is gone from here]\\n+Rule 7.\\n",
        ),
        Row::new(
            "instructions are deleted",
            |case| fs::remove_file(case.project().join("AGENTS.md")).expect("it is there"),
            "AGENTS.md do not hold any more: the file is gone.",
        ),
        Row::new(
            "instructions are added",
            |case| write(case, ".claude/rules/new.md", "A new rule."),
            "new.md, which hold from now on:\\nA new rule.",
        ),
        Row::new(
            "the user's own instructions for the project are added",
            |case| write(case, "CLAUDE.local.md", "My own rule."),
            "CLAUDE.local.md, which hold from now on:\\nMy own rule.",
        ),
        Row {
            before: &[("AGENTS.md", "Keep to @style.md"), ("style.md", "Short lines.")],
            ..Row::new(
                "what instructions import is edited",
                |case| write(case, "style.md", "Long lines."),
                "style.md were edited. In place of what they said, this holds:\\nLong lines.",
            )
        },
        Row {
            zone: "Asia/Tokyo",
            ..Row::new(
                "the time zone",
                |_| {},
                "The time zone of this machine is now Asia/Tokyo; it was UTC.",
            )
        },
        Row {
            arguments: &["--cwd", "other"],
            before: &[("other/x.txt", "one\n")],
            ..Row::new("another folder", |_| {}, "Working directory: now ")
        },
        Row::new(
            "another branch",
            |case| git(&case.project(), &["checkout", "-qb", "side"]),
            "Git has now checked out branch side at ",
        ),
        Row::new(
            "a new file",
            |case| write(case, "b.txt", "two\n"),
            "`git status` lists 1 file or folder that you have not seen and that was not listed before:\\n? b.txt",
        ),
        Row::new(
            "no repository any more",
            |case| fs::remove_dir_all(case.project().join(".git")).expect("it is there"),
            "This folder is in no git repository any more; before: branch main at ",
        ),
        Row {
            arguments: &["--no-reminder", "git"],
            ..Row::new("git is switched off", |case| git(&case.project(), &["checkout", "-qb", "side"]), "")
        },
    ]
}

#[test]
fn a_change_is_told_once() {
    for row in rows() {
        row.check(&Case::new(SCRIPT));
    }
}

#[test]
fn a_change_is_told_once_in_chat_completions_too() {
    for row in rows() {
        row.check(&Case::chat(ServerOptions::default(), SCRIPT));
    }
}

/// The instructions of a folder are told with the results that show its first file.
#[test]
fn instructions_further_down_are_told_when_a_file_there_is_seen() {
    let case = Case::new(
        "rule\n  on rounds 0\n  tool read {\"path\":\"inner/x.txt\"}\nrule\n  on rounds 1\n  text Read.\n",
    );
    write(&case, "inner/AGENTS.md", "Rules of the inner folder.");
    write(&case, "inner/x.txt", "one\n");
    git(&case.project(), &["init", "-q"]);
    run(&case, "Read it").ends().code(0);
    let sent = case.sent();
    let told: Vec<usize> = sent.iter().map(|body| count(&body.bytes, "Rules of the inner folder.")).collect();
    assert_eq!(told, [0, 1]);
    assert_eq!(case.relations(), ["extends"]);
    case.goes_on();
    assert_eq!(count(&case.sent()[2].bytes, "Rules of the inner folder."), 1);
}

/// Notes are kept by the user; a folder's own settings cannot name a file of the user before it is trusted.
#[test]
fn notes_are_told_where_the_users_settings_name_them() {
    let case = Case::new(SCRIPT);
    let notes = case.root().join("notes.md");
    fs::write(&notes, "I like short answers.").expect("a file of notes");
    let setting = format!("[memory]\nfile = \"{}\"\n", notes.display());
    write(&case, ".antefix/settings.toml", &setting);
    run(&case, "Task").ends().code(0).stderr("`memory.file` in its settings does not hold");
    fs::create_dir_all(case.settings().parent().expect("a folder")).expect("it can be made");
    fs::write(case.settings(), setting).expect("settings");
    for (text, told) in [
        ("I like short answers.", "There are notes of the user in "),
        (
            "I like long answers.",
            "were edited. In place of what they said, this holds:\\nI like long answers.",
        ),
    ] {
        fs::write(&notes, text).expect("a file of notes");
        run(&case, "And now?").arg("--continue").ends().code(0);
        let last = case.sent().pop().expect("a body");
        assert_eq!(count(&last.bytes, told), 1, "{told}");
    }
    assert_eq!(count(&case.sent()[0].bytes, "short answers"), 0);
}

#[test]
fn kinds_are_switched_off_by_name() {
    let case = Case::new(SCRIPT);
    case.write("AGENTS.md", "A rule of the project.");
    run(&case, "Task").args(["--no-reminder", "instructions"]).ends().code(0);
    assert_eq!(count(&case.sent()[0].bytes, "A rule of the project."), 0);
    // Switched on again, what differs is told.
    case.goes_on();
    assert_eq!(count(&case.sent()[1].bytes, "A rule of the project."), 1);
    run(&case, "Task").args(["--no-reminder", "gti"]).ends().code(2).stderr("invalid value 'gti'");
    write(&case, ".antefix/settings.toml", "[reminders]\ngti = false\n");
    run(&case, "Task")
        .ends()
        .code(2)
        .stderr("`reminders.gti`: there is no kind `gti`; the kinds are environment,");
}

/// A process may be killed between looking and telling, or while it tells: what changed is told by a later one, and
/// nothing is told twice.
#[test]
fn what_a_killed_process_saw_is_told_once() {
    for chat in [false, true] {
        let options = ServerOptions { chunk: Some(256), ..ServerOptions::default() };
        let case = if chat { Case::chat(options, SLOW) } else { Case::with(options, SLOW) };
        let kills = std::env::var("ANTEFIX_CONTEXT_KILLS").map_or(8, |text| text.parse().expect("a number"));
        let mut random = Random::new(7);
        let begun = Instant::now();
        case.write("AGENTS.md", "Word 0 holds.");
        run(&case, "Task").ends().code(0);
        let length = begun.elapsed();
        for round in 1..=kills {
            case.write("AGENTS.md", &format!("Word {round} holds."));
            let child = run(&case, "Task").arg("--continue").spawn_into(&case.root().join("output"));
            ends_or_is_killed(child, Duration::from_micros(random.below(length.as_micros() as u64)));
        }
        run(&case, "Task").arg("--continue").ends().code(0);
        let sent = case.sent();
        let last = &sent.last().expect("a body").bytes;
        let told: Vec<usize> =
            (0..=kills).map(|round| count(last, &format!("Word {round} holds."))).collect();
        assert!(told.iter().all(|count| *count <= 1) && told.last() == Some(&1), "chat {chat}: {told:?}");
        case.is_intact();
        for pair in sent.windows(2) {
            assert!(pair[1].extends(&pair[0]) || pair[1].relation(&pair[0]) == "repeats", "chat {chat}");
        }
    }
}

fn run(case: &Case, prompt: &str) -> Invocation {
    case.run(prompt)
}

fn write(case: &Case, path: &str, text: &str) {
    let path = case.project().join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
    fs::write(path, text).expect("a file");
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments).current_dir(folder);
    assert!(command.output().expect("git starts").status.success(), "{arguments:?}");
}

fn count(bytes: &[u8], text: &str) -> usize {
    String::from_utf8_lossy(bytes).matches(text).count()
}

const INSTRUCTIONS: [&str; 9] = [
    "Rule one.",
    "Rule two.",
    "Rule three.",
    "Rule four.",
    "Rule five.",
    "Rule six.",
    "Rule seven.",
    "Rule eight.",
    "Rule nine, which is a long one, so that the whole of it is longer than what changes.",
];

const SCRIPT: &str = "rule\n  on said Task\n  text Done.\n";

const SLOW: &str = "rule\n  on said Task\n  text Done, and told in a few more words so that it takes a while to arrive.\n  chunk-delay 2\n";
