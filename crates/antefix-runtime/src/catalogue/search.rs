//! Finds tools by words: BM25 over name and description in whole numbers, so that the order is the same everywhere.

use antefix_tools::Definition;
use antefix_wire::json::{Body, Node};

/// The places of the tools that fit a query best, best first; those that fit equally well in the order given. Tools
/// whose names are written out in the query come first, as they are written there.
pub(super) fn find(definitions: &[&Definition], query: &str, most: usize) -> Vec<usize> {
    let documents: Vec<Document> = definitions.iter().map(|definition| Document::of(definition)).collect();
    let total: u64 = documents.iter().map(|document| document.length).sum();
    let average = (total / documents.len().max(1) as u64).max(1);
    let terms = words(query);
    let written: Vec<&str> = query.split([',', ' ', '\n', '"', '`']).collect();
    let mut scored: Vec<(usize, u64, usize)> = Vec::new();
    for (at, document) in documents.iter().enumerate() {
        let score = terms.iter().map(|term| {
            let frequency = document.frequency(term);
            let holding = documents.iter().filter(|document| document.frequency(term) > 0).count() as u64;
            rarity(documents.len() as u64, holding) * saturated(frequency, document.length, average)
        });
        let named = written.iter().position(|name| *name == document.name).unwrap_or(written.len());
        let score = score.sum();
        if named < written.len() || score > 0 {
            scored.push((named, score, at));
        }
    }
    scored.sort_by_key(|(named, score, at)| (*named, std::cmp::Reverse(*score), *at));
    scored.into_iter().take(most).map(|(_, _, at)| at).collect()
}

/// The words of a tool.
struct Document {
    name: String,
    in_name: Vec<String>,
    in_text: Vec<String>,
    length: u64,
}

impl Document {
    fn of(definition: &Definition) -> Self {
        let body = Body::parse(definition.json()).ok();
        let root = body.as_ref().map(Body::root);
        let description = root.and_then(|root| root.get("description")?.str()).unwrap_or_default();
        let properties = root.and_then(|root| root.pointer("/input_schema/properties"));
        let fields = properties.into_iter().flat_map(Node::members).filter_map(|(name, _)| name.str());
        let mut in_text = words(&description);
        in_text.extend(fields.flat_map(|field| words(&field)));
        let in_name = words(definition.name());
        let length = (in_name.len() + in_text.len()) as u64;
        Self { name: definition.name().to_owned(), in_name, in_text, length }
    }

    /// How often a term is there; in the name it counts three times.
    fn frequency(&self, term: &str) -> u64 {
        let count = |words: &[String]| words.iter().filter(|word| is_alike(word, term)).count() as u64;
        3 * count(&self.in_name) + count(&self.in_text)
    }
}

/// How much a term says that `holding` of `all` documents hold: 16 × log2 of the inverse share, in steps.
fn rarity(all: u64, holding: u64) -> u64 {
    let share = (all + 1) * 256 / (holding + 1);
    let (whole, rest) = (share.ilog2(), share - (1 << share.ilog2()));
    u64::from(whole) * 16 + rest * 16 / (1 << whole)
}

/// A term's frequency as BM25 weighs it (k = 1.2, b = 0.75), in thousandths.
fn saturated(frequency: u64, length: u64, average: u64) -> u64 {
    let norm = 300 + 900 * length / average;
    frequency * 2_200 * 1_000 / (frequency * 1_000 + norm)
}

/// The words of a text in small letters; names are taken apart at `_`, `-` and capitals.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() || was_small && letter.is_uppercase() {
            words.push(String::new());
        }
        was_small = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| word.chars().count() > 1 && !EMPTY.contains(&word.as_str()));
    words
}

/// Whether two words are one, its plural, or one begins with the other.
fn is_alike(word: &str, term: &str) -> bool {
    let stem = |word: &str| match (word.strip_suffix("ies"), word.strip_suffix('s')) {
        (Some(stem), _) if stem.len() > 2 => format!("{stem}y"),
        (_, Some(stem)) if stem.len() > 2 => stem.to_owned(),
        _ => word.to_owned(),
    };
    let (word, term) = (stem(word), stem(term));
    word == term || term.len() > 3 && word.starts_with(&term) || word.len() > 3 && term.starts_with(&word)
}

/// Words that say nothing.
const EMPTY: [&str; 16] = [
    "the", "of", "to", "in", "on", "an", "and", "or", "for", "with", "is", "it", "by", "mcp", "tool", "tools",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expect: &[&str]) {
        let tools = [
            ("mcp__git__commit", "Records changes to the repository", r#"{"properties":{"message":{}}}"#),
            ("mcp__github__create_issue", "Opens a new issue in a repository", "{}"),
            (
                "mcp__github__list_issues",
                "Lists the issues of a repository",
                r#"{"properties":{"labels":{}}}"#,
            ),
            ("mcp__mail__sendMessage", "Sends a mail", r#"{"properties":{"recipient":{}}}"#),
            ("mcp__weather__forecast", "Tells tomorrow's weather", "{}"),
        ];
        let definitions: Vec<Definition> =
            tools.iter().map(|(name, text, schema)| Definition::new(name, text, schema).unwrap()).collect();
        let listed: Vec<&Definition> = definitions.iter().collect();
        let names = |places: Vec<usize>| -> Vec<&str> { places.iter().map(|&at| tools[at].0).collect() };
        assert_eq!(names(find(&listed, query, 3)), expect, "{query}");
    }

    #[test]
    fn tools_are_found_by_what_they_do_and_by_name() {
        check("create an issue", &["mcp__github__create_issue", "mcp__github__list_issues"]);
        check("issues with a label", &["mcp__github__list_issues", "mcp__github__create_issue"]);
        check("send message", &["mcp__mail__sendMessage", "mcp__git__commit"]);
        check("repositories", &["mcp__git__commit", "mcp__github__create_issue", "mcp__github__list_issues"]);
        check("recipient", &["mcp__mail__sendMessage"]);
        check("forecasting", &["mcp__weather__forecast"]);
        check("mcp__weather__forecast, mcp__git__commit", &["mcp__weather__forecast", "mcp__git__commit"]);
        check("the tool", &[]);
        check("", &[]);
        check("repository", &["mcp__git__commit", "mcp__github__create_issue", "mcp__github__list_issues"]);
    }
}
