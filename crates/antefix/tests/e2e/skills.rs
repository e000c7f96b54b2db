//! Skills: texts that the model or the user calls, from files that may be anything.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use antefix_http::server::ServerOptions;

use crate::case::Case;

const SCRIPT: &str = "rule\n on said Review\n on rounds 0\n tool skill {\"name\":\"review\",\"arguments\":\"a.rs\"}\n\
    rule\n on said Nothing\n on rounds 0\n tool skill {\"name\":\"nothing\"}\n\
    rule\n on any\n text It ends.\n";

/// A case of each dialect.
fn cases() -> [Case; 2] {
    [Case::new(SCRIPT), Case::chat(ServerOptions::default(), SCRIPT)]
}

/// Writes a skill of the project.
fn skill(case: &Case, name: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    let folder = case.project().join(".claude/skills").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("SKILL.md"), text).expect("a skill");
}

fn body(case: &Case, n: usize) -> String {
    String::from_utf8_lossy(&case.sent()[n].bytes).into_owned()
}

#[test]
fn a_skill_is_a_result_and_its_newest_text_is_given() {
    for case in cases() {
        skill(&case, "review", "---\ndescription: Reviews.\n---\nLook at $ARGUMENTS twice.\n");
        case.run("Review it").ends().code(0).stderr("✓ skill");
        assert!(body(&case, 1).contains("Look at a.rs twice."));
        skill(&case, "review", "---\ndescription: Reviews.\n---\nLook at $ARGUMENTS thrice.\n");
        case.go_on("Review it again").ends().code(0);
        let last = body(&case, 3);
        assert!(last.contains("Look at a.rs twice.") && last.contains("Look at a.rs thrice."), "{last}");
        case.go_on("Nothing").ends().code(0).stderr("there is no skill `nothing`; there is: review");
        assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
        case.goes_on();
    }
}

#[test]
fn the_user_calls_a_skill_with_a_slash() {
    for case in cases() {
        skill(&case, "tidy", "---\ndisable-model-invocation: true\n---\nTidy $0.\n");
        case.run("/tidy src now").ends().code(0);
        case.go_on("/etc/hosts is a path").ends().code(0);
        let said = body(&case, 1);
        assert!(said.contains("Tidy src.") && said.contains("/tidy src now"), "{said}");
        assert!(said.contains("\"/etc/hosts is a path\""), "{said}");
        case.goes_on();
    }
}

/// What a project brings may be anything; each file that is none gets a note, and the turn goes on.
#[test]
fn hostile_skills_are_left_out_with_a_note() {
    for case in cases() {
        skill(&case, "review", "---\ndescription: Reviews.\n---\nLook.\n");
        skill(&case, "bare", "no head\n");
        skill(&case, "up", "---\nname: ../../../up\n---\nx\n");
        skill(&case, "binary", b"---\nname: x\n---\n\xff\xfe\0");
        skill(&case, "huge", "x".repeat(300 << 10));
        skill(&case, "bomb", format!("---\na: &a [{}]\nb: *a\n---\nx\n", "x,".repeat(9 << 10)));
        skill(&case, "open", "---\nname: open\n");
        skill(&case, OsStr::from_bytes(b"\xff\xfe"), "---\ndescription: Not a name.\n---\nx\n");
        let folder = case.project().join(".claude/skills");
        symlink(".", folder.join("loop")).expect("a link");
        std::fs::create_dir(folder.join("cycle")).expect("a folder");
        symlink("SKILL.md", folder.join("cycle/SKILL.md")).expect("a link");
        std::fs::create_dir(folder.join("out")).expect("a folder");
        symlink("/etc/hostname", folder.join("out/SKILL.md")).expect("a link");
        std::fs::create_dir(folder.join("pipe")).expect("a folder");
        let pipe = folder.join("pipe/SKILL.md");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().expect("mkfifo").success());
        let ended = case.run("Review it").ends().code(0).stderr("✓ skill");
        for name in ["bare", "up", "binary", "huge", "bomb", "open", "cycle", "out", "pipe"] {
            assert!(
                ended.stderr.contains(&format!("skills/{name}/SKILL.md` is left out: ")),
                "{name}\n{ended}"
            );
        }
        case.goes_on();
        assert!(case.relations().iter().all(|relation| relation == "extends"));
    }
}

/// The list of skills stands in the head; what of it comes, changes and goes is told once, behind all that was said.
#[test]
fn what_changes_of_the_skills_is_told_once() {
    for case in cases() {
        skill(&case, "review", "---\ndescription: Reviews.\n---\nLook.\n");
        skill(&case, "tidy", "---\ndescription: Tidies.\n---\nTidy.\n");
        case.run("Begin").ends().code(0);
        assert!(body(&case, 0).contains("- review: Reviews."), "{}", body(&case, 0));
        case.go_on("Nothing new").ends().code(0);
        skill(&case, "review", "---\ndescription: Reviews.\n---\nLook twice.\n");
        skill(&case, "release", "---\ndescription: Releases.\n---\nRelease.\n");
        std::fs::remove_dir_all(case.project().join(".claude/skills/tidy")).expect("it is there");
        case.go_on("Look again").ends().code(0);
        case.go_on("And again").ends().code(0);
        let last = body(&case, case.sent().len() - 1);
        for told in [
            "Skills that are new:\\n- release: Releases.",
            "what `skill` gave of them before is out of date: review",
            "Skills that are there no more: tidy",
        ] {
            assert_eq!(last.matches(told).count(), 1, "{told}\n{last}");
        }
        assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
        // A folder that has gone for a while is a list without names, and its return is one with them.
        let folder = case.project().join(".claude/skills");
        std::fs::rename(&folder, case.root().join("away")).expect("it is there");
        case.go_on("Gone").ends().code(0);
        std::fs::rename(case.root().join("away"), &folder).expect("it is there");
        case.go_on("Back").ends().code(0);
        let last = body(&case, case.sent().len() - 1);
        assert_eq!(last.matches("Skills that are there no more: release, review").count(), 1, "{last}");
        case.goes_on();
    }
}

#[test]
fn a_session_without_the_tool_is_told_of_no_skills() {
    let case = Case::new(SCRIPT);
    skill(&case, "review", "---\ndescription: Reviews.\n---\nLook.\n");
    for flags in [["--deny", "skill"], ["--no-reminder", "skills"]] {
        case.run("Begin").args(flags).ends().code(0);
        assert!(!body(&case, case.sent().len() - 1).contains("Reviews."));
    }
}
