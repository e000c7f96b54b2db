//! Ways past comparisons of a line's beginning that are publicly known, each of which does run the denied program.

use super::lines::{ALLOW, ASKED, DENY, DOUBTFUL, EXECUTING, PLAIN};
use super::random::{Place, is_tame};
use super::*;

/// Kind, programs that it needs beside bash, line. `x` holds the word `forbidden`.
const BYPASSES: [(&str, &str, &str); 101] = [
    ("process substitution", "cat", "cat <(forbidden)"),
    ("process substitution", "cat", "cat < <(forbidden)"),
    ("process substitution", "ls", "{ ls; } > >(forbidden); wait $!"),
    ("process substitution", "", ". <(echo forbidden)"),
    ("process substitution", "bash", "bash <(echo forbidden)"),
    ("a script on standard input", "", "source /dev/stdin <<< forbidden"),
    ("a script on standard input", "bash", "bash /proc/self/fd/0 <<< forbidden"),
    ("command", "", "command -p -- forbidden; command -- forbidden"),
    ("command", "", "command forbidden -v"),
    ("command", "", "x=forb; command ${x}idden -v"),
    ("builtin", "", "builtin command forbidden"),
    ("builtin", "", "builtin eval 'for''bidden'"),
    ("eval", "", "eval \"for\"\"bidden\""),
    ("eval", "", "eval $'for\\x62idden'"),
    ("eval", "", "eval \"$(echo forbidden)\""),
    ("eval", "", "eval eval forbidden"),
    ("exec", "", "exec -a ls forbidden"),
    ("exec", "", "exec forbidden > out/x"),
    ("a job", "", "x=forb; jobs -x ${x}idden"),
    ("a job", "", "jobs -x $'for\\x62idden'"),
    ("a subscript", "", "sleep() { :; }; sleep 0 & wait -n -p 'a[$(for\"\"bidden)]'"),
    ("a subscript", "cat", "cat x & wait -n -p 'a[$(for\"\"bidden)]'"),
    ("a subscript", "cat", "y='-n -p a[$(for\"\"bidden)]'; cat x & wait $y"),
    ("a subscript", "", "read 'a[$(for\"\"bidden)]' < x"),
    ("a subscript", "", "[ -v 'a[$(for\"\"bidden)]' ]"),
    ("a subscript", "", "test -v 'a[$(for\"\"bidden)]'"),
    ("a subscript", "", "printf -v 'a[$(for\"\"bidden)]' 1"),
    ("a subscript", "", "y='a[$(for\"\"bidden)]'; echo $((y))"),
    ("a subscript", "", "[[ 'a[$(for\"\"bidden)]' -eq 1 ]]"),
    ("a subscript", "ls", "ls {a[$(forbidden)]}> out/x"),
    ("a callback", "", "mapfile -C forbidden -c 1 < x"),
    ("a callback", "", "compgen -C forbidden y"),
    ("a callback", "", "compgen -W '$(for\"\"bidden)'"),
    ("find", "find", "find . -maxdepth 0 -exec forbidden ';'"),
    ("find", "find sh", "find . -maxdepth 0 -exec sh -c 'for\"\"bidden' ';'"),
    ("find", "find env", "find . -maxdepth 0 -execdir env ../here/forbidden '{}' +"),
    ("find", "find", "> -exec; y=forb; find . -maxdepth 0 -exe[c] ${y}idden ';'"),
    ("find", "find", "find x -exec {}forbidden \\; ; y=-exec; find x $y forbidden \\;"),
    ("xargs", "xargs sh", "echo forbidden | xargs -I% sh -c './%'"),
    ("xargs", "xargs sh", "xargs sh -c < x"),
    ("xargs", "xargs sh", "echo forbidden | xargs -I{} sh -c {}"),
    ("xargs", "xargs env", "xargs env < x"),
    ("xargs", "xargs sh", "xargs -a x sh -c"),
    ("git -c", "git", "git -c alias.y='!forbidden' y"),
    ("git -c", "git", "git -c core.sshCommand=forbidden ls-remote ssh://y/z"),
    ("git -c", "git", "git init -q .; git -c core.fsmonitor=forbidden status"),
    ("git -c", "git", "git init -q .; git add x; git -c diff.external=forbidden diff --cached"),
    ("git variables", "git", "GIT_SSH_COMMAND=forbidden git ls-remote ssh://y/z"),
    ("git variables", "git", "git init -q .; GIT_EXTERNAL_DIFF=forbidden git diff --no-index x forbidden"),
    ("git options", "git", "git ls-remote --upload-pack=forbidden ."),
    ("git options", "git", "git ls-remote --exe=forbidden ."),
    ("git options", "git", "git archive --remote=. --exec=forbidden HEAD"),
    ("git options", "git", "git init -q .; git fetch --upload-pack forbidden ."),
    ("git options", "git", "git init -q .; git grep --no-index -Oforbidden forbidden x"),
    ("git transport", "git", "git -c protocol.ext.allow=always ls-remote 'ext::forbidden'"),
    ("git settings", "git", "git init -q .; git config alias.y '!forbidden'; git y"),
    ("git hooks", "git cat", "git init -q .; cat forbidden > .git/hooks/post-checkout"),
    ("tar", "tar", "tar cf out/a x --checkpoint=1 --checkpoint-action=exec=forbidden"),
    ("tar", "tar", "tar cf out/a x; tar xf out/a --to-command=forbidden"),
    ("tar", "tar", "tar -I forbidden -cf out/a x"),
    ("tar", "tar", "tar cIf forbidden out/a x"),
    ("tar", "tar", "tar --use-comp=forbidden -cf out/a x"),
    ("awk", "awk", "awk 'BEGIN{system(\"forbidden\")}'"),
    ("awk", "awk", "awk 'BEGIN{\"forbidden\" | getline}'"),
    ("awk", "awk", "awk 'BEGIN{print | \"for\" \"bidden\"}'"),
    ("awk", "awk", "awk -v y=forb 'BEGIN{system(y \"idden\")}'"),
    ("sed", "sed", "sed '1e forbidden' x"),
    ("sed", "sed", "sed 's/.*/forbidden/e' x"),
    ("sed", "sed", "sed -n --expression='1e for''bidden' x"),
    ("vim", "vim", "vim -es -c ':!forbidden' -c 'qa!'"),
    ("ssh", "ssh", "ssh -o ProxyCommand=forbidden y"),
    ("ssh", "ssh", "ssh -oProxyCommand='for\"\"bidden' y"),
    ("rsync", "rsync", "rsync -e forbidden x y:z"),
    ("env", "env", "env forbidden; env - forbidden; env -u Y -i forbidden"),
    ("env", "env", "env -S forbidden"),
    ("env", "env", "env -vS'forbidden y'"),
    ("env", "env", "env --split-string=forbidden"),
    ("env", "env bash ls", "env 'BASH_FUNC_ls%%=() { forbidden; }' bash -c ls"),
    ("here-document", "bash", "bash <<E\nforbidden\nE"),
    ("here-document", "sh", "sh <<'E'\nforbidden\nE"),
    ("here-document", "cat sh", "cat <<\\E | sh\nfor''bidden\nE"),
    ("here-document", "cat", "cat <<-E\n\t`forbidden`\n\tE"),
    ("here-document", "cat", "cat <<E; forbidden\nE"),
    ("braces", "", "{forbidden,}"),
    ("braces", "", "for{b,}idden"),
    ("braces", "", "echo {a,$(forbidden)}"),
    ("a separator", "", "IFS=_; y=forbidden_z; $y"),
    ("a separator", "sh", "sh${IFS}-c${IFS}forbidden"),
    ("ANSI-C quotes", "", "$'\\146orbidden'"),
    ("ANSI-C quotes", "", "$'\\u0066orbidden'"),
    ("ANSI-C quotes", "", "$'forbidden\\0y'"),
    ("a continued line", "", "for\\\nbidden"),
    ("a continued line", "", "echo \"$\\\n(forbidden)\""),
    ("coproc", "", "coproc forbidden; wait"),
    ("a function", "ls", "ls() { forbidden; }; ls"),
    ("a function", "", "function y { forbidden; }; y"),
    ("an alias", "ls", "shopt -s expand_aliases\nalias ls=forbidden\nls"),
    ("trap", "", "trap 'for''bidden' EXIT"),
    ("trap", "", "trap forbidden DEBUG; echo"),
    ("variables", "", "PS4='$(for\"\"bidden)'; set -x; echo y"),
    ("variables", "bash", "PROMPT_COMMAND='for\"\"bidden' bash --norc -i <<< ''"),
];

#[test]
fn no_known_way_past_is_allowed() {
    for mode in Mode::ALL {
        for allow in [&ALLOW[..], &[], &["bash"]] {
            let policy = policy(mode, allow, &DENY);
            for (kind, _, line) in BYPASSES {
                let decision = shell(&policy, line);
                assert_ne!(word(&decision), "allow", "{kind}, {mode:?}: {line:?}");
            }
        }
    }
}

/// A row that does not run the program would show nothing. `LD_PRELOAD` needs a compiler, Unicode spaces are none to
/// bash: they stand in the table of doubts.
#[test]
fn each_known_way_past_does_run_the_program() {
    let place = Place::with(&["git", "tar", "vim", "ssh", "rsync"]);
    let can_be_tried =
        |row: &&(&str, &str, &str)| row.0 != "git hooks" && row.1.split(' ').all(|name| place.has(name));
    let rows: Vec<_> = BYPASSES.iter().filter(can_be_tried).collect();
    assert!(rows.len() > 80, "only {} could be tried", rows.len());
    let idle: Vec<_> = rows.iter().filter(|(.., line)| !place.runs_forbidden(line)).collect();
    assert!(idle.is_empty(), "{idle:#?}");
}

#[test]
fn no_line_of_a_table_that_is_allowed_runs_the_denied_program() {
    let place = Place::with(&[]);
    let policies = [
        policy(Mode::Ask, &ALLOW, &["bash(forbidden)"]),
        policy(Mode::ReadOnly, &ALLOW, &["bash(forbidden)"]),
    ];
    let lines = [&PLAIN[..], &EXECUTING, &DOUBTFUL, &ASKED].concat();
    let mut run = 0;
    for (line, _) in lines {
        let is_allowed = policies.iter().any(|policy| word(&shell(policy, line)) == "allow");
        if is_allowed && is_tame(line) {
            assert!(!place.runs_forbidden(line), "{line:?}");
            run += 1;
        }
    }
    assert!(run > 40, "only {run} lines were run");
}
