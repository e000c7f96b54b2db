//! Commands in the background, and the tools that look at them and end them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use antefix_wire::json::Body;
use tokio::time::{Instant, sleep};

use super::capture;
use super::launch::launch_into;
use super::process::{Ending, Kept};
use crate::tool::built_in;
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool};

/// The jobs of a session: commands that run in the background, numbered from 1. Those that still run when this is
/// dropped are ended.
#[derive(Debug, Default)]
pub struct Jobs {
    started: Mutex<Started>,
}

#[derive(Debug, Default)]
struct Started {
    /// Jobs that the session has started so far, in this process or before.
    count: u64,
    here: BTreeMap<u64, Arc<Mutex<Job>>>,
}

/// A command in the background.
#[derive(Debug)]
struct Job {
    kept: Kept,
    path: PathBuf,
    /// Bytes of its output that have been shown.
    shown: u64,
}

impl Jobs {
    /// The jobs of a session that has started so many before; none of them runs any more.
    pub fn after(count: u64) -> Self {
        Self { started: Mutex::new(Started { count, here: BTreeMap::new() }) }
    }

    /// Leaves all jobs running when this is dropped; gives their numbers and, as far as they have told it by now, their
    /// process groups.
    pub fn leave(&self) -> Vec<(u64, Option<i32>)> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let leave = |(number, job): (&u64, &Arc<Mutex<Job>>)| {
            let mut job = job.lock().unwrap_or_else(PoisonError::into_inner);
            if job.kept.is_over() {
                return None;
            }
            job.kept.stay();
            Some((*number, job.kept.group()))
        };
        started.here.iter().filter_map(leave).collect()
    }

    fn start(&self, context: &Context, command: &str) -> Result<(u64, PathBuf), Failure> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let number = started.count + 1;
        let path = output_path(context, number);
        std::fs::create_dir_all(&context.spill)
            .map_err(|error| Failure::new(format!("{} cannot be made: {error}", context.spill.display())))?;
        let kept = launch_into(context, command, &path, context.limits.spill_bytes)?;
        started.count = number;
        started.here.insert(number, Arc::new(Mutex::new(Job { kept, path: path.clone(), shown: 0 })));
        Ok((number, path))
    }

    /// The job of a number; in words why there is none.
    fn find(&self, context: &Context, number: u64) -> Result<Arc<Mutex<Job>>, Failure> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = started.here.get(&number) {
            return Ok(Arc::clone(job));
        }
        if number > started.count {
            return Err(Failure::new(format!("there is no job {number}; there have been {}", started.count)));
        }
        let path = output_path(context, number);
        let kept =
            if path.exists() { format!("; its output is in {}", path.display()) } else { String::new() };
        Err(Failure::new(format!(
            "job {number} was ended with the process of antefix that had started it{kept}"
        )))
    }
}

impl Job {
    /// What has been printed since the last look, and how it stands.
    fn report(&mut self, context: &Context, number: u64) -> Output {
        // First whether it is over: what it prints until then is seen below.
        let ending = self.ending();
        let (mut text, note) = match self.unseen(context.limits.shell_bytes) {
            Ok(unseen) => unseen,
            Err(error) => (String::new(), Some(format!("its output cannot be read: {error}"))),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let status = ending.as_ref().map_or_else(|| "running".to_owned(), super::ending);
        let notes =
            note.into_iter().chain([format!("job {number}: {status}")]).map(|note| format!("[{note}]"));
        text.push_str(&notes.collect::<Vec<_>>().join("\n"));
        Output::text(text)
    }

    /// The output that has not been shown yet, its end if it is long, and a remark if something is left out.
    fn unseen(&mut self, cap: usize) -> io::Result<(String, Option<String>)> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((String::new(), None)),
            file => file?,
        };
        let end = file.metadata()?.len();
        let start = self.shown.max(end.saturating_sub(cap as u64));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(end.saturating_sub(start)).read_to_end(&mut bytes)?;
        let left_out = start - self.shown;
        self.shown = start + bytes.len() as u64;
        if left_out == 0 {
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), None));
        }
        let whole_lines = capture::whole_lines_at_end(&bytes);
        let left_out = left_out + (bytes.len() - whole_lines.len()) as u64;
        let note = format!(
            "{left_out} bytes before this are left out; the whole output is in {}",
            self.path.display()
        );
        Ok((String::from_utf8_lossy(whole_lines).into_owned(), Some(note)))
    }

    fn has_news(&mut self) -> bool {
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        self.ending().is_some() || length > self.shown
    }

    /// How it ended, once no process of it is left.
    fn ending(&mut self) -> Option<Ending> {
        self.kept.is_over().then(|| self.kept.look().unwrap_or(Ending::Unknown))
    }
}

/// Starts a command in the background, and says how to come back to it.
pub(super) fn start(context: &Context, command: &str) -> Result<Output, Failure> {
    let (number, path) = context.jobs.start(context, command)?;
    let text = format!("[job {number} runs in the background; its output goes to {}]", path.display());
    Ok(Output { job: Some(number), ..Output::text(text) })
}

/// `bash_output`: what a job has printed since the last look.
#[derive(Debug)]
pub struct BashOutput {
    definition: Definition,
}

impl BashOutput {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("bash_output", OUTPUT_DESCRIPTION, OUTPUT_SCHEMA) }
    }
}

impl Default for BashOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for BashOutput {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Nothing
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        Box::pin(async move { look(context, &input).await.into() })
    }
}

async fn look(context: &Context, input: &Body) -> Result<Output, Failure> {
    let fields = Fields::new(input)?;
    let number = number(fields)?;
    let wait = fields.optional_number("wait_ms", 0)?.map_or(Duration::ZERO, Duration::from_millis);
    let job = context.jobs.find(context, number)?;
    let deadline = Instant::now() + wait.min(context.limits.shell_timeout_max);
    while Instant::now() < deadline && !locked(&job).has_news() {
        tokio::select! {
            () = sleep(POLL) => {}
            () = context.cancellation.cancelled() => break,
        }
    }
    Ok(locked(&job).report(context, number))
}

/// `bash_kill`: ends a job.
#[derive(Debug)]
pub struct BashKill {
    definition: Definition,
}

impl BashKill {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("bash_kill", KILL_DESCRIPTION, KILL_SCHEMA) }
    }
}

impl Default for BashKill {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for BashKill {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Nothing
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        Box::pin(async move { end(context, &input).await.into() })
    }
}

async fn end(context: &Context, input: &Body) -> Result<Output, Failure> {
    let number = number(Fields::new(input)?)?;
    let job = context.jobs.find(context, number)?;
    locked(&job).kept.ask();
    if !is_over_within(&job, context.limits.kill_grace).await {
        locked(&job).kept.force();
        is_over_within(&job, context.limits.kill_grace).await;
    }
    Ok(locked(&job).report(context, number))
}

async fn is_over_within(job: &Mutex<Job>, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while !locked(job).kept.is_over() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(POLL).await;
    }
    true
}

fn locked(job: &Mutex<Job>) -> std::sync::MutexGuard<'_, Job> {
    job.lock().unwrap_or_else(PoisonError::into_inner)
}

fn number(fields: Fields<'_>) -> Result<u64, Failure> {
    let missing = || Failure::new("`job` is missing: expected the number of a job");
    fields.optional_number("job", 1)?.ok_or_else(missing)
}

fn output_path(context: &Context, number: u64) -> PathBuf {
    context.spill.join(Path::new(&format!("job-{number}.txt")))
}

const OUTPUT_DESCRIPTION: &str = "Shows what a job that `bash` started in the background has printed since the last \
look, and whether it still runs. With `wait_ms` it first waits until there is something new, at most so long.";

const OUTPUT_SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "job": {"type": "integer", "minimum": 1, "description": "The number of the job"},
        "wait_ms": {"type": "integer", "minimum": 0, "maximum": 600000, "description": "Milliseconds to wait for something new; 0 if not given"}
    },
    "required": ["job"]
}"#;

const KILL_DESCRIPTION: &str = "Ends a job that `bash` started in the background, with every process that came of it, \
and shows the last of its output.";

const KILL_SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "job": {"type": "integer", "minimum": 1, "description": "The number of the job"}
    },
    "required": ["job"]
}"#;

/// How often a job is looked at: its output is a file, which tells nobody that it has grown.
const POLL: Duration = Duration::from_millis(10);
