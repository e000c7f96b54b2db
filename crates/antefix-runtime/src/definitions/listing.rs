use std::collections::BTreeMap;

use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;

/// What the model knows by name: skills, or agents. The list as it was is held against the list as it is, so that each
/// change is told once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing(BTreeMap<String, Listed>);

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What it is for, on one line.
    pub description: String,
    /// Digest of its text.
    pub digest: String,
}

/// How a list is spoken of.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The heading, and what is to be known of the list, in front of its lines.
    pub heading: &'static str,
    /// Said in front of what has come.
    pub added: &'static str,
    /// Said in front of what is described otherwise.
    pub described: &'static str,
    /// Said in front of the names of those whose text alone has changed.
    pub edited: &'static str,
    /// Said in front of the names of those that are gone.
    pub gone: &'static str,
}

impl Listing {
    /// Adds a line; the first of a name stays.
    pub fn add(&mut self, name: &str, listed: Listed) {
        self.0.entry(name.to_owned()).or_insert(listed);
    }

    /// What a later list is held against, as JSON: each name with digests of its description and its text.
    pub fn state(&self) -> Bytes {
        let mut out = vec![b'{'];
        for (name, listed) in &self.0 {
            if out.len() > 1 {
                out.push(b',');
            }
            write_string(&mut out, name);
            let (description, text) = listed.digests();
            out.extend_from_slice(format!(":[\"{description}\",\"{text}\"]").as_bytes());
        }
        out.push(b'}');
        out.into()
    }

    /// The whole list in words; nothing where it is empty.
    pub fn text(&self, words: &Words) -> Option<String> {
        let lines = self.lines(self.0.keys());
        (!self.0.is_empty()).then(|| format!("{}\n{lines}", words.heading))
    }

    /// In words what is otherwise than in an earlier list with that [state](Self::state); nothing where nothing is. What
    /// is no state is an empty list's.
    pub fn drift(&self, known: &[u8], words: &Words) -> Option<String> {
        let known = known_in(known);
        let (mut added, mut described, mut edited) = (Vec::new(), Vec::new(), Vec::new());
        for (name, now) in &self.0 {
            let (description, text) = now.digests();
            match known.get(name) {
                None => added.push(name),
                Some((before, _)) if *before != description => described.push(name),
                Some((_, before)) if *before != text => edited.push(name),
                Some(_) => {}
            }
        }
        let gone: Vec<&String> = known.keys().filter(|name| !self.0.contains_key(*name)).collect();
        let names = |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        for (what, lines) in [(words.added, &added), (words.described, &described)] {
            if !lines.is_empty() {
                parts.push(format!("{what}\n{}", self.lines(lines.iter().copied())));
            }
        }
        for (what, list) in [(words.edited, &edited), (words.gone, &gone)] {
            if !list.is_empty() {
                parts.push(format!("{what} {}", names(list)));
            }
        }
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// A line for each name; once they are too long together, the names alone.
    fn lines<'a>(&self, names: impl Iterator<Item = &'a String>) -> String {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        for name in names {
            let description = self.0.get(name).map_or("", |listed| listed.description.as_str());
            bytes += name.len() + description.len() + 4;
            let is_described = bytes <= LONGEST && !description.is_empty();
            lines.push(if is_described { format!("- {name}: {description}") } else { format!("- {name}") });
        }
        lines.join("\n")
    }
}

impl Listed {
    fn digests(&self) -> (String, String) {
        let short = |text: &str| text.chars().take(DIGITS).collect();
        (short(&blake3::hash(self.description.as_bytes()).to_hex()), short(&self.digest))
    }
}

/// The names of a state with the digests of each.
fn known_in(state: &[u8]) -> BTreeMap<String, (String, String)> {
    let Ok(body) = Body::parse(state.to_vec()) else { return BTreeMap::new() };
    let text = |node: Option<Node<'_>>| Some(node?.str()?.into_owned());
    let line = |(name, value): (Node<'_>, Node<'_>)| {
        let mut items = value.items();
        Some((name.str()?.into_owned(), (text(items.next())?, text(items.next())?)))
    };
    body.root().members().filter_map(line).collect()
}

/// Bytes of a list's lines with descriptions.
const LONGEST: usize = 12 << 10;

/// Digits of a digest that are kept.
const DIGITS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Words =
        Words { heading: "Things:", added: "New:", described: "Other:", edited: "Edited:", gone: "Gone:" };

    fn listing(lines: &[(&str, &str, &str)]) -> Listing {
        let mut listing = Listing::default();
        for (name, description, digest) in lines {
            let (description, digest) = ((*description).to_owned(), (*digest).to_owned());
            listing.add(name, Listed { description, digest });
        }
        listing
    }

    #[test]
    fn a_change_is_told_and_nothing_else() {
        let known = listing(&[("b", "bee", "1"), ("a", "ay", "1")]);
        for (now, expect) in [
            (vec![("a", "ay", "1"), ("b", "bee", "1")], None),
            (vec![("a", "ay", "1"), ("b", "bee", "1"), ("c", "see", "1")], Some("New:\n- c: see")),
            (vec![("a", "ay", "1"), ("b", "be", "2")], Some("Other:\n- b: be")),
            (vec![("a", "ay", "2"), ("b", "bee", "2")], Some("Edited: a, b")),
            (vec![("c", "", "1")], Some("New:\n- c\nGone: a, b")),
            (vec![], Some("Gone: a, b")),
        ] {
            let now = listing(&now);
            assert_eq!(now.drift(&known.state(), &WORDS).as_deref(), expect);
            assert_eq!(now.drift(&now.state(), &WORDS), None);
        }
        assert_eq!(known.text(&WORDS).as_deref(), Some("Things:\n- a: ay\n- b: bee"));
        assert_eq!(Listing::default().text(&WORDS), None);
        let all = "New:\n- a: ay\n- b: bee";
        assert_eq!(known.drift(b"null", &WORDS).as_deref(), Some(all));
    }

    #[test]
    fn a_long_list_names_the_rest() {
        let long = "x".repeat(LONGEST);
        let text = listing(&[("a", "ay", "1"), ("b", &long, "1"), ("c", "see", "1")]).text(&WORDS);
        assert_eq!(text.as_deref(), Some("Things:\n- a: ay\n- b\n- c"));
    }
}
