//! Attempts to get out of the workspace, with each file tool: none reads or writes outside, and none hangs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use antefix_tools::{Access, Call, Executor, Registry};
use antefix_wire::json::Body;

use crate::workspace::Workspace;

/// What must never be read, or found changed.
const SECRET: &str = "the secret outside";

/// A workspace beside a folder with a secret.
fn trap() -> (Workspace, tempfile::TempDir) {
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join("dir")).unwrap();
    for name in ["secret", "dir/secret"] {
        fs::write(outside.path().join(name), format!("{SECRET}\n")).unwrap();
    }
    let workspace = Workspace::new(&[("inside/file", "inside\n"), ("plain", "inside\n")]);
    let link = |target: &Path, name: &str| symlink(target, workspace.path(name)).unwrap();
    link(&outside.path().join("secret"), "link");
    link(outside.path(), "folder-link");
    link(&workspace.path("folder-link/dir"), "link-to-link");
    link(&outside.path().join("new"), "dangling");
    link(Path::new("/proc/self"), "proc-link");
    link(Path::new("/dev"), "dev-link");
    link(Path::new("loop"), "loop");
    fs::create_dir(workspace.path("repo")).unwrap();
    link(&outside.path().join("secret"), "repo/.gitignore");
    symlink(outside.path(), workspace.path("repo/.git")).unwrap();
    for (kind, name) in [("fifo", "fifo"), ("ignore", "trap/.gitignore")] {
        fs::create_dir_all(workspace.path(name).parent().unwrap()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, workspace.path(name), 0o600.into())
            .unwrap_or_else(|_| panic!("{kind}"));
    }
    std::os::unix::net::UnixListener::bind(workspace.path("socket")).unwrap();
    fs::File::create(workspace.path("sparse")).unwrap().set_len(1 << 40).unwrap();
    fs::create_dir(workspace.path("locked")).unwrap();
    fs::set_permissions(workspace.path("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    (workspace, outside)
}

/// The paths that are tried; `$O` is the folder outside.
fn attempts() -> Vec<(&'static str, String)> {
    let plain = [
        ("the folder above", "../"),
        ("two folders above", "../../"),
        ("up and down again", "inside/../../w/../.."),
        ("an absolute path", "$O/secret"),
        ("an absolute folder", "$O"),
        ("absolute behind dots", "./..//../../../../../../../..$O/secret"),
        ("a link to a file", "link"),
        ("a link to a folder", "folder-link"),
        ("behind a link to a folder", "folder-link/secret"),
        ("a link to a link", "link-to-link/secret"),
        ("up from behind a link", "folder-link/../secret"),
        ("through a missing folder", "none/../folder-link/secret"),
        ("a dangling link", "dangling"),
        ("a new name behind a link", "folder-link/new"),
        ("a new folder behind a link", "folder-link/new/er/file"),
        ("a circle of links", "loop"),
        ("the process by a link", "proc-link/environ"),
        ("the process", "/proc/self/environ"),
        ("the root by the process", "/proc/self/root$O/secret"),
        ("the folder by the process", "/proc/self/cwd/../../../../$O/secret"),
        ("a handle of the process", "/proc/self/fd/0"),
        ("memory of the process", "/proc/self/mem"),
        ("a kernel log that waits", "/proc/kmsg"),
        ("settings of the kernel", "/sys/kernel/uevent_helper"),
        ("an endless device", "/dev/zero"),
        ("a device by a link", "dev-link/zero"),
        ("a terminal", "/dev/tty"),
        ("standard input", "/dev/stdin"),
        ("a FIFO", "fifo"),
        ("a socket", "socket"),
        ("below a file", "plain/../../../$O/secret"),
        ("a NUL", "plain\\u0000/../../secret"),
        ("a line end in the name", "../\\n/secret"),
        ("dots that look alike", "\u{ff0e}\u{ff0e}/secret"),
        ("one letter of two dots", "\u{2025}/secret"),
        ("a slash that looks alike", "..\u{2215}secret"),
        ("a slash of full width", "..\u{ff0f}secret"),
        ("dots behind the name", "folder-link./secret"),
        ("a space behind dots", ".. /secret"),
        ("a backslash", "..\\\\secret"),
        ("percent signs", "%2e%2e/secret"),
        ("the home folder", "~/secret"),
        ("a variable", "$HOME/secret"),
        ("an empty path", ""),
        ("a locked folder", "locked/file"),
        ("an ignore file that waits", "trap"),
        ("an ignore file that is a link", "repo"),
    ];
    let mut attempts: Vec<_> = plain.iter().map(|(name, path)| (*name, (*path).to_owned())).collect();
    attempts.push(("a very long name", "x".repeat(5_000)));
    attempts.push(("a very long path", "../".repeat(3_000) + "etc/passwd"));
    attempts.push(("a very deep path", "a/".repeat(3_000) + "f"));
    attempts
}

/// An input for each file tool.
fn inputs(path: &str) -> [(&'static str, String); 6] {
    [
        ("read", format!(r#"{{"path":"{path}"}}"#)),
        ("grep", format!(r#"{{"path":"{path}","pattern":"secret"}}"#)),
        ("glob", format!(r#"{{"path":"{path}","pattern":"*"}}"#)),
        ("edit", format!(r#"{{"path":"{path}","old_string":"","new_string":"x"}}"#)),
        ("write", format!(r#"{{"path":"{path}","content":"x"}}"#)),
        ("multi_edit", format!(r#"{{"path":"{path}","edits":[{{"old_string":"the","new_string":"x"}}]}}"#)),
    ]
}

#[tokio::test]
async fn no_path_leads_out() {
    let mut tried = 0;
    for (name, path) in attempts() {
        let (workspace, outside) = trap();
        let root = outside.path().canonicalize().unwrap();
        let path = path.replace("$O", root.to_str().unwrap());
        let before = listing(&root);
        for (tool, input) in inputs(&path) {
            let call = workspace.call(tool, &input);
            let output = tokio::time::timeout(Duration::from_secs(20), call).await;
            let text = output.unwrap_or_else(|_| panic!("{tool} hangs on {name}")).as_text();
            assert!(!text.contains(SECRET), "{tool} reads outside by {name}: {text}");
            assert_eq!(listing(&root), before, "{tool} writes outside by {name}");
            tried += 1;
        }
        fs::set_permissions(workspace.path("locked"), fs::Permissions::from_mode(0o700)).unwrap();
    }
    assert_eq!(tried, 50 * 6);
}

/// A hard link is the file itself under another name, so it can be read; what is written leaves the other name alone.
#[tokio::test]
async fn writing_never_goes_through_a_hard_link() {
    let (workspace, outside) = trap();
    let (secret, inside) = (outside.path().join("secret"), workspace.path("hard"));
    if fs::hard_link(&secret, &inside).is_err() {
        return; // Two file systems: there are no hard links between them.
    }
    workspace.call("read", r#"{"path":"hard"}"#).await;
    workspace
        .check("write", r#"{"path":"hard","content":"x\n"}"#, "wrote `hard`: 1 lines instead of 1")
        .await;
    assert_eq!(fs::read_to_string(&secret).unwrap(), format!("{SECRET}\n"));
    assert_eq!(workspace.content("hard"), "x\n");
}

/// A thread swaps a folder, and a file, for links to the outside and back while the calls run. The decision was about
/// the path inside, so the calls may fail, but never reach the outside.
#[tokio::test(flavor = "multi_thread")]
async fn a_swap_during_the_call_does_not_lead_out() {
    let (workspace, outside) = trap();
    let root = outside.path().canonicalize().unwrap();
    fs::write(root.join("file"), format!("{SECRET}\n")).unwrap();
    fs::write(workspace.path("inside/secret"), "inside\n").unwrap();
    symlink(&root, workspace.path("evil")).unwrap();
    symlink(root.join("secret"), workspace.path("evil-file")).unwrap();
    let before = listing(&root);
    let stop = AtomicBool::new(false);
    let exchange = |a: &str, b: &str| {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        let (a, b) = (workspace.path(a), workspace.path(b));
        rustix::fs::renameat_with(rustix::fs::CWD, a, rustix::fs::CWD, b, flags).unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                exchange("inside", "evil");
                exchange("plain", "evil-file");
            }
        });
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| {
            for _ in 0..SWAPS {
                for path in ["inside", "inside/secret", "inside/file", "inside/new", "plain", "."] {
                    for (tool, input) in inputs(path) {
                        // Once without a decision, and once with one about the path as it is when nobody swaps.
                        let judged = workspace.path(path);
                        let writes = matches!(tool, "edit" | "write" | "multi_edit");
                        let access = if writes { Access::Writes(judged) } else { Access::Reads(judged) };
                        for admitted in [None, Some(access)] {
                            let call = Call {
                                id: "c".to_owned(),
                                name: tool.to_owned(),
                                input: Body::parse(input.as_str()).unwrap(),
                                admitted,
                            };
                            let executor = Executor::new(Registry::builtin().into());
                            let output =
                                runtime.block_on(executor.run(&workspace.context, vec![call])).remove(0);
                            let text = output.as_text();
                            assert!(!text.contains(SECRET), "{tool} {path}: {text}");
                            assert!(!text.contains("dir/secret"), "{tool} {path} lists outside: {text}");
                        }
                    }
                }
            }
        });
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(listing(&root), before);
}

/// What was allowed outside is opened, and its neighbours are not.
#[tokio::test]
async fn what_was_decided_upon_is_all_that_is_opened() {
    let (workspace, outside) = trap();
    let secret = outside.path().canonicalize().unwrap().join("secret");
    let text = |tool: &'static str, path: &str, access: Access| {
        let (_, input) = inputs(path).into_iter().find(|(name, _)| *name == tool).unwrap();
        let input = Body::parse(input).unwrap();
        let call = Call { id: "c".to_owned(), name: tool.to_owned(), input, admitted: Some(access) };
        let context = workspace.context.clone();
        async move {
            Executor::new(Registry::builtin().into()).run(&context, vec![call]).await.remove(0).as_text()
        }
    };
    let path = secret.to_str().unwrap();
    assert_eq!(text("read", path, Access::Reads(secret.clone())).await, format!("     1\t{SECRET}"));
    // The path of the input is not looked at again.
    assert_eq!(text("read", "plain", Access::Reads(secret.clone())).await, format!("     1\t{SECRET}"));
    let near = secret.with_file_name("secrte");
    let answer = text("read", near.to_str().unwrap(), Access::Reads(near.clone())).await;
    assert_eq!(answer, format!("`{}` is not there", near.display()));
    // To be allowed to read is not to be allowed to write.
    let answer = text("write", path, Access::Reads(secret.clone())).await;
    assert_eq!(answer, format!("`{path}` lies outside the workspace"));
}

/// All names below a folder, with what the files hold.
fn listing(root: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let content = if path.is_dir() { String::new() } else { fs::read_to_string(&path).unwrap() };
            all.push((path.display().to_string(), content));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    all.sort();
    all
}

/// Rounds of the race.
const SWAPS: usize = 30;
