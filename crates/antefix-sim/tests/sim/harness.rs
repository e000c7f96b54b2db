//! A short notation for requests, and a laboratory to send them in.
//!
//! A request is a list of blocks, e.g. `T500 S1000H u300 a40 c60x3 r50x3 u20!`:
//! `T` tool, `D` deferred tool, `S` system text, `u` user text, `a` assistant text, `c` tool call, `r` tool
//! result, `k` thinking, `s` system message, `i` image; then its exact size in tokens (one byte each), `xN` for
//! N of them, `~v` for another text of that size, `!` for a 5-minute marker, `H` for an hour's.

use antefix_models::{Collapse, Lookback, Minimum, Platform, Retention, Rules, Support, Tokens, rules};
use antefix_sim::{Binding, Config, HttpRequest, HttpResponse, Millis, Script, Simulator, Tokenizer};

pub const MODEL: &str = "claude-test";

/// A simulator with one byte to the token and a minimum of 100 tokens.
pub struct Lab {
    pub simulator: Simulator,
    pub key: String,
    pub betas: String,
}

/// What came back.
pub struct Sent {
    pub status: u16,
    pub text: String,
    pub response: HttpResponse,
}

pub fn test_rules() -> Rules {
    let mut rules = rules(Platform::Anthropic, MODEL);
    rules.minimum = Minimum { below: Tokens(90), sure: Tokens(110), stated: Tokens(100) };
    rules.lookback = Lookback { positions: 20, collapse_runs: Collapse::Yes };
    rules.in_band_system = Support::Yes;
    rules.in_band_tools = Support::Yes;
    rules.automatic_marker = Support::Yes;
    rules.diagnostics = Support::Yes;
    rules.thinking_retention = Retention::AllTurns;
    rules.context_window = Tokens(200_000);
    rules.max_output = Tokens(10_000);
    rules
}

pub fn test_config() -> Config {
    Config {
        rules: vec![(MODEL.to_owned(), test_rules())],
        tokenizer: Tokenizer::Bytes(1),
        binding: Binding::Never,
        ..Config::default()
    }
}

impl Lab {
    pub fn new(config: Config) -> Self {
        Self::scripted(config, "rule\n  text ok\n")
    }

    pub fn scripted(config: Config, script: &str) -> Self {
        let script = Script::parse(script).unwrap_or_else(|error| panic!("{error}"));
        let key = "acme/main/secret".to_owned();
        Self { simulator: Simulator::new(config, script), key, betas: String::new() }
    }

    /// Sends blocks with further members, e.g. `"stream":true`; says what was paid.
    pub fn pay(&mut self, now: u64, blocks: &str, extra: &str) -> String {
        let sent = self.post(now, &body(blocks, extra));
        if sent.status != 200 {
            return format!("{} {}", sent.status, sent.text);
        }
        let billed = self.simulator.log().last().unwrap();
        let mut paid = format!("r{} w{}", billed.read, billed.write_5m);
        if billed.write_1h > 0 {
            paid.push_str(&format!(" h{}", billed.write_1h));
        }
        format!("{paid} i{}", billed.uncached)
    }

    pub fn post(&mut self, now: u64, body: &str) -> Sent {
        self.request(now, "POST", "/v1/messages", body)
    }

    pub fn request(&mut self, now: u64, method: &str, path: &str, body: &str) -> Sent {
        let mut headers = vec![("anthropic-version".to_owned(), "2023-06-01".to_owned())];
        headers.push(("x-api-key".to_owned(), self.key.clone()));
        if !self.betas.is_empty() {
            headers.push(("anthropic-beta".to_owned(), self.betas.clone()));
        }
        self.raw(now, method, path, &headers, body)
    }

    pub fn raw(
        &mut self,
        now: u64,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> Sent {
        let request = HttpRequest { method, path, headers, body: body.as_bytes() };
        let response = self.simulator.handle(&request, Millis(now));
        let text = String::from_utf8(response.bytes()).unwrap();
        Sent { status: response.status, text, response }
    }
}

/// The body of a request in the notation above.
pub fn body(blocks: &str, extra: &str) -> String {
    let mut builder = Builder::default();
    for word in blocks.split_whitespace() {
        builder.word(word);
    }
    builder.finish(extra)
}

#[derive(Default)]
struct Builder {
    tools: Vec<String>,
    system: Vec<String>,
    messages: Vec<(&'static str, Vec<String>)>,
    /// Blocks so far: each has a text of its own.
    count: usize,
    calls: usize,
    results: usize,
}

impl Builder {
    fn word(&mut self, word: &str) {
        let kind = word.chars().next().unwrap();
        let rest = &word[1..];
        let (rest, marker) = match rest.chars().last() {
            Some('!') => (&rest[..rest.len() - 1], ",\"cache_control\":{\"type\":\"ephemeral\"}"),
            Some('H') => {
                (&rest[..rest.len() - 1], ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}")
            }
            _ => (rest, ""),
        };
        let (rest, variant) = rest.split_once('~').unwrap_or((rest, ""));
        let (size, times) = rest.split_once('x').unwrap_or((rest, "1"));
        let (size, times) = (size.parse().unwrap_or(0), times.parse().unwrap());
        for at in 0..times {
            self.block(kind, size, variant, if at + 1 == times { marker } else { "" });
        }
    }

    fn block(&mut self, kind: char, size: usize, variant: &str, marker: &str) {
        let number = self.count;
        self.count += 1;
        let text = |size: usize| filler(&format!("{variant}{kind}{number}"), size);
        match kind {
            'T' | 'D' => {
                let name = format!("t{number:03}");
                let frame = "description=\"\"\ninput_schema={\"type\":\"object\",}\nname=\"t000\"\n".len();
                let (text, defer) =
                    (text(size - frame), if kind == 'D' { ",\"defer_loading\":true" } else { "" });
                let schema = "\"input_schema\":{\"type\":\"object\"}";
                self.tools.push(format!(
                    "{{\"name\":\"{name}\",\"description\":\"{text}\",{schema}{defer}{marker}}}"
                ));
            }
            'S' => self.system.push(format!("{{\"type\":\"text\",\"text\":\"{}\"{marker}}}", text(size))),
            'u' => self.say("user", format!("{{\"type\":\"text\",\"text\":\"{}\"{marker}}}", text(size))),
            'a' => {
                self.say("assistant", format!("{{\"type\":\"text\",\"text\":\"{}\"{marker}}}", text(size)));
            }
            's' => self.say("system", format!("{{\"type\":\"text\",\"text\":\"{}\"{marker}}}", text(size))),
            'c' => {
                let frame = "id=\"c000\"\ninput={\"x\":\"\",}\nname=\"t000\"\ntype=\"tool_use\"\n".len();
                let (id, text) = (self.calls, text(size - frame));
                self.calls += 1;
                let head = format!("\"type\":\"tool_use\",\"id\":\"c{id:03}\",\"name\":\"t000\"");
                self.say("assistant", format!("{{{head},\"input\":{{\"x\":\"{text}\"}}{marker}}}"));
            }
            'r' => {
                let frame = "tool_use_id=\"c000\"\ntype=\"tool_result\"\n".len();
                let (id, text) = (self.results, text(size - frame));
                self.results += 1;
                let head = format!("\"type\":\"tool_result\",\"tool_use_id\":\"c{id:03}\"");
                self.say("user", format!("{{{head},\"content\":\"{text}\"{marker}}}"));
            }
            'k' => {
                let frame = "data=\"\"\ntype=\"redacted_thinking\"\n".len();
                let text = text(size - frame);
                self.say(
                    "assistant",
                    format!("{{\"type\":\"redacted_thinking\",\"data\":\"{text}\"{marker}}}"),
                );
            }
            'i' => {
                let frame = "source={\"type\":\"base64\",\"data\":\"\",}\ntype=\"image\"\n".len();
                let source = format!("{{\"type\":\"base64\",\"data\":\"{}\"}}", text(size - frame));
                self.say("user", format!("{{\"type\":\"image\",\"source\":{source}{marker}}}"));
            }
            _ => panic!("unknown block `{kind}`"),
        }
    }

    fn say(&mut self, role: &'static str, block: String) {
        match self.messages.last_mut() {
            Some((last, blocks)) if *last == role => blocks.push(block),
            _ => self.messages.push((role, vec![block])),
        }
    }

    fn finish(self, extra: &str) -> String {
        let messages: Vec<String> = self
            .messages
            .iter()
            .map(|(role, blocks)| format!("{{\"role\":\"{role}\",\"content\":[{}]}}", blocks.join(",")))
            .collect();
        let mut members = vec![format!("\"model\":\"{MODEL}\"")];
        if !extra.contains("\"max_tokens\"") {
            members.push("\"max_tokens\":1000".to_owned());
        }
        members.extend((!extra.is_empty()).then(|| extra.to_owned()));
        members.extend((!self.tools.is_empty()).then(|| format!("\"tools\":[{}]", self.tools.join(","))));
        members.extend((!self.system.is_empty()).then(|| format!("\"system\":[{}]", self.system.join(","))));
        members.push(format!("\"messages\":[{}]", messages.join(",")));
        format!("{{{}}}", members.join(","))
    }
}

/// `name` followed by dots, `size` bytes long.
fn filler(name: &str, size: usize) -> String {
    let mut text: String = name.chars().take(size).collect();
    text.extend(std::iter::repeat_n('.', size.saturating_sub(text.len())));
    text
}

#[test]
fn blocks_have_the_size_they_say() {
    let cases = [
        "u20",
        "T300 u20",
        "T300 S50 u20",
        "T300 u20 c150x3 r80x3",
        "T300 u20 k90 a10 u9 s30",
        "i500 u1",
        "u3 D200",
    ];
    for blocks in cases {
        let size = |word: &str| -> u64 {
            let (size, times) = word[1..].split_once('x').unwrap_or((&word[1..], "1"));
            size.parse::<u64>().unwrap() * times.parse::<u64>().unwrap()
        };
        let expect: u64 = blocks.split_whitespace().filter(|word| !word.starts_with('D')).map(size).sum();
        let mut lab = Lab::new(test_config());
        let extra = if blocks.contains('D') { "" } else { "\"metadata\":{}" };
        let paid = if blocks.contains('D') {
            lab.pay(0, &format!("{blocks} T70"), extra)
                .replace(&format!("i{}", expect + 70), &format!("i{expect}"))
        } else {
            lab.pay(0, blocks, extra)
        };
        assert_eq!(paid, format!("r0 w0 i{expect}"), "{blocks}");
    }
}
