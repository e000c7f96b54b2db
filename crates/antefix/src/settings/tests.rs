use super::remember::with_rules;
use antefix_runtime::driver::Policies;

use super::*;

/// A folder with settings, and a user with a home of their own.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new(project: &str, user: &str) -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        for folder in ["work/.antefix", "config", "state"] {
            std::fs::create_dir_all(place.root.path().join(folder)).unwrap();
        }
        place.write("work/.antefix/settings.toml", project);
        place.write("config/settings.toml", user);
        place
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root.path().join(name), text).unwrap();
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("work").canonicalize().unwrap()
    }

    fn environment(&self) -> Environment {
        let path = |name| Some(self.root.path().join(name));
        Environment {
            state: path("state"),
            config: path("config"),
            home: path("home"),
            ..Environment::empty()
        }
    }

    fn read(&self, flags: &Flags) -> Settings {
        Settings::read(&self.folder(), &self.environment(), flags).unwrap()
    }
}

/// Each value that holds, in one line.
fn held(settings: &Settings) -> String {
    let mut out = vec![settings.mode.0.name().to_owned()];
    let (bounds, default) = (&settings.bounds, bounds::Bounds::default());
    if bounds.mode.0 != default.mode.0 {
        out.push(format!("sandbox={}", bounds.mode.0.name()));
    }
    if !bounds.network.0 {
        out.push("network=off".to_owned());
    }
    out.extend(bounds.writable.iter().map(|(path, _)| format!("write={}", path.display())));
    out.extend(settings.rules.iter().map(|rule| format!("{:?} {}", rule.effect(), rule.text())));
    let hook = |hook: &Hook| format!("{} {}", hook.event.name(), hook.command);
    out.extend(settings.hooks.iter().map(hook));
    out.extend(settings.values.iter().map(|value| format!("{}={}", value.key, value.text)));
    out.join("; ")
}

/// The table in docs/permissions.md: what project files may set, row by row.
#[test]
fn what_project_files_may_set() {
    let trusted = Flags { trust: true, ..Flags::default() };
    for (row, text, before, after) in [
        ("deny rules", "[permissions]\ndeny = [\"bash(rm)\"]", "ask; Deny bash(rm)", "ask; Deny bash(rm)"),
        ("a stricter mode", "[permissions]\nmode = \"read-only\"", "read-only", "read-only"),
        ("a looser mode", "[permissions]\nmode = \"full\"", "ask", "full"),
        ("allow rules", "[permissions]\nallow = [\"bash(ls:*)\"]", "ask", "ask; Allow bash(ls:*)"),
        ("the model", "model = \"m\"", "ask", "ask; model=m"),
        ("the base URL", "base_url = \"http://x\"", "ask", "ask; base_url=http://x"),
        (
            "a stricter sandbox",
            "[sandbox]\nmode = \"read-only\"",
            "ask; sandbox=read-only",
            "ask; sandbox=read-only",
        ),
        ("no sandbox", "[sandbox]\nmode = \"off\"", "ask", "ask; sandbox=off"),
        ("no network", "[sandbox]\nnetwork = \"off\"", "ask; network=off", "ask; network=off"),
        ("folders to write", "[sandbox]\nwrite = [\"/c\"]", "ask", "ask; write=/c"),
        (
            "private hosts",
            "[web]\nprivate_hosts = [\"a\", \"b:1\"]",
            "ask",
            "ask; web.private_hosts=a; web.private_hosts=b:1",
        ),
        ("hooks", "[[hooks.Stop]]\ncommand = \"a\"", "ask", "ask; Stop a"),
        ("no hooks of Claude Code's", "claude_hooks = false", "ask", "ask; claude_hooks=false"),
        ("keeping warm", "keep_warm = 30", "ask", "ask; keep_warm=30"),
        ("the key helper", "key_helper = \"x\"", "ask", "ask; key_helper=x"),
        (
            "reminders",
            "[reminders]\ngit = false\ndate = 9",
            "ask",
            "ask; reminders=date = 9; reminders=git = false",
        ),
        ("notes", "[memory]\nfile = \"~/notes.md\"", "ask", "ask; memory.file=~/notes.md"),
        (
            "diagnostics",
            "[diagnostics]\ncommand = \"make\"\ntimeout_s = 9",
            "ask",
            "ask; diagnostics.command=make; diagnostics.timeout_s=9",
        ),
    ] {
        for name in ["settings.toml", "settings.local.toml"] {
            let place = Place::new("", "");
            place.write(&format!("work/.antefix/{name}"), text);
            let settings = place.read(&Flags::default());
            assert_eq!(held(&settings), before, "{row}, not trusted");
            assert_eq!(settings.ignored.is_empty(), before == after, "{row}: what does not hold is told");
            assert_eq!(held(&place.read(&trusted)), after, "{row}, trusted");
        }
    }
}

#[test]
fn settings_that_are_not_understood_are_errors() {
    for text in [
        "hooks = []",
        "[[hooks.Stop]]\ncomand = \"a\"",
        "claude_hooks = \"off\"",
        "keep_warm = -1",
        "mcp = 1",
        "[mcp.s]\ncommnd = \"x\"",
        "[mcp.s]\ntimeout_ms = 0",
        "sandbox = \"off\"",
        "[permissions]\ndney = []",
        "[permissions]\nmode = \"yes\"",
        "[permissions]\nallow = \"bash\"",
        "[permissions]\ndeny = [\"bash(\"]",
        "model = 1",
        "x",
        "permissions = 1",
        "reminders = false",
        "[reminders]\ngti = false",
        "[reminders]\ngit = 0",
        "[reminders]\ngit = \"off\"",
        "[memory]\nfile = \"notes.md\"",
        "[memory]\nfiles = []",
        "[diagnostics]\ntimeout_s = 0",
    ] {
        let place = Place::new(text, "");
        assert!(Settings::read(&place.folder(), &place.environment(), &Flags::default()).is_err(), "{text}");
    }
}

#[test]
fn the_last_word_on_a_kind_of_reminder_holds() {
    let place =
        Place::new("[reminders]\ngit = true\ndate = false", "[reminders]\ngit = false\nfiles = false");
    for (trust, flag, expect) in
        [(false, None, "git, files"), (true, None, "date, files"), (true, Some("git"), "date, git, files")]
    {
        let no_reminder = flag.into_iter().map(str::to_owned).collect();
        let settings = place.read(&Flags { trust, no_reminder, ..Flags::default() });
        let off = antefix_runtime::context::KINDS.into_iter().filter(|kind| !settings.reminders.is_on(kind));
        assert_eq!(off.collect::<Vec<_>>().join(", "), expect, "{trust} {flag:?}");
    }
}

#[test]
fn later_layers_win_and_say_so() {
    let place = Place::new(
        "model = \"project\"\n[permissions]\nmode = \"accept-edits\"\ndeny = [\"bash(a)\"]",
        "model = \"user\"\nbase_url = \"u\"\n[permissions]\nmode = \"read-only\"\nallow = [\"bash(b)\"]",
    );
    place.write("work/.antefix/settings.local.toml", "model = \"local\"");
    let flags = Flags {
        allow: vec!["edit(src/**)".into()],
        deny: vec!["bash(c)".into()],
        trust: true,
        ..Flags::default()
    };
    let settings = place.read(&flags);
    assert_eq!(
        held(&settings),
        "accept-edits; Allow bash(b); Deny bash(a); Allow edit(src/**); Deny bash(c); base_url=u; model=local"
    );
    let source =
        |value: Option<&Value>| value.unwrap().source.to_string().split(' ').next().unwrap().to_owned();
    let of = |key| source(settings.values.iter().find(|value| value.key == key));
    assert_eq!([of("base_url"), of("model")], ["user", "local"]);
    assert!(settings.mode.1.to_string().starts_with("project settings"));
    let flags = Flags { mode: Some(Mode::Full), ..Flags::default() };
    assert_eq!(place.read(&flags).mode, (Mode::Full, Source::new("flag --permission-mode")));
}

#[test]
fn trust_ends_when_the_settings_change() {
    let place = Place::new("[permissions]\nallow = [\"bash(ls:*)\"]", "");
    let read = || place.read(&Flags::default()).trust;
    assert_eq!(read(), Trust::Unknown);
    place.read(&Flags::default()).store_trust(&place.environment()).unwrap();
    assert_eq!(read(), Trust::Stored);
    place.write("work/.antefix/settings.toml", "[permissions]\nallow = [\"bash\"]");
    assert_eq!(read(), Trust::Changed);
    place.write("work/.antefix/settings.toml", "[permissions]\nallow = [\"bash(ls:*)\"]");
    place.write("work/.antefix/settings.local.toml", "model = \"m\"");
    assert_eq!(read(), Trust::Changed);
}

#[test]
fn what_is_remembered_holds_in_the_next_run_and_keeps_the_trust() {
    let place = Place::new("", "");
    let rules = ["bash(cargo build)".to_owned()];
    let state = place.environment().state;
    assert_eq!(place.read(&Flags::default()).remember(&rules, state.as_deref()), Ok(false));
    place.read(&Flags::default()).store_trust(&place.environment()).unwrap();
    assert_eq!(place.read(&Flags::default()).remember(&rules, state.as_deref()), Ok(true));
    let settings = place.read(&Flags::default());
    assert_eq!((settings.trust, held(&settings).as_str()), (Trust::Stored, "ask; Allow bash(cargo build)"));
    place.write("work/.antefix/settings.toml", "model = \"m\"");
    assert_eq!(settings.remember(&["edit(a/b)".to_owned()], state.as_deref()), Ok(true));
    assert_eq!(
        place.read(&Flags::default()).trust,
        Trust::Changed,
        "a change by others is not trusted with ours"
    );
}

#[test]
fn rules_are_added_to_what_stands_there() {
    let rules = ["bash(a 'b\"')".to_owned()];
    for (before, after) in [
        ("", "[permissions]\nallow = [\"bash(a 'b\\\"')\"]\n"),
        ("model = \"m\" # why\n", "model = \"m\" # why\n\n[permissions]\nallow = [\"bash(a 'b\\\"')\"]\n"),
        ("[permissions]\nmode = \"ask\"\n", "[permissions]\nallow = [\"bash(a 'b\\\"')\"]\nmode = \"ask\"\n"),
        (
            "[permissions]\nallow = [\n  \"x\", # y\n]\n",
            "[permissions]\nallow = [\"bash(a 'b\\\"')\", \n  \"x\", # y\n]\n",
        ),
        ("[permissions]\nallow = []\n", "[permissions]\nallow = [\"bash(a 'b\\\"')\"]\n"),
    ] {
        assert_eq!(with_rules(before, &rules).as_deref(), Some(after));
    }
    assert_eq!(with_rules("permissions = { allow = [\"x\"] }", &rules), None);
}

#[test]
fn lists_are_split_outside_parentheses() {
    let list = ["read,bash(a b)".to_owned(), "edit({a,b}/**), grep".to_owned()];
    assert_eq!(split(&list), ["read", "bash(a b)", "edit({a,b}/**)", "grep"]);
    assert_eq!(tools(&list), ["read", "grep"]);
}

/// A rule that was added while a turn ran did not hold before the next run.
#[test]
fn a_rule_that_is_added_holds_for_the_next_call_and_a_broken_file_changes_nothing() {
    let place = Place::new("[permissions]\ndeny = [\"bash(a)\"]", "");
    let flags = Flags { allow: vec!["bash(b)".into()], ..Flags::default() };
    let mut watch =
        Watch::new(place.read(&flags), vec![place.root.path().into()], place.environment(), flags);
    let bash = |policy: &Policy, line: &str| {
        let input = antefix_wire::json::Body::parse(format!("{{\"command\":\"{line}\"}}")).unwrap();
        policy.decide("bash", &antefix_tools::Access::Anywhere, &input).rule
    };
    let (policy, news) = watch.current();
    assert_eq!([bash(&policy, "a"), bash(&policy, "b")], ["bash(a)", "bash(b)"]);
    assert_eq!(news, None);
    policy.remember("bash(d)", Source::new("answer")).unwrap();
    place.write("config/settings.toml", "[permissions]\ndeny = [\"bash(b)\"]\nmode = \"read-only\"");
    let (policy, news) = watch.current();
    assert_eq!(
        ["a", "b", "c", "d"].map(|line| bash(&policy, line)),
        ["bash(a)", "bash(b)", "mode read-only", "bash(d)"]
    );
    let news = news.unwrap();
    for part in ["mode read-only (user settings", "now deny bash(b) (user settings"] {
        assert!(news.contains(part), "{news}");
    }
    place.write("config/settings.toml", "[permissions]\ndney = [\"bash(b)\"]");
    let (policy, news) = watch.current();
    assert_eq!(["a", "b", "c"].map(|line| bash(&policy, line)), ["bash(a)", "bash(b)", "mode read-only"]);
    assert!(news.unwrap().contains("`permissions.dney` is no setting"));
    assert_eq!(watch.current().1, None, "it is told once");
    place.write("config/settings.toml", "");
    let (policy, news) = watch.current();
    assert_eq!(["a", "b", "c"].map(|line| bash(&policy, line)), ["bash(a)", "bash(b)", "mode ask"]);
    assert!(news.unwrap().contains("no longer deny bash(b)"));
}

#[test]
fn trust_that_ends_while_a_turn_runs_takes_the_allow_rules_with_it() {
    let allow = |rule: &str| format!("[permissions]\nallow = [\"{rule}\"]");
    let place = Place::new(&allow("bash(a)"), "");
    place.read(&Flags::default()).store_trust(&place.environment()).unwrap();
    let settings = place.read(&Flags::default());
    let mut watch =
        Watch::new(settings.clone(), vec![place.root.path().into()], place.environment(), Flags::default());
    let rules = ["bash(b)".to_owned()];
    watch.policy().remember(&rules[0], Source::new("answer")).unwrap();
    assert_eq!(settings.remember(&rules, place.environment().state.as_deref()), Ok(true));
    assert_eq!(watch.current().1, None, "what an answer adds is no news");
    place.write("work/.antefix/settings.toml", &allow("bash(c)"));
    let (policy, news) = watch.current();
    assert!(news.unwrap().contains("no longer allow bash(a)"));
    let decide = |line: &str| {
        let input = antefix_wire::json::Body::parse(format!("{{\"command\":\"{line}\"}}")).unwrap();
        policy.decide("bash", &antefix_tools::Access::Anywhere, &input).rule
    };
    assert_eq!(["a", "b", "c"].map(decide), ["mode ask", "bash(b)", "mode ask"]);
}

#[test]
fn a_tool_of_a_server_in_allow_is_a_rule_and_one_of_ours_is_a_choice() {
    use clap::Parser;
    for (list, rules, named) in [
        ("read,grep", vec![], vec!["read", "grep"]),
        ("mcp__git__log", vec!["mcp__git__log"], vec!["mcp__git__log"]),
        ("read,mcp__git,bash(ls:*)", vec!["mcp__git", "bash(ls:*)"], vec!["read", "mcp__git"]),
    ] {
        let cli = crate::cli::Cli::try_parse_from(["antefix", "run", "x", "--allow", list]).unwrap();
        let crate::cli::Command::Run(args) = cli.command else { panic!("another command") };
        assert_eq!(Flags::of(&args.agent).allow, rules, "{list}");
        assert_eq!(tools(args.agent.allow.as_deref().unwrap()), named, "{list}");
    }
}

const CLAUDE_HOOK: &str = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"NAME"}]}]}}"#;

/// Hooks of Claude Code's settings: what holds in a folder that is not trusted and in one that is.
#[test]
fn hooks_of_claude_s_settings_hold_as_others_do() {
    let claude = |name: &str| CLAUDE_HOOK.replace("NAME", name);
    let off = |name: &str| claude(name).replacen('{', r#"{"disableAllHooks":true,"#, 1);
    for (settings, user, project, local, before, after) in [
        ("", claude("u"), claude("p"), claude("l"), "Stop u", "Stop u; Stop p; Stop l"),
        (
            "[[hooks.Stop]]\ncommand = \"own\"",
            claude("u"),
            String::new(),
            String::new(),
            "Stop own; Stop u",
            "Stop own; Stop u",
        ),
        ("claude_hooks = false", claude("u"), claude("p"), claude("l"), "", ""),
        ("claude_hooks = true", claude("u"), "{".to_owned(), claude("l"), "Stop u", "Stop u; Stop l"),
        ("", off("u"), claude("p"), String::new(), "", ""),
        // A repository that is not trusted does not switch the user's own off.
        ("", claude("u"), off("p"), String::new(), "Stop u", ""),
    ] {
        let place = Place::new("", settings);
        for folder in ["work/.claude", "home/.claude"] {
            std::fs::create_dir_all(place.root.path().join(folder)).unwrap();
        }
        place.write("home/.claude/settings.json", &user);
        place.write("work/.claude/settings.json", &project);
        place.write("work/.claude/settings.local.json", &local);
        let hooks = |trust: bool| {
            let settings = place.read(&Flags { trust, ..Flags::default() });
            let hook = |hook: &Hook| format!("{} {}", hook.event.name(), hook.command);
            settings.hooks.iter().map(hook).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            (hooks(false).as_str(), hooks(true).as_str()),
            (before, after),
            "{settings} {user} {project}"
        );
    }
}

/// Trust in a folder is trust in the hooks that Claude Code's settings there have, and in nothing else of these.
#[test]
fn trust_is_about_the_hooks_of_claude_s_settings() {
    let place = Place::new("", "");
    std::fs::create_dir_all(place.root.path().join("work/.claude")).unwrap();
    let is_trusted = || place.read(&Flags::default()).trust;
    place.read(&Flags::default()).store_trust(&place.environment()).unwrap();
    for (text, expect) in [
        (r#"{"permissions":{"allow":["Bash(ls)"]}}"#.to_owned(), Trust::Stored),
        (CLAUDE_HOOK.replace("NAME", "a"), Trust::Changed),
        (String::new(), Trust::Stored),
        (r#"{"disableAllHooks":true}"#.to_owned(), Trust::Changed),
    ] {
        place.write("work/.claude/settings.json", &text);
        assert_eq!(is_trusted(), expect, "{text}");
        place.write("work/.claude/settings.json", "");
        place.write("work/.claude/settings.local.json", &text);
        assert_eq!(is_trusted(), expect, "{text}");
        place.write("work/.claude/settings.local.json", "");
    }
}

/// A file that is malformed is named, and stops nothing.
#[test]
fn what_is_wrong_with_claude_s_settings_is_a_note() {
    let place = Place::new("", "");
    std::fs::create_dir_all(place.root.path().join("work/.claude/settings.local.json")).unwrap();
    place.write("work/.claude/settings.json", "{\"hooks\":");
    let notes = place.read(&Flags::default()).hook_notes.join("|");
    let folder = place.folder().join(".claude");
    let expect = format!(
        "`{0}/settings.json`: no hook of it holds: it is not JSON: unexpected end of JSON at byte 9|`{0}/settings.local.json` cannot be read: it is no file",
        folder.display()
    );
    assert_eq!(notes, expect);
}
