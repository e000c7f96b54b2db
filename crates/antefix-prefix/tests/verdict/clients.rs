//! What real clients do to their own prompt, as it was measured on the wire: each shape with what must be found, and
//! with what must not.

#[path = "clients/rows.rs"]
mod rows;
#[path = "clients/shapes.rs"]
mod shapes;

use antefix_models::{Platform, rules};
use antefix_prefix::verdict::{Kind, Observation, Party, Prompt, judge, lineages};
use antefix_wire::json::Body;

use Edit::{All, Append, Change, Cut, Messages, Move, Put};
use rows::{BREAKS, CLEAN, TITLE};
use shapes::{CLAUDE_OLD, Client, MARK, OPENCODE};

/// What is done to the text of a request.
pub enum Edit {
    /// One piece becomes another.
    Change(&'static str, &'static str),
    /// One piece becomes another wherever it stands.
    All(&'static str, &'static str),
    /// A piece is taken out.
    Cut(&'static str),
    /// A piece is put in front of another.
    Put(&'static str, &'static str),
    /// A piece is taken out and put in front of another.
    Move(&'static str, &'static str),
    /// The list of messages goes on.
    Append(&'static str),
    /// The list of messages is another.
    Messages(&'static str),
}

/// The client, what happened, what that does to the request before and to the one it grew into, and all that is found.
pub type Row =
    (&'static Client, &'static str, &'static [Edit], &'static [Edit], &'static [(Kind, &'static str, Party)]);

#[test]
fn what_real_clients_do_is_named() {
    let mut wrong = Vec::new();
    for (client, change, before, after, expect) in BREAKS.iter().chain(CLEAN) {
        let found = found([client.earlier(before), client.later(after)], Platform::Anthropic);
        let said: Vec<_> = found.iter().map(|(kind, path, party)| (*kind, path.as_str(), *party)).collect();
        if said != *expect {
            wrong.push(format!("{}, {change}:\n  expected {expect:?}\n  found    {said:?}", client.name));
        }
    }
    let all = BREAKS.len() + CLEAN.len();
    assert!(wrong.is_empty(), "{} of {all} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Clients ask small models for a title beside the conversation, in a request of its own.
#[test]
fn a_call_for_the_title_is_no_part_of_the_conversation() {
    let bodies = [OPENCODE.earlier(&[]), TITLE.to_owned(), OPENCODE.later(&[])]
        .map(|text| Body::parse(text.as_bytes()).unwrap());
    let prompts = bodies.each_ref().map(|body| Prompt::read(body.root()).unwrap());
    let observe =
        |prompt| Observation::new(rules(Platform::Anthropic, "claude-sonnet-4-5")).with_prompt(prompt);
    assert_eq!(lineages(&prompts.each_ref().map(observe)).parents, [None, None, Some(0)]);
}

/// Fourteen calls in one step are 28 blocks: out of reach where each block counts, two positions where runs do.
#[test]
fn a_wide_step_is_out_of_reach_only_where_each_block_counts() {
    let list = |one: fn(usize) -> String| (0..14).map(one).collect::<Vec<_>>().join(",");
    let calls = list(|at| format!(r#"{{"type":"tool_use","id":"toolu_w{at}","name":"Task","input":{{}}}}"#));
    let results =
        list(|at| format!(r#"{{"type":"tool_result","tool_use_id":"toolu_w{at}","content":"Done."}}"#));
    let marked = format!("{}{MARK}}}", results.strip_suffix('}').unwrap());
    let [earlier, later] = [CLAUDE_OLD.earlier(&[]), CLAUDE_OLD.earlier(&[])];
    let wide =
        format!(r#",{{"role":"assistant","content":[{calls}]}},{{"role":"user","content":[{marked}]}}]}}"#);
    let later = later.replacen(&format!("log.\"{MARK}"), "log.\"", 1);
    let pair = [earlier, format!("{}{wide}", later.strip_suffix("]}").unwrap())];
    let place = "/messages/6/content/13".to_owned();
    assert_eq!(found(pair.clone(), Platform::Bedrock), [(Kind::Lookback, place, Party::Agent)]);
    assert_eq!(found(pair, Platform::Anthropic), []);
}

/// All that is found between two requests, in order.
fn found(pair: [String; 2], platform: Platform) -> Vec<(Kind, String, Party)> {
    let bodies = pair.map(|text| Body::parse(text.as_bytes()).unwrap());
    let prompts = bodies.each_ref().map(|body| Prompt::read(body.root()).unwrap());
    let observations = prompts
        .each_ref()
        .map(|prompt| Observation::new(rules(platform, "claude-sonnet-5")).with_prompt(prompt));
    assert_eq!(lineages(&observations).parents, [None, Some(0)], "the second extends the first");
    let verdict = judge(&observations[0], &observations[1]);
    let all = verdict.breaks.into_iter().chain(verdict.faults).chain(verdict.planned);
    all.map(|one| (one.kind, one.path, one.party)).collect()
}

impl Client {
    fn earlier(&self, edits: &[Edit]) -> String {
        edited(self.request.to_owned(), edits).replace('@', MARK)
    }

    /// The request that it grew into; the marker on the newest message moved on.
    fn later(&self, edits: &[Edit]) -> String {
        let request =
            if self.step.contains('@') { self.request.replace('@', "") } else { self.request.to_owned() };
        let front = request.strip_suffix("]}").unwrap();
        edited(format!("{front}{}]}}", self.step), edits).replace('@', MARK)
    }
}

fn edited(mut text: String, edits: &[Edit]) -> String {
    for edit in edits {
        text = match edit {
            Change(piece, other) => replaced(&text, piece, other),
            All(piece, other) => text.replace('@', MARK).replace(piece, other),
            Cut(piece) => replaced(&text, piece, ""),
            Put(piece, front) => replaced(&text, front, &format!("{piece}{front}")),
            Move(piece, front) => {
                replaced(&replaced(&text, piece, ""), front, &format!("{}{front}", piece.trim_end()))
            }
            Append(piece) => format!("{}{piece}]}}", text.strip_suffix("]}").unwrap()),
            Messages(list) => format!("{}{list}}}", text.split_inclusive("\"messages\":").next().unwrap()),
        };
    }
    text
}

fn replaced(text: &str, piece: &str, other: &str) -> String {
    assert_eq!(text.matches(piece).count(), 1, "{piece} in {text}");
    text.replace(piece, other)
}
