//! Runs a file tool once, to be timed from outside: `search_speed TOOL FOLDER INPUT`. The result's last line goes to
//! standard output.

#![allow(clippy::unwrap_used, reason = "an example")]

use antefix_tools::{Context, Registry};
use antefix_wire::json::Body;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (tool, folder, input) =
        (arguments.next().unwrap(), arguments.next().unwrap(), arguments.next().unwrap());
    let outputs = std::env::temp_dir().join("antefix-search-speed");
    let context = Context::new(folder, outputs);
    let registry = Registry::builtin();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut last = String::new();
    for call in input.lines() {
        let input = Body::parse(call).unwrap();
        // A file is read before it is edited.
        let name = if call.contains("\"limit\"") { "read" } else { &tool };
        let output = runtime.block_on(registry.get(name).unwrap().call(&context, input));
        assert!(!output.is_error, "{}", output.as_text());
        last = output.as_text();
    }
    println!("{}", last.lines().next_back().unwrap_or_default());
}
