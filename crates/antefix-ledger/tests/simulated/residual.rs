use antefix_ledger::{Posting, Relation};
use antefix_models::{Money, Tokens};

use crate::conversation::{CHANGES, Conversation, Dice};
use crate::lab::{Lab, account};

/// How many random conversations; more in CI.
fn conversations() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "a test's own setting")]
    std::env::var("ANTEFIX_LEDGER_CONVERSATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(120)
}

/// Changes, pauses past the lifetime, side calls and forks: what a request cost more than a perfect cache is what
/// its verdict answers for, to the last part of a cent, request by request.
#[test]
fn every_loss_is_answered_for_on_random_conversations() {
    let mut changed = 0;
    let mut paused = 0;
    for seed in 1..=conversations() {
        let mut dice = Dice::new(seed);
        let mut lab = Lab::new();
        let mut conversation = Conversation::random(&mut dice);
        let mut now = 1_000;
        let mut expected = Vec::new();
        // Each once: done twice, some of them lead back to what was sent before.
        let mut left = CHANGES.to_vec();
        lab.send(now, &conversation.json());
        for round in 0..6 + dice.below(6) {
            conversation.step(&mut dice);
            let mut kinds: Option<&[&str]> = None;
            now += 20_000;
            match dice.below(8) {
                0 | 1 if round > 1 && !left.is_empty() => {
                    let (names, change) = left.swap_remove(dice.below(left.len()));
                    change(&mut conversation, &mut dice);
                    kinds = Some(names);
                    changed += 1;
                }
                2 => {
                    now += 300_000;
                    kinds = Some(&["expected.ttl_expired"][..]);
                    paused += 1;
                }
                3 => {
                    let fork =
                        conversation.fork(&mut dice).unwrap_or_else(|| conversation.side_call(&mut dice));
                    lab.send(now, &fork.json());
                    expected.push(None);
                    now += 1_000;
                }
                _ => {}
            }
            lab.send(now, &conversation.json());
            expected.push(kinds);
        }
        let postings = lab.postings();
        for (posting, kinds) in postings.iter().skip(1).zip(expected) {
            let one = account([posting]);
            let said = posting.standing.loss.as_ref().map(|loss| loss.kind.as_str());
            // What time took is nobody's fault; what was changed is.
            let is_planned = posting.standing.loss.as_ref().is_some_and(antefix_ledger::Loss::is_planned);
            assert_eq!(is_planned, kinds == Some(&["expected.ttl_expired"]), "seed {seed}");
            let is_right =
                said.map_or(kinds.is_none(), |said| kinds.is_some_and(|kinds| kinds.contains(&said)));
            assert_eq!(
                (is_right, one.residual),
                (true, Money::ZERO),
                "seed {seed}, request {}: {:?} {:?}",
                posting.attempt,
                posting.row,
                posting.standing
            );
        }
        let all = account(&postings);
        assert_eq!(all.residual, Money::ZERO, "seed {seed}");
        assert_eq!(all.actual, all.perfect + all.shares.iter().map(|share| share.cost).sum(), "seed {seed}");
    }
    assert!(changed > 100 && paused > 50, "{changed} changes and {paused} pauses were tried");
}

/// The changes keep every size, so the same conversation without them costs what the ledger calls perfect. The
/// simulator says so, not the ledger.
#[test]
fn perfect_is_what_the_unbroken_twin_is_billed() {
    for (index, (kinds, change)) in CHANGES.iter().enumerate() {
        for seed in 1..=10 {
            let run = |broken: bool| -> Vec<Posting> {
                let (mut dice, mut other) = (Dice::new(seed), Dice::new(seed + 1_000));
                let mut lab = Lab::new();
                let mut conversation = Conversation::random(&mut dice);
                for round in 0..7 {
                    if broken && round == 4 {
                        change(&mut conversation, &mut other);
                    }
                    lab.send(round * 30_000, &conversation.json());
                    conversation.step(&mut dice);
                }
                lab.postings()
            };
            let (broken, twin) = (account(&run(true)), account(&run(false)));
            let name = format!("change {index}, seed {seed}");
            assert_eq!(broken.perfect, twin.actual, "{name}");
            assert_eq!((twin.waste(), &twin.shares), (Money::ZERO, &Vec::new()), "{name}");
            assert_eq!(broken.no_cache, twin.no_cache, "{name}");
            let [share] = broken.shares.as_slice() else { panic!("{name}: {:?}", broken.shares) };
            assert!(kinds.contains(&share.kind.as_str()), "{name}: {}", share.kind);
            assert_eq!(share.cost, broken.actual - twin.actual, "{name}");
            assert_eq!(broken.kept.part + share.tokens, broken.kept.whole, "{name}");
        }
    }
}

/// A fork reads what it shares and owes nothing for the rest.
#[test]
fn a_fork_is_held_to_nothing() {
    let mut forks = 0;
    for seed in 1..20 {
        let mut dice = Dice::new(seed);
        let mut lab = Lab::new();
        let mut conversation = Conversation::random(&mut dice);
        conversation.step(&mut dice);
        conversation.step(&mut dice);
        lab.send(0, &conversation.json());
        let Some(fork) = conversation.fork(&mut dice) else { continue };
        lab.send(1_000, &fork.json());
        let postings = lab.postings();
        let standing = &postings[1].standing;
        assert_eq!(
            (standing.relation, standing.reachable, &standing.loss),
            (Relation::Branches, None, &None),
            "seed {seed}"
        );
        assert_eq!(account(&postings).steady.read.whole, Tokens::ZERO, "seed {seed}");
        forks += 1;
    }
    assert!(forks > 3, "{forks} forks were tried");
}
