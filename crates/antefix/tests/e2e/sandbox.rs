//! Ways out of the sandbox, tried by commands of the real binary, as whoever runs the tests and, where that is root,
//! as a user too.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::case::{Case, KEY, NOBODY};
use crate::shell::quoted;

/// What stands in each file that nobody may read or change.
const SECRET: &str = "what-nobody-may-see";

/// A command that gets out prints this; the lines below put it together so that it does not stand in them.
const OUT: &str = "got-out";

/// Each line tries to read, change or reach something outside of the workspace. `HOME` has a secret in `.ssh/id`;
/// `$O` is a folder outside with files of others. Numbers of system calls are those of x86-64.
const ATTEMPTS: &[(&str, &str)] = &[
    ("read by an absolute path", "cat ~/.ssh/id"),
    ("read by dots", "cat ../home/.ssh/id"),
    ("read by a link", "ln -s ~/.ssh/id link1; cat link1"),
    ("read by a link to the folder", "ln -s ~/.ssh link2; cat link2/id"),
    ("read by a hard link", "ln ~/.ssh/id hard1 && cat hard1"),
    ("read from inside", "cd ~/.ssh && cat id"),
    ("read by the root of a process", "cat /proc/self/root$HOME/.ssh/id /proc/self/cwd/../home/.ssh/id"),
    ("read by moving", "mv ~/.ssh stolen && cat stolen/id"),
    ("read by a copy", "cp -r ~/.ssh copy; cat copy/id; tar cf - ~/.ssh | grep -a nobody"),
    (
        "read by mapping it",
        "python3 -c 'import mmap,os;f=os.open(os.environ[\"HOME\"]+\"/.ssh/id\",0);print(mmap.mmap(f,0,prot=1)[:])'",
    ),
    (
        "read through a link that changes",
        "mkdir d; echo x > d/id; for i in 1 2 3 4 5 6 7 8 9; do ln -sfn d s; ln -sfn ~/.ssh s & cat s/id; done",
    ),
    (
        "read the disk",
        "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem; do head -c 1 $d && echo got-''out; done",
    ),
    (
        "make a disk",
        "for n in '254 0' '8 0' '259 0'; do mknod disk b $n && head -c 1 disk && echo got-''out; done",
    ),
    ("read environments", "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a may-ever-see"),
    (
        "read memory",
        "for p in $PPID $(awk '/^PPid/{print $2}' /proc/$PPID/status); do head -c 1 /proc/$p/maps && echo got-''out; done",
    ),
    (
        "trace",
        "python3 -c 'import ctypes,os;l=ctypes.CDLL(None,use_errno=True);print(\"got-\"+\"out\" if l.ptrace(16,os.getppid(),0,0)==0 or l.ptrace(16,1,0,0)==0 else 0)'",
    ),
    (
        "read other memory",
        "python3 -c 'import ctypes,os;l=ctypes.CDLL(None,use_errno=True);print(\"got-\"+\"out\" if l.syscall(310,os.getppid(),0,0,0,0,0)>=0 else 0)'",
    ),
    ("write by dots", "echo x > ../outside/new"),
    ("write by an absolute path", "echo x > $O/new; echo x >> $O/file; : > $O/file"),
    ("write by a link", "ln -s $O link3; echo x > link3/new; echo x >> link3/file"),
    ("write by a link to a file to be", "ln -s $O/new link4; echo x > link4"),
    ("write by a hard link", "ln $O/file hard2 && echo x >> hard2"),
    (
        "rename over",
        "echo x > f1; mv -f f1 $O/file; python3 -c 'import os;os.rename(\"f1\",os.environ[\"O\"]+\"/file\")'",
    ),
    ("rename out", "mkdir f2; mv f2 $O/f2"),
    ("rename in", "mv $O/file f3"),
    (
        "exchange",
        "echo x > f4; python3 -c 'import ctypes,os;l=ctypes.CDLL(None);l.syscall(316,-100,b\"f4\",-100,(os.environ[\"O\"]+\"/file\").encode(),2)'",
    ),
    ("remove", "rm -rf $O/file $O/folder; rmdir $O/folder; unlink $O/file"),
    ("make", "mkdir $O/new; mkfifo $O/new; ln -s x $O/new; mknod $O/new c 1 3"),
    ("cut off", "truncate -s 0 $O/file; python3 -c 'import os;os.truncate(os.environ[\"O\"]+\"/file\",0)'"),
    ("change the mode", "chmod 777 $O/file; chmod 777 $O"),
    ("change the owner", "chown 12:12 $O/file; chgrp 12 $O/file"),
    ("change the times", "touch -d 2001-01-01 $O/file"),
    (
        "write by the root of a process",
        "echo x > /proc/self/root$O/new; echo x > /proc/$PPID/root$O/new; echo x > /proc/self/cwd/../outside/new",
    ),
    ("write by the folder of a process", "cd $O && echo x > new"),
    (
        "write by a link that changes",
        "mkdir d2; for i in 1 2 3 4 5 6 7 8 9; do ln -sfn d2 t; ln -sfn $O t & echo x > t/new; done",
    ),
    ("write to the shell's start", "echo x >> ~/.bashrc; echo x >> ~/.profile"),
    ("write keys", "mkdir -p ~/.ssh && echo x >> ~/.ssh/authorized_keys"),
    (
        "write hooks of the repository above",
        "echo x > ../.git/hooks/pre-commit; git -C .. config core.fsmonitor x",
    ),
    (
        "write settings and sessions",
        "echo x >> ../config/antefix/settings.toml; for f in $(find ../state -name '*.jsonl'); do echo x >> $f; done",
    ),
    ("mount", "mkdir m; mount --bind $O m && echo x > m/new; mount -o remount,rw /"),
    (
        "user namespace",
        "unshare -rm sh -c 'mount -o remount,rw / ; echo x > $O/new'; unshare -Ur sh -c 'echo x > $O/new'",
    ),
    ("other namespace", "nsenter -t 1 -m sh -c \"echo x > $O/new\"; chroot / sh -c \"echo x > $O/new\""),
    (
        "clone",
        "python3 -c 'import ctypes;l=ctypes.CDLL(None,use_errno=True);p=l.syscall(56,0x10000000|17,0,0,0,0);print(\"got-\"+\"out\") if p>=0 else 0'",
    ),
    (
        "program in memory",
        "python3 -c 'import os;f=os.memfd_create(\"x\",0);os.write(f,b\"#!/bin/sh\\necho x > $O/new\\n\");os.execv(\"/proc/self/fd/%d\"%f,[\"x\"])'",
    ),
    (
        "unix socket",
        "python3 -c 'import os,socket;s=socket.socket(socket.AF_UNIX);s.connect(os.environ[\"O\"]+\"/socket\");s.send(b\"x\")'",
    ),
    (
        "abstract socket",
        "python3 -c 'import socket;s=socket.socket(socket.AF_UNIX);s.connect(\"\\0antefix\");print(\"got-\"+\"out\")'",
    ),
    (
        "ring",
        "python3 -c 'import ctypes;l=ctypes.CDLL(None);b=(ctypes.c_char*120)();print(\"got-\"+\"out\") if l.syscall(425,2,b)>=0 else 0'",
    ),
    ("end the agent", "kill -9 $PPID $(awk '/^PPid/{print $2}' /proc/$PPID/status); kill -STOP $PPID"),
    ("preload", "export LD_PRELOAD=$PWD/none.so BASH_ENV=$PWD/start; echo 'echo x > $O/new' > start"),
    ("preload, the command after it", "true"),
    (
        "write with what was given",
        "for f in /proc/self/fd/*; do echo x > $f/../new; done; echo x > /dev/shm/../../$O/new",
    ),
];

struct Outside {
    case: Case,
    socket: UnixListener,
}

impl Outside {
    fn new() -> Self {
        let rules = |(round, (_, line)): (usize, &(&str, &str))| {
            format!("rule\n on said Go\n on rounds {round}\n tool bash {{\"command\":{}}}\n", quoted(line))
        };
        let rules: String = ATTEMPTS.iter().enumerate().map(rules).collect();
        let case = Case::new(&format!("{rules}rule\n on any\n text It ends.\n"));
        let root = case.root();
        for folder in ["home/.ssh", "outside/folder", ".git/hooks", "config/antefix"] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        for file in
            ["home/.ssh/id", "home/.bashrc", "outside/file", ".git/config", "config/antefix/settings.toml"]
        {
            let text = if file.contains(".ssh") { format!("{SECRET}\n") } else { "# as it was\n".to_owned() };
            fs::write(root.join(file), text).expect("a file");
        }
        symlink("file", root.join("outside/link")).expect("a link");
        let socket = UnixListener::bind(root.join("outside/socket")).expect("a socket");
        socket.set_nonblocking(true).expect("a socket takes it");
        Self { case, socket }
    }

    /// Everything outside of the workspace that antefix does not write itself, with contents, modes, owners and times.
    fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        for folder in ["home", "outside", ".git", "config"] {
            describe(&self.case.root().join(folder), &mut found);
        }
        found
    }

    fn judge(&self, before: &BTreeMap<PathBuf, String>) {
        assert_eq!(&self.state(), before, "something outside was changed");
        assert!(self.socket.accept().is_err(), "the socket outside was reached");
        for (n, (name, _)) in ATTEMPTS.iter().enumerate() {
            let result = self.case.result_of(n);
            for part in [SECRET, OUT, KEY] {
                assert!(!result.contains(part), "`{name}` shows `{part}`: {result}");
            }
            assert!(!result.contains("still running after"), "`{name}` hangs: {result}");
        }
        self.case.is_intact();
    }
}

fn describe(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let metadata = path.symlink_metadata().expect("it is there");
    let mut content = String::new();
    if metadata.is_file() {
        fs::File::open(path).and_then(|mut file| file.read_to_string(&mut content)).expect("a text");
    }
    let (mode, owner, time) = (metadata.mode(), (metadata.uid(), metadata.gid()), metadata.mtime_nsec());
    found.insert(path.to_owned(), format!("{mode:o} {owner:?} {} {time} {content}", metadata.mtime()));
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("a folder").flatten() {
            describe(&entry.path(), found);
        }
    }
}

#[test]
fn no_command_gets_out() {
    let outside = Outside::new();
    let before = outside.state();
    let run =
        outside.case.run("Go").args(["--sandbox", "workspace"]).env("O", outside.case.root().join("outside"));
    run.ends().code(0).stdout("It ends.");
    outside.judge(&before);
}

#[test]
fn no_command_of_a_user_gets_out() {
    if fs::metadata("/proc/self").expect("there is /proc").uid() != 0 {
        // The test above was one of a user.
        return;
    }
    let outside = Outside::new();
    give_away(outside.case.root());
    let before = outside.state();
    let run =
        outside.case.run("Go").args(["--sandbox", "workspace"]).env("O", outside.case.root().join("outside"));
    run.by_nobody(outside.case.root()).ends().code(0).stdout("It ends.");
    outside.judge(&before);
}

/// Gives all files of a case to the user `nobody`.
fn give_away(path: &Path) {
    lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
    if path.symlink_metadata().expect("it is there").is_dir() {
        for entry in fs::read_dir(path).expect("a folder").flatten() {
            give_away(&entry.path());
        }
    }
}

#[test]
fn a_workspace_can_be_worked_in() {
    let lines = "mkdir -p a/b && echo x > a/f && mv a/f a/b/g && ln a/b/g h && ln -s h l && chmod 600 h && touch -d 2001-01-01 h && mkfifo p && rm p && cat l && (echo in > $TMPDIR/t; cat $TMPDIR/t) && echo <(:) > /dev/null && git init -q r && git -C r status --short && ls / > /dev/null && echo worked";
    let script = format!(
        "rule\n on rounds 0\n tool bash {{\"command\":{}}}\nrule\n on any\n text It ends.\n",
        quoted(lines)
    );
    let case = Case::new(&script);
    case.run("Go").args(["--sandbox", "workspace"]).ends().code(0);
    assert!(case.result_of(0).contains("x\\nin\\nworked\\n[exit code 0]"), "{}", case.result_of(0));
}

#[test]
fn what_flags_say_holds() {
    let connect = "python3 -c 'import os,socket;socket.create_connection((\"127.0.0.1\",int(os.environ[\"PORT\"]))).close();print(\"connected\")' 2>&1 | tail -n 1";
    for (flags, command, expect) in [
        (
            ["--sandbox", "read-only"],
            "(echo x > f) 2>/dev/null; cat f 2>&1; echo x > $TMPDIR/f && cat $TMPDIR/f",
            "No such file or directory\\nx\\n",
        ),
        (["--sandbox", "off"], "echo x > ../f && cat ../f; echo ${TMPDIR-none}", "\"x\\nnone\\n"),
        (["--network", "off"], connect, "PermissionError"),
        (["--network", "on"], connect, "\"connected\\n"),
    ] {
        let call = format!("tool bash {{\"command\":{}}}", quoted(command));
        let case = Case::new(&format!("rule\n on rounds 0\n {call}\nrule\n on any\n text It ends.\n"));
        let port = case.address().rsplit(':').next().unwrap_or_default().to_owned();
        case.run("Go").args(flags).env("PORT", port).ends().code(0);
        assert!(case.result_of(0).contains(expect), "{flags:?}: {}", case.result_of(0));
    }
}
