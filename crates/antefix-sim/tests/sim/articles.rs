//! The tables the project started from, as cases. In cost units a token read is 0.1, one written 1.25, any other
//! input token 1.

use crate::harness::{Lab, body, test_config};

/// Cost units of the last request, in hundredths.
fn units(lab: &Lab) -> u64 {
    let billed = lab.simulator.log().last().unwrap();
    billed.read * 10 + billed.write_5m * 125 + billed.write_1h * 200 + billed.uncached * 100
}

/// One process for each message rebuilds its context: 15k of system are read, 45k of messages written again,
/// where 60k could have been read. 57.75k units against 6k.
#[test]
fn a_rebuilt_context_costs_nine_times_as_much() {
    let history = |variant: &str| format!("S15000! u{}{variant}!", 45_000);
    let mut lab = Lab::new(test_config());
    lab.pay(0, &history(""), "");
    assert_eq!(lab.pay(1_000, &history("~other-context"), ""), "r15000 w45000 i0");
    assert_eq!(units(&lab), 5_775_000);
    assert_eq!(lab.pay(2_000, &history(""), ""), "r60000 w0 i0");
    assert_eq!(units(&lab), 600_000);
}

/// The persistent process of the first article: 20, 60, 73 and 84 % are running totals of the session; per
/// message they are 20, 99.8, 99.8 and 89.6 %. The fourth message takes four requests, which is why its share
/// weighs more in the total.
#[test]
fn running_totals_are_not_ratios_per_message() {
    let mut lab = Lab::new(test_config());
    // 20 % of the first message's input is a head another session has written.
    lab.pay(0, "S10000! u9", "");
    let mut blocks = "S10000! u40000".to_owned();
    let (mut all_read, mut all_input) = (0, 0);
    let mut seen = Vec::new();
    for (turn, added) in [&[0][..], &[100], &[100], &[7_060; 4]].into_iter().enumerate() {
        let (mut read, mut input) = (0, 0);
        for added in added {
            if *added > 0 {
                blocks.push_str(&format!(" a50 u{}", added - 50));
            }
            lab.pay(turn as u64 * 10_000, &format!("{blocks}!"), "");
            let billed = lab.simulator.log().last().unwrap();
            read += billed.read;
            input += billed.total();
        }
        all_read += read;
        all_input += input;
        let thousandths = |part: u64, whole: u64| (part * 1_000 + whole / 2) / whole;
        seen.push((thousandths(read, input), (thousandths(all_read, all_input) + 5) / 10));
    }
    assert_eq!(seen, [(200, 20), (998, 60), (998, 73), (896, 84)]);
}

/// Five turns with an 8k head: 40k tokens without a cache; with it 8k × 1.25 + 4 × 0.8k = 13.2k units.
#[test]
fn five_turns_on_one_head() {
    let mut lab = Lab::new(test_config());
    let mut cost = 0;
    for turn in 0..5 {
        lab.pay(turn * 60_000, &format!("S8000! u1~{turn}"), "");
        cost += units(&lab) - 100;
    }
    assert_eq!(cost, 1_320_000);
    let mut plain = Lab::new(test_config());
    let mut cost = 0;
    for turn in 0..5 {
        plain.pay(turn * 60_000, &format!("S8000 u1~{turn}"), "");
        cost += units(&plain) - 100;
    }
    assert_eq!(cost, 4_000_000);
}

/// Nine rounds of a session that discovers a tool at the end of rounds 2, 5 and 7; the tokens each round had
/// to write again although the round before had sent them.
fn nine_rounds(tools_of: impl Fn(usize) -> String, discovery: impl Fn(usize) -> String) -> Vec<u64> {
    let mut lab = Lab::new(test_config());
    let mut missed = Vec::new();
    let mut messages = format!("{{\"role\":\"user\",\"content\":\"{}\"}}", "x".repeat(14_400));
    let mut known = 0;
    for (round, size) in (1..=9).zip([4_900, 0, 9_500, 9_500, 0, 19_500, 0, 5_000, 0]) {
        let request = format!(
            "{{\"model\":\"claude-test\",\"max_tokens\":100,\"cache_control\":{{\"type\":\"ephemeral\"}},\
             \"tools\":[{}],\"messages\":[{messages}]}}",
            tools_of(round)
        );
        let sent = lab.post(round as u64 * 1_000, &request);
        assert_eq!(sent.status, 200, "{}", sent.text);
        let billed = lab.simulator.log().last().unwrap();
        missed.push(known - billed.read);
        known = billed.total();
        let content = match size {
            0 => discovery(round),
            size => format!("{{\"type\":\"text\",\"text\":\"{}\"}}", "x".repeat(size)),
        };
        let call = format!("{{\"type\":\"tool_use\",\"id\":\"c{round}\",\"name\":\"base\",\"input\":{{}}}}");
        let result =
            format!("{{\"type\":\"tool_result\",\"tool_use_id\":\"c{round}\",\"content\":[{content}]}}");
        messages.push_str(&format!(
            ",{{\"role\":\"assistant\",\"content\":[{call}]}},{{\"role\":\"user\",\"content\":[{result}]}}"
        ));
    }
    missed
}

fn tool(name: &str, more: &str) -> String {
    let text = "d".repeat(500);
    format!(
        "{{\"name\":\"{name}\",\"description\":\"{text}\",\"input_schema\":{{\"type\":\"object\"}}{more}}}"
    )
}

#[test]
fn deferred_tools_stand_outside_the_prefix() {
    let deferred =
        [2, 5, 7, 9].map(|round| tool(&format!("late{round}"), ",\"defer_loading\":true")).join(",");
    let reference = |round| format!("{{\"type\":\"tool_reference\",\"tool_name\":\"late{round}\"}}");
    let missed = nine_rounds(|_| format!("{},{deferred}", tool("base", "")), reference);
    assert_eq!(missed, [0; 9]);
}

/// A naively growing array misses everything whenever it grows: about 20k, 40k and 60k in rounds 3, 6 and 8.
#[test]
fn a_growing_array_misses_everything_three_times() {
    let tools = |round: usize| {
        let known = [2, 5, 7].into_iter().filter(|&found| found < round);
        let names = known.map(|found| tool(&format!("late{found}"), ""));
        std::iter::once(tool("base", "")).chain(names).collect::<Vec<_>>().join(",")
    };
    let found = |round| format!("{{\"type\":\"text\",\"text\":\"found late{round}\"}}");
    let missed: Vec<u64> = nine_rounds(tools, found).iter().map(|missed| (missed + 500) / 1_000).collect();
    assert_eq!(missed, [0, 0, 20, 0, 0, 40, 0, 60, 0]);
}

/// An unreferenced deferred tool appended to the array changes nothing.
#[test]
fn an_unreferenced_deferred_tool_costs_nothing() {
    let mut lab = Lab::new(test_config());
    assert_eq!(lab.pay(0, "T200 u90!", ""), "r0 w290 i0");
    let appended = body("T200 u90!", "").replace(
        "],\"messages\"",
        ",{\"name\":\"late\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},\"defer_loading\":true}],\"messages\"",
    );
    assert_eq!(lab.post(1, &appended).status, 200);
    assert_eq!(lab.simulator.log()[1].read, 290);
}

/// A tool that is added in a system message is rendered there, at its full size, and breaks nothing.
#[test]
fn a_tool_added_in_band_is_appended() {
    let late = tool("late", ",\"defer_loading\":true");
    let words = "x".repeat(200);
    let request = |more: &str| {
        format!(
            "{{\"model\":\"claude-test\",\"max_tokens\":100,\"cache_control\":{{\"type\":\"ephemeral\"}},\"tools\":[{},{late}],\
             \"messages\":[{{\"role\":\"user\",\"content\":\"{words}\"}}{more}]}}",
            tool("base", "")
        )
    };
    let mut lab = Lab::new(test_config());
    lab.betas = "mid-conversation-tool-changes-2026-07-01".to_owned();
    assert_eq!(lab.post(0, &request("")).status, 200);
    let first = lab.simulator.log()[0].total();
    let change = |kind: &str, name: &str| {
        format!("{{\"type\":\"{kind}\",\"tool\":{{\"type\":\"tool_reference\",\"name\":\"{name}\"}}}}")
    };
    let said = |content: &str| format!(",{{\"role\":\"system\",\"content\":[{content}]}}");
    let added = said(&change("tool_addition", "late"));
    let sent = lab.post(1, &request(&added));
    assert_eq!(sent.status, 200, "{}", sent.text);
    let billed = lab.simulator.log().last().unwrap();
    assert_eq!(billed.read, first);
    assert!((500..700).contains(&billed.write_5m), "{}", billed.write_5m);
    let so_far = billed.total();
    let answer = ",{\"role\":\"assistant\",\"content\":\"yes\"},{\"role\":\"user\",\"content\":\"and now\"}";
    let taken = said(&[change("tool_removal", "late"), change("tool_removal", "base")].join(","));
    let sent = lab.post(2, &request(&format!("{added}{answer}{taken}")));
    assert_eq!(sent.status, 200, "{}", sent.text);
    let billed = lab.simulator.log().last().unwrap();
    assert_eq!(billed.read, so_far, "what is withdrawn stays where it stands");
    assert!(billed.write_5m < 300, "a removal is no definition: {}", billed.write_5m);
}

/// Changing the definition of a deferred tool costs nothing while nobody has referred to it; once somebody has,
/// the prefix breaks at the reference.
#[test]
fn a_referenced_tool_is_part_of_the_history() {
    let request = |description: &str, content: &str| {
        let late = tool("late", ",\"defer_loading\":true").replace("ddd", description);
        let words = "x".repeat(200);
        let call = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"base\",\"input\":{}}]}";
        format!(
            "{{\"model\":\"claude-test\",\"max_tokens\":100,\"tools\":[{},{late}],\"messages\":[{{\"role\":\"user\",\
             \"content\":[{{\"type\":\"text\",\"text\":\"{words}\",\"cache_control\":{{\"type\":\"ephemeral\"}}}}]}},{call},\
             {{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":{content},\
             \"cache_control\":{{\"type\":\"ephemeral\"}}}}]}}]}}",
            tool("base", "")
        )
    };
    let reference = "[{\"type\":\"tool_reference\",\"tool_name\":\"late\"}]";
    for (content, breaks) in [("\"nothing\"", false), (reference, true)] {
        let mut lab = Lab::new(test_config());
        lab.post(0, &request("ddd", content));
        lab.post(1, &request("eee", content));
        let log = lab.simulator.log();
        assert_eq!(log[1].read < log[0].total(), breaks, "{content}");
        assert!(log[1].read > 700, "the head and the first message stay");
    }
}
