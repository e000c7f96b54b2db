//! The trait every tool implements.

use std::path::PathBuf;
use std::pin::Pin;

use antefix_wire::json::Body;

use crate::executor::LOST;
use crate::{Context, Definition, Failure, Output};

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something the model can call.
pub trait Tool: Send + Sync + 'static {
    /// How the model sees the tool; the same bytes for as long as the tool lives.
    fn definition(&self) -> &Definition;

    /// Looks at a call's input before anybody decides about it; gives it as it is to be taken, where what was meant is
    /// plain.
    ///
    /// # Errors
    /// Why the call cannot be run.
    fn prepare(&self, input: Body) -> Result<Body, Failure> {
        Ok(input)
    }

    /// What the call may touch, by which the [`Executor`](crate::Executor) decides what may run beside it.
    /// An input that the call would refuse may be answered with [`Access::Anywhere`].
    fn access(&self, context: &Context, input: &Body) -> Access;

    /// Runs the call. What goes wrong is an [`Output`] with `is_error`; what the model then knows about files
    /// is in its facts and has been applied to `context.files`.
    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output>;
}

/// What a call may touch. Paths are absolute, with symbolic links resolved as far as they exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing that another call changes: a look at the web, a sum.
    Nothing,
    /// Reads a file, or everything below a folder.
    Reads(PathBuf),
    /// Writes a file, or anything below a folder.
    Writes(PathBuf),
    /// Changes only what the session keeps under this name, in the order of the calls.
    Session(&'static str),
    /// May read and write anywhere, and answers for its own order with its like: shell commands.
    Anywhere,
    /// Nothing by itself: it has calls made, each of which is decided upon by itself. Runs beside its like, as what may
    /// read and write anywhere.
    Delegated,
    /// Runs alone.
    Exclusive,
}

/// Freezes the definition of a tool of this crate.
pub(crate) fn built_in(name: &str, description: &str, schema: &str) -> Definition {
    // INVARIANT: the texts are constants of this crate, and a test makes every built-in tool.
    #[allow(clippy::expect_used)]
    Definition::new(name, description, schema).expect("a built-in definition is valid")
}

/// Runs a call on a thread that may wait for files.
pub(crate) fn blocking<'a>(
    context: &Context,
    input: Body,
    run: fn(&Context, &Body) -> Result<Output, Failure>,
) -> BoxFuture<'a, Output> {
    let context = context.clone();
    Box::pin(async move {
        match tokio::task::spawn_blocking(move || run(&context, &input)).await {
            Ok(result) => result.into(),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Output::error(LOST),
            },
        }
    })
}
