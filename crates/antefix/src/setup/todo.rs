use std::path::Path;

use antefix_tools::TodoLine;

use crate::cli::AgentArgs;
use crate::failure::Failure;
use crate::input;
use crate::settings::Settings;

/// The list of what is to be done, as the user wants to have it.
///
/// # Errors
/// If the file cannot be read or is no list, or the model would not know of the change.
pub(super) fn wanted(args: &AgentArgs, holding: &Settings) -> Result<Option<Vec<TodoLine>>, Failure> {
    let Some(file) = &args.todo else { return Ok(None) };
    if !holding.reminders.is_on("todo") {
        return Err(Failure::usage("the list cannot be changed while reminders of the kind `todo` are off")
            .hint(
                "the model would go on from a list that is not there any more: switch them on for this run",
            ));
    }
    read(file).map(Some)
}

fn read(file: &Path) -> Result<Vec<TodoLine>, Failure> {
    let shown = file.display();
    let text = input::read_text(file)
        .map_err(|error| Failure::usage(format!("`{shown}` cannot be read: {error}")))?;
    TodoLine::read(text.strip_prefix('\u{feff}').unwrap_or(&text))
        .map_err(|error| Failure::usage(format!("`{shown}`: {error}")))
}
