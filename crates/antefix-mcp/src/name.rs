//! Names of tools as the model sees them.

/// The name under which a tool of a server stands in the request: `mcp__SERVER__TOOL`.
///
/// It depends on these two names alone, so that a server that comes or goes renames nothing. Letters that providers
/// refuse become `_`. Where that loses something, where the name is longer than 64, or where `SERVER` and `TOOL` could
/// be cut elsewhere, eight digits of a digest of both stand at the end.
pub fn wire_name(server: &str, tool: &str) -> String {
    let plain = format!("{PREFIX}{}{SEPARATOR}{}", fitting(server), fitting(tool));
    let is_exact = fits(server) && fits(tool) && !server.contains(SEPARATOR) && !server.ends_with('_');
    if is_exact && plain.len() <= LONGEST {
        return plain;
    }
    let mut hasher = blake3::Hasher::new();
    for part in [server, tool] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let digest = hasher.finalize().to_hex();
    let kept: String = plain.chars().take(LONGEST - 1 - DIGITS).collect();
    let digits: String = digest.chars().take(DIGITS).collect();
    format!("{kept}_{digits}")
}

fn fits(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_allowed)
}

fn fitting(name: &str) -> String {
    let fit = |letter: char| if letter.is_ascii() && is_allowed(letter as u8) { letter } else { '_' };
    name.chars().map(fit).collect()
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

const PREFIX: &str = "mcp__";
const SEPARATOR: &str = "__";

/// Letters of a tool's name: `^[a-zA-Z0-9_-]{1,64}$` (Messages API, Chat Completions; looked up 2026-11-30).
const LONGEST: usize = 64;

/// Hex digits of the digest in a name.
const DIGITS: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_fit_and_stay_apart() {
        let long = "x".repeat(80);
        let cases = [
            ("git", "log"),
            ("a", "_b"),
            ("a_", "b"),
            ("a", "b__c"),
            ("a__b", "c"),
            ("web.search", "q"),
            ("web search", "q"),
            ("wetter", "größe"),
            ("工具", "读"),
            ("s", ""),
            ("s", &long),
            (&long, "t"),
        ];
        let names: Vec<String> = cases.iter().map(|(server, tool)| wire_name(server, tool)).collect();
        assert!(names.iter().all(|name| name.len() <= LONGEST && fits(name)), "{names:?}");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(names, EXPECT);
    }

    /// Changing one of these renames tools in the middle of sessions.
    const EXPECT: [&str; 12] = [
        "mcp__git__log",
        "mcp__a___b",
        "mcp__a___b_1b75579d",
        "mcp__a__b__c",
        "mcp__a__b__c_d74dd67b",
        "mcp__web_search__q_8e25a551",
        "mcp__web_search__q_b082c71d",
        "mcp__wetter__gr__e_41cdcbeb",
        "mcp________8186ed71",
        "mcp__s___3983d126",
        "mcp__s__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_3aeee9b6",
        "mcp__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_ecdf17dd",
    ];
}
