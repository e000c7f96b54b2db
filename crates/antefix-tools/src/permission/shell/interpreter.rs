//! Programs whose arguments are programs, or name programs to run.

use super::base;
use super::word::Word;

/// Why a program may run something that its arguments only imply; `None` where it does not.
pub(super) fn opaque(program: &str, arguments: &[Word]) -> Option<String> {
    let why = |what: &str| Some(format!("`{program}` {what}"));
    if RUNNERS.contains(&program) {
        return why("runs what it is told in a way that is not looked into");
    }
    if runs_files(program) {
        return inline(program, arguments).and_then(why);
    }
    match program {
        "awk" | "gawk" | "mawk" | "nawk" => {
            return if is_awk_plain(arguments) { None } else { why("with a program that may run others") };
        }
        "sed" | "gsed" => {
            return if is_sed_plain(arguments) { None } else { why("with a script that may run others") };
        }
        "tar" | "gtar" | "bsdtar" => {
            return if is_tar_plain(arguments) { None } else { why("with options that may run others") };
        }
        "git" => return super::harmless::git_risk(arguments).and_then(|what| why(&what)),
        "make" | "gmake" => {
            let is_plain =
                |word: &Word| word.plain().is_some_and(|text| !text.contains('=') && !text.starts_with("-f"));
            return if arguments.iter().all(is_plain) {
                None
            } else {
                why("with variables or another makefile")
            };
        }
        _ => {}
    }
    let (_, options) = OPTIONS.iter().find(|(name, _)| *name == program)?;
    let is_risky = |word: &Word| match word.plain() {
        Some(text) => options.iter().any(|option| is_spelling(text, option)),
        None => word.may_be_option(),
    };
    if arguments.iter().any(is_risky) { why("with options that may run others") } else { None }
}

/// Whether an argument may be a command that the program runs: one that is not written out, a script, or the name of
/// a program that runs others. Programs that are known to take theirs for data, or that are looked into, have none.
pub(in super::super) fn may_run(program: &str, arguments: &[Word]) -> bool {
    let is_known = DATA.contains(&program)
        || LOOKED_INTO.contains(&program)
        || runs_files(program)
        || OPTIONS.iter().any(|(name, _)| *name == program && *name != "npx");
    let is_command = |word: &Word| match word.text.as_deref() {
        None => true,
        Some(text) => {
            text.contains(['\'', '"', '\\', '$', '`', '\n'])
                || RUNNERS.contains(&base(text))
                || SHELLS.contains(&base(text))
                || runs_files(base(text))
        }
    };
    !is_known && arguments.iter().any(is_command)
}

/// Whether the program runs the file that its first argument names.
pub(super) fn runs_files(program: &str) -> bool {
    let bare = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.contains(&bare)
}

/// What an interpreter runs apart from a file, or a module of Python.
fn inline(program: &str, arguments: &[Word]) -> Option<&'static str> {
    let Some(first) = arguments.first() else { return Some("runs what it is fed") };
    let Some(text) = first.plain() else { return Some("runs something that is not written out") };
    let is_version = matches!(text, "--version" | "-V" | "-v") && arguments.len() == 1;
    let is_module = program.starts_with("python") && text == "-m" && arguments.len() > 1;
    (text.starts_with('-') && !is_version && !is_module).then_some("with options that may carry a program")
}

/// Whether a word is an option, or the start of a long one, or has its value attached.
fn is_spelling(word: &str, option: &str) -> bool {
    if let Some(letter) = option.strip_prefix('-').filter(|rest| rest.len() == 1) {
        return word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
    }
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 2 && (option.starts_with(name) || name.starts_with(option))
}

fn is_awk_plain(arguments: &[Word]) -> bool {
    let mut rest = arguments;
    while let Some((first, behind)) = rest.split_first() {
        let Some(text) = first.plain() else { return false };
        match text {
            "-F" | "-v" => rest = behind.get(1..).unwrap_or_default(),
            _ if text.starts_with("-F") || text.starts_with("-v") => rest = behind,
            _ if text.starts_with('-') => return false,
            program => {
                let risks = ["system", "|", "getline", ">", "@", "ENVIRON"];
                return !risks.iter().any(|risk| program.contains(risk))
                    && !behind.iter().any(|word| word.may_be_option());
            }
        }
    }
    false
}

/// Only scripts of one plain command: `s/a/b/g`, `5p`, `1,9p`, `/x/d`.
fn is_sed_plain(arguments: &[Word]) -> bool {
    let mut scripts = 0;
    let mut is_script = false;
    for word in arguments {
        let text = match word.plain() {
            Some(text) => text,
            None if scripts > 0 && !word.may_be_option() => continue,
            None => return false,
        };
        if is_script || scripts == 0 && !text.starts_with('-') {
            if !is_sed_command(text) {
                return false;
            }
            (scripts, is_script) = (scripts + 1, false);
        } else if text == "-e" {
            is_script = true;
        } else if text.starts_with('-')
            && !matches!(text, "-n" | "-E" | "-r" | "-s" | "-u" | "-i" | "-z" | "-nE")
        {
            return false;
        }
    }
    scripts > 0
}

fn is_sed_command(script: &str) -> bool {
    if script.contains(['\n', ';', '{', '}']) {
        return false;
    }
    if let Some(rest) = script.strip_prefix('s') {
        let mut letters = rest.chars();
        let Some(mark) = letters.next().filter(|mark| "/|#,:".contains(*mark)) else { return false };
        let parts: Vec<&str> = letters.as_str().split(mark).collect();
        let [from, to, flags] = parts.as_slice() else { return false };
        return !from.ends_with('\\')
            && !to.ends_with('\\')
            && flags.chars().all(|flag| "gpiI".contains(flag) || flag.is_ascii_digit());
    }
    let Some(address) = script.strip_suffix(['p', 'd', 'q', '=']) else { return false };
    let is_number =
        |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit() || letter == '$');
    let inner = address.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    address.is_empty()
        || address.splitn(2, ',').all(is_number)
        || inner.is_some_and(|inner| !inner.contains(['/', '\\']) && !inner.is_empty())
}

fn is_tar_plain(arguments: &[Word]) -> bool {
    let long = ["--to", "--us", "--ch", "--inf", "--ne", "--rs", "--rm", "--F"];
    arguments.iter().enumerate().all(|(at, word)| {
        let Some(text) = word.plain() else { return !word.may_be_option() };
        let is_cluster = at == 0 || text.starts_with('-') && !text.starts_with("--");
        let names_program = long.iter().any(|option| text.starts_with(option));
        !(names_program || is_cluster && text.contains(['I', 'F']))
    })
}

/// Interpreters that run the file named first; a version number may be attached.
const INTERPRETERS: [&str; 14] = [
    "python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh",
    "Rscript", "guile",
];

/// Programs that run what they are told, on this machine or another, and interactive ones with an escape to a shell.
const RUNNERS: [&str; 97] = [
    "ansible",
    "apt",
    "apt-get",
    "at",
    "batch",
    "bc",
    "chroot",
    "crontab",
    "csh",
    "dc",
    "dbus-run-session",
    "distrobox",
    "docker",
    "ed",
    "elvish",
    "emacs",
    "emacsclient",
    "entr",
    "ex",
    "expect",
    "fd",
    "fdfind",
    "fish",
    "flatpak",
    "flock",
    "ftp",
    "gdb",
    "ghci",
    "kubectl",
    "less",
    "lldb",
    "ltrace",
    "lynx",
    "man",
    "more",
    "mysql",
    "nc",
    "ncat",
    "netcat",
    "nsenter",
    "nu",
    "nvim",
    "openssl",
    "osascript",
    "parallel",
    "parallel-ssh",
    "perf",
    "podman",
    "psql",
    "pwsh",
    "rlwrap",
    "run-parts",
    "runuser",
    "scp",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "sftp",
    "socat",
    "sqlite3",
    "ssh",
    "sshpass",
    "start-stop-daemon",
    "strace",
    "su",
    "systemctl",
    "systemd-run",
    "taskset",
    "tcsh",
    "telnet",
    "tmux",
    "unbuffer",
    "unshare",
    "valgrind",
    "vi",
    "view",
    "vim",
    "watch",
    "xterm",
    "zsh",
    "chrt",
    "R",
    "elixir",
    "erl",
    "gnuplot",
    "groovy",
    "iex",
    "irb",
    "jshell",
    "julia",
    "m4",
    "ocaml",
    "octave",
    "racket",
    "sbcl",
    "scala",
];

/// Shells, and programs and builtins that do nothing but run what follows.
const SHELLS: [&str; 27] = [
    "ash", "awk", "bash", "builtin", "busybox", "command", "dash", "doas", "env", "eval", "exec", "find",
    "gawk", "ionice", "ksh", "mawk", "nice", "nohup", "sed", "setsid", "sh", "stdbuf", "sudo", "time",
    "timeout", "toybox", "xargs",
];

/// Programs whose arguments are judged one by one elsewhere.
const LOOKED_INTO: [&str; 17] = [
    "awk", "bsdtar", "doas", "find", "gawk", "gfind", "git", "gmake", "gsed", "gtar", "make", "mawk", "nawk",
    "sed", "sudo", "tar", "tee",
];

/// Programs that take their arguments for names of files, or for data, and run none of them.
const DATA: [&str; 54] = [
    "ar",
    "black",
    "bzip2",
    "chgrp",
    "chmod",
    "chown",
    "clang-format",
    "cp",
    "dd",
    "dig",
    "dpkg",
    "eslint",
    "gofmt",
    "gunzip",
    "gzip",
    "host",
    "ifconfig",
    "jq",
    "kill",
    "killall",
    "ln",
    "lsof",
    "mkdir",
    "mktemp",
    "mv",
    "mypy",
    "nm",
    "objdump",
    "patch",
    "pgrep",
    "ping",
    "pip",
    "pip3",
    "pkill",
    "prettier",
    "printenv",
    "ps",
    "read",
    "return",
    "rm",
    "rmdir",
    "ruff",
    "rustfmt",
    "rustup",
    "shift",
    "shred",
    "ss",
    "touch",
    "tsc",
    "ulimit",
    "umask",
    "xz",
    "yq",
    "zstd",
];

/// Options by which a program runs another, or reads where it should not; clusters and beginnings count.
const OPTIONS: [(&str, &[&str]); 17] = [
    ("cargo", &["--config", "-Z", "-C"]),
    ("go", &["-exec", "-toolexec", "--exec", "--toolexec", "-vettool", "--vettool", "-modfile", "-overlay"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("sort", &["--compress-program"]),
    ("zip", &["-T", "-TT", "--unzip-command", "--test"]),
    ("unzip", &["-p"]),
    ("rg", &["--pre", "--hostname-bin", "--search-zip", "-z"]),
    ("curl", &["-K", "--config"]),
    ("wget", &["--use-askpass", "-e", "--execute", "--config"]),
    ("npm", &["--script-shell", "--node-options", "-c", "--call", "--shell"]),
    ("npx", &["-c", "--call", "--shell", "--node-options"]),
    ("split", &["--filter"]),
    ("gcc", &["-wrapper", "-fplugin", "-B"]),
    ("cc", &["-wrapper", "-fplugin", "-B"]),
    ("rustc", &["-C", "--codegen"]),
    ("pytest", &["-p", "-c", "--rootdir"]),
    ("file", &["-C"]),
];
