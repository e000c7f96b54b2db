//! The records of the Messages API, as they are in Chat Completions: a translation by hand of what these tests say,
//! which shares nothing with the code under test.

use antefix_wire::json::{Body, Node, write_string};

/// Lines in Chat Completions. Results that lead the user's message stand alone there, with a reply behind them.
pub fn in_chat(lines: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let Some((start, blocks)) = line.split_once(r#","blocks":["#) else {
            out.push(said(line));
            continue;
        };
        let turn = out.pop().unwrap();
        let user = format!(r#""message","origin":"user","fragment":{{"role":"user","content":[{blocks}}}"#);
        out.push(start.replace(r#""origin":"user""#, r#""origin":"results""#));
        out.extend([said(super::NO_REPLY), turn, said(&user)]);
    }
    out
}

/// The line without a reply's reasoning.
pub fn without_reasoning(line: &str) -> String {
    match line.split_once(r#","reasoning_content":"#) {
        Some((before, after)) => {
            let rest = after.split_once(".\"").unwrap().1;
            format!("{before}{rest}")
        }
        None => line.to_owned(),
    }
}

fn said(line: &str) -> String {
    let words = [
        ("outcome 200 end_turn", "outcome 200 stop"),
        ("outcome 200 stop_sequence", "outcome 200 stop"),
        ("outcome 200 tool_use", "outcome 200 tool_calls"),
        ("outcome 200 max_tokens", "outcome 200 length"),
        ("outcome 200 model_context_window_exceeded", "outcome 200 length"),
        ("outcome 200 refusal", "outcome 200 content_filter"),
    ];
    if let Some((_, word)) = words.iter().find(|(known, _)| *known == line) {
        return (*word).to_owned();
    }
    let line = line
        .replace(r#""reason":"window_exceeded""#, r#""reason":"max_tokens""#)
        .replace(r#""reason":"stop_sequence""#, r#""reason":"end_turn""#);
    let Ok(body) = Body::parse(format!("{{\"kind\":{line}}}")) else { return line };
    match body.root().get("fragment") {
        Some(fragment) => line.replace(fragment.raw(), &message(fragment)),
        None => line,
    }
}

fn message(fragment: Node<'_>) -> String {
    let text = |node: Node<'_>, name: &str| node.get(name).unwrap().str().unwrap().into_owned();
    let blocks: Vec<Node<'_>> = fragment.get("content").unwrap().items().collect();
    let texts: Vec<String> =
        blocks.iter().filter(|block| block.get("text").is_some()).map(|block| text(*block, "text")).collect();
    let said = texts.join("\n\n");
    if fragment.get("tool_use_id").is_some() {
        let mark = if fragment.get("is_error").is_some() { "Error: " } else { "" };
        let (id, content) = (text(fragment, "tool_use_id"), quoted(&format!("{mark}{said}")));
        return format!(r#"{{"role":"tool","tool_call_id":"{id}","content":{content}}}"#);
    }
    let call = |block: &Node<'_>| {
        let input = quoted(block.get("input").unwrap().raw());
        let (id, name) = (text(*block, "id"), text(*block, "name"));
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":{input}}}}}"#)
    };
    let calls: Vec<String> = blocks.iter().filter(|block| block.get("input").is_some()).map(call).collect();
    let content = quoted(&said);
    let calls =
        if calls.is_empty() { String::new() } else { format!(r#","tool_calls":[{}]"#, calls.join(",")) };
    format!(r#"{{"role":"{}","content":{content}{calls}}}"#, text(fragment, "role"))
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    write_string(&mut out, text);
    String::from_utf8(out).unwrap()
}
