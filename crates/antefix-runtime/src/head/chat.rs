//! A head of Chat Completions.

use antefix_session::record::{ContextRecord, LaneRecord};
use antefix_tools::{Listing, Registry};
use antefix_wire::json::{Body, Node, write_string};
use antefix_wire::{Edit, splice};
use bytes::Bytes;

use super::{BASELINE, HeadSpec, array};
use crate::context::first_line;
use crate::subagents::PART;

/// The members in front of the tools. Without `include_usage` no server says what was read from its cache; the
/// largest reply is left to the server unless something is said.
pub(super) fn envelope(spec: &HeadSpec) -> Bytes {
    let mut out = b"{\"model\":".to_vec();
    write_string(&mut out, &spec.model);
    out.extend_from_slice(br#","stream":true"#);
    if spec.chat.usage_on_request {
        out.extend_from_slice(br#","stream_options":{"include_usage":true}"#);
    }
    if let Some(limit) = spec.max_tokens {
        out.push(b',');
        write_string(&mut out, spec.chat.limit_name);
        out.extend_from_slice(format!(":{limit}").as_bytes());
    }
    let effort = spec.effort.iter().map(|effort| ("reasoning_effort", effort));
    let members = spec.chat.members.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in effort.chain(members) {
        out.push(b',');
        write_string(&mut out, name);
        out.push(b':');
        write_string(&mut out, value);
    }
    out.push(b'}');
    out.into()
}

/// The tools' definitions, with each schema byte for byte as it is. The protocol has no deferred ones.
pub(super) fn tools(registry: &Registry) -> Bytes {
    let listed = registry.listed().filter(|(_, listing)| *listing == Listing::Open);
    let functions: Vec<Vec<u8>> =
        listed.map(|(definition, _)| function(definition.json().as_bytes())).collect();
    array(functions.iter().map(Vec::as_slice))
}

/// The system prompt as one message with one string: strict templates take no other, and none take two.
pub(super) fn system(spec: &HeadSpec, texts: &[String]) -> Bytes {
    if texts.is_empty() {
        return Bytes::from_static(b"[]");
    }
    let mut out = b"{\"role\":".to_vec();
    write_string(&mut out, spec.chat.system_role);
    out.extend_from_slice(br#","content":"#);
    write_string(&mut out, &texts.join("\n\n"));
    out.push(b'}');
    array([out.as_slice()].into_iter())
}

/// The system prompt's messages of a lane with another baseline behind the prompt.
pub(super) fn with_baseline(lane: &LaneRecord, baseline: &str, is_subagent: bool) -> Option<Bytes> {
    let old = Body::parse(lane.system.to_vec()).ok()?;
    let mut messages = old.root().items();
    let (message, None) = (messages.next()?, messages.next()) else { return None };
    let content = message.get("content").filter(|content| content.str().is_some())?;
    let text = content.str()?;
    let start = baseline_in(&text, &lane.baseline)?;
    let part = is_subagent.then(|| part_in(text.get(start..)?)).flatten().unwrap_or_default();
    let mut said = Vec::new();
    write_string(&mut said, &format!("{}{baseline}{part}", text.get(..start)?));
    splice(lane.system.as_ref(), &[Edit::replace(content.range(), said)]).ok().map(Bytes::from)
}

/// Where the baseline begins in a system prompt. The user's part in front of it may have its heading as well, and so may
/// an instruction file within it; of several the one counts that goes on as the records say, and none if that is not
/// clear.
fn baseline_in(text: &str, records: &[ContextRecord]) -> Option<usize> {
    let headings = text.match_indices(BASELINE).map(|(at, _)| at);
    let starts: Vec<usize> = headings
        .filter(|&at| at == 0 || text.get(..at).is_some_and(|front| front.ends_with("\n\n")))
        .collect();
    if let [start] = *starts {
        return Some(start);
    }
    let said = format!("{BASELINE}{}\n", first_line(records)?);
    let mut matching =
        starts.into_iter().filter(|&at| text.get(at..).is_some_and(|rest| rest.starts_with(&said)));
    let start = matching.next()?;
    matching.next().is_none().then_some(start)
}

/// What stands behind the baseline of a subagent, with what parts it from that: from the words on that every part begins
/// with, or, where another build had other words, from their heading on.
fn part_in(rest: &str) -> Option<&str> {
    let heading = PART.split_inclusive('\n').next().unwrap_or(PART);
    let start = [PART, heading].iter().find_map(|begin| rest.find(&format!("\n\n{begin}")))?;
    rest.get(start..)
}

fn function(definition: &[u8]) -> Vec<u8> {
    let body = Body::parse(definition);
    let members = [("name", "name"), ("description", "description"), ("input_schema", "parameters")];
    let raw = |name: &str| Some(body.as_ref().ok()?.root().get(name).map(Node::raw)?.as_bytes());
    let mut out = br#"{"type":"function","function":{"#.to_vec();
    for (from, to) in members {
        if let Some(value) = raw(from) {
            out.extend_from_slice(if out.ends_with(b"{") { b"" } else { b"," });
            write_string(&mut out, to);
            out.push(b':');
            out.extend_from_slice(value);
        }
    }
    out.extend_from_slice(b"}}");
    out
}

#[cfg(test)]
mod tests {
    use antefix_models::Platform;
    use antefix_session::dialect::Dialect;
    use antefix_session::placement::Placement;

    use super::*;

    fn record(kind: &str, state: &str) -> ContextRecord {
        let state = Bytes::copy_from_slice(state.as_bytes());
        ContextRecord { kind: kind.to_owned(), key: String::new(), state, text: None }
    }

    /// A prompt of the user's with the heading of the baseline was cut there at a compaction.
    #[test]
    fn the_baseline_is_the_one_that_the_records_tell_of() {
        let here = record("environment", r#"{"folder":"/w","platform":"linux","shell":"bash"}"#);
        let git = record("git", r#"{"branch":"main","commit":"111111111111"}"#);
        let own = "# This session\nWorking directory: /w\nPlatform: linux\nShell: bash\n";
        let branch = "# This session\nGit branch at the start of the session: main (111111111111)\n";
        let rules = "# This session\nIs about taxes.";
        let instructions = format!("\n# Instructions from /w/AGENTS.md\nText\n\n{rules}\n");
        for (front, baseline, behind, records, is_found) in [
            ("", own, "", vec![here.clone()], true),
            ("Prompt\n\n", own, "", vec![here.clone()], true),
            // Nothing is recorded that says more, and nothing needs to.
            ("Prompt\n\n", own, "", vec![], true),
            (&format!("Prompt\n\n{rules}\n\n"), own, "", vec![here.clone()], true),
            (&format!("{rules}\n\n"), own, "", vec![here.clone()], true),
            ("Prompt\n\n", own, &*instructions, vec![here.clone()], true),
            (&format!("Prompt\n\n{rules}\n\n"), branch, &instructions, vec![git], true),
            // Not clear.
            (&format!("Prompt\n\n{rules}\n\n"), own, "", vec![], false),
            (&format!("Prompt\n\n{own}\n\n"), own, "", vec![here], false),
            ("Prompt", "", "", vec![], false),
        ] {
            let text = format!("{front}{baseline}{behind}");
            assert_eq!(baseline_in(&text, &records), is_found.then_some(front.len()), "{text}");
        }
    }

    /// A subagent's own instructions were cut off with the old baseline when it went on from a summary.
    #[test]
    fn a_subagent_keeps_its_part() {
        let here = record("environment", r#"{"folder":"/w","platform":"linux","shell":"bash"}"#);
        let old = "# This session\nWorking directory: /w\nPlatform: linux\nShell: bash\n";
        let own = format!("\n\n{PART}\n\nCount twice.\n\n# Your part\nis the counting.");
        let other = "\n\n# Your part\nYou work for another agent.";
        for (behind, is_subagent, kept) in [
            (own.as_str(), true, own.as_str()),
            (other, true, other),
            ("\n\n# Your task\nIs counting.", true, ""),
            // Somebody's instructions that have that heading.
            (other, false, ""),
        ] {
            let mut system = b"[{\"role\":\"system\",\"content\":".to_vec();
            write_string(&mut system, &format!("Prompt\n\n{old}{behind}"));
            system.extend_from_slice(b"}]");
            let lane = lane(system.into(), vec![here.clone()]);
            let found = with_baseline(&lane, "# This session\nNow.\n", is_subagent).unwrap();
            let body = Body::parse(found.to_vec()).unwrap();
            let text = body.root().pointer("/0/content").unwrap().str().unwrap().into_owned();
            assert_eq!(text, format!("Prompt\n\n# This session\nNow.\n{kept}"));
        }
    }

    fn lane(system: Bytes, baseline: Vec<ContextRecord>) -> LaneRecord {
        LaneRecord {
            dialect: Dialect::OpenAiChat,
            platform: Platform::Compatible,
            model: "m".to_owned(),
            scope: String::new(),
            betas: Vec::new(),
            envelope: Bytes::from_static(b"{}"),
            tools: Bytes::from_static(b"[]"),
            system,
            static_blocks: 0,
            cache: None,
            contract: 3,
            keeps_reasoning: false,
            reminders: Placement::of_dialect(Dialect::OpenAiChat),
            baseline,
        }
    }

    #[test]
    fn a_definition_keeps_its_schema_byte_for_byte() {
        let definition = br#"{"name":"read","description":"Reads \u00e9.","input_schema":{"z":1.50,"a":[]}}"#;
        let expect = r#"{"type":"function","function":{"name":"read","description":"Reads \u00e9.","parameters":{"z":1.50,"a":[]}}}"#;
        assert_eq!(String::from_utf8(function(definition)).unwrap(), expect);
    }
}
