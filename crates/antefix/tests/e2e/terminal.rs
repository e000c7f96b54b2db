//! A real terminal: what `run` asks, as a user sees it and answers it.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::case::{Case, Invocation, KEY};
use crate::servers;

/// Far longer than anything here takes; reached only when something hangs.
const HANGS: Duration = Duration::from_secs(60);

/// A process with a terminal of its own.
struct Terminal {
    master: File,
    child: Child,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    /// What was expected so far ends here.
    at: usize,
}

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Terminal {
    fn start(invocation: Invocation, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal of one's own");
        unlockpt(&master).expect("a terminal that opens");
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a terminal of a size");
        let name = ptsname(&master, Vec::new()).expect("a terminal with a name");
        let name = name.to_str().expect("a plain name").to_owned();
        let slave = File::options().read(true).write(true).open(name).expect("the other end");
        let end = || Stdio::from(slave.try_clone().expect("the same end"));
        let inner = invocation.into_command();
        // A session of its own, whose terminal this is, so that Ctrl-C is a signal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(inner.get_program()).args(inner.get_args());
        command.current_dir(inner.get_current_dir().expect("a folder is set")).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("it starts");
        drop(command);
        drop(slave);
        let master = File::from(master);
        let seen = Arc::new((Mutex::new(Seen::default()), Condvar::new()));
        let (mut reader, told) = (master.try_clone().expect("the same end"), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                // The end of the last process that has the terminal is an error here.
                let count = reader.read(&mut buffer).unwrap_or(0);
                let mut seen = told.0.lock().expect("no test panicked with it");
                seen.bytes.extend_from_slice(&buffer[..count]);
                seen.is_over = count == 0;
                told.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self { master, child, seen, at: 0 }
    }

    /// Waits until this is on the screen, behind what was expected before.
    fn expect(&mut self, part: &str) -> &mut Self {
        let (seen, news) = &*self.seen;
        let find = |seen: &Seen| {
            let text = String::from_utf8_lossy(&seen.bytes[self.at..]).into_owned();
            text.find(part).map(|at| self.at + at + part.len())
        };
        let seen = seen.lock().expect("no test panicked with it");
        let is_open = |seen: &mut Seen| find(seen).is_none() && !seen.is_over;
        let (seen, _) = news.wait_timeout_while(seen, HANGS, is_open).expect("no test panicked with it");
        let found = find(&seen);
        let shown = String::from_utf8_lossy(&seen.bytes).into_owned();
        drop(seen);
        self.at = found.unwrap_or_else(|| panic!("`{part}` does not come\n{shown}"));
        self
    }

    fn enter(&mut self, text: &str) -> &mut Self {
        self.master.write_all(text.as_bytes()).expect("the terminal takes it");
        self
    }

    /// Waits for the end; gives the exit code and all that was on the screen.
    fn ends(mut self) -> (Option<i32>, String) {
        let (seen, news) = &*self.seen;
        let seen = seen.lock().expect("no test panicked with it");
        let (seen, timeout) =
            news.wait_timeout_while(seen, HANGS, |seen| !seen.is_over).expect("no test panicked with it");
        let shown = String::from_utf8_lossy(&seen.bytes).into_owned();
        assert!(!timeout.timed_out(), "it does not end\n{shown}");
        assert!(!shown.contains(KEY), "{shown}");
        (self.child.wait().expect("it has ended").code(), shown)
    }
}

fn bash(said: &str, command: &str) -> String {
    format!("rule\n on said {said}\n on rounds 0\n tool bash {{\"command\":{command}}}\n")
}

fn case() -> Case {
    let script = [
        bash("Make", "\"touch made\""),
        bash("Draw", r#""echo '\u001b]0;owned\u0007\u001b[2J\u202egnp' > made""#),
        "rule\n on said Change\n on rounds 0\n tool read {\"path\":\"a.txt\"}\n\
         rule\n on said Change\n on rounds 1\n tool edit {\"path\":\"a.txt\",\"old_string\":\"one\",\"new_string\":\"1\"}\n\
         rule\n on any\n text It ends.\n"
            .to_owned(),
    ];
    let case = Case::new(&script.concat());
    case.write("a.txt", "one\ntwo\n");
    case
}

fn asks(case: &Case, prompt: &str, columns: u16) -> Terminal {
    let mut terminal = Terminal::start(case.antefix(["run", prompt]), columns);
    terminal.expect("? Do you trust the files of").expect("[y]es, [n]o").enter("n\n");
    terminal
}

fn made(case: &Case) -> bool {
    case.project().join("made").exists()
}

#[test]
fn a_question_shows_the_command_and_waits_for_a_word() {
    for (typed, is_made) in [("y\n", true), ("what?\n\nYES\n", true), ("n\n", false), ("\u{4}", false)] {
        for columns in [80, 12] {
            let case = case();
            let mut terminal = asks(&case, "Make", columns);
            terminal.expect("? `touch made`").expect("$ touch made").expect("[a]lways here: ");
            assert!(!made(&case), "nothing runs before the answer");
            terminal.enter(typed).expect("It ends.");
            let (code, shown) = terminal.ends();
            assert_eq!((code, made(&case)), (Some(0), is_made), "{typed:?}\n{shown}");
            assert_eq!(shown.contains("refused by you"), !is_made, "{shown}");
            case.goes_on();
        }
    }
}

#[test]
fn ctrl_c_at_a_question_stops_the_turn_and_runs_nothing() {
    let case = case();
    let mut terminal = asks(&case, "Make", 80);
    terminal.expect("[a]lways here: ").enter("\u{3}").expect("! stopped");
    assert_eq!((terminal.ends().0, made(&case)), (Some(130), false));
    case.goes_on();
}

#[test]
fn always_holds_for_the_session_in_a_later_process_too() {
    let case = case();
    let mut terminal = asks(&case, "Make", 80);
    terminal.expect("always means: bash(touch made)").expect("[a]lways here: ").enter("a\n");
    terminal.expect("remembered for this session").expect("It ends.");
    assert_eq!((terminal.ends().0, made(&case)), (Some(0), true));
    std::fs::remove_file(case.project().join("made")).expect("it was made");
    let later = case.antefix(["run", "Make", "--continue"]).ends().code(0);
    later.stderr("allowed by `bash(touch made)` (your answer in this session)");
    assert!(made(&case));
    let shown = case.antefix(["sessions", "show"]).ends().code(0);
    shown.stdout("allowed by your answer (asked by mode ask (built-in)), and from there on bash(touch made)");
    let another = case.antefix(["run", "Make"]).ends().code(0);
    another.stderr("nobody can be asked");
}

/// A command could write over the question, or turn its letters round.
#[test]
fn what_a_terminal_would_obey_is_shown_and_not_sent() {
    let case = case();
    let mut terminal = asks(&case, "Draw", 80);
    terminal.expect(r"$ echo '\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}gnp' > made").expect("[n]o: ").enter("n\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, Some(0));
    let mut rest = shown.as_str();
    while let Some((_, behind)) = rest.split_once('\u{1b}') {
        let colour = behind
            .trim_start_matches(|letter: char| letter == '[' || letter == ';' || letter.is_ascii_digit());
        assert!(behind.starts_with('[') && colour.starts_with('m'), "no more than colours: {behind:?}");
        rest = behind;
    }
    assert!(!shown.contains(['\u{7}', '\u{202e}']), "{shown}");
}

#[test]
fn an_edit_is_shown_as_a_diff_before_and_after() {
    let case = case();
    let mut terminal = asks(&case, "Change", 80);
    let diff = ["@@ -1,2 +1,2 @@", "-one", "+1", " two"];
    for line in diff {
        terminal.expect(line);
    }
    terminal.expect("[a]lways here: ").enter("y\n");
    for line in diff {
        terminal.expect(line);
    }
    terminal.expect("It ends.");
    assert_eq!(terminal.ends().0, Some(0));
    assert_eq!(std::fs::read(case.project().join("a.txt")).expect("a file"), b"1\ntwo\n");
}

fn chats(case: &Case) -> Terminal {
    let mut terminal = Terminal::start(case.antefix(["chat"]).env("TERM", "xterm"), 80);
    terminal.expect("? Do you trust the files of").expect("[y]es, [n]o").enter("n\n").expect("1> ");
    terminal
}

#[test]
fn a_chat_asks_what_a_run_asks_and_goes_on() {
    let case = case();
    let mut terminal = chats(&case);
    terminal.enter("Make\r").expect("$ touch made").expect("[a]lways here: ").enter("n\n");
    terminal.expect("refused by you").expect("It ends.").expect("2> ");
    assert!(!made(&case));
    terminal.enter("Make\r").expect("· the cache expires in ").expect("[a]lways here: ").enter("y\n");
    terminal.expect("It ends.").expect("3> ").enter("\u{4}").expect("`antefix chat --continue` goes on");
    assert_eq!((terminal.ends().0, made(&case)), (Some(0), true));
    assert_eq!(case.relations(), vec!["extends"; 3]);
    case.goes_on();
}

#[test]
fn ctrl_c_in_a_chat_stops_the_turn_and_not_the_chat() {
    let case = case();
    let mut terminal = chats(&case);
    terminal.enter("Make\r").expect("[a]lways here: ").enter("\u{3}").expect("! stopped").expect("2> ");
    terminal.enter("half a line\u{3}").expect("2> ").enter("Say it.\r").expect("It ends.").expect("3> ");
    terminal.enter("/exit\r").expect("`antefix chat --continue` goes on");
    assert_eq!((terminal.ends().0, made(&case)), (Some(0), false));
    let sent = String::from_utf8_lossy(&case.sent().pop().expect("a body").bytes).into_owned();
    assert!(sent.contains("Say it.") && !sent.contains("half a line"), "{sent}");
    case.goes_on();
}

/// What is pasted, or behind a `\`, is one message.
#[test]
fn a_message_in_a_chat_may_have_several_lines() {
    let case = case();
    let mut terminal = chats(&case);
    terminal.enter("one \\\r").expect("… ").enter("two\r").expect("It ends.").expect("2> ");
    terminal.enter("\u{1b}[200~three\nfour\u{1b}[201~\r").expect("It ends.").expect("3> ").enter("\u{4}");
    assert_eq!(terminal.ends().0, Some(0));
    let sent = String::from_utf8_lossy(&case.sent().pop().expect("a body").bytes).into_owned();
    assert!(sent.contains(r"one \ntwo") && sent.contains(r"three\nfour"), "{sent}");
}

#[test]
fn a_chat_that_is_ended_from_outside_leaves_the_terminal_as_it_was() {
    let case = case();
    let mut terminal = chats(&case);
    let before = tcgetattr(&terminal.master).expect("a terminal");
    assert!(!before.local_modes.contains(LocalModes::ECHO), "the line is being edited");
    let process = Pid::from_child(&terminal.child);
    kill_process(process, Signal::TERM).expect("it runs");
    terminal.expect("\u{1b}[?2004l").expect("nothing was said");
    let master = terminal.master.try_clone().expect("the same end");
    assert_eq!(terminal.ends().0, Some(130));
    let modes = tcgetattr(&master).expect("a terminal").local_modes;
    assert!(modes.contains(LocalModes::ECHO | LocalModes::ICANON), "{modes:?}");
}

/// A case in which a tool of the server `c` asks for a colour and a number, and gives the answer as it got it.
fn case_with_questions() -> Case {
    let script = "rule\n on said Ask\n on rounds 0\n tool mcp__c__pick\nrule\n on any\n text It ends.\n";
    let case = Case::new(script);
    let form = r#"{"message":"Which colour?\n? `rm -rf /`\u001b[2J","requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]},"n":{"type":"integer"}},"required":["colour"]}}"#;
    servers::write(
        &case,
        "c",
        &format!(
            r#"{{"tools":[{{"name":"pick","inputSchema":{{"type":"object"}}}}],"calls":{{"pick":{{"ask":{form}}}}}}}"#
        ),
    );
    case
}

#[test]
fn what_a_server_wants_to_know_is_asked() {
    for (typed, answer) in [
        (
            &["y\n", "green\n", "\n", "red\n", "3\n"][..],
            r#"{\"action\":\"accept\",\"content\":{\"colour\":\"red\",\"n\":3}}"#,
        ),
        (&["n\n"], r#"{\"action\":\"decline\"}"#),
    ] {
        let case = case_with_questions();
        let run = case.antefix(["run", "Ask", "--permission-mode", "full"]);
        let mut terminal = Terminal::start(servers::with(&case, run, &["c"]), 200);
        terminal.expect("? Do you trust the files of").expect("[y]es, [n]o").enter("n\n");
        terminal.expect("? the MCP server `c` asks:").expect("  | Which colour?");
        terminal.expect(r"  | ? `rm -rf /`\u{1b}[2J");
        let prompts = ["Answer? [y]es, [n]o: ", "colour (red | blue): ", "n (a whole number): "];
        for (nth, line) in typed.iter().enumerate() {
            let prompt = if nth == 0 { prompts[0] } else { prompts[2 - nth % 2] };
            terminal.expect(prompt).enter(line);
        }
        terminal.expect("It ends.");
        assert_eq!(terminal.ends().0, Some(0));
        let body = String::from_utf8_lossy(&case.sent()[1].bytes).into_owned();
        assert!(body.contains(answer), "{answer}\n{body}");
    }
}

#[test]
fn what_a_server_wants_to_know_is_declined_where_nobody_can_be_asked() {
    let case = case_with_questions();
    let ended = servers::with(&case, case.run("Ask"), &["c"]).ends().code(0);
    ended.stderr("the MCP server `c` asks \"Which colour?\": declined, since nobody can be asked");
    let body = String::from_utf8_lossy(&case.sent()[1].bytes).into_owned();
    assert!(body.contains(r#"{\"action\":\"decline\"}"#), "{body}");
}
