//! The arrows between the crates, who may name which library, and how large the lock file may grow.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use antefix_wire::json::{Body, Node};

/// What each crate uses of the others, tests aside. A new edge is a decision: change it here with a reason.
const EDGES: [(&str, &[&str]); 12] = [
    ("antefix-wire", &[]),
    ("antefix-models", &[]),
    ("antefix-prefix", &["antefix-wire", "antefix-models"]),
    // It prices what the verdict finds.
    ("antefix-ledger", &["antefix-wire", "antefix-models", "antefix-prefix"]),
    // It stores what the ledger is made of: counts, models, and how grave a verdict is.
    ("antefix-ledger-file", &["antefix-models", "antefix-prefix", "antefix-ledger"]),
    ("antefix-sim", &["antefix-wire", "antefix-models"]),
    ("antefix-session", &["antefix-wire", "antefix-models", "antefix-prefix"]),
    // The capture format is JSON; the server puts the simulator behind a socket.
    ("antefix-http", &["antefix-wire", "antefix-sim"]),
    ("antefix-tools", &["antefix-wire"]),
    // Servers over HTTP are reached through the one client.
    ("antefix-mcp", &["antefix-wire", "antefix-http"]),
    (
        "antefix-runtime",
        // A session's tools are also those of MCP servers.
        &[
            "antefix-wire",
            "antefix-models",
            "antefix-session",
            "antefix-http",
            "antefix-tools",
            "antefix-mcp",
        ],
    ),
    (
        "antefix",
        &[
            "antefix-wire",
            "antefix-models",
            "antefix-prefix",
            "antefix-ledger",
            "antefix-ledger-file",
            "antefix-sim",
            "antefix-session",
            "antefix-http",
            "antefix-tools",
            // It starts servers for `antefix mcp`.
            "antefix-mcp",
            "antefix-runtime",
        ],
    ),
];

/// Libraries that only these crates may name, tests included.
const OWNERS: [(&str, &[&str]); 13] = [
    ("hyper", &["antefix-http"]),
    ("hyper-util", &["antefix-http"]),
    ("reqwest", &["antefix-http"]),
    ("axum", &["antefix-http"]),
    ("rustls", &["antefix-http"]),
    ("rmcp", &["antefix-mcp"]),
    ("clap", &["antefix"]),
    ("rusqlite", &["antefix-ledger-file"]),
    ("grep-searcher", &["antefix-tools"]),
    ("ignore", &["antefix-tools"]),
    ("landlock", &["antefix-tools"]),
    ("seccompiler", &["antefix-tools"]),
    ("tokio", &["antefix-http", "antefix-tools", "antefix-mcp", "antefix-runtime", "antefix"]),
];

/// Libraries that no crate may name outside its tests: they change bytes behind our back.
const BANNED: [&str; 2] = ["serde_json", "simd-json"];

/// Packages in the lock file.
const LOCK_CAP: usize = 300;

#[test]
fn arrows_point_down() {
    let crates = workspace();
    let names: BTreeSet<&str> = crates.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, known, "every crate has its row in the table of edges");
    for (name, allowed) in EDGES {
        let used: BTreeSet<&str> = crates[name].build().filter(|used| names.contains(used)).collect();
        assert_eq!(used, allowed.iter().copied().collect(), "what `{name}` uses of the other crates");
    }
}

#[test]
fn the_simulator_and_what_it_judges_share_no_code() {
    let crates = workspace();
    assert!(!crates["antefix-sim"].all().any(|used| used == "antefix-prefix"));
    for judged in ["antefix-prefix", "antefix-session"] {
        assert!(!crates[judged].build().any(|used| used == "antefix-sim"), "`{judged}` uses its judge");
    }
}

#[test]
fn libraries_have_their_owners() {
    for (name, uses) in workspace() {
        for (library, owners) in OWNERS {
            let named = uses.all().any(|used| used == library);
            assert!(!named || owners.contains(&name.as_str()), "`{name}` names `{library}`");
        }
        for library in BANNED {
            assert!(!uses.build().any(|used| used == library), "`{name}` names `{library}`");
        }
    }
}

#[test]
fn the_lock_file_stays_small() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    assert!(packages > 50, "the lock file was read");
    assert!(packages <= LOCK_CAP, "{packages} packages in the lock file, at most {LOCK_CAP}");
}

/// What a crate depends on.
struct Uses {
    build: Vec<String>,
    tests: Vec<String>,
}

impl Uses {
    fn build(&self) -> impl Iterator<Item = &str> {
        self.build.iter().map(String::as_str)
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.build.iter().chain(&self.tests).map(String::as_str)
    }
}

fn workspace() -> BTreeMap<String, Uses> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let body = Body::parse(output.stdout).unwrap();
    body.root().get("packages").unwrap().items().map(package).collect()
}

fn package(node: Node<'_>) -> (String, Uses) {
    let text = |node: Node<'_>, name: &str| node.get(name).and_then(|value| Some(value.str()?.into_owned()));
    let mut uses = Uses { build: Vec::new(), tests: Vec::new() };
    for dependency in node.get("dependencies").unwrap().items() {
        let is_test = text(dependency, "kind").is_some_and(|kind| kind == "dev");
        let list = if is_test { &mut uses.tests } else { &mut uses.build };
        list.push(text(dependency, "name").unwrap());
    }
    (text(node, "name").unwrap(), uses)
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
