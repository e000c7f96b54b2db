//! What of the history reaches the model, and what signed thinking is bound to.

use antefix_models::Retention;
use antefix_sim::{Binding, Config};
use antefix_wire::json::Body;

use crate::harness::{Lab, MODEL, body, test_config, test_rules};

fn with_retention(retention: Retention) -> Config {
    let mut rules = test_rules();
    rules.thinking_retention = retention;
    Config { rules: vec![(MODEL.to_owned(), rules)], ..test_config() }
}

#[test]
fn old_thinking_leaves_the_prompt_of_models_that_keep_one_turn() {
    // The user speaks again: the thinking before that is gone, and the prefix breaks there.
    let first = "S100! u50 k100 a10 u20!";
    let cases = [
        (Retention::AllTurns, "", "S100! u50 k100 a10 u20 k100 a10 u20!", "r280 w130 i0"),
        (Retention::LastTurn, "", "S100! u50 k100 a10 u20 k100 a10 u20!", "r180 w30 i0"),
    ];
    for (retention, extra, second, expect) in cases {
        let mut lab = Lab::new(with_retention(retention));
        lab.pay(0, first, extra);
        assert_eq!(lab.pay(1, second, extra), expect, "{retention:?}");
    }
}

#[test]
fn tool_results_do_not_end_a_turn() {
    let cases = [
        ("T100 u50 k100 c100 r60!", "T100 u50 k100 c100 r60 k100 c100 r60!", "r410 w260 i0"),
        // Words beside the result do.
        ("T100 u50 k100 c100 r60!", "T100 u50 k100 c100 r60 u20!", "r0 w330 i0"),
    ];
    for (first, second, expect) in cases {
        let mut lab = Lab::new(with_retention(Retention::LastTurn));
        lab.pay(0, first, "");
        assert_eq!(lab.pay(1, second, ""), expect, "{second}");
    }
}

#[test]
fn clear_thinking_overrides_the_models_rule() {
    let edit = |keep: &str| {
        format!(
            "\"context_management\":{{\"edits\":[{{\"type\":\"clear_thinking_20251015\",\"keep\":{keep}}}]}}"
        )
    };
    let two = "u50 k100 a10 u20 k100 a10 u20";
    let cases = [
        (Retention::LastTurn, edit("\"all\""), 310),
        (Retention::LastTurn, edit("{\"type\":\"thinking_turns\",\"value\":2}"), 210),
        (Retention::AllTurns, edit("{\"type\":\"thinking_turns\",\"value\":1}"), 110),
        (Retention::AllTurns, edit("{\"type\":\"thinking_turns\",\"value\":3}"), 310),
    ];
    for (retention, extra, total) in cases {
        let mut lab = Lab::new(with_retention(retention));
        lab.betas = "context-management-2025-06-27".to_owned();
        assert_eq!(lab.pay(0, two, &extra), format!("r0 w0 i{total}"), "{retention:?} {extra}");
    }
}

#[test]
fn a_cleared_system_message_leaves_the_prompt() {
    let system = format!(
        "{{\"role\":\"system\",\"content\":\"{}\",\"clear_at\":\"next_user_message\"}}",
        "s".repeat(50)
    );
    let user = |text: char| format!("{{\"role\":\"user\",\"content\":\"{}\"}}", text.to_string().repeat(200));
    let request = |messages: &[&str]| {
        format!("{{\"model\":\"{MODEL}\",\"max_tokens\":9,\"messages\":[{}]}}", messages.join(","))
    };
    let assistant = "{\"role\":\"assistant\",\"content\":\"aaaaa\"}";
    for (messages, total) in [
        (vec![user('x'), system.clone()], 250),
        (vec![user('x'), system.clone(), assistant.to_owned()], 255),
        (vec![user('x'), system, assistant.to_owned(), user('y')], 405),
    ] {
        let mut lab = Lab::new(test_config());
        lab.betas = "mid-conversation-system-clear-at-2026-08-21".to_owned();
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        let sent = lab.post(0, &request(&messages));
        assert_eq!(sent.status, 200, "{}", sent.text);
        assert_eq!(lab.simulator.log()[0].uncached, total);
    }
}

#[test]
fn an_effort_in_a_system_message_stays_out_of_the_key() {
    let effort = |level: &str| {
        let user = format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{}\",\"cache_control\":{{\"type\":\"ephemeral\"}}}}]}}",
            "x".repeat(200)
        );
        let system =
            format!("{{\"role\":\"system\",\"content\":[],\"output_config\":{{\"effort\":\"{level}\"}}}}");
        format!("{{\"model\":\"{MODEL}\",\"max_tokens\":9,\"messages\":[{user},{system}]}}")
    };
    let mut lab = Lab::new(test_config());
    lab.betas = "per-turn-control-2026-07-01".to_owned();
    lab.post(0, &effort("low"));
    lab.post(1, &effort("high"));
    assert_eq!(lab.simulator.log()[1].read, 200);
}

/// A conversation of a bound model, kept as text so that a case can edit it.
struct Bound {
    lab: Lab,
    tools: String,
    system: String,
    messages: Vec<String>,
    extra: String,
}

impl Bound {
    fn new(binding: Binding) -> Self {
        let script = "rule\n  think Let me see.\n  text Answer to {{said}}.\n";
        Self {
            lab: Lab::scripted(Config { binding, ..test_config() }, script),
            tools: "{\"name\":\"t\",\"input_schema\":{\"type\":\"object\"}}".to_owned(),
            system: "Be kind.".to_owned(),
            messages: Vec::new(),
            extra: String::new(),
        }
    }

    /// The user speaks; the answer is appended. Status and text.
    fn say(&mut self, words: &str) -> (u16, String) {
        self.messages.push(format!("{{\"role\":\"user\",\"content\":\"{words}\"}}"));
        let request = format!(
            "{{\"model\":\"{MODEL}\",\"max_tokens\":999,\"thinking\":{{\"type\":\"adaptive\"{}}},\"tools\":[{}],\"system\":\"{}\",\"messages\":[{}]}}",
            self.extra,
            self.tools,
            self.system,
            self.messages.join(",")
        );
        let sent = self.lab.post(0, &request);
        if sent.status == 200 {
            let body = Body::parse(sent.text.as_str()).unwrap();
            let content = body.root().get("content").unwrap().raw().to_owned();
            self.messages.push(format!("{{\"role\":\"assistant\",\"content\":{content}}}"));
        }
        (sent.status, sent.text)
    }
}

fn without_thinking(message: &str) -> String {
    let end = message.find("},{\"type\":\"text\"").unwrap();
    let start = message.find("{\"type\":\"thinking\"").unwrap();
    format!("{}{}", &message[..start], &message[end + 2..])
}

type Edit = fn(&mut Bound);

#[test]
fn history_in_front_of_bound_thinking_cannot_be_edited() {
    let cases: [(&str, Edit, u16, u16); 13] = [
        ("nothing", |_| {}, 200, 200),
        ("the system prompt", |bound| bound.system.push('!'), 400, 200),
        (
            "a tool added",
            |bound| bound.tools.push_str(",{\"name\":\"u\",\"input_schema\":{\"type\":\"object\"}}"),
            400,
            200,
        ),
        (
            "a deferred tool added",
            |bound| {
                bound.tools.push_str(
                    ",{\"name\":\"u\",\"input_schema\":{\"type\":\"object\"},\"defer_loading\":true}",
                );
            },
            200,
            200,
        ),
        ("the first message", |bound| bound.messages[0] = bound.messages[0].replace("one", "One"), 400, 200),
        (
            "the first answer",
            |bound| bound.messages[1] = bound.messages[1].replace("Answer", "answer"),
            400,
            200,
        ),
        (
            "the last answer",
            |bound| bound.messages[3] = bound.messages[3].replace("Answer", "answer"),
            200,
            200,
        ),
        (
            "a message written otherwise",
            |bound| {
                bound.messages[0] = "{\"content\":[{\"type\":\"text\",\"text\":\"one\",\"cache_control\":{\"type\":\"ephemeral\"}}],\"role\":\"user\"}".to_owned();
            },
            200,
            200,
        ),
        (
            "the first thinking dropped",
            |bound| bound.messages[1] = without_thinking(&bound.messages[1]),
            200,
            200,
        ),
        (
            "all thinking dropped",
            |bound| {
                bound.messages[1] = without_thinking(&bound.messages[1]);
                bound.messages[3] = without_thinking(&bound.messages[3]);
            },
            200,
            200,
        ),
        (
            "thinking changed",
            |bound| bound.messages[3] = bound.messages[3].replace("Let me", "I shall"),
            400,
            400,
        ),
        (
            "a signature lost",
            |bound| bound.messages[3] = bound.messages[3].replace("AFSIM+01", "x"),
            400,
            400,
        ),
        (
            "a turn taken out",
            |bound| {
                bound.messages.drain(0..2);
            },
            400,
            200,
        ),
    ];
    for (name, edit, bound_status, free_status) in cases {
        for (binding, status) in [(Binding::Always, bound_status), (Binding::Never, free_status)] {
            let mut bound = Bound::new(binding);
            assert_eq!(bound.say("one").0, 200);
            assert_eq!(bound.say("two").0, 200);
            edit(&mut bound);
            let (got, text) = bound.say("three");
            assert_eq!(got, status, "{name}, {binding:?}: {text}");
        }
    }
}

#[test]
fn thinking_cannot_be_dropped_from_the_middle() {
    let mut bound = Bound::new(Binding::Always);
    for words in ["one", "two", "three"] {
        assert_eq!(bound.say(words).0, 200);
    }
    bound.messages[3] = without_thinking(&bound.messages[3]);
    assert_eq!(bound.say("four").0, 400);
    // From the front it can, and a signature issued after that is good as well.
    let mut bound = Bound::new(Binding::Always);
    for words in ["one", "two", "three"] {
        assert_eq!(bound.say(words).0, 200);
    }
    bound.messages[1] = without_thinking(&bound.messages[1]);
    assert_eq!(bound.say("four").0, 200);
    assert_eq!(bound.say("five").0, 200);
}

#[test]
fn mismatched_blocks_can_be_dropped_instead() {
    let mut bound = Bound::new(Binding::Always);
    bound.say("one");
    bound.system.push('!');
    bound.extra = ",\"block_binding\":{\"prefix_mismatch_behavior\":\"drop_block\"}".to_owned();
    let (status, text) = bound.say("two");
    assert_eq!(status, 400, "needs a beta: {text}");
    bound.messages.pop();
    bound.lab.betas = "thinking-binding-controls-2026-08-01".to_owned();
    let (status, text) = bound.say("two");
    assert_eq!(status, 200, "{text}");
    let dropped = "\"input_transformations\":[{\"type\":\"thinking_dropped\",\"path\":\"messages.1.content.0\",\"reason\":\"prefix_binding_mismatch\"}]";
    assert!(text.contains(dropped), "{text}");
}

#[test]
fn hidden_tool_prompts_are_counted_if_asked_for() {
    let mut rules = test_rules();
    rules.tool_prompt.auto_or_none = Some(antefix_models::Tokens(286));
    rules.tool_prompt.any_or_tool = Some(antefix_models::Tokens(406));
    let config =
        |tool_prompt| Config { rules: vec![(MODEL.to_owned(), rules.clone())], tool_prompt, ..test_config() };
    let any = "\"tool_choice\":{\"type\":\"any\"}";
    let cases = [
        (false, "T100 u20", "", 120),
        (true, "T100 u20", "", 406),
        (true, "T100 u20", any, 526),
        (true, "u20", "", 20),
    ];
    for (counted, blocks, extra, total) in cases {
        assert_eq!(
            Lab::new(config(counted)).pay(0, blocks, extra),
            format!("r0 w0 i{total}"),
            "{blocks} {extra}"
        );
    }
    assert!(body("u20", "").contains(MODEL));
}
