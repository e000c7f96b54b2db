//! Programs that run other programs: what they run is looked at as if it stood alone.

use super::harmless::is_test_plain;
use super::options::{Options, operands};
use super::parse::is_environment_harmless;
use super::word::Word;
use super::{Line, Simple, Target, base, interpreter};

/// What a look into a command found.
enum Inside {
    /// It runs nothing else.
    Nothing,
    /// It only runs this.
    Only(Vec<Word>),
    /// It runs these beside what it does itself.
    Also(Vec<Vec<Word>>),
    /// It runs this file, with arguments.
    File(Vec<Word>),
    /// It only runs this script.
    Script(String),
    /// It may run something that is not seen.
    Opaque(String),
    /// It changes what later commands mean.
    Unclear(String),
}

/// Adds the commands inside a command to the line; gives the command back, marked.
pub(super) fn look_into(mut command: Simple, line: &mut Line) -> Simple {
    let Some(name) = command.name().map(str::to_owned) else { return command };
    let inside = inside(base(&name), &name, command.arguments(), line);
    let mut add = |words: Vec<Word>, is_file: bool| {
        if words.first().is_some_and(|name| !is_clear(name)) {
            line.note(format!("`{name}` with a command whose name is not written out"));
        }
        if !words.is_empty() {
            line.commands.push(Simple { words, is_file, ..Simple::default() });
        }
    };
    match inside {
        Inside::Nothing => {}
        Inside::Only(words) => {
            command.transparent = true;
            add(words, false);
        }
        Inside::Also(all) => all.into_iter().for_each(|words| add(words, false)),
        // Behind such a name stands what the line feeds in.
        Inside::File(words) if words.first().is_some_and(|file| is_fed(&file.start)) => {
            line.note(format!("`{name}` that runs what it is fed"));
        }
        Inside::File(words) => add(words, true),
        Inside::Script(text) => {
            command.transparent = true;
            line.script(&text, SCRIPT_DEPTH);
        }
        Inside::Opaque(why) => command.opaque = Some(why),
        Inside::Unclear(why) => line.note(why),
    }
    command
}

fn is_fed(file: &str) -> bool {
    ["/dev/", "/proc/"].iter().any(|folder| file.starts_with(folder))
}

fn is_clear(name: &Word) -> bool {
    name.plain().is_some_and(|text| {
        !text.is_empty()
            && text.chars().all(|letter| letter.is_ascii_graphic())
            && !text.starts_with(['~', '-'])
    })
}

fn inside(program: &str, name: &str, arguments: &[Word], line: &mut Line) -> Inside {
    match program {
        "env" => environment(arguments),
        "command" if only_describes(arguments) => Inside::Nothing,
        "trap" => trap(arguments),
        "eval" => match joined(arguments) {
            Some(script) => Inside::Script(script),
            None => Inside::Unclear("`eval` of something that is not written out".to_owned()),
        },
        "." | "source" => Inside::File(arguments.to_vec()),
        "sh" | "bash" | "dash" | "ash" | "ksh" | "rbash" => shell(name, arguments),
        "busybox" | "toybox" => Inside::Only(arguments.to_vec()),
        "xargs" => xargs(arguments),
        "find" | "gfind" => find(arguments),
        "tee" => tee(arguments, line),
        "set" => set(arguments),
        "export" | "readonly" | "declare" | "typeset" | "local" => declaration(name, arguments),
        "sudo" | "doas" => {
            match operands(arguments, &Options { flags: "nEHkS", values: "u", ..Options::NONE }) {
                Some(rest) => Inside::Also(vec![rest.to_vec()]),
                None => unread(name),
            }
        }
        "read" | "wait" | "printf" | "test" | "[" if evaluates(program, arguments) => {
            Inside::Unclear(format!("`{program}` with a name or an operator that may be evaluated"))
        }
        _ if STATE.contains(&program) => {
            Inside::Unclear(format!("`{program}`, which may change what later commands do"))
        }
        _ => match plain_wrapper(program) {
            Some(options) => match operands(arguments, &options) {
                Some(rest) => Inside::Only(rest.get(options.skip..).unwrap_or_default().to_vec()),
                None => unread(name),
            },
            None => interpreter::opaque(program, arguments)
                .map_or_else(|| script(program, arguments), Inside::Opaque),
        },
    }
}

fn unread(name: &str) -> Inside {
    Inside::Opaque(format!("`{name}` with options that are not understood"))
}

/// `python FILE` and its like run that file.
fn script(program: &str, arguments: &[Word]) -> Inside {
    let is_file = |word: &&Word| !word.may_be_option();
    match arguments.first().filter(|_| interpreter::runs_files(program)).filter(is_file) {
        Some(_) => Inside::File(arguments.to_vec()),
        None => Inside::Nothing,
    }
}

/// `command -v NAME` tells what NAME is; behind the name, `-v` is an argument of what runs.
fn only_describes(arguments: &[Word]) -> bool {
    let is_option = |text: &&str| text.len() > 1 && text.starts_with('-');
    let options = arguments.iter().map_while(|word| word.plain().filter(is_option));
    let mut options = options.peekable();
    options.peek().is_some_and(|first| matches!(*first, "-v" | "-V" | "-p"))
        && options.clone().all(|text| matches!(text, "-v" | "-V" | "-p"))
        && options.any(|text| text != "-p")
}

/// Whether a builtin may evaluate the subscript of a variable that it is to set or to look at: `a[$(command)]`.
fn evaluates(program: &str, arguments: &[Word]) -> bool {
    let is_plain = |word: &Word| word.plain().is_some_and(|text| !text.contains('['));
    match program {
        "printf" => {
            arguments.first().is_some_and(|word| word.may_be_option()) && !arguments.iter().all(is_plain)
        }
        "test" | "[" => !is_test_plain(arguments.strip_suffix(&[Word::literal("]")]).unwrap_or(arguments)),
        _ => !arguments.iter().all(is_plain),
    }
}

/// The options of programs that do nothing but run what follows.
fn plain_wrapper(program: &str) -> Option<Options> {
    let options = match program {
        "nohup" | "builtin" | "fakeroot" => Options::NONE,
        "command" => Options { flags: "p", ..Options::NONE },
        "exec" => Options { flags: "cl", values: "a", ..Options::NONE },
        "time" => Options { flags: "pvaq", ..Options::NONE },
        "setsid" => Options { flags: "cfw", ..Options::NONE },
        "nice" => Options { flags: "0123456789", values: "n", ..Options::NONE },
        "ionice" => Options { flags: "t", values: "cn", ..Options::NONE },
        "chrt" => return None,
        "stdbuf" => Options { values: "ioe", ..Options::NONE },
        "timeout" => Options {
            flags: "v",
            values: "ks",
            long: &["--preserve-status", "--foreground", "--verbose"],
            skip: 1,
        },
        _ => return None,
    };
    Some(options)
}

fn environment(arguments: &[Word]) -> Inside {
    let Some(mut rest) = operands(arguments, &Options { flags: "i0v", values: "u", ..Options::NONE }) else {
        return unread("env");
    };
    while let Some((first, behind)) = rest.split_first() {
        let Some((name, _)) = first.start.split_once('=') else { break };
        if !is_environment_harmless(name) || first.splits {
            return Inside::Unclear(format!("`{name}=`, which may change what is run"));
        }
        rest = behind;
    }
    if rest.is_empty() { Inside::Nothing } else { Inside::Only(rest.to_vec()) }
}

fn declaration(name: &str, arguments: &[Word]) -> Inside {
    let is_plain = |word: &Word| {
        let (variable, _) = word.start.split_once('=').unwrap_or((&word.start, ""));
        is_environment_harmless(variable) && !word.splits
    };
    if arguments.iter().all(is_plain) {
        Inside::Nothing
    } else {
        Inside::Unclear(format!("`{name}` of something that may change what is run"))
    }
}

fn set(arguments: &[Word]) -> Inside {
    let known = ["-e", "-u", "-x", "-eu", "-ex", "-eux", "-euo", "-euxo", "-o", "pipefail", "+e", "+x", "--"];
    if arguments.iter().all(|word| word.plain().is_some_and(|text| known.contains(&text))) {
        Inside::Nothing
    } else {
        Inside::Unclear("`set` with options that are not understood".to_owned())
    }
}

fn trap(arguments: &[Word]) -> Inside {
    match arguments.first().and_then(Word::plain) {
        Some(script) if !script.starts_with('-') => Inside::Script(script.to_owned()),
        _ => Inside::Unclear("`trap` with something that is not written out".to_owned()),
    }
}

/// The words as one text, if all are written out.
fn joined(words: &[Word]) -> Option<String> {
    let texts: Option<Vec<&str>> = words.iter().map(Word::plain).collect();
    Some(texts?.join(" "))
}

fn shell(name: &str, arguments: &[Word]) -> Inside {
    let mut runs_text = false;
    let mut at = 0;
    while let Some(text) = arguments.get(at).map(|word| word.plain()) {
        let Some(text) = text else { return unread(name) };
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
        at += 1;
        if letters == "-" {
            break;
        }
        if !letters.chars().all(|letter| "ceuxlvo".contains(letter)) {
            return unread(name);
        }
        runs_text |= letters.contains('c');
        let options = letters.matches('o').count();
        let named = arguments.get(at..at + options).unwrap_or_default();
        if named.len() != options || !named.iter().all(|word| word.is("pipefail")) {
            return unread(name);
        }
        at += options;
    }
    let rest = arguments.get(at..).unwrap_or_default();
    match rest.first() {
        None => Inside::Unclear(format!("`{name}` that runs what it is fed")),
        Some(script) if runs_text => match script.plain() {
            Some(script) => Inside::Script(script.to_owned()),
            None => Inside::Unclear(format!("`{name} -c` of something that is not written out")),
        },
        Some(_) => Inside::File(rest.to_vec()),
    }
}

fn xargs(arguments: &[Word]) -> Inside {
    let options = Options {
        flags: "0rtx",
        values: "nPIsLdE",
        long: &["--null", "--no-run-if-empty", "--verbose"],
        ..Options::NONE
    };
    let Some(rest) = operands(arguments, &options) else { return unread("xargs") };
    let given = arguments.get(..arguments.len() - rest.len()).unwrap_or_default();
    let mut words = if rest.is_empty() { vec![Word::literal("echo")] } else { rest.to_vec() };
    if given.iter().any(|word| word.start.starts_with("-I")) {
        // What is replaced may stand anywhere.
        let (name, arguments) = words.split_at(1);
        let is_fixed =
            name.iter().all(|name| name.plain().is_some_and(|text| !text.contains(['{', '}', '%', '@'])));
        let has_mark = given.windows(2).any(|pair| {
            matches!(pair, [flag, mark]
            if flag.is("-I") && (mark.is("{}") || mark.is("%") || mark.is("@")))
        });
        if !is_fixed || !has_mark {
            return unread("xargs");
        }
        let hide = |word: &Word| match word.plain() {
            Some(text) if !text.contains(['{', '}', '%', '@']) => word.clone(),
            _ => Word::unknown(),
        };
        words = name.iter().cloned().chain(arguments.iter().map(hide)).collect();
    }
    words.push(Word::unknown());
    Inside::Only(words)
}

fn find(arguments: &[Word]) -> Inside {
    let is_hidden = |word: &Word| match word.text {
        None => word.splits || word.may_be_option(),
        // A file may bear the name of an option that runs commands.
        Some(_) => word.pattern && word.may_be_option(),
    };
    if arguments.iter().any(is_hidden) {
        return Inside::Opaque("`find` with arguments that are not written out".to_owned());
    }
    let mut commands = Vec::new();
    let mut rest = arguments;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if !first.text.as_deref().is_some_and(|text| matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir"))
        {
            continue;
        }
        let end = rest.iter().position(|word| word.is(";") || word.is("+")).unwrap_or(rest.len());
        let (inner, behind) = rest.split_at(end);
        let hide = |word: &Word| match word.plain() {
            Some(text) if !text.contains("{}") => word.clone(),
            _ => Word::unknown(),
        };
        commands.push(inner.iter().map(hide).collect());
        rest = behind;
    }
    if commands.is_empty() { Inside::Nothing } else { Inside::Also(commands) }
}

fn tee(arguments: &[Word], line: &mut Line) -> Inside {
    for word in arguments.iter().filter(|word| !word.is("-a") && !word.is("-i") && !word.is("--")) {
        if word.plain().is_some_and(|text| text.starts_with("--")) {
            return unread("tee");
        }
        let path = word.plain().filter(|text| !text.starts_with('~')).map(str::to_owned);
        line.targets.push(Target { path, write: true });
    }
    Inside::Nothing
}

/// Builtins that change what later words mean, or evaluate their arguments.
const STATE: [&str; 24] = [
    "alias",
    "bind",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "enable",
    "fc",
    "getopts",
    "hash",
    "history",
    "let",
    "mapfile",
    "readarray",
    "shopt",
    "unalias",
    "unset",
    "popd",
    "pushd",
    "dirs",
    "logout",
    "suspend",
    "disown",
    "caller",
];

/// Scripts in arguments count as nested this deep, so that they cannot nest for ever.
const SCRIPT_DEPTH: usize = 4;
