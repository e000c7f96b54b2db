//! A folder with files, and tools to call in it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use antefix_tools::{Call, Context, Executor, Output, Registry};
use antefix_wire::json::Body;

pub struct Workspace {
    pub context: Context,
    _folder: tempfile::TempDir,
}

impl Workspace {
    /// A workspace with these files; their folders are made.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("w");
        fs::create_dir(&root).unwrap();
        let path = std::env::split_paths("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        let environment = vec![("PATH".into(), std::env::join_paths(path).unwrap())];
        let context = Context::new(&root, folder.path().join("spill")).with_environment(environment);
        let workspace = Self { context, _folder: folder };
        for (path, content) in files {
            workspace.write(path, content);
        }
        workspace
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.context.cwd.join(path)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn content(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub async fn call(&self, tool: &str, input: &str) -> Output {
        let mut outputs = self.batch(&[(tool, input)]).await;
        outputs.remove(0)
    }

    pub async fn batch(&self, calls: &[(&str, &str)]) -> Vec<Output> {
        let executor = Executor::new(Arc::new(Registry::builtin()));
        executor.run(&self.context, self.calls(calls)).await
    }

    pub fn calls(&self, calls: &[(&str, &str)]) -> Vec<Call> {
        let call = |(index, (tool, input)): (usize, &(&str, &str))| Call {
            id: format!("call{index}"),
            name: (*tool).to_owned(),
            input: Body::parse(self.filled(input)).unwrap(),
            admitted: None,
        };
        calls.iter().enumerate().map(call).collect()
    }

    /// Calls a tool and compares the whole result: an error begins with `error: `, and `$W` is the workspace,
    /// `$S` the folder for long outputs, in whose names `*` is the digest.
    pub async fn check(&self, tool: &str, input: &str, expect: &str) {
        assert_eq!(self.plain(&self.call(tool, input).await), expect, "{tool} {input}");
    }

    pub fn plain(&self, output: &Output) -> String {
        let text = output.as_text().replace(self.context.cwd.to_str().unwrap(), "$W");
        let text = text.replace(self.context.spill.to_str().unwrap(), "$S");
        let text = without_digests(&text);
        if output.is_error { format!("error: {text}") } else { text }
    }

    fn filled(&self, input: &str) -> String {
        let input = input.replace("$W", self.context.cwd.to_str().unwrap());
        input.replace("$S", self.context.spill.to_str().unwrap())
    }
}

fn without_digests(text: &str) -> String {
    let mut parts = text.split("$S/");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        out.push_str("$S/");
        let text = match part.split_once('-') {
            Some((name @ ("grep" | "glob"), rest)) => format!("{name}-*{}", &rest[16..]),
            _ => part.to_owned(),
        };
        out.push_str(&text);
    }
    out
}
