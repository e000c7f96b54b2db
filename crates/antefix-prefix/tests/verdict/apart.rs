//! Which request goes on from which where several sessions are in one capture, and where one was refused.

use antefix_models::{Platform, rules};
use antefix_prefix::verdict::{Kind, Observation, Prompt, judge, lineages};
use antefix_wire::json::Body;

/// One request: the session and the agent that sent it, as far as it says so, the folder that its system prompt names,
/// whether it was refused, and what was said, the user first.
struct Sent {
    session: Option<&'static str>,
    agent: Option<&'static str>,
    folder: &'static str,
    refused: bool,
    said: &'static [&'static str],
}

/// What happened, the requests, and for each the one that it goes on from.
type Row = (&'static str, &'static [Sent], &'static [Option<usize>]);

/// A request of a client that says nothing of itself.
const fn nameless(folder: &'static str, said: &'static [&'static str]) -> Sent {
    Sent { session: None, agent: None, folder, refused: false, said }
}

const fn in_session(session: &'static str, said: &'static [&'static str]) -> Sent {
    Sent { session: Some(session), ..nameless("/work", said) }
}

const fn refused(said: &'static [&'static str]) -> Sent {
    Sent { refused: true, ..nameless("/elsewhere", said) }
}

const ROWS: [Row; 11] = [
    (
        "the user goes back behind a refused request",
        &[
            nameless("/work", &["Hello"]),
            refused(&["Hello", "Yes?", "Refuse this"]),
            nameless("/work", &["Hello", "Yes?", "Something else"]),
        ],
        &[None, None, Some(0)],
    ),
    ("the first request is refused", &[refused(&["Hello"]), nameless("/work", &["Hello"])], &[None, None]),
    (
        "a request is refused twice and then answered",
        &[
            nameless("/work", &["Hello"]),
            refused(&["Hello", "Yes?", "And now?"]),
            refused(&["Hello", "Yes?", "And now?"]),
            nameless("/work", &["Hello", "Yes?", "And now?"]),
        ],
        &[None, None, None, Some(0)],
    ),
    (
        "two sessions say the same up to a point",
        &[
            in_session("a", &["Hello"]),
            in_session("b", &["Hello"]),
            in_session("a", &["Hello", "Yes?", "One"]),
            in_session("b", &["Hello", "Yes?", "Two"]),
            in_session("a", &["Hello", "Yes?", "One", "I see.", "Three"]),
            in_session("b", &["Hello", "Yes?", "Two", "I see.", "Three"]),
        ],
        &[None, None, Some(0), Some(1), Some(2), Some(3)],
    ),
    (
        "two nameless sessions in two folders",
        &[
            nameless("/one", &["Look", "I do.", "One"]),
            nameless("/two", &["Show me all", "I will.", "Two"]),
            nameless("/one", &["Look", "I do.", "One", "Done.", "More"]),
            nameless("/two", &["Show me all", "I will.", "Two", "Done.", "More"]),
        ],
        &[None, None, Some(0), Some(1)],
    ),
    (
        "two nameless sessions that say the same in two folders",
        &[
            nameless("/one", &["Look"]),
            nameless("/two", &["Look"]),
            nameless("/one", &["Look", "I do.", "More"]),
            nameless("/two", &["Look", "I do.", "More"]),
            nameless("/one", &["Look", "I do.", "More", "Done.", "One"]),
            nameless("/two", &["Look", "I do.", "More", "Done.", "Two"]),
        ],
        &[None, Some(0), Some(0), Some(1), Some(2), Some(3)],
    ),
    (
        "a fork goes on from the session that it was taken from, and that one from itself",
        &[
            in_session("a", &["Hello"]),
            in_session("a", &["Hello", "Yes?", "One"]),
            in_session("fork", &["Hello", "Yes?", "Two"]),
            in_session("a", &["Hello", "Yes?", "One", "I see.", "More"]),
            in_session("fork", &["Hello", "Yes?", "Two", "I see.", "More"]),
        ],
        &[None, Some(0), Some(1), Some(1), Some(2)],
    ),
    (
        "a session that is resumed under another name has its prompt changed",
        &[
            in_session("a", &["Hello", "Yes?", "One"]),
            Sent { folder: "/moved", ..in_session("b", &["Hello", "Yes?", "One", "I see.", "More"]) },
        ],
        &[None, Some(0)],
    ),
    (
        "a subagent that only its task tells apart",
        &[
            in_session("a", &["Hello", "Yes?", "Count the files"]),
            in_session("a", &["You count files. Do it."]),
            in_session("a", &["Hello", "Yes?", "Count the files", "Three.", "Thanks"]),
        ],
        &[None, None, Some(0)],
    ),
    (
        "a subagent that names itself",
        &[
            in_session("a", &["Count the files"]),
            Sent { agent: Some("counter"), ..in_session("a", &["Count the files"]) },
            in_session("a", &["Count the files", "Three.", "Thanks"]),
            Sent { agent: Some("counter"), ..in_session("a", &["Count the files", "How?", "As you like"]) },
        ],
        &[None, None, Some(0), Some(1)],
    ),
    (
        "two heads take turns in one conversation",
        &[
            nameless("/one", &["Look"]),
            nameless("/two", &["Look", "I do.", "More"]),
            nameless("/one", &["Look", "I do.", "More", "Done.", "And more"]),
        ],
        &[None, Some(0), Some(1)],
    ),
];

#[test]
fn each_conversation_is_followed_by_itself() {
    let mut wrong = Vec::new();
    for (name, sent, expect) in ROWS {
        let bodies: Vec<Body> = sent.iter().map(Sent::body).collect();
        let prompts: Vec<Prompt<'_>> = bodies.iter().map(|body| Prompt::read(body.root()).unwrap()).collect();
        let observations: Vec<_> = sent.iter().zip(&prompts).map(|(one, prompt)| one.seen(prompt)).collect();
        let found = lineages(&observations).parents;
        if found != expect {
            wrong.push(format!("{name}: expected {expect:?}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), ROWS.len(), wrong.join("\n"));
}

/// A capture of a session and its fork said of the session that its user had gone back, which nobody had.
#[test]
fn what_is_gone_on_with_was_not_left() {
    let sent = [
        nameless("/work", &["Hello", "Yes?", "One"]),
        nameless("/work", &["Hello", "Yes?", "Two"]),
        nameless("/work", &["Hello", "Yes?", "One", "I see.", "More"]),
    ];
    let bodies = sent.each_ref().map(Sent::body);
    let prompts = bodies.each_ref().map(|body| Prompt::read(body.root()).unwrap());
    let observations = [0, 1, 2].map(|at| sent[at].seen(&prompts[at]));
    let left_alone = lineages(&observations[..2]).judge(&observations[..2], 1).unwrap();
    let went_on = lineages(&observations).judge(&observations, 1).unwrap();
    assert_eq!(judge(&observations[0], &observations[1]), left_alone);
    assert_eq!([&left_alone, &went_on].map(|verdict| verdict.planned[0].kind), [Kind::Rewind, Kind::Fork]);
}

impl Sent {
    fn body(&self) -> Body {
        let Self { folder, said, .. } = self;
        let turn = |(at, text): (usize, &&str)| {
            format!(r#"{{"role":"{}","content":"{text}"}}"#, ["user", "assistant"][at % 2])
        };
        let messages: Vec<_> = said.iter().enumerate().map(turn).collect();
        let text = format!(
            r#"{{"model":"claude-sonnet-5","max_tokens":9,"tools":[{{"name":"read","input_schema":{{}}}}],"system":[{{"type":"text","text":"You help."}},{{"type":"text","text":"You work in {folder}."}}],"messages":[{}]}}"#,
            messages.join(",")
        );
        Body::parse(text.as_bytes()).unwrap()
    }

    fn seen<'a>(&self, prompt: &'a Prompt<'a>) -> Observation<'a> {
        Observation {
            session: self.session.map(str::to_owned),
            agent: self.agent.map(str::to_owned),
            refused: self.refused,
            ..Observation::new(rules(Platform::Anthropic, "claude-sonnet-5")).with_prompt(prompt)
        }
    }
}

/// Other parameters that were asked for are planned, and carry the tokens; what changes beside them is not.
#[test]
fn parameters_that_were_asked_for_are_planned() {
    let body = |effort: &str, tool: &str| {
        let tools = format!(r#"[{{"name":"read","description":"{tool}","input_schema":{{}}}}]"#);
        let output = format!(r#"{{"effort":"{effort}"}}"#);
        let messages = r#"[{"role":"user","content":"Hello"}]"#;
        let text =
            format!(r#"{{"model":"m","tools":{tools},"output_config":{output},"messages":{messages}}}"#);
        Body::parse(text).unwrap()
    };
    let [earlier, later] = [body("high", "Reads."), body("low", "Reads a file.")];
    let [old, new] = [&earlier, &later].map(|body| Prompt::read(body.root()).unwrap());
    let observation = |prompt| Observation::new(rules(Platform::Anthropic, "m")).with_prompt(prompt);
    for (is_altered, expect) in [
        (false, [&[Kind::ToolsDescription, Kind::ParamsEffort][..], &[]]),
        (true, [&[Kind::ToolsDescription][..], &[Kind::ParamsEffort]]),
    ] {
        let later = Observation { is_altered, ..observation(&new) };
        let verdict = judge(&observation(&old), &later);
        let kinds = [&verdict.breaks, &verdict.planned].map(|found| {
            let mut kinds: Vec<Kind> = found.iter().map(|finding| finding.kind).collect();
            kinds.sort();
            kinds
        });
        assert_eq!(kinds, expect.map(<[Kind]>::to_vec), "{is_altered}");
        let all = verdict.planned.iter().chain(&verdict.breaks);
        assert_eq!(all.filter(|finding| finding.rewritten.is_some()).count(), 1, "{is_altered}");
    }
}
