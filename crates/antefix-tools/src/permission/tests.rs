//! Verdicts on shell lines, and what must hold for any line.

mod bypasses;
mod lines;
mod random;

use antefix_wire::json::{Body, write_string};

use super::*;

/// A policy over an empty temporary workspace that lives as long as the test's process.
fn policy(mode: Mode, allow: &[&str], deny: &[&str]) -> Policy {
    policy_at(Path::new("/work-space"), mode, allow, deny)
}

fn policy_at(root: &Path, mode: Mode, allow: &[&str], deny: &[&str]) -> Policy {
    let parse = |text: &&str, effect| {
        Rule::parse(text, effect, Source::new("test"), root, Some(Path::new("/home/u")))
    };
    let allow = allow.iter().map(|text| parse(text, Effect::Allow).unwrap());
    let rules = allow.chain(deny.iter().map(|text| parse(text, Effect::Deny).unwrap())).collect();
    Policy::new(root, mode, Source::new("test"))
        .with_rules(rules)
        .with_trust(true)
        .with_home(Some("/home/u".into()))
}

fn shell(policy: &Policy, line: &str) -> Decision {
    let mut json = br#"{"command":"#.to_vec();
    write_string(&mut json, line);
    json.push(b'}');
    policy.decide("bash", &Access::Anywhere, &Body::parse(json).unwrap())
}

fn word(decision: &Decision) -> &'static str {
    match decision.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

#[test]
fn rules_are_read_strictly() {
    let root = Path::new("/w");
    let parse = |text: &str| Rule::parse(text, Effect::Allow, Source::new("test"), root, None);
    for text in
        ["bash", "bash(git status)", "bash(cargo test:*)", "edit(src/**)", "read", "bash(echo '(')", "todo"]
    {
        assert_eq!(parse(text).unwrap().text(), text);
    }
    for text in [
        "",
        "bash(",
        "bash()",
        "bash(:*)",
        "bash(*)",
        "bash('a)",
        "(x)",
        "b sh",
        "edit()",
        "edit(../x)",
        "todo(x)",
        "read(~/x)",
        "edit([)",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

/// What a server says of its tools allows nothing.
#[test]
fn tools_of_servers_are_asked_about() {
    let cases = [
        // mode, allow, deny, tool, verdict
        (Mode::Ask, "", "", "mcp__git__log", "ask"),
        (Mode::AcceptEdits, "", "", "mcp__git__log", "ask"),
        (Mode::ReadOnly, "", "", "mcp__git__log", "deny"),
        (Mode::Full, "", "", "mcp__git__log", "allow"),
        (Mode::Full, "", "mcp__git__log", "mcp__git__log", "deny"),
        (Mode::Full, "", "mcp__git", "mcp__git__log", "deny"),
        (Mode::Full, "", "mcp__git", "mcp__github__log", "allow"),
        (Mode::Ask, "mcp__git", "", "mcp__git__log", "allow"),
        (Mode::Ask, "mcp__git", "", "mcp__git-1a2b3c4d__log", "ask"),
        (Mode::Ask, "mcp__git", "", "mcp__git", "allow"),
        (Mode::Ask, "mcp__git__log", "", "mcp__git__log_all", "ask"),
        (Mode::Ask, "mcp__git", "mcp__git__push", "mcp__git__push", "deny"),
        (Mode::Ask, "mcp", "", "mcp__git__log", "ask"),
    ];
    for (mode, allow, deny, tool, expect) in cases {
        let list = |text: &'static str| if text.is_empty() { Vec::new() } else { vec![text] };
        let policy = policy(mode, &list(allow), &list(deny));
        let decision = policy.decide(tool, &Access::Anywhere, &Body::parse(*b"{}").unwrap());
        assert_eq!(word(&decision), expect, "{mode:?} {allow} {deny} {tool}");
        let denies = policy.denies_all_of(tool).is_some();
        assert_eq!(denies, expect == "deny" && mode != Mode::ReadOnly, "{tool}");
    }
}

#[test]
fn paths_by_mode_and_rule() {
    let cases = [
        // mode, allow, deny, write, path, verdict
        (Mode::Ask, "", "", false, "/w/src/a.rs", "allow"),
        (Mode::Ask, "", "", false, "/etc/passwd", "ask"),
        (Mode::Ask, "read(/etc/**)", "", false, "/etc/passwd", "allow"),
        (Mode::Ask, "", "", true, "/w/src/a.rs", "ask"),
        (Mode::Ask, "edit(src/**)", "", true, "/w/src/a.rs", "allow"),
        (Mode::Ask, "edit(src)", "", true, "/w/src/deep/a.rs", "allow"),
        (Mode::Ask, "edit(./a.rs)", "", true, "/w/src/a.rs", "ask"),
        (Mode::Ask, "edit(*.rs)", "", true, "/w/src/a.rs", "allow"),
        (Mode::Ask, "edit(*.rs)", "", true, "/else/a.rs", "ask"),
        (Mode::Ask, "edit(src/*.rs)", "", true, "/w/src/deep/a.rs", "ask"),
        (Mode::Ask, "edit(src/**)", "edit(src/secret)", true, "/w/src/secret/a", "deny"),
        (Mode::Ask, "edit", "", true, "/w/a", "allow"),
        (Mode::Ask, "edit", "", true, "/w/.git/hooks/pre-commit", "ask"),
        (Mode::Ask, "edit(.git/info/exclude)", "", true, "/w/.git/info/exclude", "allow"),
        (Mode::AcceptEdits, "", "", true, "/w/a", "allow"),
        (Mode::AcceptEdits, "", "", true, "/w/.antefix/settings.local.toml", "ask"),
        (Mode::AcceptEdits, "", "", true, "/w/sub/.GIT/config", "ask"),
        (Mode::AcceptEdits, "", "", true, "/home/u/.bashrc", "ask"),
        (Mode::AcceptEdits, "", "edit(Cargo.lock)", true, "/w/x/Cargo.lock", "deny"),
        (Mode::ReadOnly, "", "", true, "/w/a", "deny"),
        (Mode::ReadOnly, "", "", false, "/w/a", "allow"),
        (Mode::ReadOnly, "edit(notes.md)", "", true, "/w/notes.md", "allow"),
        (Mode::Full, "", "", true, "/etc/passwd", "allow"),
        (Mode::Full, "", "read(.env)", false, "/w/app/.env", "deny"),
        (Mode::Full, "", "read(.env)", false, "/else/.env", "deny"),
        (Mode::Full, "read(.env)", "read(.env)", false, "/w/.env", "deny"),
        (Mode::Full, "", "read(~/.ssh)", false, "/home/u/.ssh/id", "deny"),
        (Mode::Full, "", "edit", true, "/w/a", "deny"),
        (Mode::Full, "", "read", false, "/w/a", "deny"),
    ];
    for (mode, allow, deny, write, path, expect) in cases {
        let one = |text: &'static str| if text.is_empty() { vec![] } else { vec![text] };
        let policy = policy_at(Path::new("/w"), mode, &one(allow), &one(deny));
        let access = if write { Access::Writes(path.into()) } else { Access::Reads(path.into()) };
        let tool = if write { "write" } else { "grep" };
        let tool = if allow == "edit" { "edit" } else { tool };
        let decision = policy.decide(tool, &access, &Body::parse(*b"{}").unwrap());
        assert_eq!(word(&decision), expect, "{mode:?} allow {allow} deny {deny} {path}: {decision:?}");
    }
}

/// A file that is denied under its own name and is a link was read under the name it links to.
#[test]
fn a_link_is_judged_under_both_names() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("vault"), "x").unwrap();
    std::os::unix::fs::symlink(root.join("vault"), root.join(".env")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
    let policy = policy_at(&root, Mode::Ask, &[], &["read(.env)"]);
    let read = |path: &str| {
        let body = Body::parse(format!("{{\"path\":\"{path}\"}}").into_bytes()).unwrap();
        word(&policy.decide("read", &Access::Reads(crate::paths::resolve(&root.join(path))), &body))
    };
    assert_eq!([read(".env"), read("vault"), read("out/passwd")], ["deny", "allow", "ask"]);
    assert_eq!(word(&shell(&policy, "cat .env")), "deny");
    assert_eq!(word(&shell(&policy, "cat vault")), "allow");
    assert_eq!(word(&shell(&policy, "cat out/passwd")), "ask");
    assert_eq!(word(&shell(&policy, "cat v*")), "ask");
    assert_eq!(word(&shell(&policy, "grep -r x")), "ask");
    let search = policy.decide("grep", &Access::Reads(root.clone()), &Body::parse(*b"{}").unwrap());
    assert_eq!(word(&search), "deny");
}

#[test]
fn what_is_remembered_answers_the_question() {
    for line in [
        "cargo build",
        "git commit -m 'a b'",
        "make x && rustfmt src/a.rs",
        "echo x > out.txt",
        "python -c 'print(1)'",
    ] {
        let policy = policy(Mode::Ask, &[], &[]);
        let first = shell(&policy, line);
        assert_eq!(word(&first), "ask", "{line}");
        assert!(!first.remember.is_empty(), "{line}");
        for rule in &first.remember {
            policy.remember(rule, Source::new("answer")).unwrap();
        }
        assert_eq!(word(&shell(&policy, line)), "allow", "{line}: {:?}", first.remember);
        assert_eq!(word(&shell(&policy, "cargo run")), "ask");
    }
    for line in ["$X", "cargo $X", "eval x$y", "echo x > $f"] {
        assert!(shell(&policy(Mode::Ask, &[], &[]), line).remember.is_empty(), "{line}");
    }
}

#[test]
fn other_tools_are_asked_about() {
    for (mode, allow, deny, expect) in [
        (Mode::Ask, "", "", "ask"),
        (Mode::Ask, "web", "", "allow"),
        (Mode::Full, "", "web", "deny"),
        (Mode::ReadOnly, "", "", "deny"),
        (Mode::Full, "", "", "allow"),
    ] {
        let one = |text: &'static str| if text.is_empty() { vec![] } else { vec![text] };
        let decision = policy(mode, &one(allow), &one(deny)).decide(
            "web",
            &Access::Nothing,
            &Body::parse(*b"{}").unwrap(),
        );
        assert_eq!(word(&decision), expect);
    }
}

/// What a call has done is decided by itself, and so is what it changes of the session alone free.
#[test]
fn what_only_hands_on_is_free_unless_it_is_denied() {
    for access in [Access::Delegated, Access::Session("skill")] {
        for (mode, deny, expect) in [
            (Mode::ReadOnly, "", "allow"),
            (Mode::Ask, "", "allow"),
            (Mode::Full, "task", "deny"),
            (Mode::Full, "bash", "allow"),
        ] {
            let deny: Vec<&str> = Some(deny).filter(|deny| !deny.is_empty()).into_iter().collect();
            let decision = policy(mode, &[], &deny).decide("task", &access, &Body::parse(*b"{}").unwrap());
            assert_eq!(word(&decision), expect, "{access:?} {mode:?} {deny:?}");
        }
    }
}

#[test]
fn pages_by_host() {
    let cases = [
        // mode, allow, deny, address, verdict
        (Mode::Ask, "", "", "https://docs.example.com/x", "ask"),
        (Mode::AcceptEdits, "", "", "https://docs.example.com/x", "ask"),
        (Mode::ReadOnly, "", "", "https://docs.example.com/x", "deny"),
        (Mode::Full, "", "", "https://docs.example.com/x", "allow"),
        (Mode::Ask, "web_fetch", "", "https://docs.example.com/x", "allow"),
        (Mode::Ask, "web_fetch(domain:docs.example.com)", "", "https://docs.example.com/x", "allow"),
        (Mode::Ask, "web_fetch(domain:Docs.Example.com)", "", "http://DOCS.example.com:8080/x?y", "allow"),
        (Mode::Ask, "web_fetch(domain:example.com)", "", "https://docs.example.com/", "ask"),
        (Mode::Ask, "web_fetch(domain:*.example.com)", "", "https://docs.example.com/", "allow"),
        (Mode::Ask, "web_fetch(domain:*.example.com)", "", "https://example.com/", "ask"),
        (Mode::Ask, "web_fetch(domain:*.example.com)", "", "https://badexample.com/", "ask"),
        (Mode::Ask, "web_fetch(domain:example.com)", "", "https://example.com.evil.example/", "ask"),
        (Mode::Ask, "web_fetch(domain:example.com)", "", "https://evil.example\\\\@example.com/", "ask"),
        (Mode::Ask, "web_fetch(domain:example.com)", "", "https://evil.example/#@example.com/", "ask"),
        (Mode::Ask, "web_fetch(domain:example.com)", "", "https://example.com./", "allow"),
        (Mode::Full, "web_fetch", "web_fetch(domain:example.com)", "https://example.com/", "deny"),
        (Mode::Full, "web_fetch", "web_fetch(domain:example.com)", "https://a.b.EXAMPLE.com./", "deny"),
        (Mode::Full, "", "web_fetch(domain:bücher.example)", "https://xn--bcher-kva.example/", "deny"),
        (Mode::Full, "", "web_fetch(domain:127.0.0.1)", "https://0x7f.1/", "deny"),
        (Mode::Full, "", "web_fetch", "https://example.com/", "deny"),
        (Mode::Full, "", "web_fetch(domain:example.org)", "https://example.com/", "allow"),
    ];
    let one = |text: &'static str| if text.is_empty() { vec![] } else { vec![text] };
    for (mode, allow, deny, url, expect) in cases {
        let policy = policy(mode, &one(allow), &one(deny));
        let input = Body::parse(format!("{{\"url\":\"{url}\"}}").into_bytes()).unwrap();
        let decision = policy.decide("web_fetch", &Access::Nothing, &input);
        assert_eq!(word(&decision), expect, "{mode:?} allow {allow} deny {deny} {url}: {decision:?}");
        for rule in &decision.remember {
            policy.remember(rule, Source::new("answer")).unwrap();
            assert_eq!(word(&policy.decide("web_fetch", &Access::Nothing, &input)), "allow", "{rule}");
        }
    }
    for text in [
        "web_fetch(example.com)",
        "web_fetch(domain:)",
        "web_fetch(domain:a/b)",
        "web_fetch(domain:a:1)",
        "web_fetch(domain:*)",
        "web_fetch(domain:a*b)",
        "web_fetch(domain:u@a)",
    ] {
        let rule = Rule::parse(text, Effect::Allow, Source::new("test"), Path::new("/w"), None);
        assert_eq!(rule.unwrap_err(), RuleError::Domain(text.to_owned()));
    }
}

#[test]
fn a_repository_that_is_not_trusted_is_not_looked_at_with_git() {
    let untrusted = policy(Mode::Ask, &[], &[]).with_trust(false);
    assert_eq!(word(&shell(&untrusted, "git status")), "ask");
    assert_eq!(word(&shell(&untrusted, "ls")), "allow");
}
