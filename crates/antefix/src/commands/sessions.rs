mod reminders;
mod todo;

use std::process::ExitCode;

use antefix_models::PriceBook;
use antefix_runtime::driver::subagent_of;
use antefix_runtime::store::{Sessions, Summary};
use antefix_runtime::transcript::{read, replay};
use antefix_session::conversation::{Attempt, Conversation, Message};
use antefix_session::record::{Header, Millis, Origin, PermissionRecord, Purpose, Spawned};
use antefix_session::spend::{Spend, of_attempt};

use crate::cli::{SessionsAction, SessionsArgs};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::out::{prose, say, tell};
use crate::price_file;
use crate::screen::{describe, one_line};
use crate::stream_json::{Object, SCHEMA_VERSION, array, money, quoted, relation_word, write_counts};
use crate::table::Table;
use crate::text::{efficiency, grouped};

/// `antefix sessions`
pub fn sessions(args: &SessionsArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let sessions = folders::sessions(environment)?;
    let cwd = folders::working_folder(None)?;
    if let Some(SessionsAction::Show { id, reminders }) = &args.action {
        let id = folders::find(&sessions, id.as_deref(), &cwd)?;
        let (header, entries) = read(&sessions.inspect(&id)?.transcript)?;
        let conversation = replay(header, &entries)?;
        if *reminders {
            reminders::show(&conversation, args.json);
        } else {
            show(&conversation, &price_file::book(environment)?, args.json);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(SessionsAction::Todo { id }) = &args.action {
        let id = folders::find(&sessions, id.as_deref(), &cwd)?;
        let (header, entries) = read(&sessions.inspect(&id)?.transcript)?;
        todo::show(&replay(header, &entries)?, args.json);
        return Ok(ExitCode::SUCCESS);
    }
    let shown = cwd.to_string_lossy();
    let list = sessions.list((!args.all).then_some(&*shown))?;
    if args.json {
        let rows = list.iter().map(summary_json);
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION).raw("sessions", &array(rows));
        say!("{}", object.close());
    } else if list.is_empty() {
        let here = if args.all { String::new() } else { format!(" of `{shown}`; `--all` lists all") };
        tell!("no sessions{here}");
    } else {
        print_list(&sessions, &list, args.all);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_list(sessions: &Sessions, list: &[Summary], all: bool) {
    let folders = all.then_some("folder");
    let headings: Vec<_> = ["session", "last used", ">turns"].into_iter().chain(folders).collect();
    let mut table = Table::new(&[&headings, &["first words"][..]].concat()).spare(&["turns", "last used"]);
    for summary in list {
        let inspected = sessions.inspect(&summary.id).ok();
        let told = inspected.and_then(|found| read(&found.transcript).ok());
        let told = told.and_then(|(header, entries)| replay(header, &entries).ok());
        let (turns, words) = told.as_ref().map_or_else(damaged, first_words);
        let words = match folders::spawned_by(summary) {
            Some(by) => format!("(subagent {}of {}) {words}", named(&by), by.session),
            None => words,
        };
        let mut cells = vec![summary.id.as_str().to_owned(), when(summary.updated_at_ms), turns];
        cells.extend(all.then(|| folder(summary)));
        cells.push(words);
        table.line(cells);
    }
    table.print();
}

fn summary_json(summary: &Summary) -> String {
    let mut object = Object::new();
    object.text("session_id", summary.id.as_str()).number("updated_at_ms", summary.updated_at_ms);
    object
        .text("cwd", &folder(summary))
        .number("lines", summary.head.lines)
        .number("bytes", summary.head.bytes);
    if let Some(by) = folders::spawned_by(summary) {
        object.raw("spawned_by", &spawned_json(&by));
    }
    object.close()
}

/// The name of a subagent's agent, if it has one.
fn named(by: &Spawned) -> String {
    by.agent.as_ref().map(|agent| format!("`{agent}` ")).unwrap_or_default()
}

fn spawned_json(by: &Spawned) -> String {
    let mut object = Object::new();
    object.text("session_id", &by.session).text("call", &by.call);
    if let Some(agent) = &by.agent {
        object.text("agent", agent);
    }
    object.close()
}

/// How many turns there were and what the user said first.
fn first_words(conversation: &Conversation) -> (String, String) {
    let history = conversation.history();
    let first = history.into_iter().find(|message| message.origin() == Origin::User);
    let words = first.map(text_of).unwrap_or_default();
    // What the model was told with it was not said by the user.
    let parts = words.split("<antefix-note").filter(|part| !part.contains("</antefix-note>"));
    let said = parts.map(|part| part.trim_matches([' ', '\n', '⏎'])).find(|part| !part.is_empty());
    (conversation.turn().to_string(), one_line(said.unwrap_or_default(), 60))
}

fn damaged() -> (String, String) {
    ("?".to_owned(), "(damaged: `antefix verify ID` says where)".to_owned())
}

fn folder(summary: &Summary) -> String {
    Header::decode(&summary.header).map_or_else(|_| "?".to_owned(), |header| header.cwd)
}

fn when(at: u64) -> String {
    let timestamp = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let zoned = timestamp.map(|timestamp| timestamp.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|| "?".to_owned(), |zoned| zoned.strftime("%Y-%m-%d %H:%M").to_string())
}

fn show(conversation: &Conversation, book: &PriceBook, json: bool) {
    if json {
        say!("{}", conversation_json(conversation, book));
        return;
    }
    show_head(conversation);
    say!();
    show_messages(conversation);
    say!();
    show_requests(conversation, book);
}

fn show_head(conversation: &Conversation) {
    let header = conversation.header();
    prose!("session {}  {}  begun {}", header.session, header.cwd, when(header.created.0));
    if let Some((from, record)) = &header.forked_from {
        prose!("forked from {from} at record {}", record.0);
    }
    if let Some(by) = &header.spawned_by {
        prose!("subagent {}of {}, for its call {}", named(by), by.session, by.call);
    }
    if let Some(lane) = conversation.lane() {
        let spec = lane.spec();
        let cache = spec.cache.map_or("off", antefix_models::Ttl::text);
        prose!(
            "model {}  dialect {}  cache {cache}  head {} bytes, {} positions",
            spec.model,
            spec.dialect.name(),
            grouped(lane.head().len() as u64),
            lane.positions()
        );
    }
}

fn show_messages(conversation: &Conversation) {
    let mut table = Table::new(&[">turn", "who", "what"]);
    let dropped = conversation.path().next().map_or(0, |first| first.turn().saturating_sub(1));
    if dropped > 0 {
        table.text("      (earlier turns were left behind by --rewind)");
    }
    conversation.path().for_each(|message| add_message(&mut table, conversation, message));
    table.print();
}

fn show_requests(conversation: &Conversation, book: &PriceBook) {
    if conversation.attempts().is_empty() {
        return say!("no request was made");
    }
    let headings = [
        ">n",
        ">turn",
        "relation",
        ">bytes",
        "status",
        ">read",
        ">written",
        ">uncached",
        ">cache read",
        ">cost",
    ];
    let mut table = Table::new(&headings).spare(&["bytes", "status", "turn"]);
    let mut total = Spend::default();
    for attempt in conversation.attempts() {
        let spend = of_attempt(conversation, attempt, book);
        total.add(&spend);
        let record = &attempt.attempt;
        table.line([
            record.attempt.0.to_string(),
            attempt.turn.to_string(),
            if record.purpose == Purpose::Warm { "warm" } else { relation_word(record.relation) }.to_owned(),
            grouped(record.bytes),
            status(attempt),
            grouped(spend.counts.read.0),
            grouped((spend.counts.write_5m + spend.counts.write_1h).0),
            estimated(&spend),
            efficiency(&spend.counts),
            spend.known_cost().map_or_else(|| "unpriced".to_owned(), |cost| format!("{cost:.4}")),
        ]);
    }
    table.print();
    let cost = total.known_cost().map_or_else(|| "unpriced".to_owned(), |cost| cost.to_string());
    let all = grouped(total.counts.prompt().0);
    say!();
    prose!("cache read: {} of all input tokens ({all}); cost: {cost}", efficiency(&total.counts));
}

/// What the server answered.
fn status(attempt: &Attempt) -> String {
    match &attempt.outcome {
        None => "no outcome".to_owned(),
        Some((_, outcome)) => {
            outcome.status.map_or_else(|| "unreachable".to_owned(), |status| status.to_string())
        }
    }
}

/// What was not read or written; `~` stands in front where the server reported nothing.
fn estimated(spend: &Spend) -> String {
    let mark = if spend.estimated > 0 { "~" } else { "" };
    format!("{mark}{}", grouped(spend.counts.uncached.0))
}

fn add_message(table: &mut Table, conversation: &Conversation, message: &Message) {
    let (turn, who) = (message.turn().to_string(), message.origin().word());
    let text = text_of(message);
    if !text.is_empty() || message.calls().is_empty() {
        table.line([turn.clone(), who.to_owned(), one_line(&text, 120)]);
    }
    for call in message.calls() {
        table.line([turn.clone(), who.to_owned(), format!("→ {}", describe(call))]);
        for decided in conversation.permissions().iter().filter(|one| one.call == call.id) {
            table.line([String::new(), String::new(), format!("  {}", decision_words(decided))]);
        }
        let results = conversation.results().values().filter(|one| one.call == call.id);
        for session in results.filter_map(subagent_of) {
            table.line([String::new(), String::new(), format!("  by subagent {session}")]);
        }
    }
}

/// What was decided about a call, and by what.
fn decision_words(decided: &PermissionRecord) -> String {
    let word = if decided.allowed { "allowed" } else { "refused" };
    let from_here = match decided.remembered.as_slice() {
        [] => String::new(),
        rules => format!(", and from there on {}", rules.join(", ")),
    };
    let input = decided
        .effective_input
        .as_ref()
        .map_or_else(String::new, |input| format!(", executed with {}", String::from_utf8_lossy(input)));
    one_line(&format!("{word} by {} ({}){from_here}{input}", decided.rule, decided.source), 240)
}

fn decision_json(decided: &PermissionRecord) -> String {
    let mut object = Object::new();
    object.text("call", &decided.call).text("tool", &decided.tool).boolean("allowed", decided.allowed);
    object.text("rule", &decided.rule).text("source", &decided.source);
    object.raw("remembered", &array(decided.remembered.iter().map(|rule| quoted(rule))));
    if let Some(input) = &decided.effective_input {
        object.raw("effective_input", &String::from_utf8_lossy(input));
    }
    object.close()
}

fn text_of(message: &Message) -> String {
    let text = |block: &bytes::Bytes| {
        let body = antefix_wire::json::Body::parse(block.to_vec()).ok()?;
        let block = body.root();
        let direct = block.get("text").and_then(|text| Some(text.str()?.into_owned()));
        direct.or_else(|| Some(block.pointer("/content/0/text")?.str()?.into_owned()))
    };
    message.blocks().iter().filter_map(text).collect::<Vec<_>>().join(" ⏎ ")
}

fn conversation_json(conversation: &Conversation, book: &PriceBook) -> String {
    let requests = conversation.attempts().iter().map(|attempt| {
        let spend = of_attempt(conversation, attempt, book);
        let record = &attempt.attempt;
        let mut object = Object::new();
        object.number("n", record.attempt.0).number("turn", attempt.turn).number("at_ms", attempt.at.0);
        object.text("purpose", record.purpose.word());
        object.text("relation", relation_word(record.relation)).number("bytes", record.bytes);
        object.text("digest", &record.digest).number("positions", record.positions);
        if let Some((Millis(at), outcome)) = &attempt.outcome {
            object.number("ended_at_ms", *at);
            if let Some(status) = outcome.status {
                object.number("status", status.into());
            }
        }
        write_counts(&mut object, &spend.counts);
        object.boolean("estimated", spend.estimated > 0);
        object.raw("cost_usd", &money(spend.known_cost()));
        object.close()
    });
    let messages =
        conversation.path().map(|message| String::from_utf8_lossy(message.fragment()).into_owned());
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).text("session_id", &conversation.header().session);
    object.text("cwd", &conversation.header().cwd).number("turns", conversation.turn());
    let decisions = conversation.permissions().iter().map(decision_json);
    object.raw("messages", &array(messages)).raw("requests", &array(requests));
    object.raw("decisions", &array(decisions));
    if let Some(by) = &conversation.header().spawned_by {
        object.raw("spawned_by", &spawned_json(by));
    }
    let subagents = conversation.results().values().filter_map(|result| {
        let mut object = Object::new();
        object.text("call", &result.call).text("session_id", &subagent_of(result)?);
        Some(object.close())
    });
    object.raw("subagents", &array(subagents));
    object.close()
}
