//! Runs a batch of calls: side by side where they cannot disturb each other, results in call order.

use std::path::Path;
use std::sync::Arc;

use antefix_wire::json::Body;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};

use crate::{Access, Content, Context, Failure, Listing, Output, ProgressKind, Registry};

/// A call of a batch.
#[derive(Clone, Debug)]
pub struct Call {
    /// The call's id, under which progress is reported.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The input, as the model sent it.
    pub input: Body,
    /// What the call was allowed to touch when it was decided upon, which is then all that it opens; `None` where
    /// nobody decides, and files outside the workspace are refused.
    pub admitted: Option<Access>,
}

/// Runs batches of calls on the tools of a registry.
///
/// All calls of a batch start at once and run in parallel, except that a call waits for the calls *before* it
/// in the batch that it could disturb or be disturbed by ([`Access`]):
///
/// | earlier \ later | `Nothing` | `Reads` | `Writes` | `Anywhere` | `Exclusive` |
/// |---|---|---|---|---|---|
/// | `Nothing` | – | – | – | – | waits |
/// | `Reads` | – | – | same path | – | waits |
/// | `Writes` | – | same path | same path | waits | waits |
/// | `Anywhere` | – | – | waits | – | waits |
/// | `Exclusive` | waits | waits | waits | waits | waits |
///
/// [`Access::Delegated`] is as `Anywhere`. Calls with [`Access::Session`] wait for those of the same name, and else are as `Nothing`.
///
/// "Same path" includes a folder and what lies below it. So edits of one file are made in call order, a shell
/// command that follows an edit in the batch sees the edited file, and shell commands run beside each other.
#[derive(Clone, Debug)]
pub struct Executor {
    registry: Arc<Registry>,
}

impl Executor {
    /// Makes an executor for the tools of a registry.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// The tools.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Has a call's tool look at its input, before anybody decides about the call.
    ///
    /// # Errors
    /// Why the call cannot be run.
    pub fn prepare(&self, call: Call) -> Result<Call, Failure> {
        let tool = self.registry.get(&call.name).ok_or_else(|| self.unknown(&call.name))?;
        let Call { id, name, input, admitted } = call;
        let prepare = std::panic::AssertUnwindSafe(|| tool.prepare(input));
        let prepared = std::panic::catch_unwind(prepare);
        let input = prepared.unwrap_or_else(|_| Err(Failure::new("the tool broke down")))?;
        Ok(Call { id, name, input, admitted })
    }

    /// Runs a batch and gives the results in call order, whatever the order they were ready in. An unknown
    /// tool and a panic are error results. Calls that have not started when the context is cancelled do not
    /// start. Dropping the future stops the calls.
    pub async fn run(&self, context: &Context, calls: Vec<Call>) -> Vec<Output> {
        self.run_each(context, calls, |_, _| ()).await
    }

    /// Runs a batch as [`run`](Self::run) does, and gives each result, with the index of its call, as soon as
    /// it is there.
    pub async fn run_each(
        &self,
        context: &Context,
        calls: Vec<Call>,
        mut each: impl FnMut(usize, &Output) + Send,
    ) -> Vec<Output> {
        let Batch { mut tasks, started } = self.start(context, calls);
        let mut outputs = vec![None; started.len()];
        while let Some(joined) = tasks.join_next().await {
            let (index, output) = joined.unwrap_or_else(|error| {
                let index = started.iter().position(|(id, _)| *id == error.id()).unwrap_or(usize::MAX);
                (index, Output::error(panic_text(error)))
            });
            if let (Some((_, own)), Some(slot)) = (started.get(index), outputs.get_mut(index)) {
                own.report(ProgressKind::Finished { is_error: output.is_error });
                if let Some(state) = &output.shell {
                    // Here and not in the tool, so that of two the later on record holds.
                    context.shell.set(state.clone());
                }
                each(index, &output);
                *slot = Some(output);
            }
        }
        // INVARIANT: each task was joined and has filled its own slot.
        outputs.into_iter().map(|output| output.unwrap_or_else(|| Output::error(LOST))).collect()
    }

    /// Starts a task for each call.
    fn start(&self, context: &Context, calls: Vec<Call>) -> Batch {
        context.files.begin_batch();
        let mut earlier: Vec<(Access, watch::Receiver<()>)> = Vec::new();
        let mut tasks = JoinSet::new();
        let mut started = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            let access = call.admitted.clone().unwrap_or_else(|| self.access(context, &call));
            let waits = earlier.iter().filter(|(before, _)| must_wait(before, &access));
            let waits: Vec<_> = waits.map(|(_, done)| done.clone()).collect();
            let (running, done) = watch::channel(());
            earlier.push((access, done));
            let own = context.for_call(&call.id).with_admitted(call.admitted.clone());
            let task = self.clone().run_one(own.clone(), call, waits, running);
            let handle = tasks.spawn(async move { (index, task.await) });
            started.push((handle.id(), own));
        }
        Batch { tasks, started }
    }

    fn access(&self, context: &Context, call: &Call) -> Access {
        let tool = self.registry.get(&call.name);
        let access = |tool: &Arc<dyn crate::Tool>| tool.access(context, &call.input);
        // A tool that panics here will say so when it is called.
        let guarded = std::panic::AssertUnwindSafe(|| tool.as_ref().map_or(Access::Nothing, access));
        std::panic::catch_unwind(guarded).unwrap_or(Access::Exclusive)
    }

    /// `running` tells the calls that wait for this one, by being dropped, that it is over.
    async fn run_one(
        self,
        context: Context,
        call: Call,
        waits: Vec<watch::Receiver<()>>,
        running: watch::Sender<()>,
    ) -> Output {
        for mut done in waits {
            while done.changed().await.is_ok() {}
        }
        let Some(tool) = self.registry.get(&call.name) else {
            return Output::error(self.unknown(&call.name).0);
        };
        if context.cancellation.is_cancelled() {
            return Output::error("cancelled before it started");
        }
        context.report(ProgressKind::Started);
        let output = sendable(tool.call(&context, call.input).await);
        drop(running);
        output
    }

    fn unknown(&self, name: &str) -> Failure {
        let listed = self.registry.listed().filter(|(_, listing)| *listing == Listing::Open);
        let names: Vec<_> = listed.map(|(definition, _)| definition.name()).collect();
        Failure::new(format!("there is no tool `{name}`; the tools are: {}", names.join(", ")))
    }
}

/// The running calls of a batch.
struct Batch {
    /// Each gives its place in the batch and its result.
    tasks: JoinSet<(usize, Output)>,
    /// Id and context of each task, in call order.
    started: Vec<(Id, Context)>,
}

/// Whether a call must wait for an earlier one of its batch; see [`Executor`].
fn must_wait(earlier: &Access, later: &Access) -> bool {
    match (earlier, later) {
        (Access::Exclusive, _) | (_, Access::Exclusive) => true,
        (Access::Anywhere | Access::Delegated, Access::Writes(_))
        | (Access::Writes(_), Access::Anywhere | Access::Delegated) => true,
        (Access::Reads(a), Access::Writes(b)) | (Access::Writes(a), Access::Reads(b) | Access::Writes(b)) => {
            overlap(a, b)
        }
        (Access::Session(a), Access::Session(b)) => a == b,
        _ => false,
    }
}

fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Providers refuse empty texts and empty results, some refuse NUL, and files and tools from outside may give
/// any.
fn sendable(mut output: Output) -> Output {
    for content in &mut output.content {
        if let Content::Text(text) = content
            && text.contains('\0')
        {
            *text = text.replace('\0', "\u{fffd}");
        }
    }
    output.content.retain(|content| !matches!(content, Content::Text(text) if text.is_empty()));
    if output.content.is_empty() {
        output.content = Output::text("").content;
    }
    output
}

fn panic_text(error: JoinError) -> String {
    let Ok(payload) = error.try_into_panic() else {
        return LOST.to_owned();
    };
    let text = payload.downcast_ref::<String>().map(String::as_str);
    match text.or_else(|| payload.downcast_ref::<&str>().copied()) {
        Some(text) => format!("the tool broke down: {text}"),
        None => "the tool broke down".to_owned(),
    }
}

/// What the model is told of a call that ended without a result.
pub(crate) const LOST: &str = "the call was stopped before it gave a result";
