use super::*;

fn check(old: &str, new: &str, expect: Option<Source>) {
    let found = recognise(old, new).map(|found| found.source);
    assert_eq!(found, expect, "{old:?} → {new:?}");
}

#[test]
fn each_source_is_recognised() {
    use Source::*;
    let uuid = ["0b8f2c1e-7d44-4c1e-9a55-0d3f1c2b7a90", "f47ac10b-58cc-4372-a567-0e02b2c3d479"];
    for (frame, old, new, source) in [
        ("Current time is {}. Today is 2026-10-02.", "15:09:20", "15:09:34", Clock),
        ("Now: {}", "2026-10-02T15:09:20Z", "2026-10-02T15:09:34Z", Clock),
        ("Now: {} (UTC)", "2026-10-02 15:09:20", "2026-10-02 15:10:00", Clock),
        ("Now: {} (UTC)", "2026-10-02 23:59:20", "2026-10-03 00:01:00", Clock),
        ("It is {}.", "9:41PM", "9:43PM", Clock),
        ("ts={}", "1790931600", "1790931621", Clock),
        ("ts: {}.", "1790931600123", "1790931621456", Clock),
        ("Today is {}.", "2026-10-02", "2026-10-03", Date),
        ("Today's date: {}", "2026-09-30", "2026-10-01", Date),
        ("Heute ist der {}.", "2. Oktober 2026", "3. Oktober 2026", Date),
        ("Today is {}, a working day.", "Friday, October 2, 2026", "Saturday, October 3, 2026", Date),
        ("Date: {}", "Fri Oct 02 2026", "Sat Oct 03 2026", Date),
        ("Date: {}", "10/02/2026", "10/03/2026", Date),
        ("今日は{}です", "2026年10月2日", "2026年10月3日", Date),
        ("gitStatus: a snapshot.\nCurrent branch: main\nStatus:\n{}", "(clean)", " M src/net.rs", Git),
        ("Current branch: {}\n", "main", "fix/retry", Git),
        ("Recent commits:\n{} Fix it", "a1b2c3d", "d4e5f6a", Git),
        ("Session ID: {}\n", uuid[0], uuid[1], Session),
        ("Memory in {}/memory", &format!("/tmp/{}", uuid[0]), &format!("/tmp/{}", uuid[1]), Session),
        ("Working directory: {}\n", "/w/one", "/w/two", Folder),
        ("Notes are in {} as files", "/home/a/.notes", "/home/b/.notes", Folder),
        ("OS Version: {}\n", "Linux 6.8", "Linux 6.9", Environment),
        ("cc_version={}; entry", "2.1.177", "2.1.178", Environment),
        ("cc_entrypoint=sdk; cch={};", "36ee5", "0aaa9", Nonce),
        ("trace {} of this call", uuid[0], uuid[1], Nonce),
        ("trace {} of this call", "9f8e7d6c5b4a", "1a2b3c4d5e6f", Nonce),
        ("request #{} of this run", "17", "18", Counter),
        ("Turn: {}", "9", "10", Counter),
        ("Messages so far: {}", "41", "43", Counter),
        ("{} tokens left", "9000", "8100", Counter),
        ("Current folder is kept. cwd: {}", "one", "two", Folder),
        ("<cwd>{}</cwd>", "/w/one", "/w/two", Folder),
        ("Working directory: /w/my {}", "boat/one", "boat/two", Folder),
        ("Platform: {}", "linux", "darwin", Environment),
        ("- Shell: {}", "zsh", "bash", Environment),
        ("Main branch (for requests): {}", "main", "trunk", Git),
        ("Here is the git status:\n{}", " M a.rs", " M b.rs", Git),
        ("HEAD is at {}", "a1b2c3d", "d4e5f6a", Git),
        ("conversation id {}", "k3x9f2", "p8m1q7", Session),
        ("The following skills are available: {}.", "bench, fuzz", "bench, lint", SkillList),
        ("The following skills are available for you:\n- {}", "bench", "lint", SkillList),
        ("<skills>\n{}\n</skills>", "bench", "lint", SkillList),
        ("Tools to look for: {}", "mcp__wiki__find", "mcp__stars__name", McpServer),
        ("Instructions from: /w/AGENTS.md\n{}", "Be brief.", "Be kind.", InstructionFile),
        ("# CLAUDE.md\n{}", "Be brief.", "Be kind.", InstructionFile),
        ("# MCP server instructions\n{}", "Use tracker.", "Use wiki.", McpServer),
        ("Stop hook feedback: {}", "tests red", "lint red", Hook),
        ("Contents of AGENTS.md:\n{}", "Be brief.", "Be kind.", InstructionFile),
        ("<system-reminder>\n{}\n</system-reminder>", "Do this.", "Do that.", Reminder),
    ] {
        let wrap = |value: &str| format!("You are Ferry.\n\n{}\n\nRules follow.", frame.replace("{}", value));
        check(&wrap(old), &wrap(new), Some(source));
        check(&frame.replace("{}", old), &frame.replace("{}", new), Some(source));
        check(&wrap(old), &wrap(old), None);
    }
}

#[test]
fn what_only_looks_so_is_not_named() {
    for (old, new) in [
        ("Answer briefly.", "Answer at length."),
        ("You may add files.", "You may faced files."),
        ("Use ratio 16:09x here.", "Use ratio 16:10x here."),
        ("See step three of the plan.", "See step four of the plan."),
        ("main.rs:41:12x fails", "main.rs:42:12x fails"),
        ("Read a decade of logs.", "Read a facade of logs."),
        ("Mar the finish.", "Jan the finish."),
        ("Prefer library alpha over beta.", "Prefer library gamma over beta."),
        ("Commit often and use git well. Be brief.", "Commit often and use git well. Be kind."),
        ("Keep the platform in mind: be brief.", "Keep the platform in mind: be kind."),
        ("Ask the owner of the build first.", "Ask the owner of the tests first."),
        ("We meet in town.", "We meet in city."),
        ("", "Be brief."),
    ] {
        check(old, new, None);
    }
    for (old, new, not) in [
        ("Version 2.1.177 is out", "Version 2.1.178 is out", Source::Date),
        ("Address 10.0.2.26 is ours", "Address 10.0.3.26 is ours", Source::Date),
        ("Step 3 of 2026 pages", "Step 4 of 2026 pages", Source::Date),
        ("190000 tokens", "189700 tokens", Source::Date),
        ("chapter 12 of 30", "chapter 13 of 30", Source::Clock),
        ("line 41:12 is long", "line 41:13 is long", Source::Clock),
        ("8000000000 rows", "8000000001 rows", Source::Clock),
        ("model-a1", "model-b2", Source::Nonce),
        ("src/a1b2.rs", "src/c3d4.rs", Source::Nonce),
    ] {
        assert_ne!(recognise(old, new).map(|found| found.source), Some(not), "{old:?} → {new:?}");
    }
}

/// Texts that look as if a client had put them there, and that someone wrote: a line for each way to be taken in.
#[test]
fn rules_about_a_thing_are_not_the_thing() {
    for (text, old, new) in [
        ("Show pictures in a ratio of {}.", "16:10", "16:12"),
        ("Quote verse {} first.", "3:16", "3:17"),
        ("A score of {} wins.", "21:15", "21:17"),
        ("Orders start at {}.", "1000000001", "1000000002"),
        ("Use version {} of the tool.", "2031.3.4", "2031.3.5"),
        ("Send the header with version {}.", "2031-03-04", "2031-03-05"),
        ("Never push to the main branch. Be {}.", "brief", "kind"),
        ("Look at git status: it must be {}.", "clean", "empty"),
        ("The head is at the top. Be {}.", "brief", "kind"),
        ("Rules of this session: be {}.", "brief", "kind"),
        ("Say which session id you mean, and be {}.", "brief", "kind"),
        ("Run {} when the history is long.", "/compact", "/clear"),
        ("Ask with GET {} and nothing else.", "/v1/boats", "/v1/crews"),
        ("Stay in the working directory. Be {}.", "brief", "kind"),
        ("What holds on this platform: be {}.", "brief", "kind"),
        ("Write for the shell: no {}.", "colours", "tables"),
        ("Paint it {} all over, color: {}.", "00ff00", "ff0000"),
        ("Listen on port: {}.", "8080", "8443"),
        ("max_tokens: {}", "4096", "8192"),
        ("Answer in {} sentences.", "3", "5"),
        ("Try at most {} times.", "3", "4"),
        ("Make no more than {} calls.", "3", "4"),
        ("Ask which skills are available. Be {}.", "brief", "kind"),
        ("You may ask an MCP server. Be {}.", "brief", "kind"),
        ("Call mcp__wiki__find first. Be {}.", "brief", "kind"),
        ("A stop hook may run. Be {}.", "brief", "kind"),
        ("Keep AGENTS.md up to date. Be {}.", "brief", "kind"),
        ("<system-reminder>Stay calm.</system-reminder> Be {}.", "brief", "kind"),
        ("Say it when few tokens are left. Be {}.", "brief", "kind"),
    ] {
        let wrap = |value: &str| format!("You are Ferry.\n\n{}\n\nRules follow.", text.replace("{}", value));
        check(&wrap(old), &wrap(new), None);
        check(&text.replace("{}", old), &text.replace("{}", new), None);
    }
}

#[test]
fn the_frame_and_the_two_values_are_given() {
    let old = "x-billing: v=2.1.177.01c; entry=sdk; cch=36ee5;";
    let found = recognise(old, &old.replace("36ee5", "0aaa9")).unwrap();
    assert_eq!((&*found.frame, &*found.old, &*found.new), ("cch=", "36ee5", "0aaa9"));
}
