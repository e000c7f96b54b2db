//! The arithmetic of the articles this project began with, from the ledger. In cost units a token read is 0.1, one
//! written 1.25, any other input token 1; amounts here are thousandths of a unit.

use antefix_models::{Money, Tokens};

use crate::lab::{Lab, MODEL, account};

/// A text of so many tokens that begins with a name of its own.
fn words(name: &str, tokens: usize) -> String {
    format!("{name:.<tokens$}")
}

/// A request whose parts have these texts; the system prompt and the last message are marked.
fn body(system: &str, messages: &[(&str, String)]) -> String {
    let marker = r#","cache_control":{"type":"ephemeral"}"#;
    let last = messages.len() - 1;
    let message = |(index, (role, text)): (usize, &(&str, String))| {
        let marker = if index == last { marker } else { "" };
        format!(r#"{{"role":"{role}","content":[{{"type":"text","text":"{text}"{marker}}}]}}"#)
    };
    let messages: Vec<_> = messages.iter().enumerate().map(message).collect();
    format!(
        r#"{{"model":"{MODEL}","max_tokens":99,"system":[{{"type":"text","text":"{system}"{marker}}}],"messages":[{}]}}"#,
        messages.join(",")
    )
}

/// One process for each message: 15k of system are read and 45k of messages are written again at 125 %, where 60k
/// could have been read. 57.75k units against 6k: 9.6 times as much.
#[test]
fn one_process_for_each_message_costs_nine_times_as_much() {
    let mut lab = Lab::new();
    let system = words("system", 15_000);
    // What the agent injects stands in front of the question, in the same message.
    let ask = |reminder: &str| {
        let reminder = format!("<system-reminder>{reminder}</system-reminder>");
        let question = words("the question", 45_000 - reminder.len());
        body(&system, &[("user", format!(r#"{reminder}"}},{{"type":"text","text":"{question}"#))])
    };
    lab.send(0, &ask("a.rs is new"));
    lab.send(1_000, &ask("b.rs is new"));
    let postings = lab.postings();
    let second = account(&postings[1..]);
    assert_eq!((second.actual, second.perfect), (Money(57_750_000), Money(6_000_000)));
    assert_eq!(second.actual.0 * 10 / second.perfect.0, 96);
    assert_eq!((second.waste(), second.residual), (Money(51_750_000), Money::ZERO));
    assert_eq!(second.no_cache, Money(60_000_000), "so the cache saves next to nothing");
    assert_eq!(second.read().permille(), Some(250), "25 % of the message's input");
    assert_eq!(second.kept.permille(), Some(250), "25 % of what could have been read");
}

/// 20, 60, 73 and 84 % are totals of the session; per message they are 20, 99.8, 99.8 and 89.6 %.
#[test]
fn ratios_of_a_message_and_of_the_session_so_far_are_told_apart() {
    let mut lab = Lab::new();
    let system = words("system", 10_000);
    lab.send(0, &body(&system, &[("user", words("another session", 100))]));
    let mut messages = vec![("user", words("the question", 40_000))];
    let mut ends = Vec::new();
    let mut count = 1;
    for (turn, added) in [&[0][..], &[100], &[100], &[7_060; 4]].into_iter().enumerate() {
        for (request, added) in added.iter().enumerate() {
            if *added > 0 {
                messages.push(("assistant", words(&format!("answer {turn}.{request}"), 50)));
                messages.push(("user", words(&format!("and {turn}.{request}"), added - 50)));
            }
            lab.send(turn as u64 * 10_000, &body(&system, &messages));
            count += 1;
        }
        ends.push(count);
    }
    let postings = lab.postings();
    let percent = |from: usize, to: usize| {
        let ratio = account(&postings[from..to]).read();
        (ratio.part.0 * 1_000 + ratio.whole.0 / 2) / ratio.whole.0
    };
    let starts = std::iter::once(&1).chain(&ends);
    let per_message: Vec<_> = starts.zip(&ends).map(|(from, to)| percent(*from, *to)).collect();
    let totals: Vec<_> = ends.iter().map(|to| (percent(1, *to) + 5) / 10).collect();
    assert_eq!((per_message, totals), (vec![200, 998, 998, 896], vec![20, 60, 73, 84]));
    assert_eq!(account(&postings).waste(), Money::ZERO, "nothing was lost in any of them");
}

/// Five turns on an 8k head: 40k units without a cache; 8k × 1.25 + 4 × 0.8k = 13.2k with it. The article's 11.2k
/// leaves out what the write costs more.
#[test]
fn five_turns_on_one_head() {
    let mut lab = Lab::new();
    let marker = r#","cache_control":{"type":"ephemeral"}"#;
    for turn in 0..5 {
        let marked = format!(r#"{{"type":"text","text":"{}"{marker}}}"#, words("head", 8_000));
        lab.send(
            turn * 60_000,
            &format!(
                r#"{{"model":"{MODEL}","max_tokens":9,"system":[{marked}],"messages":[{{"role":"user","content":"{turn}"}}]}}"#
            ),
        );
    }
    let account = account(&lab.postings());
    let questions = Money(5 * 1_000);
    assert_eq!(account.no_cache - questions, Money(40_000_000));
    assert_eq!(account.actual - questions, Money(13_200_000));
}

/// Thirty rounds, each of which adds 1,000 tokens to a head of 10,000. Without a cache every round pays for all
/// that came before: 10k + 11k + … + 39k. With a perfect one each token is written once and read in every later
/// round. A compaction after the fifteenth round is dearer at once and cheaper in the end.
#[test]
fn thirty_rounds_without_a_cache_with_one_and_with_a_compaction() {
    let system = words("system", 9_000);
    let opening = ("user", words("task", 1_000));
    let rounds = |compact_at: Option<usize>| {
        let mut lab = Lab::new();
        let mut messages = vec![opening.clone()];
        for round in 0..30 {
            if Some(round) == compact_at {
                messages = vec![("user", words("task, and a summary of what was done", 2_000))];
            } else if round > 0 {
                messages.push(("assistant", words(&format!("call {round}"), 100)));
                messages.push(("user", words(&format!("result {round}"), 900)));
            }
            lab.send(round as u64 * 10_000, &body(&system, &messages));
        }
        lab.postings()
    };
    let sums = |from: i128, to: i128| (from..=to).map(|thousands| thousands * 1_000).sum::<i128>();

    let postings = rounds(None);
    let plain = account(&postings);
    assert_eq!(plain.no_cache, Money(1_000 * sums(10, 39)), "735k units");
    let (written, read) = (39_000, sums(10, 38));
    assert_eq!(plain.actual, Money(1_250 * written + 100 * read), "118.35k units");
    assert_eq!((plain.perfect, plain.added_per_round()), (plain.actual, Some(Tokens(1_000))));
    // The running total after each round, from the formula, and that of the ledger.
    for round in 1..=30_i128 {
        let so_far = account(&postings[..usize::try_from(round).unwrap()]);
        let formula = 1_250 * 1_000 * (9 + round) + 100 * sums(10, 8 + round);
        assert_eq!(
            (so_far.actual, so_far.no_cache),
            (Money(formula), Money(1_000 * sums(10, 9 + round))),
            "{round}"
        );
    }

    // Rounds 16 to 30 hold 11k to 25k in place of 25k to 39k; of round 16 the system prompt alone is read.
    let compacted = account(&rounds(Some(15)));
    let first_half = 1_250 * 24_000 + 100 * sums(10, 23);
    let second_half = 1_250 * (2_000 + 14_000) + 100 * (9_000 + sums(11, 24));
    assert_eq!(compacted.actual, Money(first_half + second_half), "100.65k units");
    assert!(compacted.actual < plain.actual);
    assert_eq!(compacted.no_cache, Money(1_000 * (sums(10, 24) + sums(11, 25))));
}
