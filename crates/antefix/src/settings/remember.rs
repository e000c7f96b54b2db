use std::path::Path;

use super::LOCAL;
use super::file::File;

/// Adds allow rules to the local settings of a folder; what stands there stays as it is.
pub(super) fn add(folder: &Path, rules: &[String]) -> Result<(), String> {
    let path = folder.join(LOCAL);
    let in_words = |error: std::io::Error| format!("`{}` cannot be written: {error}", path.display());
    let own = folder.join(".antefix");
    std::fs::create_dir_all(&own).map_err(in_words)?;
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if is_link(&own) || is_link(&path) {
        return Err(format!("`{}` is reached by a link", path.display()));
    }
    let before = File::text(&path).map_err(in_words)?;
    let after =
        with_rules(&before, rules).ok_or_else(|| format!("`{}` could not be added to", path.display()))?;
    let ignore = own.join(".gitignore");
    if !ignore.exists() {
        std::fs::write(&ignore, "settings.local.toml\n").map_err(in_words)?;
    }
    let written = path.with_extension("new");
    std::fs::write(&written, after).map_err(in_words)?;
    std::fs::rename(&written, &path).map_err(in_words)
}

/// The text with the rules in `permissions.allow`; `None` if no such text is found.
pub(super) fn with_rules(text: &str, rules: &[String]) -> Option<String> {
    let before: toml::Table = text.parse().ok()?;
    let mut wanted = listed(&before);
    let new: Vec<String> = rules.iter().filter(|rule| !wanted.contains(rule)).cloned().collect();
    wanted.extend(new.iter().cloned());
    let new: Vec<String> =
        new.iter().map(|rule| format!("\"{}\"", rule.replace('\\', "\\\\").replace('"', "\\\""))).collect();
    let new = new.join(", ");
    let is_header = |line: &str| line.trim() == "[permissions]";
    let after = match text.lines().position(is_header) {
        _ if new.is_empty() => text.to_owned(),
        None => format!("{text}{}[permissions]\nallow = [{new}]\n", if text.is_empty() { "" } else { "\n" }),
        Some(header) => {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let is_allow = |line: &String| line.trim_start().starts_with("allow") && line.contains('[');
            match lines.iter().skip(header + 1).position(is_allow) {
                Some(at) => {
                    let line = lines.get_mut(header + 1 + at)?;
                    let separator = if listed(&before).is_empty() { "" } else { ", " };
                    *line = line.replacen('[', &format!("[{new}{separator}"), 1);
                }
                None => lines.insert(header + 1, format!("allow = [{new}]")),
            }
            lines.join("\n") + "\n"
        }
    };
    let read: toml::Table = after.parse().ok()?;
    let (mut found, mut expected) = (listed(&read), wanted);
    found.sort();
    expected.sort();
    (found == expected).then_some(after)
}

fn listed(table: &toml::Table) -> Vec<String> {
    let list = table.get("permissions").and_then(|value| value.get("allow")).and_then(toml::Value::as_array);
    list.into_iter().flatten().filter_map(|rule| rule.as_str().map(str::to_owned)).collect()
}
