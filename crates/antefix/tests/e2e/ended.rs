use std::os::unix::process::ExitStatusExt;
use std::process::Output;

/// A process that has ended, with what it printed. Each expectation that is not met shows all of it.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn code(self, expect: i32) -> Self {
        assert_eq!(self.code, Some(expect), "exit code\n{self}");
        self
    }

    pub fn stdout(self, part: &str) -> Self {
        assert!(self.stdout.contains(part), "`{part}` is not on standard output\n{self}");
        self
    }

    pub fn stderr(self, part: &str) -> Self {
        assert!(self.stderr.contains(part), "`{part}` is not on standard error\n{self}");
        self
    }

    pub fn lacks(self, part: &str) -> Self {
        let is_there = self.stdout.contains(part) || self.stderr.contains(part);
        assert!(!is_there, "`{part}` was printed\n{self}");
        self
    }

    /// The value of a string member of printed JSON, wherever it is first found.
    pub fn member(&self, name: &str) -> String {
        let key = format!("\"{name}\":\"");
        let found = self.stdout.split_once(&key).and_then(|(_, rest)| rest.split('"').next());
        found.unwrap_or_else(|| panic!("no `{name}` was printed\n{self}")).to_owned()
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("all output is UTF-8");
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, signal, stdout, stderr } = self;
        write!(f, "code {code:?}, signal {signal:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---")
    }
}
