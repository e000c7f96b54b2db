use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use antefix_http::server::{ServerOptions, SimServer};
use antefix_sim::{ChatConfig, Config, Script, Simulator};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::bodies::{Sent, read_all};
use crate::ended::Ended;

/// The key that all tests use; it must never be seen again.
pub const KEY: &str = "key-that-nobody-may-ever-see-again";

/// The user and the group `nobody`.
pub const NOBODY: u32 = 65534;

/// How a server of Chat Completions is named, beside its address.
const CHAT: [&str; 6] = ["--provider", "compatible", "--model", "sim-model", "--api-key-env", "CHAT_KEY"];

/// What a case's model says to [`Case::goes_on`].
const GO_ON: &str = "rule\n  on said And now\n  text It goes on.\n";

/// A folder to work in, a home of its own, and a simulator that answers from a script.
pub struct Case {
    root: TempDir,
    server: Option<SimServer>,
    runtime: Runtime,
    url: String,
    speaks_chat: bool,
}

/// A call of the binary to be made.
pub struct Invocation {
    command: Command,
}

impl Case {
    pub fn new(script: &str) -> Self {
        Self::with(ServerOptions::default(), script)
    }

    pub fn with(options: ServerOptions, script: &str) -> Self {
        Self::start(options, Config::default(), script)
    }

    /// One whose server speaks Chat Completions, as llama.cpp's does.
    pub fn chat(options: ServerOptions, script: &str) -> Self {
        Self::start(options, Config::chat(ChatConfig::llamacpp()), script)
    }

    /// One whose provider is that one.
    pub fn start(options: ServerOptions, config: Config, script: &str) -> Self {
        let root = TempDir::new().expect("a temporary folder");
        for folder in ["project", "home", "config", "state", "sent"] {
            fs::create_dir(root.path().join(folder)).expect("a folder in it");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let script = Script::parse(&format!("{GO_ON}{script}")).expect("a script");
        let options = ServerOptions { capture: Some(root.path().join("sent")), ..options };
        let speaks_chat = config.chat.is_some();
        let simulator = Simulator::new(config, script);
        let server = runtime.block_on(SimServer::start(options, simulator)).expect("a free port");
        let url = server.base_url();
        Self { root, server: Some(server), runtime, url, speaks_chat }
    }

    /// The binary with a clean environment and these arguments.
    pub fn antefix<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Invocation {
        let mut command = Command::new(env!("CARGO_BIN_EXE_antefix"));
        command.args(args).current_dir(self.project()).stdin(Stdio::null()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.path().join("home"));
        // Where the compiler is a proxy, it looks for the real one in there.
        let rustup = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
        let rustup = rustup.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".rustup")));
        command.env("RUSTUP_HOME", rustup.unwrap_or_default());
        command.env("XDG_STATE_HOME", self.state()).env("XDG_CONFIG_HOME", self.root.path().join("config"));
        command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", &self.url);
        Invocation { command }
    }

    /// A turn that waits for nothing before a retry.
    pub fn run(&self, prompt: &str) -> Invocation {
        self.run_with(&[prompt])
    }

    /// A call that goes on with the last session and says nothing.
    pub fn go_on_without_words(&self, args: &[&str]) -> Invocation {
        self.run_with(args).arg("--continue")
    }

    /// A turn as [`run`](Self::run)'s in which calls that no rule allows are asked about, and nobody is there.
    pub fn asking(&self, prompt: &str) -> Invocation {
        self.addressed(&[prompt, "--permission-mode", "ask"])
    }

    fn run_with(&self, args: &[&str]) -> Invocation {
        self.addressed(&[args, &["--permission-mode", "full"]].concat())
    }

    fn addressed(&self, args: &[&str]) -> Invocation {
        let run = self.antefix([&["run", "--longest-retry-wait", "0"], args].concat());
        if self.speaks_chat {
            run.args(["--base-url", &self.chat_url()]).args(CHAT).env("CHAT_KEY", KEY)
        } else {
            run
        }
    }

    /// The server's address for Chat Completions.
    pub fn chat_url(&self) -> String {
        format!("{}/v1", self.url)
    }

    pub fn go_on(&self, prompt: &str) -> Invocation {
        self.run(prompt).arg("--continue")
    }

    /// A later process takes the session up, `verify` finds nothing wrong, and nobody has seen the key.
    pub fn goes_on(&self) {
        self.go_on("And now?").ends().code(0).stdout("It goes on.");
        self.is_intact();
    }

    pub fn is_intact(&self) {
        self.antefix(["verify"]).ends().code(0).stdout("✓ session");
        self.hides_the_key();
    }

    pub fn hides_the_key(&self) {
        for path in files_below(self.root.path()) {
            let content = fs::read(&path).expect("a file can be read");
            let is_there = content.windows(KEY.len()).any(|part| part == KEY.as_bytes());
            assert!(!is_there, "the key stands in {}", path.display());
        }
    }

    /// The bodies the server got.
    pub fn sent(&self) -> Vec<Sent> {
        read_all(&self.capture())
    }

    /// The results of the `n`th step of calls, as they were sent.
    pub fn result_of(&self, n: usize) -> String {
        let sent = self.sent();
        let body = String::from_utf8_lossy(&sent[n + 1].bytes).into_owned();
        let start = body.rfind("\"tool_result\"").expect("results were sent");
        body[start..].to_owned()
    }

    /// How each body but the first stands to the one before it.
    pub fn relations(&self) -> Vec<String> {
        self.sent().windows(2).map(|pair| pair[1].relation(&pair[0])).collect()
    }

    /// The one session's transcript.
    pub fn transcript(&self) -> PathBuf {
        let mut found = self.transcripts();
        assert_eq!(found.len(), 1, "there is one session: {found:?}");
        found.remove(0)
    }

    /// The one session's name.
    pub fn session(&self) -> String {
        let path = self.transcript();
        let folder = path.parent().and_then(Path::file_name).expect("a session's folder");
        folder.to_string_lossy().into_owned()
    }

    pub fn transcripts(&self) -> Vec<PathBuf> {
        let files = files_below(&self.state());
        files.into_iter().filter(|path| path.ends_with("transcript.jsonl")).collect()
    }

    /// The user's own file of settings.
    pub fn settings(&self) -> PathBuf {
        self.root.path().join("config/antefix/settings.toml")
    }

    /// The server's host and port.
    pub fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    /// Waits until the server has seen so many requests.
    pub fn wait_for_requests(&self, count: usize) {
        let simulator = self.server.as_ref().expect("the server runs").simulator();
        wait_until("the server has seen the requests", || {
            simulator.lock().expect("no test panicked with it").log().len() >= count
        });
    }

    /// Moves the server's clock on, if it is a virtual one.
    pub fn advance(&self, milliseconds: u64) {
        self.server.as_ref().expect("the server runs").advance(milliseconds);
    }

    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub fn capture(&self) -> PathBuf {
        self.root.path().join("sent")
    }

    /// A folder of the case for whatever else a test writes.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn write(&self, name: &str, content: &str) -> &Self {
        fs::write(self.project().join(name), content).expect("a file of the project");
        self
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _runtime = self.runtime.enter();
            drop(server);
        }
    }
}

impl Invocation {
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub fn args<const N: usize>(mut self, args: [&str; N]) -> Self {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// The same call behind a line of shell that sets limits first.
    pub fn limited(self, line: &str) -> Self {
        let inner = &self.command;
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{line}; exec \"$0\" \"$@\"")).arg(inner.get_program());
        command.args(inner.get_args()).stdin(Stdio::null()).env_clear();
        command.current_dir(inner.get_current_dir().expect("a folder is set"));
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self { command }
    }

    /// The same call by the user `nobody`, who gets a copy of the binary in a folder of theirs.
    pub fn by_nobody(self, folder: &Path) -> Self {
        let program = folder.join("antefix");
        fs::copy(self.command.get_program(), &program).expect("a copy of the binary");
        let inner = &self.command;
        let mut command = Command::new(program);
        command.args(inner.get_args()).stdin(Stdio::null()).env_clear().uid(NOBODY).gid(NOBODY);
        command.current_dir(inner.get_current_dir().expect("a folder is set"));
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self { command }
    }

    pub fn into_command(self) -> Command {
        self.command
    }

    pub fn spawn(mut self) -> Child {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    }

    /// Starts it with its standard output in a file.
    pub fn spawn_into(mut self, path: &Path) -> Child {
        let file = fs::File::create(path).expect("a file for the output");
        self.command.stdout(file).stderr(Stdio::null()).spawn().expect("the binary starts")
    }

    /// The same call with this on its standard input, through a pipe.
    pub fn ends_on(mut self, input: &str) -> Ended {
        self.command.stdin(Stdio::piped());
        let mut child = self.spawn();
        let mut pipe = child.stdin.take().expect("a pipe");
        // A process that has ended before it has read all takes no more.
        let _ = pipe.write_all(input.as_bytes());
        drop(pipe);
        Ended::from(child.wait_with_output().expect("it ends")).lacks(KEY)
    }

    pub fn ends(mut self) -> Ended {
        let ended = Ended::from(self.command.output().expect("the binary starts"));
        ended.lacks(KEY)
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            // A link may lead anywhere, and a pipe may never end.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// Waits for a process to end, but no longer than that; then it is killed. How it ended.
pub fn ends_or_is_killed(mut child: Child, after: Duration) -> ExitStatus {
    let process =
        pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).expect("it has not been waited for");
    let timeout = Timespec::try_from(after).expect("a short time");
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)).expect("its end can be waited for");
    // One that has just ended is none the worse for it.
    child.kill().expect("a child can be killed");
    child.wait().expect("it has ended")
}

/// Waits until something is so, and fails where it is not within a minute.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        std::thread::yield_now();
    }
}
