use std::process::ExitCode;

use antefix_mcp::{Call, Hub, McpError, Wait};
use bytes::Bytes;

use super::Surroundings;
use crate::failure::Failure;
use crate::out::{say, tell};
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION};

/// `antefix mcp call SERVER TOOL ARGUMENTS`
pub(super) async fn call(
    around: Surroundings,
    (server, tool): (&str, &str),
    arguments: &str,
    json: bool,
) -> Result<ExitCode, Failure> {
    let around = around.only(server)?;
    let hub = Hub::start(around.configs, around.options);
    hub.ready(Wait::All).await;
    let interrupted = async {
        // Where the signal cannot be had, it ends the process as it always does.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let call = Call { server, tool, arguments: Bytes::copy_from_slice(arguments.as_bytes()) };
    let output = hub.call(call, interrupted, |progress| tell!("… {}", harmless(&progress.to_text()))).await;
    let why = hub.catalogue().server(server).and_then(|view| view.state.why().map(str::to_owned));
    hub.stop().await;
    let output = output.map_err(|error| match (&error, why) {
        (McpError::Arguments { .. }, _) => Failure::usage(error),
        (McpError::NoTool { .. }, Some(why)) => Failure::failed(format!("{error}: {why}")),
        (McpError::NoTool { .. }, None) => Failure::usage(error),
        _ => Failure::failed(error),
    })?;
    if json {
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION).boolean("is_error", output.is_error);
        object.text("text", &output.to_text());
        if let Some(structured) = &output.structured {
            object.raw("structured", &String::from_utf8_lossy(structured));
        }
        say!("{}", object.close());
    } else {
        say!("{}", harmless(&output.to_text()));
    }
    Ok(ExitCode::from(u8::from(output.is_error)))
}
