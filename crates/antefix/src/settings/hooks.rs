use std::time::Duration;

use antefix_tools::hooks::{HOOK_TIMEOUT, Hook, HookEvent, Matcher};
use antefix_tools::permission::Source;

/// Reads the hooks of a file: a table with a list of groups for each event.
///
/// # Errors
/// In words, if something in it is not understood.
pub(super) fn read(value: &toml::Value, source: &Source) -> Result<Vec<Hook>, String> {
    let table = value.as_table().ok_or("`hooks` is no table")?;
    let mut hooks = Vec::new();
    for (name, groups) in table {
        let event = HookEvent::from_name(name).ok_or_else(|| {
            let known = HookEvent::ALL.map(HookEvent::name).join("`, `");
            format!("`hooks.{name}` is no event: there are `{known}`")
        })?;
        let groups = groups.as_array().ok_or_else(|| format!("`hooks.{name}` is no list"))?;
        for group in groups {
            let group = group.as_table().ok_or_else(|| format!("`hooks.{name}` holds what is no table"))?;
            read_group(event, group, source, &mut hooks).map_err(|what| format!("`hooks.{name}`: {what}"))?;
        }
    }
    Ok(hooks)
}

/// Reads a group: a matcher with one command, or with a list of them.
fn read_group(
    event: HookEvent,
    group: &toml::Table,
    source: &Source,
    hooks: &mut Vec<Hook>,
) -> Result<(), String> {
    let matcher = group.get("matcher").map(|value| text(value, "matcher")).transpose()?.unwrap_or_default();
    let matcher = Matcher::new(&matcher).map_err(|error| error.to_string())?;
    let one = |table: &toml::Table| read_one(event, matcher.clone(), table, source);
    let Some(list) = group.get("hooks") else {
        hooks.push(one(group)?);
        return Ok(());
    };
    if let Some(other) = group.keys().find(|key| !["matcher", "hooks"].contains(&key.as_str())) {
        return Err(format!("`{other}` does not belong beside `hooks`"));
    }
    for hook in list.as_array().ok_or("`hooks` is no list")? {
        hooks.push(one(hook.as_table().ok_or("`hooks` holds what is no table")?)?);
    }
    Ok(())
}

fn read_one(
    event: HookEvent,
    matcher: Matcher,
    table: &toml::Table,
    source: &Source,
) -> Result<Hook, String> {
    let mut command = None;
    let mut timeout = HOOK_TIMEOUT;
    for (key, value) in table {
        match key.as_str() {
            "matcher" => {}
            "type" if value.as_str() == Some("command") => {}
            "type" => return Err("of hooks there is one `type`: `command`".to_owned()),
            "command" => command = Some(text(value, "command")?),
            "timeout" => {
                let seconds = value.as_integer().and_then(|seconds| u64::try_from(seconds).ok());
                let seconds = seconds.filter(|seconds| (1..=LONGEST_SECONDS).contains(seconds));
                timeout = Duration::from_secs(seconds.ok_or_else(|| {
                    format!("`timeout` is no number of seconds from 1 to {LONGEST_SECONDS}")
                })?);
            }
            _ => return Err(format!("`{key}` is no key of a hook")),
        }
    }
    let command = command.filter(|command| !command.trim().is_empty()).ok_or("a hook has no `command`")?;
    Ok(Hook { event, matcher, command, timeout, source: source.clone() })
}

fn text(value: &toml::Value, key: &str) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` is no text"))
}

/// Seconds that a hook may take at most.
pub(super) const LONGEST_SECONDS: u64 = 600;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settings: &str) -> String {
        let table: toml::Table = settings.parse().unwrap();
        match read(table.get("hooks").unwrap(), &Source::new("test")) {
            Ok(hooks) => hooks
                .iter()
                .map(|hook| {
                    let is_bash = hook.matcher.is_about("bash");
                    format!("{} {} {} {is_bash}", hook.event.name(), hook.command, hook.timeout.as_secs())
                })
                .collect::<Vec<_>>()
                .join("; "),
            Err(error) => error,
        }
    }

    #[test]
    fn hooks_are_read_in_both_forms_and_strictly() {
        for (settings, expect) in [
            ("[[hooks.Stop]]\ncommand = \"a\"", "Stop a 60 true"),
            (
                "[[hooks.PreToolUse]]\nmatcher = \"edit\"\ncommand = \"a\"\ntimeout = 5",
                "PreToolUse a 5 false",
            ),
            (
                "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\nhooks = [{type = \"command\", command = \"a\"}, {command = \"b\"}]\n[[hooks.PreToolUse]]\ncommand = \"c\"",
                "PreToolUse a 60 true; PreToolUse b 60 true; PreToolUse c 60 true",
            ),
            ("[hooks]", ""),
            (
                "[[hooks.Halt]]\ncommand = \"a\"",
                "`hooks.Halt` is no event: there are `SessionStart`, `UserPromptSubmit`, `PreToolUse`, `PostToolUse`, `Stop`",
            ),
            ("[hooks]\nStop = \"a\"", "`hooks.Stop` is no list"),
            ("[[hooks.Stop]]\nmatcher = \"\"", "`hooks.Stop`: a hook has no `command`"),
            (
                "[[hooks.Stop]]\ncommand = \"a\"\ntimeout = 0",
                "`hooks.Stop`: `timeout` is no number of seconds from 1 to 600",
            ),
            ("[[hooks.Stop]]\ncommand = \"a\"\nasync = true", "`hooks.Stop`: `async` is no key of a hook"),
            ("[[hooks.Stop]]\ntype = \"prompt\"", "`hooks.Stop`: of hooks there is one `type`: `command`"),
            (
                "[[hooks.Stop]]\ncommand = \"a\"\nhooks = []",
                "`hooks.Stop`: `command` does not belong beside `hooks`",
            ),
        ] {
            assert_eq!(check(settings), expect, "{settings}");
        }
        assert!(check("[[hooks.Stop]]\nmatcher = \"(\"\ncommand = \"a\"").contains("no regular expression"));
    }
}
