//! What holds for any conversation.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use antefix_prefix::{
    Advance, Chain, Class, Hints, Pairing, Position, Relation, Tree, View, first_difference,
    message_positions, pair, positions,
};
use antefix_wire::anthropic::{Message, Request, Ttl, marker_edit};
use antefix_wire::json::Body;
use antefix_wire::splice;
use proptest::prelude::*;

/// A message: who speaks, the blocks, and how it is spelled.
type Part = (u8, Vec<u8>, u8);

fn conversation() -> impl Strategy<Value = Vec<Part>> {
    prop::collection::vec((0_u8..3, prop::collection::vec(0_u8..4, 0..4), 0_u8..3), 0..7)
}

fn block(kind: u8, spelling: u8) -> &'static str {
    match (kind, spelling) {
        (0, 0) => r#"{"type":"text","text":"é"}"#,
        (0, 1) => r#"{"text":"é","type":"text"}"#,
        (0, _) => r#"{ "type": "text", "text": "\u00e9" }"#,
        (1, 0) => r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1,"b":[true]}}"#,
        (1, _) => r#"{"id":"t","type":"tool_use","name":"n","input":{ "a":1, "b":[true] }}"#,
        (2, _) => r#"{"type":"tool_use","id":"t","name":"n","input":{"b":[true],"a":1}}"#,
        (_, _) => r#"{"type":"image","source":{"type":"base64","data":"AAAA"}}"#,
    }
}

fn message((role, blocks, spelling): &Part) -> String {
    let role = ["user", "assistant", "system"][usize::from(*role)];
    let blocks: Vec<_> = blocks.iter().map(|kind| block(*kind, *spelling)).collect();
    format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
}

fn request(parts: &[Part]) -> Body {
    let messages: Vec<_> = parts.iter().map(message).collect();
    let text = format!(r#"{{"tools":[{{"name":"t"}}],"system":"s","messages":[{}]}}"#, messages.join(","));
    Body::parse(text).unwrap()
}

fn read(body: &Body) -> Vec<Position> {
    positions(&Request::read(body.root()).unwrap())
}

fn chain(parts: &[Part]) -> Chain {
    Chain::of(&read(&request(parts)))
}

/// The positions as the generator knows them: role, block and whether it opens a message, spelling left out.
fn meaning(parts: &[Part]) -> Vec<(u8, Option<u8>, bool)> {
    let message = |(role, blocks, _): &Part| {
        let empty = blocks.is_empty().then_some((*role, None, true));
        let blocks: Vec<_> =
            blocks.iter().enumerate().map(|(at, kind)| (*role, Some(*kind), at == 0)).collect();
        empty.into_iter().chain(blocks).collect::<Vec<_>>()
    };
    parts.iter().flat_map(message).collect()
}

fn common<T: PartialEq>(left: &[T], right: &[T]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

proptest! {
    #[test]
    fn chains_are_equal_exactly_where_positions_are(left in conversation(), right in conversation()) {
        let shared = 2 + common(&meaning(&left), &meaning(&right));
        prop_assert_eq!(chain(&left).common(&chain(&right), View::Normal), shared);
        let wire = |parts: &[Part]| read(&request(parts)).iter().map(|p| (p.wire, p.normal)).collect::<Vec<_>>();
        prop_assert_eq!(chain(&left).common(&chain(&right), View::Wire), common(&wire(&left), &wire(&right)));
    }

    #[test]
    fn message_by_message_is_the_whole(parts in conversation()) {
        let mut kept = chain(&[]);
        for (index, part) in parts.iter().enumerate() {
            let body = Body::parse(message(part)).unwrap();
            kept.extend(&message_positions(&Message::read(body.root()).unwrap(), index));
        }
        prop_assert_eq!(kept, chain(&parts));
    }

    #[test]
    fn markers_change_no_digest(parts in conversation(), marks in prop::collection::vec(any::<bool>(), 40)) {
        let body = request(&parts);
        let found = read(&body);
        let marked = found.iter().zip(marks).filter(|(position, mark)| *mark && position.markable);
        let edits: Vec<_> = marked
            .filter(|(position, _)| position.pointer() != "/system")
            .map(|(position, _)| marker_edit(body.root().pointer(&position.pointer()).unwrap(), Ttl::FiveMinutes))
            .map(Option::unwrap)
            .collect();
        let sent = Body::parse(splice(body.bytes(), &edits).unwrap()).unwrap();
        prop_assert_eq!(Chain::of(&read(&sent)), Chain::of(&found));
        prop_assert_eq!(first_difference(&body, &sent).unwrap(), None);
    }

    /// The relation, the chains and the first difference are found in three ways and must agree.
    #[test]
    fn relation_and_difference_agree(left in conversation(), right in conversation(), cut in 0_usize..8) {
        for right in [right, left[..cut.min(left.len())].to_vec(), [left.clone(), right_tail(&left)].concat()] {
            let mut tree = Tree::new();
            tree.insert(&chain(&left), Advance::Head);
            let shared = 2 + common(&meaning(&left), &meaning(&right));
            let expect = if shared == chain(&left).len() {
                Relation::Extends
            } else if shared == chain(&right).len() {
                Relation::BranchesAt(shared)
            } else {
                Relation::Diverges { at: shared }
            };
            prop_assert_eq!(tree.relation(&chain(&right)), expect);
            let found = first_difference(&request(&left), &request(&right)).unwrap();
            let differs = found.as_ref().is_some_and(|found| found.class == Class::Normal);
            prop_assert_eq!(differs, expect != Relation::Extends, "{:?}", found);
            let same_bytes = chain(&right).extends(&chain(&left), View::Wire);
            prop_assert_eq!(found.is_none(), same_bytes);
        }
    }

    /// Whatever was sent, a request sent again extends, and a marked point is a planned branch.
    #[test]
    fn what_was_sent_is_known(sent in prop::collection::vec(conversation(), 1..5), other in conversation()) {
        let mut tree = Tree::new();
        for parts in &sent {
            tree.insert(&chain(parts), Advance::Head);
            prop_assert_eq!(tree.relation(&chain(parts)), Relation::Extends);
        }
        let longest = sent.iter().map(|parts| 2 + common(&meaning(parts), &meaning(&other))).max().unwrap();
        prop_assert_eq!(tree.common(&chain(&other)), longest);
        if let Relation::Diverges { at } = tree.relation(&chain(&other)) {
            prop_assert_eq!(at, longest);
            prop_assert!(tree.mark(&chain(&other), at));
            prop_assert_eq!(tree.relation(&chain(&other)), Relation::BranchesAt(at));
        }
    }
}

fn right_tail(left: &[Part]) -> Vec<Part> {
    left.iter().take(2).cloned().collect()
}

#[test]
fn requests_find_their_lane() {
    let hints = |session: &str, agent: &str| Hints {
        session: (!session.is_empty()).then(|| session.to_owned()),
        agent: (!agent.is_empty()).then(|| agent.to_owned()),
    };
    let tree = |parts: &[Part]| {
        let mut tree = Tree::new();
        tree.insert(&chain(parts), Advance::Head);
        tree
    };
    let (one, two) = ((0, vec![0], 0), (0, vec![3], 0));
    let lanes = [
        (hints("a", ""), tree(std::slice::from_ref(&one))),
        (hints("b", ""), tree(&[one.clone(), two.clone()])),
        (hints("b", "x"), tree(std::slice::from_ref(&two))),
    ];
    let pairing = |lane, common| Some(Pairing { lane, common });
    let cases = [
        (vec![one.clone()], hints("a", ""), pairing(0, 3)),
        (vec![one.clone()], hints("b", ""), pairing(1, 3)),
        // The longest common prefix goes before any hint.
        (vec![one.clone(), two.clone(), one.clone()], hints("a", ""), pairing(1, 4)),
        (vec![two.clone(), one.clone()], hints("", ""), pairing(2, 3)),
        // Tools and system alone are shared by strangers.
        (vec![(1, vec![1], 0)], hints("c", ""), None),
        (vec![(1, vec![1], 0)], hints("b", "y"), pairing(1, 2)),
        (vec![(1, vec![1], 0)], hints("", ""), None),
    ];
    for (parts, hints, expect) in cases {
        let known = lanes.iter().map(|(hints, tree)| (hints, tree));
        assert_eq!(pair(known, &chain(&parts), &hints), expect, "{parts:?} {hints:?}");
    }
}
