mod server;

use std::path::Path;
use std::process::ExitCode;

use antefix_runtime::catalogue::DEFER_FROM;
use antefix_runtime::store::Sessions;
use antefix_tools::permission::Effect;
use antefix_tools::sandbox::{Available, OWN_PROGRAM, can_mount};

use crate::cli::DoctorArgs;
use crate::endpoint;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::out::{prose, say, tell};
use crate::screen::harmless;
use crate::settings::{Flags, Settings};
use crate::stream_json::{Object, SCHEMA_VERSION, array};
use crate::table::Table;
use crate::text::grouped;

/// One thing that was looked at.
struct Check {
    name: &'static str,
    ok: bool,
    text: String,
}

/// `antefix doctor`
pub fn doctor(args: &DoctorArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    if args.settings {
        return settings(args, environment);
    }
    if let Some(name) = &args.provider {
        return Ok(print(&server::checks(name, args, environment)?, args));
    }
    let holding = Settings::read(&folders::working_folder(None)?, environment, &Flags::default());
    let (found, broken) = match &holding {
        Ok(holding) => (Some(holding), None),
        Err(failure) => (None, Some(failure.text().to_owned())),
    };
    let broken = broken.map(|text| Check { name: "settings", ok: false, text });
    let checks = [
        key(environment, found),
        base_url(environment, found),
        proxies(environment),
        state(environment),
        shell(),
        sandbox(),
        deferral(),
    ];
    let checks: Vec<Check> = broken.into_iter().chain(checks).collect();
    Ok(print(&checks, args))
}

fn print(checks: &[Check], args: &DoctorArgs) -> ExitCode {
    if args.json {
        let rows = checks.iter().map(|check| {
            let mut object = Object::new();
            object.text("name", check.name).boolean("ok", check.ok).text("text", &check.text);
            object.close()
        });
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION).text("version", env!("CARGO_PKG_VERSION"));
        object.raw("checks", &array(rows));
        say!("{}", object.close());
    } else {
        say!("antefix {}", env!("CARGO_PKG_VERSION"));
        let mut table = Table::unheaded(2);
        for check in checks {
            let mark = if check.ok { "✓" } else { "✗" };
            table.line([format!("{mark} {:<9}", check.name), harmless(&check.text).into_owned()]);
        }
        table.print();
    }
    ExitCode::from(u8::from(checks.iter().any(|check| !check.ok)))
}

/// `antefix doctor --settings`
fn settings(args: &DoctorArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let folder = folders::working_folder(None)?;
    let settings = Settings::read(&folder, environment, &Flags::default())?;
    for note in &settings.hook_notes {
        tell!("note: {}", harmless(note));
    }
    let (mode, source) = &settings.mode;
    let mut rows = vec![("permissions.mode", mode.name().to_owned(), source.to_string(), true)];
    let bounds = &settings.bounds;
    rows.push(("sandbox.mode", bounds.mode.0.name().to_owned(), bounds.mode.1.to_string(), true));
    let network = if bounds.network.0 { "on" } else { "off" };
    rows.push(("sandbox.network", network.to_owned(), bounds.network.1.to_string(), true));
    for (folder, source) in &bounds.writable {
        rows.push(("sandbox.write", folder.to_string_lossy().into_owned(), source.to_string(), true));
    }
    for rule in &settings.rules {
        let key = if rule.effect() == Effect::Allow { "permissions.allow" } else { "permissions.deny" };
        rows.push((key, rule.text().to_owned(), rule.source().to_string(), true));
    }
    for hook in &settings.hooks {
        rows.push((
            "hooks",
            format!("{} {}", hook.event.name(), hook.command),
            hook.source.to_string(),
            true,
        ));
    }
    for (preset, source) in &settings.presets {
        let text = format!("{} ({})", preset.name, preset.about);
        rows.push(("provider", text, source.to_string(), true));
    }
    let all = settings.values.iter().map(|value| (value, true));
    for (value, holds) in all.chain(settings.ignored.iter().map(|value| (value, false))) {
        rows.push((value.key, value.text.clone(), value.source.to_string(), holds));
    }
    if args.json {
        let rows = rows.iter().map(|(key, value, source, holds)| {
            let mut object = Object::new();
            object.text("key", key).text("value", value).text("source", source).boolean("holds", *holds);
            object.close()
        });
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION).text("folder", &folder.to_string_lossy());
        object.boolean("trusted", settings.trust.is_given()).raw("settings", &array(rows));
        say!("{}", object.close());
        return Ok(ExitCode::SUCCESS);
    }
    prose!("{}: {}", harmless(&folder.to_string_lossy()), settings.trust.text());
    for (key, value, source, holds) in &rows {
        let mark = if *holds { "✓" } else { "✗ does not hold:" };
        prose!("{mark} {key} = {}   ({})", harmless(value), harmless(source));
    }
    Ok(ExitCode::SUCCESS)
}

fn key(environment: &Environment, settings: Option<&Settings>) -> Check {
    let found = endpoint::key_source(environment, settings);
    let missing = "no key: set ANTHROPIC_API_KEY, or use `antefix demo` and `run --provider sim` without one";
    Check { name: "key", ok: found.is_some(), text: found.unwrap_or_else(|| missing.to_owned()) }
}

fn base_url(environment: &Environment, settings: Option<&Settings>) -> Check {
    let (ok, text) = match endpoint::address(None, environment, settings) {
        Some((url, source)) if server::holds_user(&url) => {
            (false, format!("the base URL must not hold a user or password ({source})"))
        }
        Some((url, source)) => (true, format!("requests go to {url} ({source})")),
        None => (true, "requests go to the Claude API".to_owned()),
    };
    Check { name: "address", ok, text }
}

fn proxies(environment: &Environment) -> Check {
    let proxies = &environment.proxies;
    let set = proxies.http.is_some() || proxies.https.is_some();
    let text = if set { "a proxy is used (HTTP_PROXY or HTTPS_PROXY)" } else { "no proxy is set" };
    Check { name: "proxy", ok: true, text: text.to_owned() }
}

fn state(environment: &Environment) -> Check {
    let Some(folder) = &environment.state else {
        let text = "no place for sessions: set HOME or XDG_STATE_HOME".to_owned();
        return Check { name: "sessions", ok: false, text };
    };
    match Sessions::at(folder).list(None) {
        Ok(list) => {
            Check { name: "sessions", ok: true, text: format!("{} in {}", list.len(), folder.display()) }
        }
        Err(error) => Check { name: "sessions", ok: false, text: error.to_string() },
    }
}

fn deferral() -> Check {
    let text = format!(
        "tools of MCP servers are deferred from {} tokens of definitions on; how well models find and call them then is \
         unmeasured (docs/tools.md)",
        grouped(DEFER_FROM.0)
    );
    Check { name: "tools", ok: true, text }
}

fn shell() -> Check {
    let works = std::process::Command::new("bash")
        .args(["-c", "exit 0"])
        .status()
        .is_ok_and(|status| status.success());
    let text = if works { "bash runs commands" } else { "bash is missing; sh runs commands" };
    Check { name: "shell", ok: true, text: text.to_owned() }
}

fn sandbox() -> Check {
    let available = Available::probe();
    let text = match (available.lacks(), available.landlock) {
        (None, Some(version)) => {
            let mut text = format!("commands can be confined: Landlock {version}, filtered system calls");
            let mounts = can_mount(Path::new(OWN_PROGRAM));
            text.push_str(if mounts { ", read-only mounts" } else { "" });
            let mut gaps = available.gaps();
            gaps.extend((!mounts).then_some("modes, owners and times of files outside can be changed"));
            if !gaps.is_empty() {
                text.push_str(&format!("; not covered: {}", gaps.join(", ")));
            }
            text
        }
        (why, _) => format!("commands are not confined: {}", why.unwrap_or_default()),
    };
    Check { name: "sandbox", ok: true, text }
}
