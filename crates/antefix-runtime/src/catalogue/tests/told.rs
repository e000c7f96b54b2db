//! What the model is told of tools that come, go, change and are denied.

use std::collections::BTreeMap;
use std::sync::Arc;

use antefix_session::dialect::Dialect;
use antefix_session::record::Millis;
use bytes::Bytes;

use super::{Memory, NUMBER, TEXT, Tools, many, offer, spec};
use crate::catalogue::{Deferral, DeniedSource, InstructionSource, Offer, ServerState, ToolSource};
use crate::context::{Source, Surroundings};

/// What a source has to tell, against what is known; it is known from then on.
fn told(source: &mut dyn Source, known: &mut BTreeMap<String, Bytes>) -> Vec<String> {
    let around = Surroundings { refused: known.get("").cloned(), ..around() };
    let seen = source.observe(&around).unwrap();
    let mut texts = Vec::new();
    let is_gone = |key: &&String| !seen.iter().any(|sighting| sighting.key == **key);
    let gone: Vec<String> =
        known.keys().filter(is_gone).filter(|key| source.speaks_for(key)).cloned().collect();
    for key in gone {
        texts.extend(source.removed(&key, &known.remove(&key).unwrap()));
    }
    for sighting in seen {
        let before = known.get(&sighting.key).cloned().unwrap_or(Bytes::from_static(b"null"));
        if before != sighting.state {
            texts.extend(source.drift(&before, &sighting));
            known.insert(sighting.key, sighting.state);
        }
    }
    texts
}

pub(super) fn around() -> Surroundings {
    Surroundings::of("/", Millis(0), jiff::tz::TimeZone::UTC)
}

/// What a new session's head tells of a source, for [`told`].
fn first(source: &mut dyn Source) -> BTreeMap<String, Bytes> {
    let seen = source.observe(&around()).unwrap();
    seen.into_iter().map(|sighting| (sighting.key, sighting.state)).collect()
}

#[test]
fn what_comes_goes_and_changes_is_told_once() {
    let begun = || vec![offer("a", &[("t", NUMBER), ("u", "{}")]), offer("b", &[("v", "{}")])];
    let with = |state| vec![Offer { state, ..offer("a", &[]) }, offer("b", &[("v", "{}")])];
    let mut described = begun();
    described[0].tools[0].description = "Does more.".to_owned();
    let rows: [(Vec<Offer>, &[&str]); 9] = [
        (begun(), &[]),
        (begun().into_iter().rev().collect(), &[]),
        (with(ServerState::Starting), &[]),
        (with(ServerState::Failed("it ended".to_owned())), &[]),
        (
            vec![offer("b", &[("v", "{}")])],
            &["The MCP server `a` is gone, and calls of its tools fail: `mcp__a__t`, `mcp__a__u`."],
        ),
        (
            vec![offer("a", &[("t", TEXT)]), offer("b", &[("v", "{}")])],
            &[
                "These tools of the MCP server `a` are gone, and calls of them fail: `mcp__a__u`.\nThe tool `mcp__a__t` has changed. Its input schema is now: {\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\"}},\"required\":[\"n\"]}",
            ],
        ),
        (described, &["The tool `mcp__a__t` has changed. Its description is now: Does more."]),
        (
            begun().into_iter().chain([offer("c", &[("w", "{}")])]).collect(),
            &["The MCP server `c` has these tools, which `tool_search` finds: `mcp__c__w`."],
        ),
        (
            vec![offer("a", &[("t", NUMBER), ("u", "{}"), ("x", "{}")]), offer("b", &[("v", "{}")])],
            &["The MCP server `a` has these tools now as well, which `tool_search` finds: `mcp__a__x`."],
        ),
    ];
    for (now, expect) in rows {
        let servers = Memory::with(begun());
        let session = Tools::begin(&servers, &spec(Deferral::Off, Dialect::Anthropic));
        let mut source = ToolSource::new(Arc::clone(&session.catalogue), true);
        let mut known = first(&mut source);
        servers.set(now.clone());
        assert_eq!(told(&mut source, &mut known), expect, "{now:?}");
        assert_eq!(told(&mut source, &mut known), [""; 0], "{now:?}");
        // A later process looks with the same eyes.
        let later = Tools::go_on(&servers, &session.lane(Dialect::Anthropic));
        let mut source = ToolSource::new(later.catalogue, false);
        assert_eq!(told(&mut source, &mut known), [""; 0], "{now:?}");
    }
}

#[test]
fn what_was_gone_is_told_when_it_is_back() {
    let servers = Memory::with(vec![offer("a", &[("t", "{}")])]);
    let session = Tools::begin(&servers, &spec(Deferral::Off, Dialect::Anthropic));
    let mut source = ToolSource::new(Arc::clone(&session.catalogue), true);
    let mut known = first(&mut source);
    servers.set(vec![offer("a", &[("t", TEXT)])]);
    assert_eq!(told(&mut source, &mut known).len(), 1);
    servers.set(vec![offer("a", &[("t", "{}")])]);
    assert_eq!(told(&mut source, &mut known), ["The tool `mcp__a__t` is again as your list shows it."]);
    servers.set(Vec::new());
    assert_eq!(told(&mut source, &mut known).len(), 1);
    servers.set(vec![offer("a", &[("t", "{}")])]);
    assert_eq!(told(&mut source, &mut known), ["The MCP server `a` has these tools: `mcp__a__t`."]);
}

/// The names of deferred tools are told with the first prompt, so that the head is the same with and without them.
#[test]
fn deferred_tools_are_told_behind_the_head() {
    let servers = Memory::with(many());
    let session = Tools::begin(&servers, &spec(Deferral::Auto, Dialect::Anthropic));
    let mut source = ToolSource::new(Arc::clone(&session.catalogue), true);
    let mut known = first(&mut source);
    assert_eq!(known.len(), 0);
    let texts = told(&mut source, &mut known);
    assert_eq!(texts.len(), 12);
    assert!(
        texts[0].starts_with(
            "The MCP server `s00` has these tools, which `tool_search` finds: `mcp__s00__tool_00`"
        )
    );
}

/// Behind a summary nothing that was told is before the model: the head says what the list does not show.
#[test]
fn a_head_behind_a_summary_says_what_the_list_does_not_show() {
    let begun = || vec![offer("a", &[("t", NUMBER), ("u", "{}")]), offer("b", &[("v", "{}")])];
    let down = Offer { state: ServerState::Failed("it ended".to_owned()), ..offer("a", &[]) };
    let rows: [(Deferral, Vec<Offer>, &[&str]); 6] = [
        (Deferral::Off, begun(), &[]),
        (Deferral::Off, vec![down, offer("b", &[("v", "{}")])], &[]),
        (
            Deferral::Off,
            vec![offer("a", &[("t", NUMBER), ("u", "{}")])],
            &[
                "# Tools of the MCP server `b`\nThe MCP server `b` is gone, and calls of its tools fail: `mcp__b__v`.",
            ],
        ),
        (
            Deferral::Off,
            vec![offer("a", &[("t", "{}"), ("u", "{}")]), offer("b", &[("v", "{}"), ("w", "{}")])],
            &[
                "# Tools of the MCP server `a`\nThe tool `mcp__a__t` has changed. Its input schema is now: {\"type\":\"object\"}",
                "# Tools of the MCP server `b`\nThe MCP server `b` has these tools now as well, which `tool_search` finds: `mcp__b__w`.",
            ],
        ),
        (
            Deferral::On,
            begun(),
            &[
                "# Tools of the MCP server `a`\nThe MCP server `a` has these tools, which `tool_search` finds: `mcp__a__t`, `mcp__a__u`.",
                "# Tools of the MCP server `b`\nThe MCP server `b` has these tools, which `tool_search` finds: `mcp__b__v`.",
            ],
        ),
        (Deferral::On, Vec::new(), &[]),
    ];
    for (deferral, now, expect) in rows {
        let servers = Memory::with(begun());
        let session = Tools::begin(&servers, &spec(deferral, Dialect::OpenAiChat));
        let mut source = ToolSource::new(Arc::clone(&session.catalogue), true);
        let head = |source: &mut ToolSource| -> Vec<String> {
            let seen = source.observe(&around()).unwrap();
            seen.iter().filter_map(|sighting| source.baseline(sighting)).collect()
        };
        assert_eq!(head(&mut source), [""; 0], "a new head has just listed them");
        servers.set(now.clone());
        let later = Tools::go_on(&servers, &session.lane(Dialect::OpenAiChat));
        let mut anew = ToolSource::new(later.catalogue, false);
        assert_eq!(head(&mut anew), expect, "{now:?}");
        assert_eq!(head(&mut source), expect, "{now:?}");
        let mut known = first(&mut anew);
        assert_eq!(told(&mut anew, &mut known), [""; 0], "{now:?}");
    }
}

#[test]
fn what_servers_say_of_themselves() {
    let saying = |text: &str| Offer { instructions: Some(text.to_owned()), ..offer("a", &[]) };
    let servers = Memory::with(vec![saying("Ask politely.")]);
    let session = Tools::begin(&servers, &spec(Deferral::Off, Dialect::Anthropic));
    let mut source = InstructionSource::new(Arc::clone(&session.catalogue));
    let sighting = source.observe(&around()).unwrap().remove(0);
    let head = source.baseline(&sighting).unwrap();
    assert_eq!(head, "# What the MCP server `a` says of its tools\nAsk politely.");
    let mut known = first(&mut source);
    let down = Offer { state: ServerState::Failed("it ended".to_owned()), ..saying("Ask politely.") };
    for (offers, expect) in [
        (vec![saying("Ask politely.")], &[][..]),
        (vec![down], &[]),
        (
            vec![saying("Shout.")],
            &["The MCP server `a` says of its tools now, in place of what it said:\nShout."],
        ),
        (vec![offer("a", &[])], &["What the MCP server `a` said of its tools does not hold any more."]),
        (vec![saying("Sing.")], &["The MCP server `a` says of its tools:\nSing."]),
    ] {
        servers.set(offers);
        assert_eq!(told(&mut source, &mut known), expect);
    }
}

#[test]
fn denied_and_allowed_again_is_told_once() {
    let servers = Memory::with(vec![offer("a", &[("t", "{}")])]);
    let session = Tools::begin(&servers, &spec(Deferral::Off, Dialect::Anthropic));
    let own = || ["read", "grep", "bash"].map(str::to_owned).to_vec();
    let source =
        |deny: &[&str]| DeniedSource::new(super::offers::policy(deny), own(), Arc::clone(&session.catalogue));
    let mut known = first(&mut source(&[]));
    let refused = |names: &str| {
        format!("The user does not allow calls of these tools any more; each will be refused: {names}.")
    };
    let free = |names: &str| format!("These tools are not refused any more: {names}.");
    for (deny, expect) in [
        (&[][..], vec![]),
        (&["bash(git push)", "read(.env)"], vec![]),
        (&["bash"], vec![refused("`bash`")]),
        (&["bash"], vec![]),
        (&["mcp__a"], vec![format!("{} {}", refused("`mcp__a__t`"), free("`bash`"))]),
        (&["read"], vec![format!("{} {}", refused("`grep`, `read`"), free("`mcp__a__t`"))]),
        (&[], vec![free("`grep`, `read`")]),
    ] {
        assert_eq!(told(&mut source(deny), &mut known), expect, "{deny:?}");
    }
    // Rules are rules whether a server answers or not, and whether its tools stand in the array or not.
    let is_there = offer("a", &[("t", "{}"), ("late", "{}")]);
    let is_silent = Offer { state: ServerState::Starting, ..offer("a", &[]) };
    let (both, one) = (refused("`mcp__a__late`, `mcp__a__t`"), refused("`mcp__a__t`"));
    for (server, deny, expect) in [
        (&is_silent, &["mcp__a"][..], vec![one]),
        (&is_silent, &["mcp__a"], vec![]),
        (&is_silent, &[], vec![free("`mcp__a__t`")]),
        (&is_there, &["mcp__a"], vec![both]),
        (&is_silent, &["mcp__a"], vec![]),
        (&is_there, &["mcp__a"], vec![]),
        (&is_silent, &[], vec![free("`mcp__a__late`, `mcp__a__t`")]),
    ] {
        *servers.offers.lock().unwrap() = vec![server.clone()];
        assert_eq!(told(&mut source(deny), &mut known), expect, "{deny:?}");
    }
}
