//! What the engines keep of prompts, at the edges of blocks, of their number, of slots and of time; and what chat
//! templates do to a conversation that grows.

use antefix_sim::{
    BlockRules, ChatConfig, Config, Engine, HttpRequest, Latency, Millis, ResponseBody, Script, Simulator,
    SlotRules, TemplateClass,
};
use antefix_wire::json::Body;

/// A server and what it billed.
struct Server {
    simulator: Simulator,
    key: &'static str,
}

impl Server {
    fn new(chat: ChatConfig, script: &str) -> Self {
        let script = Script::parse(script).unwrap_or_else(|error| panic!("{error}"));
        Self { simulator: Simulator::new(Config::chat(chat), script), key: "k" }
    }

    /// Sends messages with further members; the tokens read.
    fn read(&mut self, now: u64, messages: &str, members: &str) -> u64 {
        self.answer(now, messages, members);
        self.simulator.log().last().unwrap().read
    }

    /// The answer's message, as JSON.
    fn answer(&mut self, now: u64, messages: &str, members: &str) -> String {
        let body = format!(r#"{{"model":"sim-model","messages":[{messages}]{members}}}"#);
        let headers = [("authorization".to_owned(), format!("Bearer {}", self.key))];
        let request = HttpRequest {
            method: "POST",
            path: "/v1/chat/completions",
            headers: &headers,
            body: body.as_bytes(),
        };
        let response = self.simulator.handle(&request, Millis(now));
        let text = String::from_utf8(response.bytes()).unwrap();
        assert_eq!(response.status, 200, "{text}\n{body}");
        let body = Body::parse(text).unwrap();
        body.root().pointer("/choices/0/message").unwrap().raw().to_owned()
    }

    fn total(&self) -> u64 {
        self.simulator.log().last().unwrap().total()
    }
}

/// A user's message that makes a prompt of so many tokens: eight are the template's.
fn prompt(word: char, tokens: usize) -> String {
    user(&format!(" {word}").repeat(tokens - TEMPLATE))
}

fn user(words: &str) -> String {
    format!(r#"{{"role":"user","content":"{words}"}}"#)
}

fn blocks(change: impl FnOnce(&mut BlockRules)) -> ChatConfig {
    let mut chat = ChatConfig::vllm();
    let Engine::Blocks(rules) = &mut chat.engine else { panic!("vllm keeps blocks") };
    change(rules);
    chat
}

fn slots(count: usize) -> ChatConfig {
    ChatConfig {
        engine: Engine::Slots(SlotRules { count, similarity_percent: 10 }),
        ..ChatConfig::llamacpp()
    }
}

/// Prompts of 33 tokens, named by a letter, one after the other; the tokens each reads.
fn reads(chat: ChatConfig, tokens: usize, letters: &str) -> Vec<u64> {
    let mut server = Server::new(chat, OK);
    let letters = letters.chars().filter(|letter| *letter != ' ').enumerate();
    letters.map(|(at, letter)| server.read(at as u64, &prompt(letter, tokens), "")).collect()
}

#[test]
fn only_full_blocks_are_read_and_never_the_last_token() {
    let whole = |rules: &mut BlockRules| rules.computes_last = false;
    let cases = [
        (15, 0, 0),
        (16, 0, 16),
        (17, 16, 16),
        (31, 16, 16),
        (32, 16, 32),
        (33, 32, 32),
        (160, 144, 160),
        (161, 160, 160),
    ];
    for (tokens, expect, read_whole) in cases {
        assert_eq!(reads(blocks(|_| {}), tokens, "aa"), [0, expect], "{tokens}");
        assert_eq!(reads(blocks(whole), tokens, "aa"), [0, read_whole], "{tokens}, read as a whole");
    }
}

#[test]
fn the_answer_is_kept_up_to_its_last_token() {
    // The answer is `ok` and the token that ends it, of which only `ok` has been computed.
    let cases = [(14, 0), (15, 16), (16, 16), (30, 16), (31, 32), (32, 32)];
    for (tokens, expect) in cases {
        let check = |chat: ChatConfig, expect: u64| {
            let mut server = Server::new(chat, OK);
            let first = prompt('a', tokens);
            let answer = server.answer(0, &first, "");
            assert_eq!(server.total(), tokens as u64);
            assert_eq!(
                server.read(1, &format!("{first},{answer},{}", user("go on")), ""),
                expect,
                "{tokens}"
            );
        };
        check(ChatConfig::vllm(), expect);
        check(blocks(|rules| rules.keeps_output = false), (tokens as u64) / 16 * 16);
        check(slots(1), tokens as u64 + 1);
    }
}

#[test]
fn an_answer_that_was_cut_is_kept_without_its_last_token_too() {
    // Of `o k` the limit leaves ` k` out or in; then what ends it is not generated.
    let script = "rule\n  text o k\n";
    for (limit, tokens, expect) in [(1, 15, 0), (2, 15, 16), (2, 14, 0), (3, 14, 16), (3, 13, 0)] {
        let mut server = Server::new(blocks(|_| {}), script);
        let first = prompt('a', tokens);
        let answer = server.answer(0, &first, &format!(r#","max_tokens":{limit}"#));
        let read = server.read(1, &format!("{first},{answer},{}", user("go on")), "");
        assert_eq!(read, expect, "{limit} {tokens}");
    }
}

#[test]
fn the_least_recently_used_blocks_are_dropped_from_their_end() {
    // A prompt of 33 tokens has two full blocks.
    let cases: [(usize, &str, &[u64]); 9] = [
        (4, "ab a", &[0, 0, 32]),
        (4, "abc a", &[0, 0, 0, 0]),
        (4, "aba c a", &[0, 0, 32, 0, 32]),
        (4, "aba c b", &[0, 0, 32, 0, 0]),
        (5, "abc a", &[0, 0, 0, 16]),
        (5, "abc b", &[0, 0, 0, 32]),
        (6, "abc a", &[0, 0, 0, 32]),
        (3, "ab a", &[0, 0, 16]),
        (3, "ab b", &[0, 0, 32]),
    ];
    for (capacity, letters, expect) in cases {
        let chat = blocks(|rules| rules.capacity = Some(capacity));
        assert_eq!(reads(chat, 33, letters), expect, "{capacity} {letters}");
    }
}

#[test]
fn a_prompt_that_the_blocks_cannot_hold_is_refused() {
    let cases = [(4, 63, 200), (4, 64, 400), (5, 64, 200)];
    for (capacity, tokens, status) in cases {
        let mut simulator = Simulator::new(
            Config::chat(blocks(|rules| rules.capacity = Some(capacity))),
            Script::parse(OK).unwrap(),
        );
        let body = format!(r#"{{"model":"sim-model","messages":[{}]}}"#, prompt('a', tokens));
        let request =
            HttpRequest { method: "POST", path: "/v1/chat/completions", headers: &[], body: body.as_bytes() };
        assert_eq!(simulator.handle(&request, Millis(0)).status, status, "{capacity} {tokens}");
    }
}

#[test]
fn prompts_are_shared_as_far_as_the_server_shares_them() {
    let cases = [
        (ChatConfig::vllm(), "k", "", "k", "", true),
        (ChatConfig::vllm(), "k", "", "other", "", true),
        (ChatConfig::vllm(), "k", r#","cache_salt":"a""#, "k", r#","cache_salt":"a""#, true),
        (ChatConfig::vllm(), "k", r#","cache_salt":"a""#, "k", r#","cache_salt":"b""#, false),
        (ChatConfig::vllm(), "k", r#","cache_salt":"a""#, "k", "", false),
        (ChatConfig::openai_legacy(), "org/a/1", "", "org/b/2", "", true),
        (ChatConfig::openai_legacy(), "org/a/1", "", "other/a/1", "", false),
        (
            ChatConfig::openai_legacy(),
            "k",
            r#","prompt_cache_key":"a""#,
            "k",
            r#","prompt_cache_key":"a""#,
            true,
        ),
        (
            ChatConfig::openai_legacy(),
            "k",
            r#","prompt_cache_key":"a""#,
            "k",
            r#","prompt_cache_key":"b""#,
            false,
        ),
    ];
    for (chat, key, members, second_key, second_members, shared) in cases {
        let mut server = Server::new(chat, OK);
        server.key = key;
        server.read(0, &prompt('a', 1_200), members);
        server.key = second_key;
        let read = server.read(1, &prompt('a', 1_200), second_members);
        assert_eq!(read > 0, shared, "{key} {members} then {second_key} {second_members}");
    }
}

#[test]
fn older_openai_models_read_steps_of_128_tokens_from_1024_on() {
    let cases = [(1_023, 0), (1_024, 1_024), (1_025, 1_024), (1_151, 1_024), (1_152, 1_152), (1_153, 1_152)];
    for (tokens, expect) in cases {
        assert_eq!(reads(ChatConfig::openai_legacy(), tokens, "aa"), [0, expect], "{tokens}");
    }
    // Of 1,024 tokens, one that differs behind the 896th leaves too little to be read.
    let mut server = Server::new(ChatConfig::openai_legacy(), OK);
    server.read(0, &prompt('a', 1_200), "");
    let changed = |same: usize| user(&format!("{}{}", " a".repeat(same - 3), " b".repeat(300)));
    for (same, expect) in [(1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152)] {
        assert_eq!(server.read(1, &changed(same), ""), expect, "{same} tokens in common");
    }
}

#[test]
fn an_idle_prompt_is_gone_after_ten_minutes() {
    let cases: [(&[u64], &[u64]); 5] = [
        (&[0, 599_999], &[0, 1_152]),
        (&[0, 600_000], &[0, 0]),
        (&[0, 600_001], &[0, 0]),
        (&[0, 599_999, 1_199_998], &[0, 1_152, 1_152]),
        (&[0, 600_000, 1_199_999], &[0, 0, 1_152]),
    ];
    for (times, expect) in cases {
        let mut server = Server::new(ChatConfig::openai_legacy(), OK);
        let read: Vec<u64> = times.iter().map(|now| server.read(*now, &prompt('a', 1_200), "")).collect();
        assert_eq!(read, expect, "{times:?}");
    }
}

#[test]
fn a_block_can_be_read_once_it_has_been_computed() {
    let latency = Latency { first_byte: Millis(1_000), ..Latency::default() };
    for (now, expect) in [(999, 0), (1_000, 32), (1_001, 32)] {
        let config = Config { latency, ..Config::chat(ChatConfig::vllm()) };
        let mut server = Server { simulator: Simulator::new(config, Script::parse(OK).unwrap()), key: "k" };
        server.read(0, &prompt('a', 33), "");
        assert_eq!(server.read(now, &prompt('a', 33), ""), expect, "{now}");
    }
}

#[test]
fn a_slot_holds_its_latest_prompt() {
    // All prompts begin with the same three tokens, so a slot that holds any prompt holds those.
    let cases: [(usize, &str, &[u64]); 8] = [
        (1, "aa", &[0, 99]),
        (1, "ab a", &[0, 3, 3]),
        (2, "ab a", &[0, 0, 99]),
        (2, "ab b", &[0, 0, 99]),
        (2, "abc a", &[0, 0, 3, 3]),
        (2, "aba c b", &[0, 0, 99, 3, 3]),
        (2, "aba c a", &[0, 0, 99, 3, 99]),
        (3, "abc a", &[0, 0, 0, 99]),
    ];
    for (count, letters, expect) in cases {
        assert_eq!(reads(slots(count), 100, letters), expect, "{count} {letters}");
    }
}

#[test]
fn a_slot_is_chosen_by_its_prefix_if_that_is_long_enough() {
    // Slot 0 holds `x` and is the older; slot 1 holds `y`. Of a prompt of 100 tokens, 10 in common are too few.
    for (common, expect) in [(9, 3), (10, 3), (11, 11), (12, 12)] {
        let mut server = Server::new(slots(2), OK);
        server.read(0, &prompt('x', 100), "");
        server.read(1, &prompt('y', 100), "");
        let words = format!("{}{}", " y".repeat(common - 3), " z".repeat(100 - TEMPLATE - (common - 3)));
        assert_eq!(server.read(2, &user(&words), ""), expect, "{common} tokens in common");
    }
}

#[test]
fn a_request_may_name_its_slot_and_do_without_the_cache() {
    let cases = [
        ("", 99),
        (r#","id_slot":0"#, 99),
        (r#","id_slot":1"#, 0),
        (r#","id_slot":-1"#, 99),
        (r#","id_slot":7"#, 99),
        (r#","cache_prompt":false"#, 0),
    ];
    for (members, expect) in cases {
        let mut server = Server::new(slots(2), OK);
        server.read(0, &prompt('a', 100), "");
        assert_eq!(server.read(1, &prompt('a', 100), members), expect, "{members}");
    }
}

#[test]
fn a_busy_slot_is_left_alone_or_waited_for() {
    // An answer takes two seconds. When the second request comes, how long it waits, and what it reads.
    let cases = [(1, 1_999, 1, 99), (1, 2_000, 0, 99), (2, 1_999, 0, 0), (2, 2_000, 0, 99)];
    for (count, now, waits, expect) in cases {
        let latency = Latency { first_byte: Millis(2_000), ..Latency::default() };
        let config = Config { latency, ..Config::chat(slots(count)) };
        let mut simulator = Simulator::new(config, Script::parse(OK).unwrap());
        let body = format!(r#"{{"model":"m","messages":[{}],"stream":true}}"#, prompt('a', 100));
        let request =
            HttpRequest { method: "POST", path: "/v1/chat/completions", headers: &[], body: body.as_bytes() };
        simulator.handle(&request, Millis(0));
        let response = simulator.handle(&request, Millis(now));
        let ResponseBody::Stream { chunks, .. } = response.body else { panic!("a stream") };
        let read = simulator.log().last().unwrap().read;
        assert_eq!((chunks[0].at, read), (Millis(2_000 + waits), expect), "{count} {now}");
    }
}

#[test]
fn usage_tells_what_the_server_would() {
    let last = |chat: ChatConfig| {
        let mut simulator = Simulator::new(Config::chat(chat), Script::parse(OK).unwrap());
        let body = format!(r#"{{"model":"sim-model","messages":[{}]}}"#, prompt('a', 100));
        let headers = [("authorization".to_owned(), "Bearer k".to_owned())];
        let request = HttpRequest {
            method: "POST",
            path: "/v1/chat/completions",
            headers: &headers,
            body: body.as_bytes(),
        };
        simulator.handle(&request, Millis(0));
        let text = String::from_utf8(simulator.handle(&request, Millis(1)).bytes()).unwrap();
        text.split_once(",\"usage\":").unwrap().1.trim_end_matches('}').to_owned()
    };
    let figures =
        |cached: &str| format!(r#"{{"prompt_tokens":100,"completion_tokens":2,"total_tokens":102{cached}"#);
    let told = |cached: u64| figures(&format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}"#));
    let timings = r#"}},"timings":{"cache_n":99,"prompt_n":1,"predicted_n":2"#;
    let cases = [
        (ChatConfig::vllm(), figures("")),
        (ChatConfig { report_cached: true, ..ChatConfig::vllm() }, told(96)),
        (ChatConfig::openai_legacy(), told(0)),
        (ChatConfig::llamacpp(), format!("{}{timings}", told(99))),
    ];
    for (chat, expect) in cases {
        assert_eq!(last(chat.clone()), expect, "{chat:?}");
    }
}

#[test]
fn timings_stand_in_the_last_chunk_of_a_stream() {
    let timings = r#""timings":{"cache_n":0,"prompt_n":100,"predicted_n":2}}"#;
    let usage = r#""stream_options":{"include_usage":true}"#;
    let cases = [
        (ChatConfig::llamacpp(), "", "finish_reason\":\"stop\"}],", true),
        (ChatConfig::llamacpp(), usage, "\"cached_tokens\":0}},", true),
        (ChatConfig::vllm(), "", "finish_reason\":\"stop\"}]}", false),
    ];
    for (chat, members, before, told) in cases {
        let mut simulator = Simulator::new(Config::chat(chat), Script::parse(OK).unwrap());
        let members = if members.is_empty() { String::new() } else { format!(",{members}") };
        let body =
            format!(r#"{{"model":"sim-model","messages":[{}],"stream":true{members}}}"#, prompt('a', 100));
        let request =
            HttpRequest { method: "POST", path: "/v1/chat/completions", headers: &[], body: body.as_bytes() };
        let text = String::from_utf8(simulator.handle(&request, Millis(0)).bytes()).unwrap();
        let end = if told {
            format!("{before}{timings}\n\ndata: [DONE]\n\n")
        } else {
            format!("{before}\n\ndata: [DONE]\n\n")
        };
        assert!(text.ends_with(&end), "{members}: {text}");
    }
}

/// How much of what was there before a request reads: `all` of prompt and answer, the `prompt` up to where the
/// model began, or a number of tokens.
fn growth(template: TemplateClass, script: &str, turns: &str, keeps_reasoning: bool) -> Vec<String> {
    let chat = ChatConfig { template, ..blocks(|rules| (rules.size, rules.capacity) = (1, None)) };
    let mut server = Server::new(chat, script);
    let tools = r#","tools":[{"type":"function","function":{"name":"read"}}]"#;
    let (mut history, mut before, mut now) = (Vec::<String>::new(), (0, 0), 0);
    let mut found = Vec::new();
    for turn in turns.chars() {
        match turn {
            'u' => history.push(user("do it")),
            'r' => {
                let call =
                    history.last().and_then(|answer| answer.split("\"id\":\"").nth(1)?.split('"').next());
                let id = call.unwrap_or_else(|| panic!("no call in {history:?}")).to_owned();
                history.push(format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"result"}}"#));
            }
            _ => {
                now = 86_400_000;
                continue;
            }
        }
        let answer = server.answer(now, &history.join(","), tools);
        let billed = server.simulator.log().last().unwrap().clone();
        found.push(match billed.read {
            0 => "0".to_owned(),
            read if read == before.1 => "all".to_owned(),
            read if read == before.0 => "prompt".to_owned(),
            read => read.to_string(),
        });
        // Of the answer, the token that ends it has not been computed.
        before = (billed.total(), billed.total() + billed.output - 1);
        let reasoning = r#","reasoning_content":"Let me think.""#;
        history.push(if keeps_reasoning { answer } else { answer.replace(reasoning, "") });
        now += 1;
    }
    found
}

#[test]
fn templates_keep_or_rewrite_what_was_rendered() {
    use TemplateClass::{AppendOnly, Dated, ReasoningStripping, StrictAlternation, ToolsLate};
    let thinks = "rule\n  think Let me think.\n  text Done.\n";
    let calls =
        "rule\n  on rounds 0..1\n  think Let me think.\n  tool read {\"path\":\"x\"}\nrule\n  text Done.\n";
    let spaced = "rule\n  tool read { \"path\": \"x\" }\n";
    let cases: [(TemplateClass, &str, &str, bool, &[&str]); 14] = [
        (AppendOnly, thinks, "uuu", true, &["0", "all", "all"]),
        (AppendOnly, thinks, "uuu", false, &["0", "prompt", "prompt"]),
        (AppendOnly, calls, "urru", true, &["0", "all", "all", "all"]),
        (AppendOnly, calls, "ur+r", true, &["0", "all", "all"]),
        (StrictAlternation, thinks, "uuu", true, &["0", "all", "all"]),
        (StrictAlternation, calls, "urru", true, &["0", "all", "all", "all"]),
        (ReasoningStripping, thinks, "uuu", true, &["0", "prompt", "prompt"]),
        // Within a turn reasoning stays; the user's next words take it away from the first answer on, which stood
        // behind 42 tokens.
        (ReasoningStripping, calls, "urru", true, &["0", "all", "all", "42"]),
        // The tools move from the first to the second message of the user; within a turn they stay, but the model
        // did not write the id that is rendered in its call: 38 tokens of the prompt, 7 of the answer.
        (ToolsLate, thinks, "uu", true, &["0", "0"]),
        (ToolsLate, calls, "ur", true, &["0", "45"]),
        (Dated, thinks, "uuu", true, &["0", "all", "all"]),
        // The day is the last but two tokens of the date.
        (Dated, thinks, "uu+u", true, &["0", "all", "10"]),
        // What the model wrote with white space comes back without: only up to there it is the same: 42 tokens and 4.
        (AppendOnly, spaced, "ur", true, &["0", "46"]),
        (AppendOnly, thinks, "+uu", true, &["0", "all"]),
    ];
    for (template, script, turns, keeps, expect) in cases {
        assert_eq!(growth(template, script, turns, keeps), expect, "{template:?} {turns} {script}");
    }
}

const OK: &str = "rule\n  text ok\n";
/// Tokens of the template around the words of a single user and in front of the model's.
const TEMPLATE: usize = 8;
