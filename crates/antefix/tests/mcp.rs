//! `antefix mcp` against servers that follow a script.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::PathBuf;
use std::process::Command;

/// A folder with a project, and a user with a home of their own.
struct Place {
    root: tempfile::TempDir,
}

/// What a call printed.
struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        for folder in ["work/.antefix", "home/.config/antefix"] {
            std::fs::create_dir_all(place.path(folder)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// What configures a server that follows this script.
    fn server(&self, name: &str, script: &str) -> String {
        let path = self.path(&format!("{name}.json"));
        std::fs::write(&path, script).unwrap();
        format!(
            r#"{{"command":"{ANTEFIX}","args":["mcp","scripted","{}"],"env":{{"TOKEN":"${{SECRET}}"}}}}"#,
            path.display()
        )
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let output = Command::new(ANTEFIX)
            .arg("mcp")
            .args(arguments)
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("SECRET", "s3cret-token")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .unwrap()
                .replace(&self.root.path().display().to_string(), "ROOT")
                .replace(ANTEFIX, "ANTEFIX")
        };
        Ended { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}

const ANTEFIX: &str = env!("CARGO_BIN_EXE_antefix");

const SCRIPT: &str = r#"{"tools":[{"name":"say","description":"Says it","inputSchema":{"type":"object","z":1.0e2}}],
    "calls":{"say":{"log":["my token is s3cret-token"],"env":"TOKEN"}},"instructions":"Say little."}"#;

#[test]
fn a_project_s_servers_are_started_once_it_is_trusted() {
    let place = Place::new();
    place.write("work/.mcp.json", &format!(r#"{{"mcpServers":{{"a":{}}}}}"#, place.server("a", SCRIPT)));
    let note = "note: not started, since this folder is not trusted: a: ANTEFIX mcp scripted ROOT/a.json (project \
        ROOT/work/.mcp.json)\n";
    let hint =
        "hint: --trust starts them for this run; `antefix run` in a terminal asks, and keeps the answer\n";
    let (all, one) = (
        "error: this folder is not trusted, so that none of its MCP servers is started\n",
        "error: the MCP server `a` is not started: this folder is not trusted\n",
    );
    // These ended with 0, and with words of nothing being configured.
    for (arguments, error) in [
        (vec![], all),
        (vec!["list"], all),
        (vec!["list", "--json"], all),
        (vec!["test"], all),
        (vec!["test", "a"], one),
        (vec!["get", "a"], one),
        (vec!["call", "a", "say"], one),
    ] {
        let ended = place.run(&arguments);
        let expect = (2, String::new(), format!("{note}{error}{hint}"));
        assert_eq!((ended.code, ended.out, ended.err), expect, "{arguments:?}");
    }
    let other = format!(r#"{{"mcpServers":{{"b":{}}}}}"#, place.server("b", SCRIPT));
    let ended = place.run(&["list", "--json", "--mcp-config", &other]);
    assert_eq!(ended.code, 1, "one of two is not ready");
    assert!(ended.out.contains(r#""not_started":["a: ANTEFIX mcp scripted ROOT/a.json"]"#), "{}", ended.out);
    assert_eq!(place.run(&["list", "--mcp-config", &other, "--strict-mcp-config"]).code, 0);
    assert_eq!(place.run(&["test", "b", "--mcp-config", &other]).code, 0);
    let ended = place.run(&["list", "--trust"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{}", ended.out);
    assert!(
        ended.out.contains("a       ready      1") && ended.out.contains("project ROOT/work/.mcp.json"),
        "{}",
        ended.out
    );
    let ended = place.run(&["get", "a", "--trust", "--json"]);
    for part in [
        r#""wire_name":"mcp__a__say""#,
        r#""input_schema":{"type":"object","z":1.0e2}"#,
        r#""instructions":"Say little.""#,
    ] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    assert!(!ended.out.contains("s3cret"), "{}", ended.out);
    let ended = place.run(&["call", "a", "say", "--trust"]);
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (0, "s3cret-token\n"),
        "what a server says to a call is shown as it is"
    );
    let ended = place.run(&["call", "a", "shout", "--trust"]);
    assert_eq!((ended.code, ended.err.as_str()), (2, "error: the MCP server `a` has no tool `shout`\n"));
    let ended = place.run(&["get", "b", "--trust"]);
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (2, "error: there is no MCP server `b`\nhint: there are `a`\n")
    );
}

#[test]
fn later_layers_win_and_flags_can_stand_alone() {
    let place = Place::new();
    let server = |name: &str| format!("command = \"/bin/false\"\nargs = [\"{name}\"]\n");
    place.write(
        "home/.config/antefix/settings.toml",
        &format!("[mcp.a]\n{}[mcp.u]\n{}", server("user"), server("user")),
    );
    place.write(
        "work/.mcp.json",
        r#"{"mcpServers":{"a":{"command":"/bin/false","args":["shared"]},"s":{"command":"/bin/false"}}}"#,
    );
    place.write("work/.antefix/settings.toml", &format!("[mcp.p]\n{}", server("project")));
    place.write("work/.antefix/settings.local.toml", &format!("[mcp.p]\n{}", server("local")));
    place.write("flag.json", r#"{"mcpServers":{"s":{"command":"/bin/false","args":["flag"]}}}"#);
    let flag = place.path("flag.json").display().to_string();
    let reached = |arguments: &[&str]| {
        let out = place.run(arguments).out;
        let rows = out.lines().skip(1).take_while(|line| !line.contains(':')).map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            [words[0], words[5]].join("=")
        });
        rows.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(reached(&["list"]), "a=user u=user");
    assert_eq!(reached(&["list", "--trust"]), "a=shared p=local s=project u=user");
    assert_eq!(reached(&["list", "--trust", "--mcp-config", &flag]), "a=shared p=local s=flag u=user");
    assert_eq!(reached(&["list", "--trust", "--mcp-config", &flag, "--strict-mcp-config"]), "s=flag");
}

#[test]
fn what_is_malformed_is_said_and_stops_only_what_was_asked_for() {
    let place = Place::new();
    place.write("work/.mcp.json", "{\"mcpServers\":");
    let ended = place.run(&["list", "--trust"]);
    assert_eq!(ended.code, 0);
    assert_eq!(
        ended.err,
        "note: `ROOT/work/.mcp.json` is no configuration of MCP servers: unexpected end of JSON at byte 14\n"
    );
    let ended = place.run(&["list", "--mcp-config", "{\"mcpServers\":{\"x\":{}}}"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("the MCP server `x` is left out: it has neither"), "{}", ended.err);
    place
        .write("work/.mcp.json", r#"{"mcpServers":{"x":{"command":"${NOT_SET}"},"y":{"command":"./none"}}}"#);
    let ended = place.run(&["list", "--trust"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.err.contains(
            "the MCP server `x` is left out: the variable `NOT_SET` is not set (project ROOT/work/.mcp.json)"
        ),
        "{}",
        ended.err
    );
    assert!(
        ended.out.contains("y: failed: `./none` could not be started: No such file or directory"),
        "{}",
        ended.out
    );
}

/// Lists that change, one per row, and what is said of each.
#[test]
fn a_list_that_changes_is_a_finding() {
    let place = Place::new();
    let tool = |name: &str, description: &str, schema: &str| {
        format!(r#"{{"name":"{name}","description":"{description}","inputSchema":{schema}}}"#)
    };
    let (a, b) = (tool("a", "d", "{\"x\":1}"), tool("b", "d", "{}"));
    let again = |tools: &[&str]| format!(r#"{{"lists":[[{a},{b}],[{}]]}}"#, tools.join(","));
    let starts = |member: &str| {
        format!(
            r#"{{"starts_file":"{}","tools":[{a},{b}],"starts":[{{}},{{{member}}}]}}"#,
            place.path("starts").display()
        )
    };
    for (script, code, expect) in [
        (
            format!(r#"{{"tools":[{a},{b}]}}"#),
            0,
            "✓ s: 2 tools, the same listed again and after a restart".to_owned(),
        ),
        (
            again(&[&tool("a", "e 12:00", "{\"x\":1}"), &b]),
            1,
            "✗ s: listed again: description `a`: byte 0: `d` became `e 12:00`".to_owned(),
        ),
        (
            again(&[&tool("a", "d", "{\"x\":1.0}"), &b]),
            1,
            "✗ s: listed again: schema `a`: byte 6: `{\"x\":1}` became `{\"x\":1.0}`".to_owned(),
        ),
        (again(&[&b, &a]), 1, "✗ s: listed again: order: place 1 was `a` and is `b`".to_owned()),
        (again(&[&b]), 1, "✗ s: listed again: removed `a`: it is not listed any more".to_owned()),
        (
            starts(&format!(r#""tools":[{a},{b},{}]"#, tool("c", "", "{}"))),
            1,
            "✗ s: after a restart: added `c`: it was not listed before".to_owned(),
        ),
        (
            starts(r#""instructions":"New.""#),
            1,
            "✗ s: after a restart: instructions: byte 0: `` became `New.`".to_owned(),
        ),
        (
            starts(r#""exit_at":{"initialize":1}"#),
            1,
            "✗ s: after a restart: it ended before it had answered the handshake (exit status: 1)".to_owned(),
        ),
    ] {
        let _ = std::fs::remove_file(place.path("starts"));
        let config = format!(r#"{{"mcpServers":{{"s":{}}}}}"#, place.server("s", &script));
        let ended = place.run(&["test", "--mcp-config", &config]);
        assert_eq!((ended.code, ended.out.trim_end()), (code, expect.as_str()), "{script} {}", ended.err);
    }
}
