//! Sends bodies to a simulator that counts a byte as a token, and reads the ledger from its log.

use antefix_ledger::{Account, Posting, Purpose, Row, Standing, standings};
use antefix_models::{
    Collapse, Counts, Lookback, Minimum, Modifiers, Platform, Price, Prices, Retention, Rules, Support,
    Tokens, rules,
};
use antefix_prefix::verdict::{Millis, Observation, Prompt};
use antefix_sim::{Billed, Binding, Config, HttpRequest, Script, Simulator, Tokenizer};
use antefix_wire::json::Body;

pub const MODEL: &str = "claude-test";

/// The units of the articles in thousandths: a token read is 0.1, one written 1.25, other input 1.
pub const UNITS: Prices = Prices {
    input: Price(1000),
    write_5m: Price(1250),
    write_1h: Price(2000),
    read: Price(100),
    output: Price(5000),
};

/// A simulated provider and what was sent to it.
pub struct Lab {
    simulator: Simulator,
    bodies: Vec<Body>,
}

impl Lab {
    pub fn new() -> Self {
        let config = Config {
            rules: vec![(MODEL.to_owned(), test_rules())],
            tokenizer: Tokenizer::Bytes(1),
            binding: Binding::Never,
            ..Config::default()
        };
        let script = Script::parse("rule\n  text ok\n").unwrap();
        Self { simulator: Simulator::new(config, script), bodies: Vec::new() }
    }

    /// Sends a request that leaves at `now`, in milliseconds.
    pub fn send(&mut self, now: u64, body: &str) -> Billed {
        let headers = [("x-api-key", "acme/main/secret"), ("anthropic-version", "2023-06-01")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request =
            HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body: body.as_bytes() };
        let response = self.simulator.handle(&request, antefix_sim::Millis(now));
        assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.bytes()));
        self.bodies.push(Body::parse(body).unwrap());
        self.simulator.log().last().unwrap().clone()
    }

    /// The ledger of all that was sent, each request with how it stands to the one it extends.
    pub fn postings(&self) -> Vec<Posting> {
        let prompts: Vec<Prompt<'_>> =
            self.bodies.iter().map(|body| Prompt::read(body.root()).unwrap()).collect();
        let log = self.simulator.log();
        let observations: Vec<Observation<'_>> = prompts
            .iter()
            .zip(log)
            .map(|(prompt, billed)| Observation {
                usage: Some(counts(billed)),
                started_at: Some(Millis(i64::try_from(billed.now.0).unwrap())),
                first_byte_at: Some(Millis(i64::try_from(billed.now.0).unwrap())),
                ..Observation::new(test_rules()).with_prompt(prompt)
            })
            .collect();
        let standings = standings(&observations);
        log.iter()
            .zip(standings)
            .enumerate()
            .map(|(index, (billed, standing))| posting(index, billed, standing))
            .collect()
    }
}

pub fn account<'p>(postings: impl IntoIterator<Item = &'p Posting>) -> Account {
    Account::of(postings, |_| Some(UNITS))
}

fn posting(index: usize, billed: &Billed, standing: Standing) -> Posting {
    Posting {
        session: "simulated".to_owned(),
        attempt: index as u64 + 1,
        part: 0,
        message: 1,
        at_ms: i64::try_from(billed.now.0).unwrap(),
        platform: Platform::Anthropic,
        model: MODEL.to_owned(),
        purpose: Purpose::Message,
        status: Some(200),
        modifiers: Modifiers::default(),
        row: Some(Row { counts: counts(billed), ..Row::default() }),
        standing,
        quota: Vec::new(),
    }
}

/// The tokens of the prompt; what the model said is the same in all that is compared.
fn counts(billed: &Billed) -> Counts {
    Counts {
        uncached: Tokens(billed.uncached),
        read: Tokens(billed.read),
        write_5m: Tokens(billed.write_5m),
        write_1h: Tokens(billed.write_1h),
        output: Tokens::ZERO,
    }
}

fn test_rules() -> Rules {
    let mut rules = rules(Platform::Anthropic, MODEL);
    rules.minimum = Minimum { below: Tokens(90), sure: Tokens(110), stated: Tokens(100) };
    rules.lookback = Lookback { positions: 20, collapse_runs: Collapse::Yes };
    rules.in_band_system = Support::Yes;
    rules.automatic_marker = Support::Yes;
    rules.thinking_retention = Retention::AllTurns;
    rules.context_window = Tokens(2_000_000);
    rules.max_output = Tokens(10_000);
    rules
}
