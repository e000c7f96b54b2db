//! What one command leaves to the next, and that nothing of a command outlives the agent.

use std::fs;

use crate::case::{Case, wait_until};

/// A string of the script, with what JSON does not take as it is.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// A script whose model makes these calls of the shell, one after the other, and then ends.
fn one_by_one(commands: &[&str]) -> String {
    let rule = |(round, command): (usize, &&str)| {
        format!("rule\n on said Go\n on rounds {round}\n tool bash {{\"command\":{}}}\n", quoted(command))
    };
    let rules: String = commands.iter().enumerate().map(rule).collect();
    format!("{rules}rule\n on any\n text It ends.\n")
}

#[test]
fn folder_and_exported_variables_carry_over_into_a_later_process() {
    let commands =
        ["mkdir -p a/b; cd a/b; export KEPT=\"x y\" SOME_TOKEN=hidden; unset LANG; local=1", "pwd; env"];
    let case = Case::new(&format!(
        "rule\n on said Later\n on rounds 0\n tool bash {{\"command\":\"pwd; env\"}}\n{}",
        one_by_one(&commands)
    ));
    case.run("Go").env("LANG", "C").ends().code(0);
    case.go_on("Later").env("LANG", "C").ends().code(0);
    let folder = case.project().canonicalize().expect("the project").join("a/b");
    // Two steps and their end, and then one step.
    for result in [case.result_of(1), case.result_of(3)] {
        assert!(result.contains(&format!("{}\\n", folder.display())), "{result}");
        assert!(result.contains("\\nKEPT=x y\\n"), "{result}");
        for gone in ["SOME_TOKEN", "LANG=", "local=", "BASH_ENV", "antefix:"] {
            assert!(!result.contains(gone), "`{gone}` carried over: {result}");
        }
    }
    case.goes_on();
}

/// The story: the folder the shell was in was deleted, and the next command ran in the workspace instead. Its `../../x`
/// had been judged as a file of the workspace, and was one outside.
#[test]
fn a_command_does_not_run_elsewhere_when_its_folder_is_gone() {
    let later = "rule\n on said Later\n on rounds 0\n tool bash {\"command\":\"touch ../../ran\"}\n\
                 rule\n on said Later\n on rounds 1\n tool bash {\"command\":\"touch here\"}\n";
    let case = Case::new(&format!("{later}{}", one_by_one(&["mkdir -p a/b; cd a/b"])));
    case.run("Go").ends().code(0);
    fs::remove_dir_all(case.project().join("a")).expect("the command has made it");
    case.go_on("Later").args(["--sandbox", "off"]).ends().code(0);
    assert!(
        case.result_of(2)
            .contains("a/b, where the shell was, is gone; the next command starts in the workspace")
    );
    let is_there = |name: &str| case.project().join(name).exists();
    assert_eq!(
        (is_there("ran"), is_there("../ran"), is_there("../../ran"), is_there("here")),
        (false, false, false, true)
    );
}

/// Each line starts the process of its name in another way to get out of reach of whoever ends the command.
const ESCAPES: &[(&str, &str)] = &[
    ("plain", "ID &"),
    ("nohup", "nohup ID >/dev/null 2>&1 &"),
    ("setsid", "setsid ID &"),
    ("forked-twice", "(setsid sh -c '(ID) &' &)"),
    ("disowned", "ID >/dev/null 2>&1 & disown"),
    ("stopped", "ID & (while [ ! -s stopped ]; do :; done; kill -STOP $(cat stopped)) &"),
    ("deaf", "(trap '' TERM HUP INT; ID) &"),
];

/// A case whose project has a program that writes its process id into the file it is given, and then waits.
fn case_with_ids(script: &str) -> Case {
    let case = Case::new(script);
    case.write("id", "#!/bin/sh\necho $$ > \"$1.new\" && mv \"$1.new\" \"$1\"\nexec sleep 1000\n");
    let path = case.project().join("id");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    case
}

/// A command that starts them all, waits until they run, and then does `then`.
fn all_escapes(then: &str) -> String {
    let start = ESCAPES.iter().map(|(name, line)| line.replace("ID", &format!("./id {name}")) + "\n");
    let wait = ESCAPES.iter().map(|(name, _)| format!("while [ ! -s {name} ]; do :; done\n"));
    format!("{}{}{then}", start.collect::<String>(), wait.collect::<String>())
}

fn is_running(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until every one of them has ended.
fn all_end(case: &Case) {
    for (name, _) in ESCAPES {
        let id = fs::read_to_string(case.project().join(name)).expect("it has started");
        wait_until(&format!("`{name}` has ended"), || !is_running(&id));
    }
}

#[test]
fn a_killed_agent_leaves_no_process() {
    for sandbox in ["off", "workspace"] {
        let case = case_with_ids(&one_by_one(&[&all_escapes("touch started; wait; sleep 1000")]));
        let mut agent = case.run("Go").args(["--sandbox", sandbox]).spawn();
        wait_until("all have started", || case.project().join("started").exists());
        agent.kill().expect("a child can be killed");
        agent.wait().expect("it has ended");
        all_end(&case);
        case.goes_on();
    }
}

#[test]
fn a_command_that_ends_leaves_no_process() {
    for sandbox in ["off", "workspace"] {
        let case = case_with_ids(&one_by_one(&[&all_escapes("echo started")]));
        case.run("Go").args(["--sandbox", sandbox]).ends().code(0).stdout("It ends.");
        all_end(&case);
        let expect = "started\\n[processes left in the background were stopped]\\n[exit code 0]";
        assert!(case.result_of(0).contains(expect), "{}", case.result_of(0));
    }
}

/// A repository's own configuration may name programs that git runs, even for `git status`; so antefix reads its files.
#[test]
fn antefix_itself_runs_no_git() {
    let case = Case::new(
        "rule\n on rounds 0\n tool read {\"path\":\"a.txt\"}\n tool grep {\"pattern\":\"a\"}\nrule\n on any\n text It ends.\n",
    );
    for folder in ["bin", ".git/hooks"] {
        fs::create_dir_all(case.project().join(folder)).expect("a folder");
    }
    let program = format!("#!/bin/sh\ntouch {}\n", case.project().join("ran").display());
    for name in ["bin/git", ".git/hooks/post-index-change", "monitor"] {
        case.write(name, &program);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(case.project().join(name), mode).expect("it is ours");
    }
    case.write(
        ".git/config",
        "[core]\n fsmonitor = ./monitor\n hooksPath = .git/hooks\n[alias]\n status = !./monitor\n",
    );
    case.write(".git/HEAD", "ref: refs/heads/main\n").write("a.txt", "a\n");
    let path =
        format!("{}:{}", case.project().join("bin").display(), std::env::var("PATH").unwrap_or_default());
    case.run("Go").env("PATH", path).ends().code(0).stdout("It ends.");
    assert!(
        String::from_utf8_lossy(&case.sent()[0].bytes)
            .contains("Git branch at the start of the session: main")
    );
    assert!(!case.project().join("ran").exists());
    case.goes_on();
}

/// A script of calls of several tools, one after the other.
fn steps(said: &str, calls: &[(&str, String)]) -> String {
    let rule = |(round, (tool, input)): (usize, &(&str, String))| {
        format!("rule\n on said {said}\n on rounds {round}\n tool {tool} {input}\n")
    };
    calls.iter().enumerate().map(rule).collect()
}

fn in_background(command: &str) -> (&'static str, String) {
    ("bash", format!("{{\"command\":{},\"background\":true}}", quoted(command)))
}

fn job(tool: &'static str, number: u64) -> (&'static str, String) {
    let wait = if tool == "bash_output" { ",\"wait_ms\":60000" } else { "" };
    (tool, format!("{{\"job\":{number}{wait}}}"))
}

#[test]
fn jobs_are_looked_at_ended_and_end_with_the_agent() {
    let calls = [
        in_background("echo one; while [ ! -s go ]; do :; done; echo two; exit 3"),
        job("bash_output", 1),
        ("bash", "{\"command\":\"echo x > go\"}".to_owned()),
        job("bash_output", 1),
        job("bash_output", 1),
        in_background(&all_escapes("touch started; wait; sleep 1000")),
        ("bash", "{\"command\":\"while [ ! -e started ]; do :; done\"}".to_owned()),
        job("bash_kill", 2),
        in_background("./id last"),
        ("bash", "{\"command\":\"while [ ! -s last ]; do :; done\"}".to_owned()),
    ];
    let later = steps("Later", &[job("bash_output", 3), in_background("true"), job("bash_output", 9)]);
    let case = case_with_ids(&format!("{}{later}rule\n on any\n text It ends.\n", steps("Go", &calls)));
    case.run("Go").ends().code(0).stdout("It ends.");
    assert!(case.result_of(0).contains("[job 1 runs in the background; its output goes to "));
    assert!(case.result_of(1).contains("\"one\\n[job 1: running]\""), "{}", case.result_of(1));
    let rest = format!("{}{}", case.result_of(3), case.result_of(4));
    assert!(rest.contains("two\\n[job 1: ") && rest.contains("[job 1: exit code 3]"), "{rest}");
    assert!(case.result_of(7).contains("[job 2: killed by signal 15]"), "{}", case.result_of(7));
    all_end(&case);
    let last = fs::read_to_string(case.project().join("last")).expect("it has started");
    wait_until("the last job has ended", || !is_running(&last));

    case.go_on("Later").ends().code(0);
    let later = calls.len() + 1;
    assert!(
        case.result_of(later)
            .contains("job 3 was ended with the process of antefix that had started it; its output is in ")
    );
    assert!(case.result_of(later + 1).contains("[job 4 runs in the background"));
    assert!(case.result_of(later + 2).contains("there is no job 9; there have been 4"));
    case.goes_on();
}

#[test]
fn jobs_stay_where_that_is_asked_for() {
    let calls = [
        in_background("./id stays"),
        ("bash", "{\"command\":\"while [ ! -s stays ]; do :; done\"}".to_owned()),
    ];
    let case = case_with_ids(&format!("{}rule\n on any\n text It ends.\n", steps("Go", &calls)));
    let ended = case.run("Go").arg("--keep-jobs").ends().code(0).stderr("job 1 goes on; `kill -- -");
    let id = fs::read_to_string(case.project().join("stays")).expect("it has started");
    assert!(is_running(&id));
    let (_, group) = ended.stderr.split_once("kill -- -").expect("the group is told");
    let group = group.split('`').next().unwrap_or_default();
    let killed = std::process::Command::new("kill").args(["--", &format!("-{group}")]).status();
    assert!(killed.expect("there is kill").success());
    wait_until("the job has ended", || !is_running(&id));
}
