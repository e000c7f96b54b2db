//! Names of tools as the model sees them.

/// The name under which a tool of a server stands in the request: `mcp__SERVER__TOOL`, in the pattern
/// `^[a-zA-Z0-9_-]{1,64}$` (Messages API, Chat Completions; looked up 2026-11-30).
///
/// It depends on these two names alone, so that a server that comes or goes renames nothing. Letters that providers
/// refuse become `_`. Where a tool's name loses letters beyond ASCII, or is too long, eight digits of a digest of both
/// stand at the end.
pub fn wire_name(server: &str, tool: &str) -> String {
    let whole = format!("mcp__{}__{}", server_part(server), fitting(tool));
    if tool.is_ascii() && !tool.is_empty() && whole.len() <= LONGEST {
        return whole;
    }
    let digits = digits(&[server, tool]);
    let kept: String = whole.chars().take(LONGEST - 1 - DIGITS).collect();
    format!("{kept}_{digits}")
}

/// A server's part of these names: no `__` in it and none at its ends, so that what begins with `mcp__SERVER__` is
/// never a tool of another server. One that is not as the server is called ends with eight digits of a digest of that.
pub fn server_part(server: &str) -> String {
    let mut part = String::new();
    for letter in fitting(server).chars() {
        if letter != '_' || !part.ends_with('_') {
            part.push(letter);
        }
    }
    let part: String = part.trim_matches('_').chars().take(LONGEST_SERVER).collect();
    if part == server {
        return part;
    }
    let start: String = part.chars().take(LONGEST_SERVER - 1 - DIGITS).collect();
    format!("{}-{}", start.trim_end_matches('_'), digits(&[server]))
}

fn fitting(name: &str) -> String {
    let is_taken = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    name.chars().map(|letter| if is_taken(letter) { letter } else { '_' }).collect()
}

fn digits(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(DIGITS).collect()
}

const LONGEST: usize = 64;

/// Letters of a server's part, so that room is left for the tool.
const LONGEST_SERVER: usize = 32;

/// Hex digits of the digest in a name.
const DIGITS: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_fit_and_stay_apart() {
        let long = "x".repeat(80);
        let own = |server: &str| digits(&[server]);
        let mut seen = BTreeSet::new();
        for (server, tool, expect) in [
            ("git", "log", "mcp__git__log".to_owned()),
            ("a", "_b", "mcp__a___b".to_owned()),
            ("a", "b__c", "mcp__a__b__c".to_owned()),
            ("my.server", "x", "mcp__my_server-1d38f18f__x".to_owned()),
            ("a_", "b", format!("mcp__a-{}__b", own("a_"))),
            ("a__b", "c", format!("mcp__a_b-{}__c", own("a__b"))),
            ("web search", "b.c/d", format!("mcp__web_search-{}__b_c_d", own("web search"))),
            ("工具", "读", format!("mcp__-{}____{}", own("工具"), digits(&["工具", "读"]))),
            ("a", "日本", "mcp__a_____5381d859".to_owned()),
            ("s", "", format!("mcp__s___{}", digits(&["s", ""]))),
            ("s", &long, format!("mcp__s__{}_{}", "x".repeat(47), digits(&["s", &long]))),
            (&long, "t", format!("mcp__{}-{}__t", "x".repeat(23), own(&long))),
        ] {
            let name = wire_name(server, tool);
            assert_eq!(name, expect);
            assert!(name.len() <= LONGEST && fitting(&name) == name, "{name}");
            assert!(seen.insert(name), "{server} {tool}");
        }
    }
}
