use std::time::Duration;

use antefix_tools::{Bash, Content, Context, Output, Scope, Tool};
use antefix_wire::json::{Body, write_string};

use super::{Moment, Sighting, Source, Surroundings, Unavailable, lines};

/// What a command of the user's says (a compiler, a linter, the tests) once the model has changed files. It runs in the
/// bounds of the model's own commands, and only the difference to what it said before is told.
pub struct Diagnostics {
    command: String,
    timeout: Duration,
    context: Context,
    /// The digest of the edits as of the last run.
    checked: Option<String>,
}

impl Diagnostics {
    /// With the command, how long it may run, and what commands run with.
    pub fn new(command: String, timeout: Duration, context: Context) -> Self {
        let mut context = context.for_call("diagnostics");
        // What the model's next command starts with is not touched.
        context.carries_over = false;
        Self { command, timeout, context, checked: None }
    }

    fn run(&self) -> Result<String, Unavailable> {
        let failed = |why: &str| Unavailable(format!("`{}`: {why}", self.command));
        let mut input = b"{\"command\":".to_vec();
        write_string(&mut input, &self.command);
        input.extend_from_slice(format!(",\"timeout_ms\":{}}}", self.timeout.as_millis()).as_bytes());
        let input = Body::parse(input).map_err(|error| failed(&error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error.to_string()))?;
        let text = text_of(&runtime.block_on(Bash::new().call(&self.context, input)));
        let is_late =
            text.ends_with(&format!("[stopped: still running after {} ms]", self.timeout.as_millis()));
        if is_late { Err(failed("it took too long")) } else { Ok(text) }
    }
}

impl Source for Diagnostics {
    fn kind(&self) -> &'static str {
        "diagnostics"
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let edits = edits(around);
        if !around.is_behind_calls || edits.is_none() || edits == self.checked {
            return Ok(Vec::new());
        }
        let text = self.run()?;
        self.checked = edits;
        Ok(vec![Sighting::new(&*self.command, lines::state(&text)).with_detail(text)])
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let command = &now.key;
        let whole = now.detail.trim_end();
        Some(match lines::changes(known, &now.detail).filter(|changes| changes.len() < whole.len()) {
            Some(changes) => {
                format!(
                    "What `{command}` says has changed, counted in lines of what it says now:\n{}",
                    changes.trim_end()
                )
            }
            None => format!("`{command}`, run behind your edits, says:\n{whole}"),
        })
    }

    fn speaks_for(&self, _key: &str) -> bool {
        false
    }

    fn moment(&self) -> Moment {
        Moment::Calls
    }

    fn patience(&self) -> Duration {
        // The command is ended in good order before the look is given up.
        self.timeout + self.context.limits.kill_grace + Duration::from_secs(1)
    }

    fn cap(&self) -> usize {
        4 * 1024
    }
}

/// The digest of what the model has changed; `None` if it has changed nothing.
fn edits(around: &Surroundings) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    let facts = around.files.facts();
    let mut changed = facts.iter().filter(|fact| matches!(fact.scope, Scope::Edit | Scope::Write)).peekable();
    changed.peek()?;
    for fact in changed {
        let path = fact.path.as_os_str().as_encoded_bytes();
        hasher.update(&(path.len() as u64).to_le_bytes()).update(path).update(fact.digest.as_bytes());
    }
    Some(hasher.finalize().to_hex().to_string())
}

fn text_of(output: &Output) -> String {
    let texts = output.content.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use antefix_tools::{FileFact, FileTable};

    use super::*;
    use crate::context::watcher::tests::{around, at};

    fn source(folder: &Path, command: &str, timeout: Duration) -> Diagnostics {
        let path = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
        let context = Context::new(folder, folder.join("outputs")).with_environment(path);
        Diagnostics::new(command.to_owned(), timeout, context)
    }

    fn behind(folder: &Path, edits: &[(&str, Scope, &str)]) -> Surroundings {
        let files = FileTable::default();
        for (path, scope, digest) in edits {
            let (path, digest) = (folder.join(path), (*digest).to_owned());
            files.apply(&FileFact { path, digest, size: 1, mtime_ns: 1, scope: *scope, lines: None });
        }
        let around = around(&folder.to_string_lossy(), at("2026-11-30T12:00:00Z"));
        Surroundings { files: Arc::new(files), is_behind_calls: true, ..around }
    }

    #[test]
    fn it_runs_once_for_each_state_of_the_edits() {
        let folder = tempfile::tempdir().unwrap();
        let mut source = source(folder.path(), "echo run >> log; cat said", Duration::from_secs(60));
        let says = |text: &str| std::fs::write(folder.path().join("said"), text).unwrap();
        let runs = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default().lines().count();
        let mut known = b"null".to_vec();
        let ten = (1..=10).map(|line| format!("error in line {line}\n")).collect::<Vec<_>>().concat();
        let less = ten.replace("error in line 5\n", "");
        for (edits, text, runs_then, expect) in [
            (&[][..], "", 0, None),
            (&[("a", Scope::Whole, "1")][..], "", 0, None),
            (
                &[("a", Scope::Edit, "2")][..],
                &*ten,
                1,
                Some(format!("`echo run >> log; cat said`, run behind your edits, says:\n{ten}[exit code 0]")),
            ),
            (&[("a", Scope::Edit, "2")][..], &*less, 1, None),
            (
                &[("a", Scope::Edit, "3")][..],
                &*less,
                2,
                Some(
                    "What `echo run >> log; cat said` says has changed, counted in lines of what it says now:\n\
                     @@ line 4 @@\n error in line 4\n[1 line is gone from here]\n error in line 6"
                        .to_owned(),
                ),
            ),
        ] {
            says(text);
            let seen = source.observe(&behind(folder.path(), edits)).unwrap().pop();
            assert_eq!(seen.as_ref().map(|seen| source.drift(&known, seen).unwrap()), expect);
            assert_eq!(runs(), runs_then, "{edits:?}");
            known = seen.map_or(known, |seen| seen.state.to_vec());
        }
        let mut in_front = behind(folder.path(), &[("a", Scope::Edit, "4")]);
        in_front.is_behind_calls = false;
        assert_eq!((source.observe(&in_front), runs()), (Ok(Vec::new()), 2));
    }

    #[test]
    fn a_command_that_hangs_has_said_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut source = source(folder.path(), "echo half; sleep 60", Duration::from_millis(50));
        let around = behind(folder.path(), &[("a", Scope::Write, "1")]);
        let expect = Unavailable("`echo half; sleep 60`: it took too long".to_owned());
        assert_eq!(source.observe(&around), Err(expect));
    }
}
