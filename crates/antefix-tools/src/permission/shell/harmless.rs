//! Commands that only look: what read-only mode allows, and what no mode asks about.

use super::word::{Word, is_name};
use super::{Simple, parse};

/// What a command does, as far as that is known without running it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Harm<'w> {
    /// Not known to be harmless.
    Possible,
    /// Prints what it is given, or something of this machine that is no secret.
    None,
    /// Reads files: any of these words may be the path of one. Without words, what lies here.
    Reads(Vec<&'w Word>),
    /// Reads a repository, whose own settings may name programs, and these paths.
    Git(Vec<&'w Word>),
    /// Changes the folder for what follows.
    Enters(Option<&'w Word>),
}

/// What is known of a command.
pub(in super::super) fn harm(command: &Simple) -> Harm<'_> {
    let Some(name) = command.name() else { return Harm::Possible };
    let arguments = command.arguments();
    let is_known = |text: &str, options: &[&str]| is_version(arguments) && options.contains(&text);
    match name {
        "true" | "false" | ":" | "echo" | "pwd" | "exit" | "return" | "break" | "continue" | "whoami"
        | "uname" | "nproc" | "arch" | "sleep" | "seq" | "basename" | "dirname" | "type" | "which"
        | "tty" | "times" => Harm::None,
        "id" | "groups" | "uptime" | "set" => Harm::None,
        "wait" => none_if(arguments.iter().all(|word| word.plain().is_some_and(is_job))),
        "command" if arguments.first().is_some_and(|word| word.is("-v") || word.is("-V")) => Harm::None,
        "tee" if command.opaque.is_none() => Harm::None,
        "printf" => {
            none_if(arguments.first().and_then(Word::plain).is_some_and(|text| !text.starts_with('-')))
        }
        "test" => none_if(is_test_plain(arguments)),
        "[" => none_if(arguments.split_last().is_some_and(|(end, rest)| end.is("]") && is_test_plain(rest))),
        "read" => none_if(arguments.iter().all(|word| word.is("-r") || is_plain_variable(word))),
        "date" => none_if(arguments.iter().all(|word| word.start.starts_with('+') || word.is("-u"))),
        "cd" => match arguments {
            [folder] if folder.plain().is_some_and(|text| !text.starts_with('-')) => {
                Harm::Enters(Some(folder))
            }
            _ => Harm::Enters(None),
        },
        "git" if command.opaque.is_none() => git(arguments),
        _ if READERS.contains(&name) => reads(arguments),
        "sort" => reads_without(arguments, &["-o", "-T", "--o", "--c", "--f", "--t"]),
        "uniq" if arguments.iter().filter(|word| word.may_be_option()).count() + 1 >= arguments.len() => {
            reads(arguments)
        }
        "rg" => {
            reads_without(arguments, &["--pre", "--hostname", "--search", "-z", "--ignore-file", "-f", "--f"])
        }
        "tree" => reads_without(arguments, &["-o", "--fromfile", "--o", "-R"]),
        "find" => reads_without(
            arguments,
            &["-exec", "-ok", "-delete", "-fprint", "-fls", "-files0", "-L", "-follow", "-H"],
        ),
        "awk" | "gawk" | "mawk" | "nawk" if command.opaque.is_none() => reads_behind_program(arguments),
        "sed" if command.opaque.is_none() => sed(arguments),
        _ if is_known(name, &VERSIONED) => Harm::None,
        _ => Harm::Possible,
    }
}

fn none_if(is_harmless: bool) -> Harm<'static> {
    if is_harmless { Harm::None } else { Harm::Possible }
}

fn is_version(arguments: &[Word]) -> bool {
    matches!(arguments, [only] if ["--version", "-V"].iter().any(|option| only.is(option)))
}

fn is_plain_variable(word: &Word) -> bool {
    word.plain().is_some_and(|text| is_name(text) && parse::is_variable_harmless(text))
}

/// Whether `wait` is told a job and nothing else.
fn is_job(text: &str) -> bool {
    let number = text.strip_prefix('%').unwrap_or(text);
    text == "-n" || !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit())
}

/// `test` evaluates the subscripts of what `-v` names, so the operator must stand there to be seen.
pub(super) fn is_test_plain(arguments: &[Word]) -> bool {
    let arguments = match arguments {
        [not, rest @ ..] if not.is("!") => rest,
        all => all,
    };
    let is_operator = |word: &Word, known: &[&str]| word.plain().is_some_and(|text| known.contains(&text));
    match arguments {
        [one] => !one.splits,
        [operator, operand] => is_operator(operator, &UNARY) && !operand.splits,
        [left, operator, right] => is_operator(operator, &BINARY) && !left.splits && !right.splits,
        _ => false,
    }
}

fn reads(arguments: &[Word]) -> Harm<'_> {
    Harm::Reads(arguments.iter().collect())
}

/// Reads, unless an option is, or begins with, or has in its cluster, one of `without`.
fn reads_without<'w>(arguments: &'w [Word], without: &[&str]) -> Harm<'w> {
    let is_bad = |word: &Word| {
        let Some(text) = word.text.as_deref() else { return word.may_be_option() };
        word.pattern && word.may_be_option() || without.iter().any(|option| is_option(text, option))
    };
    if arguments.iter().any(is_bad) { Harm::Possible } else { reads(arguments) }
}

fn is_option(text: &str, option: &str) -> bool {
    match option.strip_prefix('-').filter(|rest| rest.len() == 1) {
        Some(letter) => text.starts_with('-') && !text.starts_with("--") && text.contains(letter),
        None => text.starts_with(option),
    }
}

/// The program of awk is no path; what stands behind it may be.
fn reads_behind_program(arguments: &[Word]) -> Harm<'_> {
    let at = arguments.iter().position(|word| !word.start.starts_with('-') && word.text.is_some());
    match (at, arguments.first()) {
        (Some(0), _) => reads(arguments.get(1..).unwrap_or_default()),
        (Some(1), Some(first)) if first.start.len() > 2 => reads(arguments.get(2..).unwrap_or_default()),
        (Some(1), Some(first)) if first.is("-F") => reads(arguments.get(3..).unwrap_or_default()),
        _ => Harm::Possible,
    }
}

/// `sed -i` writes; of the rest, the first word that is no option is the script.
fn sed(arguments: &[Word]) -> Harm<'_> {
    if arguments.iter().any(|word| word.start.starts_with("-i") || word.is("-e")) {
        return Harm::Possible;
    }
    let script = arguments.iter().position(|word| !word.start.starts_with('-')).unwrap_or(0);
    reads(arguments.get(script + 1..).unwrap_or_default())
}

fn git(arguments: &[Word]) -> Harm<'_> {
    let (subcommand, rest) = match without_global_options(arguments) {
        Some([subcommand, rest @ ..]) => (subcommand.plain().unwrap_or_default(), rest),
        _ => return Harm::Possible,
    };
    let is_any =
        |known: &[&str]| rest.iter().all(|word| word.plain().is_some_and(|text| known.contains(&text)));
    let risky = ["--no-index", "--o", "-o", "--ext", "--tex", "--cont"];
    let is_risky = |word: &Word| match word.plain() {
        Some("--oneline") => false,
        Some(text) => risky.iter().any(|option| is_beginning(text, option)),
        None => word.may_be_option(),
    };
    let is_looking = match subcommand {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "blame" | "describe" | "shortlog"
        | "ls-tree" | "cat-file" | "rev-list" | "merge-base" | "name-rev" | "show-ref" | "diff-tree"
        | "count-objects" => !rest.iter().any(is_risky),
        "branch" => is_any(&["-a", "-r", "-v", "-vv", "--list", "--show-current", "--all"]),
        "tag" => is_any(&["-l", "--list"]),
        "remote" => is_any(&["-v"]),
        "stash" | "worktree" => matches!(rest, [only] if only.is("list")),
        "reflog" => rest.is_empty(),
        _ => false,
    };
    if is_looking { Harm::Git(rest.iter().collect()) } else { Harm::Possible }
}

/// Why a call of git may run something else, in words.
pub(super) fn git_risk(arguments: &[Word]) -> Option<String> {
    let Some(rest) = without_global_options(arguments) else {
        return Some("with options that may name programs".to_owned());
    };
    let (subcommand, rest) = rest.split_first()?;
    let name = subcommand.plain().unwrap_or_default();
    if !SUBCOMMANDS.contains(&name) {
        return Some("with a subcommand that may be an alias or run others".to_owned());
    }
    let mut is_value = false;
    for word in rest {
        let is_risky = match word.plain() {
            Some(text) => {
                RISKY.iter().any(|option| is_beginning(text, option))
                    || text.contains("ext::")
                    || by_subcommand(name).iter().any(|option| is_option(text, option))
            }
            None => word.may_be_option() && (word.splits || !is_value),
        };
        if is_risky {
            return Some("with options that may name programs".to_owned());
        }
        is_value = ["-m", "-F", "--message"].iter().any(|option| word.is(option)) || word.is("-am");
    }
    None
}

/// Whether a word is, begins with, or is the beginning of an option: git takes long ones cut short.
fn is_beginning(text: &str, option: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    text.starts_with(option) || name.len() > 2 && option.starts_with(name)
}

/// Options that run something with one subcommand and are harmless with others; long ones may be cut short.
fn by_subcommand(name: &str) -> &'static [&'static str] {
    match name {
        "clone" | "fetch" | "pull" | "ls-remote" | "push" | "archive" => {
            &["-u", "-c", "--u", "--e", "--rec", "--t", "--c", "-o", "--o"]
        }
        "rebase" => &["-x", "-i", "--e", "--i"],
        "grep" => &["-O", "--o"],
        _ => &[],
    }
}

/// Subcommand and its arguments; `None` if an option in front of them is not known to be harmless.
fn without_global_options(mut arguments: &[Word]) -> Option<&[Word]> {
    while let Some((first, rest)) = arguments.split_first() {
        match first.plain()? {
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" => arguments = rest,
            text if text.starts_with('-') && !matches!(text, "--version" | "--help") => return None,
            _ => break,
        }
    }
    Some(arguments)
}

/// Programs that read files and do nothing else, whatever their options.
const READERS: [&str; 44] = [
    "cat",
    "head",
    "tail",
    "wc",
    "ls",
    "stat",
    "nl",
    "tac",
    "rev",
    "cut",
    "tr",
    "paste",
    "fold",
    "fmt",
    "expand",
    "unexpand",
    "join",
    "comm",
    "cmp",
    "diff",
    "realpath",
    "readlink",
    "du",
    "df",
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum",
    "sum",
    "strings",
    "od",
    "hexdump",
    "base64",
    "base32",
    "grep",
    "egrep",
    "fgrep",
    "column",
    "size",
    "pathchk",
];

/// Programs that may be asked for their version.
const VERSIONED: [&str; 16] = [
    "rustc", "cargo", "node", "npm", "python", "python3", "go", "gcc", "clang", "make", "cmake", "java",
    "ruby", "perl", "bash", "rustup",
];

const UNARY: [&str; 15] =
    ["-f", "-d", "-e", "-n", "-z", "-s", "-r", "-w", "-x", "-L", "-h", "-p", "-S", "-b", "-c"];

const BINARY: [&str; 13] =
    ["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "<"];

/// Subcommands of git that are its own and run nothing but hooks.
const SUBCOMMANDS: [&str; 51] = [
    "add",
    "am",
    "apply",
    "archive",
    "blame",
    "branch",
    "cat-file",
    "checkout",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "count-objects",
    "describe",
    "diff",
    "diff-tree",
    "fetch",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "mv",
    "name-rev",
    "notes",
    "pull",
    "push",
    "rebase",
    "reflog",
    "remote",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-ref",
    "stash",
    "status",
    "switch",
    "tag",
    "worktree",
    "--version",
];

/// Beginnings of options of git that name programs or files to write.
const RISKY: [&str; 12] = [
    "--upl", "--up=", "--rec", "--exec", "--ext", "--tex", "--op", "--ou", "--temp", "--conf", "--pag",
    "--gpg-p",
];
