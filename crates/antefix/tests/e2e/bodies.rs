//! A naive reading of request bodies: text in front of the messages, and the messages, markers cut out. It shares
//! no code with the program, so that it can disagree with it.

use std::fs;
use std::path::Path;

/// A body as the server got it.
pub struct Sent {
    pub bytes: Vec<u8>,
    head: String,
    messages: Vec<String>,
}

impl Sent {
    pub fn read(bytes: Vec<u8>) -> Self {
        let text = without_markers(std::str::from_utf8(&bytes).expect("a body is UTF-8"));
        let (head, rest) = text.split_once("\"messages\":[").expect("a body has messages");
        let messages = elements(rest);
        Self { head: head.to_owned(), messages, bytes }
    }

    /// How many messages both begin with; `None` if what stands in front of them differs.
    pub fn common(&self, earlier: &Self) -> Option<usize> {
        let same = self.messages.iter().zip(&earlier.messages).take_while(|(a, b)| a == b).count();
        (self.head == earlier.head).then_some(same)
    }

    /// Whether all that `earlier` said leads this one.
    pub fn extends(&self, earlier: &Self) -> bool {
        self.common(earlier) == Some(earlier.messages.len())
    }

    /// How this body stands to the one sent before it.
    pub fn relation(&self, earlier: &Self) -> String {
        match self.common(earlier) {
            None => "breaks".to_owned(),
            Some(common) if common < earlier.messages.len() => format!("branches at {common}"),
            Some(common) if common == self.messages.len() => "repeats".to_owned(),
            Some(_) => "extends".to_owned(),
        }
    }
}

/// The bodies in a capture folder, in the order in which the server saw them.
pub fn read_all(folder: &Path) -> Vec<Sent> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .map(|entries| entries.map(|entry| entry.expect("the folder can be read").path()).collect())
        .unwrap_or_default();
    names.retain(|name: &std::path::PathBuf| name.to_string_lossy().ends_with(".body.json"));
    names.sort();
    names.iter().map(|name| Sent::read(fs::read(name).expect("a body can be read"))).collect()
}

fn without_markers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((front, behind)) = rest.split_once(",\"cache_control\":{\"type\":\"ephemeral\"") {
        out.push_str(front);
        rest = behind.split_once('}').expect("a marker ends").1;
    }
    out + rest
}

/// The elements of the array whose `[` was cut off.
fn elements(text: &str) -> Vec<String> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' | '[' => depth += 1,
            '}' | ']' if depth > 0 => depth -= 1,
            ',' | ']' if depth == 0 => {
                found.push(text[start..at].to_owned());
                start = at + 1;
                if letter == ']' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn relations_of_bodies_are_seen() {
    let body = |messages: &str| Sent::read(format!("{{\"model\":\"m\",\"messages\":[{messages}]}}").into());
    let marked =
        r#"{"role":"user","content":[{"type":"text","text":"a,]}","cache_control":{"type":"ephemeral"}}]}"#;
    let plain = r#"{"role":"user","content":[{"type":"text","text":"a,]}"}]}"#;
    let reply = r#"{"role":"assistant","content":[{"type":"text","text":"\"b"}]}"#;
    let short = body(marked);
    let long = body(&format!("{plain},{reply},{marked}"));
    let other = Sent::read(format!("{{\"model\":\"n\",\"messages\":[{plain}]}}").into());
    let cases = [
        (&short, body(plain), "repeats"),
        (&short, body(&format!("{plain},{reply}")), "extends"),
        (&short, body(reply), "branches at 0"),
        (&long, body(&format!("{plain},{plain}")), "branches at 1"),
        (&long, body(plain), "branches at 1"),
        (&short, other, "breaks"),
    ];
    for (earlier, later, expect) in cases {
        assert_eq!(later.relation(earlier), expect);
    }
}
