//! How a request stands to those sent before it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use antefix_prefix::{Advance, Chain, Entries, Entry, Relation, Standing, Tree, positions};
use antefix_wire::anthropic::Request;
use antefix_wire::json::Body;

/// A request of one tool, one system text and a message for each letter, users and assistant in turn.
fn chain(head: &str, letters: &str) -> Chain {
    let messages: Vec<_> = letters
        .chars()
        .enumerate()
        .map(|(at, letter)| {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            format!(r#"{{"role":"{role}","content":[{{"type":"text","text":"{letter}"}}]}}"#)
        })
        .collect();
    of(&format!(r#"{{"tools":[{{"name":"t"}}],"system":"{head}","messages":[{}]}}"#, messages.join(",")))
}

fn of(text: &str) -> Chain {
    let body = Body::parse(text.as_bytes()).unwrap();
    Chain::of(&positions(&Request::read(body.root()).unwrap()))
}

/// A lane in which the requests were sent one after the other, with planned branches at the marks.
fn tree(sent: &[&str], marks: &[(&str, usize)]) -> Tree {
    let mut tree = Tree::new();
    for letters in sent {
        tree.insert(&chain("s", letters), Advance::Head);
    }
    for (letters, len) in marks {
        assert!(tree.mark(&chain("s", letters), *len), "only what was sent can be marked");
    }
    tree
}

#[test]
fn relations() {
    use Relation::{BranchesAt, Diverges, Extends};
    // Two positions of head; a message is one position.
    type Case =
        (&'static [&'static str], &'static [(&'static str, usize)], &'static str, &'static str, Relation);
    let cases: [Case; 15] = [
        (&[], &[], "s", "a", Extends),
        (&["a"], &[], "s", "a", Extends),
        (&["a"], &[], "s", "abc", Extends),
        (&["a", "abc"], &[], "s", "abcde", Extends),
        (&["a", "abc"], &[], "s", "abxde", Diverges { at: 4 }),
        (&["a", "abc"], &[], "s", "axcde", Diverges { at: 3 }),
        (&["a", "abc"], &[("ab", 4)], "s", "abx", BranchesAt(4)),
        (&["a", "abc"], &[("ab", 4)], "s", "axc", Diverges { at: 3 }),
        (&["a", "abc"], &[("a", 2)], "s", "xyz", BranchesAt(2)),
        (&["a", "abc"], &[("a", 1)], "x", "abc", Diverges { at: 1 }),
        (&["a", "abc"], &[], "x", "abcde", Diverges { at: 1 }),
        (&["a", "abc"], &[], "s", "ab", BranchesAt(4)),
        (&["a", "abc"], &[], "s", "", BranchesAt(2)),
        (&["abc", "a"], &[], "s", "axy", Extends),
        (&["abc", "abx"], &[], "s", "abcde", Diverges { at: 5 }),
    ];
    for (sent, marks, head, letters, expect) in cases {
        assert_eq!(tree(sent, marks).relation(&chain(head, letters)), expect, "{sent:?} {marks:?} {letters}");
    }
}

/// A thinking block left out of the answer leaves the tree exactly behind an earlier request. That must never
/// pass for a planned branch.
#[test]
fn damage_behind_an_earlier_end_diverges() {
    let earlier = tree(&["a", "abc"], &[]);
    assert_eq!(earlier.relation(&chain("s", "ax")), Relation::Diverges { at: 3 });
}

#[test]
fn side_calls_leave_the_head_where_it_is() {
    let mut tree = tree(&["a", "abc"], &[]);
    tree.insert(&chain("s", "abcdX"), Advance::Side);
    assert_eq!(tree.head_len(), Some(5));
    assert_eq!(tree.relation(&chain("s", "abcde")), Relation::Extends);
    assert_eq!(tree.common(&chain("s", "abcdX")), 7);
}

#[test]
fn a_rewind_moves_the_head() {
    let mut tree = tree(&["a", "abc", "abcde"], &[]);
    assert!(tree.rewind(&chain("s", "ab"), 4));
    assert_eq!(tree.relation(&chain("s", "abx")), Relation::Extends);
    assert!(!tree.rewind(&chain("s", "xy"), 4));
    assert_eq!(tree.head_len(), Some(4));
}

#[test]
fn spelling_alone_is_no_break() {
    let text = |content: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":{content}}},{{"role":"assistant","content":"b"}}]}}"#
        )
    };
    let mut tree = Tree::new();
    tree.insert(&of(&text(r#""a""#)), Advance::Head);
    let cases = [
        (r#""a""#, Standing { relation: Relation::Extends, common: 2, wire_common: 2 }),
        (r#""\u0061""#, Standing { relation: Relation::Extends, common: 2, wire_common: 0 }),
        (r#""b""#, Standing { relation: Relation::Diverges { at: 0 }, common: 0, wire_common: 0 }),
    ];
    for (content, expect) in cases {
        assert_eq!(tree.standing(&of(&text(content))), expect, "{content}");
    }
}

#[test]
fn every_prefix_is_kept_once() {
    let mut tree = Tree::new();
    let letters: String = ('a'..='z').collect();
    for end in (1..=letters.len()).step_by(2) {
        tree.insert(&chain("s", &letters[..end]), Advance::Head);
    }
    assert_eq!(tree.prefix_count(), 2 + 25);
}

#[test]
fn entries_on_the_path() {
    use Entry::{Confirmed, Doubtful};
    let entries = |confirmed, doubtful| Entries { confirmed, doubtful };
    type Case = (&'static [(usize, Entry)], &'static str, usize, Entries);
    let cases: [Case; 9] = [
        (&[], "abc", 9, entries(None, None)),
        (&[(1, Confirmed)], "abc", 9, entries(Some(1), None)),
        (&[(1, Confirmed), (4, Confirmed)], "abcde", 9, entries(Some(4), None)),
        (&[(1, Confirmed), (4, Doubtful)], "abcde", 9, entries(Some(1), Some(4))),
        (&[(2, Doubtful), (4, Confirmed)], "abcde", 9, entries(Some(4), None)),
        (&[(4, Confirmed), (4, Doubtful)], "abcde", 9, entries(Some(4), None)),
        (&[(4, Doubtful), (4, Confirmed)], "abcde", 9, entries(Some(4), None)),
        (&[(1, Confirmed), (4, Confirmed)], "abx", 9, entries(Some(1), None)),
        (&[(1, Confirmed), (4, Confirmed)], "abcde", 4, entries(Some(1), None)),
    ];
    for (noted, letters, below, expect) in cases {
        let mut tree = tree(&["a", "abc"], &[]);
        for (last, entry) in noted {
            assert!(tree.note_entry(&chain("s", "abc"), *last, *entry));
        }
        assert_eq!(tree.entries(&chain("s", letters), below), expect, "{noted:?} {letters} {below}");
        tree.forget_entries();
        assert_eq!(tree.entries(&chain("s", letters), below), Entries::default());
    }
    assert!(!tree(&["a"], &[]).note_entry(&chain("s", "abc"), 4, Confirmed));
}
