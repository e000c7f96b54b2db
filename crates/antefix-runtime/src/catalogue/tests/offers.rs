//! Which tools of the array should be offered, where that can be said in the midst of a conversation, and what is told of
//! it in words.

use std::collections::BTreeMap;
use std::path::Path;

use antefix_session::conversation::{Offers, Standing};
use antefix_tools::permission;

use super::*;
use crate::catalogue::{DeniedSource, OfferSource, ToolSource};
use crate::context::{Source, Surroundings};

/// How a tool of the array stands, in a letter: `o` offered, `w` withdrawn, `d` deferred and never found.
fn standing(letter: char) -> Standing {
    Standing { is_offered: letter == 'o', was_offered: letter != 'd' }
}

/// The session's tools of servers as `NAME:LETTER`, and what is withdrawn already as `NAME=WHY`.
fn offers(text: &str) -> Offers {
    let mut offers = Offers::default();
    for word in text.split_whitespace() {
        match word.split_once('=') {
            Some((name, why)) => drop(offers.withdrawn.insert(full(name), why.to_owned())),
            None => {
                let (name, letter) = word.split_once(':').unwrap();
                offers.tools.insert(full(name), standing(letter.chars().next().unwrap()));
            }
        }
    }
    offers
}

fn full(name: &str) -> String {
    format!("mcp__{}__{}", &name[..1], &name[1..])
}

fn around(offers: Option<&str>) -> Surroundings {
    Surroundings { offers: offers.map(|text| Arc::new(self::offers(text))), ..super::told::around() }
}

pub(super) fn policy(deny: &[&str]) -> Arc<permission::Policy> {
    let source = permission::Source::new("test");
    let rule = |text: &&str| {
        permission::Rule::parse(text, permission::Effect::Deny, source.clone(), Path::new("/"), None).unwrap()
    };
    let policy = permission::Policy::new(Path::new("/"), permission::Mode::Ask, source.clone());
    Arc::new(policy.with_rules(deny.iter().map(rule).collect()))
}

const OPEN: &str = "at:o au:o bv:o";

fn begun() -> Vec<Offer> {
    vec![offer("a", &[("t", NUMBER), ("u", "{}")]), offer("b", &[("v", "{}")])]
}

fn failed(server: &str) -> Offer {
    Offer { state: ServerState::Failed("it ended".to_owned()), ..offer(server, &[]) }
}

/// What should be offered: servers now, rules, tools that are asked for, how the tools stand, and what goes on record.
#[test]
fn what_should_be_offered() {
    let a = || offer("a", &[("t", NUMBER), ("u", "{}")]);
    let b = || offer("b", &[("v", "{}")]);
    let starting = || Offer { state: ServerState::Starting, ..offer("b", &[]) };
    let mut described = begun();
    described[0].tools[1].description = "Does more.".to_owned();
    let withdrawn = |pairs: &str| format!(r#"{{"withdrawn":{{{pairs}}}}}"#);
    let v = |why: &str| withdrawn(&format!(r#""mcp__b__v":"{why}""#));
    type Row<'a> = (&'a str, Vec<Offer>, &'a [&'a str], &'a [&'a str], &'a str, String);
    let rows: Vec<Row<'_>> = vec![
        ("nothing", begun(), &[], &[], OPEN, "null".to_owned()),
        ("a server is gone", vec![a()], &[], &[], OPEN, v("gone")),
        ("a tool is gone", vec![a(), offer("b", &[])], &[], &[], OPEN, v("gone")),
        ("a server has failed", vec![a(), failed("b")], &[], &[], OPEN, "null".to_owned()),
        ("a server is slow", vec![a(), starting()], &[], &[], OPEN, "null".to_owned()),
        ("it was gone and has failed", vec![a(), failed("b")], &[], &[], "at:o bv:w bv=gone", v("gone")),
        ("it was changed and is slow", vec![a(), starting()], &[], &[], "bv:w bv=changed", v("changed")),
        ("it is back", vec![a(), b()], &[], &[], "at:o bv:w bv=gone", "null".to_owned()),
        (
            "another schema",
            vec![offer("a", &[("t", TEXT), ("u", "{}")]), b()],
            &[],
            &[],
            OPEN,
            withdrawn(r#""mcp__a__t":"changed""#),
        ),
        ("another description", described, &[], &[], OPEN, withdrawn(r#""mcp__a__u":"changed""#)),
        ("a new server", vec![a(), b(), offer("c", &[("w", "{}")])], &[], &[], OPEN, "null".to_owned()),
        ("denied", begun(), &["mcp__b__v"], &[], OPEN, v("denied")),
        (
            "a server is denied",
            begun(),
            &["mcp__a"],
            &[],
            OPEN,
            withdrawn(r#""mcp__a__t":"denied","mcp__a__u":"denied""#),
        ),
        ("allowed again", begun(), &[], &[], "at:o au:o bv:w bv=denied", "null".to_owned()),
        ("loaded, and in the prompt", begun(), &[], &["mcp__b__v"], OPEN, "null".to_owned()),
    ];
    for (name, now, deny, load, standing, expect) in rows {
        check(Deferral::Off, now, deny, load, standing, name, &expect);
    }
    let deferred = "at:d au:d bv:d";
    let added = |names: &str| format!(r#"{{"added":[{names}]}}"#);
    for (name, load, standing, expect) in [
        ("deferred", &[][..], deferred, "null".to_owned()),
        ("loaded", &["mcp__b__v"], deferred, added(r#""mcp__b__v""#)),
        ("loaded stays on record", &["mcp__b__v"], "at:d au:d bv:o", added(r#""mcp__b__v""#)),
        ("a server is loaded", &["mcp__a"], deferred, added(r#""mcp__a__t","mcp__a__u""#)),
        ("nobody is loaded", &["mcp__x"], deferred, "null".to_owned()),
    ] {
        check(Deferral::On, begun(), &[], load, standing, name, &expect);
    }
}

fn check(
    deferral: Deferral,
    now: Vec<Offer>,
    deny: &[&str],
    load: &[&str],
    standing: &str,
    name: &str,
    expect: &str,
) {
    let servers = Memory::with(begun());
    let session = Tools::begin(&servers, &spec(deferral, Dialect::Anthropic));
    let later = Tools::go_on(&servers, &session.lane(Dialect::Anthropic));
    for Tools { catalogue, .. } in [session, later] {
        servers.set(now.clone());
        catalogue.load(load.iter().map(|name| (*name).to_owned()).collect());
        let mut rules = DeniedSource::new(policy(deny), Vec::new(), Arc::clone(&catalogue));
        rules.observe(&around(Some(standing))).unwrap();
        let mut source = OfferSource::new(Arc::clone(&catalogue));
        assert_eq!(source.observe(&around(None)).unwrap(), [], "{name}: the lane does not take it");
        let seen = source.observe(&around(Some(standing))).unwrap();
        let states: Vec<_> =
            seen.iter().map(|one| String::from_utf8_lossy(&one.state).into_owned()).collect();
        assert_eq!(states, [expect], "{name}");
        assert_eq!(source.drift(b"{}", &seen[0]).as_deref(), Some(""), "{name}: words are not its business");
    }
}

/// Words say why; a tool that a change names is not named in them.
#[test]
fn what_is_told_in_words_where_changes_name_the_tools() {
    let a = |tools| offer("a", tools);
    let all: &[(&str, &str)] = &[("t", NUMBER), ("u", "{}")];
    // The case; what was listed, how it stood, what is listed now; what is told.
    type Row<'r> = (&'r str, Vec<Offer>, &'r str, Vec<Offer>, &'r [&'r str]);
    let rows: Vec<Row<'_>> = vec![
        (
            "a server is gone",
            vec![a(all)],
            "at:o au:o",
            vec![],
            &["The MCP server `a` is gone, and its tools with it."],
        ),
        (
            "it was withdrawn before",
            vec![a(all)],
            "at:w au:w",
            vec![],
            &["The MCP server `a` is gone, and calls of its tools fail: `mcp__a__t`, `mcp__a__u`."],
        ),
        (
            "one of two tools is gone",
            vec![a(all)],
            "at:o au:o",
            vec![a(&all[..1])],
            &["Tools of the MCP server `a` are gone, and are withdrawn."],
        ),
        (
            "one that was never found is gone as well",
            vec![a(all)],
            "at:o au:d",
            vec![a(&[("x", "{}")])],
            &[
                "The MCP server `a` has these tools now as well, which `tool_search` finds: `mcp__a__x`.\nTools of the MCP server `a` are gone, and are withdrawn.\nThese tools of the MCP server `a` are gone, and calls of them fail: `mcp__a__u`.",
            ],
        ),
        (
            "a server is back",
            vec![],
            "at:w au:w",
            vec![a(all)],
            &["The MCP server `a` has these tools again, and they are offered once more."],
        ),
        (
            "back in another form",
            vec![],
            "at:w au:w",
            vec![a(&[("t", NUMBER), ("u", TEXT)])],
            &[
                "The tool `mcp__a__u` has changed. It is called through `tool_call` now. Its input schema is now: {\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\"}},\"required\":[\"n\"]}\nThe MCP server `a` has these tools again, and they are offered once more.",
            ],
        ),
        (
            "and has more",
            vec![],
            "at:w au:w",
            vec![a(&[("t", NUMBER), ("u", "{}"), ("x", "{}")])],
            &[
                "The MCP server `a` has these tools again, and they are offered once more.\nThe MCP server `a` has these tools, which `tool_search` finds: `mcp__a__x`.",
            ],
        ),
        (
            "another schema",
            vec![a(all)],
            "at:o au:o",
            vec![a(&[("t", "{}"), ("u", "{}")])],
            &[
                "The tool `mcp__a__t` has changed. It is called through `tool_call` now. Its input schema is now: {\"type\":\"object\"}",
            ],
        ),
        (
            "as it was",
            vec![a(&[("t", "{}"), ("u", "{}")])],
            "at:w au:o at=changed",
            vec![a(all)],
            &["The tool `mcp__a__t` is again as your list shows it."],
        ),
        (
            "new",
            vec![a(all)],
            "at:o au:o",
            vec![a(all), offer("b", &[("v", "{}")])],
            &["The MCP server `b` has these tools, which `tool_search` finds: `mcp__b__v`."],
        ),
    ];
    for (name, before, standing, now, expect) in rows {
        let servers = Memory::with(vec![a(all)]);
        let session = Tools::begin(&servers, &spec(Deferral::Off, Dialect::Anthropic));
        let mut source = ToolSource::new(Arc::clone(&session.catalogue), false);
        servers.set(before);
        let known: BTreeMap<String, Bytes> = source
            .observe(&around(Some(standing)))
            .unwrap()
            .into_iter()
            .map(|one| (one.key, one.state))
            .collect();
        servers.set(now);
        let seen = source.observe(&around(Some(standing))).unwrap();
        let text = |sighting: &crate::context::Sighting| {
            let before = known.get(&sighting.key).cloned().unwrap_or(Bytes::from_static(b"null"));
            if before == sighting.state { None } else { source.drift(&before, sighting) }
        };
        let texts: Vec<String> = seen.iter().filter_map(text).collect();
        assert_eq!(texts, expect, "{name}");
    }
}

/// A search shows what a tool is now, and finds none that was taken away.
#[tokio::test]
async fn a_search_does_not_show_what_was_withdrawn() {
    let servers = Memory::with(begun());
    let session = Tools::begin(&servers, &spec(Deferral::On, Dialect::Anthropic));
    let reference = |name: &str| Content::ToolReference { name: name.to_owned() };
    let find = "mcp__a__t, mcp__a__u, mcp__b__v";
    let all = ["mcp__a__t", "mcp__a__u", "mcp__b__v"].map(reference);
    assert_eq!(session.found(find).await, all);
    servers.set(vec![offer("a", &[("t", TEXT), ("u", "{}")])]);
    let mut rules = DeniedSource::new(policy(&["mcp__a__u"]), Vec::new(), Arc::clone(&session.catalogue));
    let mut source = OfferSource::new(Arc::clone(&session.catalogue));
    let standing = around(Some("at:d au:d bv:d"));
    rules.observe(&standing).unwrap();
    source.observe(&standing).unwrap();
    let found = session.found(find).await;
    let [Content::Text(text)] = &found[..] else { panic!("{found:?}") };
    assert!(
        text.contains(r#"{"n":{"type":"string"}}"#) && text.contains("Call these through `tool_call`"),
        "{text}"
    );
    assert!(!text.contains("mcp__a__u") && !text.contains("mcp__b__v"), "{text}");
    servers.set(begun());
    let mut rules = DeniedSource::new(policy(&[]), Vec::new(), Arc::clone(&session.catalogue));
    rules.observe(&standing).unwrap();
    source.observe(&standing).unwrap();
    assert_eq!(session.found(find).await, all);
}

/// A call that fits what the server wants now goes out, also where the model was shown something else first.
#[tokio::test]
async fn a_call_may_fit_the_schema_that_was_told_last() {
    let closed = |name: &str| {
        format!(
            r#"{{"type":"object","properties":{{"{name}":{{"type":"integer"}}}},"required":["{name}"],"additionalProperties":false}}"#
        )
    };
    let (old, new) = (closed("n"), closed("m"));
    let servers = Memory::with(vec![offer("a", &[("t", &old)])]);
    let session = Tools::begin(&servers, &spec(Deferral::Off, Dialect::Anthropic));
    assert!(session.call("mcp__a__t", r#"{"m":1}"#).await.as_text().contains("does not fit"));
    servers.set(vec![offer("a", &[("t", &new)])]);
    for (input, expect) in [
        (r#"{"m":"1"}"#, Some(r#"a t {"m":1}"#)),
        (r#"{"n":1}"#, Some(r#"a t {"n":1}"#)),
        (r#"{"x":1}"#, None),
    ] {
        let output = session.call("mcp__a__t", input).await;
        assert_eq!(output.is_error, expect.is_none(), "{input}");
        assert_eq!(servers.calls().first().map(String::as_str), expect, "{input}");
    }
}
