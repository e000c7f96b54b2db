//! MCP servers in settings and in `.mcp.json`.

use std::collections::BTreeMap;
use std::path::Path;

use antefix_mcp::config::{Draft, read};
use antefix_tools::permission::Source;

use super::file::File;

/// A project's `.mcp.json`, read leniently: other agents write it too, and what is wrong with it stops nothing.
pub(super) struct Shared {
    /// Empty if there is no file.
    pub(super) text: String,
    pub(super) source: Source,
    pub(super) drafts: Vec<Draft>,
    /// What of it is not understood.
    pub(super) notes: Vec<String>,
}

impl Shared {
    pub(super) fn read(path: &Path) -> Self {
        let source = Source::new(&format!("project {}", path.display()));
        let mut shared = Self { text: String::new(), source, drafts: Vec::new(), notes: Vec::new() };
        match File::text(path) {
            Ok(text) => shared.text = text,
            Err(error) => shared.notes.push(format!("`{}` cannot be read: {error}", path.display())),
        }
        if shared.text.trim().is_empty() {
            return shared;
        }
        match read(path, &shared.text) {
            Ok(found) => {
                shared.notes.extend(found.wrong.iter().map(ToString::to_string));
                shared.drafts = found.drafts;
            }
            Err(error) => shared.notes.push(error.to_string()),
        }
        shared
    }
}

/// The tables below `mcp`, strictly: a setting that is misspelt would not hold.
///
/// # Errors
/// In words, if one is not understood.
pub(super) fn drafts(value: &toml::Value) -> Result<Vec<Draft>, String> {
    let table = value.as_table().ok_or("`mcp` is no table")?;
    table.iter().map(|(name, value)| draft(name, value)).collect()
}

fn draft(name: &str, value: &toml::Value) -> Result<Draft, String> {
    let keys = value.as_table().ok_or_else(|| format!("`mcp.{name}` is no table"))?;
    let mut draft = Draft { name: name.to_owned(), ..Draft::default() };
    for (key, value) in keys {
        let wrong = |what: &str| format!("`mcp.{name}.{key}` is {what}");
        let text = || value.as_str().map(str::to_owned).ok_or_else(|| wrong("no text"));
        let flag = || value.as_bool().ok_or_else(|| wrong("neither true nor false"));
        let number = || {
            let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
            number.filter(|&number| number > 0).ok_or_else(|| wrong("no number of milliseconds above 0"))
        };
        match key.as_str() {
            "type" => draft.kind = Some(text()?),
            "command" => draft.command = Some(text()?),
            "args" => draft.args = list(value).ok_or_else(|| wrong("no list of texts"))?,
            "env" => draft.env = map(value).ok_or_else(|| wrong("no table of texts"))?,
            "cwd" => draft.cwd = Some(text()?),
            "url" => draft.url = Some(text()?),
            "headers" => draft.headers = map(value).ok_or_else(|| wrong("no table of texts"))?,
            "timeout_ms" => draft.timeout_ms = Some(number()?),
            "call_timeout_ms" => draft.call_timeout_ms = Some(number()?),
            "required" => draft.required = flag()?,
            "disabled" => draft.disabled = flag()?,
            _ => return Err(wrong("no setting")),
        }
    }
    Ok(draft)
}

fn list(value: &toml::Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

fn map(value: &toml::Value) -> Option<BTreeMap<String, String>> {
    value.as_table()?.iter().map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
