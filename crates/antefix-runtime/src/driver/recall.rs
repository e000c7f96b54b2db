//! What the tools know of a session, from the conversation on record.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use antefix_session::conversation::{Call, Conversation};
use antefix_session::record::ResultRecord;
use antefix_tools::{Context, FileFact, FileTable, Output, Scope, Step};
use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;

use super::calls::write_shell;
use super::todo::todo_list;

/// Sets what the tools know of the session to what the conversation says: the files the model has seen and the list of
/// what is to be done. What a rewind has left does not count; what a summary stands for counts for the list, but the
/// model has not its files before it any more.
pub fn recall(conversation: &Conversation, context: &mut Context) {
    let said: Vec<Cow<'_, Call>> =
        conversation.path().flat_map(|message| message.calls()).map(Call::effective).collect();
    let calls: BTreeMap<&str, &Call> = said.iter().map(|call| (call.id.as_str(), call.as_ref())).collect();
    let live = conversation.results().values().filter(|result| calls.contains_key(result.call.as_str()));
    let live: Vec<&ResultRecord> = live.collect();
    context.files = Arc::new(file_table(&live, |call| input_of(conversation, &calls, call)));
    context.todo = Arc::new(todo_list(conversation));
}

/// What a call was executed with.
pub(super) fn input_of(
    conversation: &Conversation,
    calls: &BTreeMap<&str, &Call>,
    call: &str,
) -> Option<Body> {
    Body::parse(conversation.effective_input(calls.get(call)?).to_vec()).ok()
}

fn file_table(live: &[&ResultRecord], input: impl Fn(&str) -> Option<Body>) -> FileTable {
    let mut facts = Vec::new();
    for (at, result) in live.iter().enumerate() {
        let Ok(body) = Body::parse(result.facts.to_vec()) else { continue };
        facts.extend(body.root().items().filter_map(read_fact).map(|fact| (at, fact)));
    }
    let step = |(at, fact): (usize, &FileFact)| {
        let result = live.get(at)?;
        let input = input(&result.call)?;
        let text = text_of(&result.fragment)?;
        Some(Step { tool: result.tool.clone(), input, text, fact: fact.clone() })
    };
    FileTable::replay(facts.iter().map(|(at, fact)| ((*at, fact), fact)), step)
}

/// The text of a result, as a block or as a message.
pub(super) fn text_of(fragment: &Bytes) -> Option<String> {
    let body = Body::parse(fragment.to_vec()).ok()?;
    let content = body.root().get("content")?;
    if let Some(text) = content.str() {
        return Some(text.into_owned());
    }
    Some(content.items().filter_map(|block| Some(block.get("text")?.str()?.into_owned())).collect())
}

/// What a call has learned and done, as it is recorded.
pub(super) fn write_facts(output: &Output) -> Bytes {
    let mut parts: Vec<Vec<u8>> = output.facts.iter().map(file_fact).collect();
    if let Some(shell) = &output.shell {
        let mut part = Vec::new();
        write_shell(&mut part, shell);
        parts.push(part);
    }
    parts.extend(output.job.map(|job| format!("{{\"job\":{job}}}").into_bytes()));
    if let Some(session) = &output.subagent {
        let mut part = b"{\"subagent\":".to_vec();
        write_string(&mut part, session);
        part.push(b'}');
        parts.push(part);
    }
    [&b"["[..], &parts.join(&b","[..]), b"]"].concat().into()
}

fn file_fact(fact: &FileFact) -> Vec<u8> {
    let mut out = b"{\"path\":".to_vec();
    write_string(&mut out, &fact.path.to_string_lossy());
    out.extend_from_slice(b",\"digest\":");
    write_string(&mut out, &fact.digest);
    let (size, mtime, scope) = (fact.size, fact.mtime_ns, fact.scope.name());
    out.extend_from_slice(format!(r#","size":{size},"mtime_ns":"{mtime}","scope":"{scope}""#).as_bytes());
    if let Some((first, last)) = fact.lines {
        out.extend_from_slice(format!(r#","first":{first},"last":{last}"#).as_bytes());
    }
    out.push(b'}');
    out
}

fn read_fact(node: Node<'_>) -> Option<FileFact> {
    let text = |name: &str| Some(node.get(name)?.str()?.into_owned());
    let number = |name: &str| node.get(name)?.u64();
    Some(FileFact {
        path: PathBuf::from(text("path")?),
        digest: text("digest")?,
        size: number("size")?,
        mtime_ns: text("mtime_ns")?.parse().ok()?,
        scope: Scope::from_name(&text("scope")?)?,
        lines: number("first").zip(number("last")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_as_they_were() {
        let fact = |path: &str, scope, lines| FileFact {
            path: path.into(),
            digest: "d1".to_owned(),
            size: 7,
            mtime_ns: -3,
            scope,
            lines,
        };
        let facts = [
            fact("/a \"b\"", Scope::Whole, None),
            fact("/b", Scope::Range, Some((2, 9))),
            fact("/c", Scope::Write, None),
        ];
        let output = Output { facts: facts.to_vec(), ..Output::text("") };
        let body = Body::parse(write_facts(&output).to_vec()).unwrap();
        assert_eq!(body.root().items().filter_map(read_fact).collect::<Vec<_>>(), facts);
        // As they were recorded before ranges were.
        let old = br#"[{"path":"/a","digest":"d1","size":7,"mtime_ns":"-3","scope":"range"}]"#;
        let body = Body::parse(*old).unwrap();
        assert_eq!(
            body.root().items().filter_map(read_fact).collect::<Vec<_>>(),
            [fact("/a", Scope::Range, None)]
        );
    }
}
