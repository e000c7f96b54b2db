//! Reading the line format of scripts.

use antefix_wire::json::{Body, Kind};

use crate::Millis;

use super::{Condition, Fault, Lacks, Limit, LimitScope, Point, Refusal, Rule, Say, ScriptError};

pub(super) fn parse(text: &str) -> Result<Vec<Rule>, ScriptError> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let line_number = index + 1;
        let at = |problem: String| ScriptError { line: line_number, problem };
        let (word, rest) = first_word(line);
        match word {
            "" => continue,
            _ if word.starts_with('#') => continue,
            "rule" => {
                rules.push(Rule::default());
                continue;
            }
            _ => {}
        }
        let rest = match rest.strip_prefix("<<") {
            Some(end) => {
                here_document(&mut lines, end.trim()).ok_or_else(|| at(format!("no line `{end}` follows")))?
            }
            None => rest.to_owned(),
        };
        let rule = rules.last_mut().ok_or_else(|| at("expected `rule` first".to_owned()))?;
        rule.line(word, &rest).map_err(at)?;
    }
    Ok(rules)
}

impl Rule {
    fn line(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let reply = &mut self.reply;
        match word {
            "on" => self.conditions.extend(condition(rest)?),
            "times" => self.limit = Some(limit(rest)?),
            "think" => reply.says.push(Say::Think(words(rest)?)),
            "redacted" => reply.says.push(Say::Redacted(words(rest)?)),
            "text" => reply.says.push(Say::Text(words(rest)?)),
            "tool" => reply.says.push(tool(rest)?),
            "server" => reply.says.push(server(rest)?),
            "stop" => reply.stop = Some(stop(rest)?),
            "error" => reply.refusal = Some(refusal(rest)?),
            "retry-after" => match &mut reply.refusal {
                Some(refusal) => refusal.retry_after = Some(number(rest)?),
                None => return Err("`retry-after` belongs after `error`".to_owned()),
            },
            "first-byte" => reply.first_byte = Some(Millis(number(rest)?)),
            "chunk-delay" => reply.chunk_delay = Some(Millis(number(rest)?)),
            "output" => reply.output_tokens = Some(number(rest)?),
            "diagnostics" if rest == "pending" => reply.diagnostics_pending = true,
            "summary" => reply.summary = Some(words(rest)?),
            "play" => reply.play = true,
            "keep-alive" if rest.is_empty() => reply.keep_alive = true,
            "arguments" => reply.argument_bytes = Some(usize::try_from(number(rest)?).unwrap_or(usize::MAX)),
            "omit" => *omitted(&mut reply.lacks, rest)? = true,
            _ => reply.fault = Some(fault(word, rest)?),
        }
        Ok(())
    }
}

fn condition(rest: &str) -> Result<Option<Condition>, String> {
    let (word, rest) = first_word(rest);
    let range = || range(rest);
    Ok(Some(match word {
        "any" => return Ok(None),
        "text" => Condition::Text(words(rest)?),
        "said" => Condition::Said(words(rest)?),
        "result" => Condition::Result(words(rest)?),
        "result-text" => Condition::ResultText(words(rest)?),
        "result-error" => Condition::ResultError,
        "results" => range().map(|(from, to)| Condition::Results(from, to))?,
        "rounds" => range().map(|(from, to)| Condition::Rounds(from, to))?,
        "turn" => range().map(|(from, to)| Condition::Turn(from, to))?,
        "model" => Condition::Model(words(rest)?),
        "offers" => Condition::Offers(words(rest)?),
        "system" => Condition::System(words(rest)?),
        _ => return Err(format!("unknown condition `{word}`")),
    }))
}

fn omitted<'a>(lacks: &'a mut Lacks, rest: &str) -> Result<&'a mut bool, String> {
    match rest {
        "choices" => Ok(&mut lacks.choices),
        "usage" => Ok(&mut lacks.usage),
        "finish" => Ok(&mut lacks.finish),
        "done" => Ok(&mut lacks.done),
        _ => Err(format!("expected `choices`, `usage`, `finish` or `done`, not `{rest}`")),
    }
}

fn limit(rest: &str) -> Result<Limit, String> {
    let (times, scope) = first_word(rest);
    let scope = match scope {
        "" => LimitScope::Conversation,
        "global" => LimitScope::Global,
        _ => return Err(format!("expected `global` or nothing, not `{scope}`")),
    };
    let times = u32::try_from(number(times)?).map_err(|_| "too large a number".to_owned())?;
    Ok(Limit { times, scope })
}

fn tool(rest: &str) -> Result<Say, String> {
    let (name, input) = first_word(rest);
    Ok(Say::Tool { name: name.to_owned(), input: object(input)? })
}

fn server(rest: &str) -> Result<Say, String> {
    let (name, rest) = first_word(rest);
    let (input, result) = rest.split_once("=>").ok_or("expected `server NAME JSON => JSON`")?;
    let result = result.trim();
    Body::parse(result).map_err(|error| format!("the result is no JSON: {error}"))?;
    Ok(Say::Server { name: name.to_owned(), input: object(input.trim())?, result: result.to_owned() })
}

fn stop(rest: &str) -> Result<(String, Option<String>), String> {
    let (reason, sequence) = first_word(rest);
    if !STOP_REASONS.contains(&reason) {
        return Err(format!("unknown stop reason `{reason}`; known are {}", STOP_REASONS.join(", ")));
    }
    let sequence = if sequence.is_empty() { None } else { Some(words(sequence)?) };
    Ok((reason.to_owned(), sequence))
}

fn refusal(rest: &str) -> Result<Refusal, String> {
    let (status, rest) = first_word(rest);
    let (kind, message) = first_word(rest);
    let status = u16::try_from(number(status)?).ok().filter(|status| (400..600).contains(status));
    let status = status.ok_or("expected a status from 400 to 599")?;
    if kind.is_empty() {
        return Err("expected `error STATUS TYPE MESSAGE`".to_owned());
    }
    Ok(Refusal { status, kind: kind.to_owned(), message: words(message)?, retry_after: None })
}

fn fault(word: &str, rest: &str) -> Result<Fault, String> {
    match word {
        "cut" => Ok(Fault::Cut(point(rest)?)),
        "hang" => Ok(Fault::Hang(point(rest)?)),
        "stream-error" => {
            let (place, rest) = first_word(rest);
            let (kind, message) = first_word(rest);
            Ok(Fault::Error { kind: kind.to_owned(), message: words(message)?, point: point(place)? })
        }
        "malformed" if rest == "sse" => Ok(Fault::MalformedSse),
        "malformed" if rest == "json" => Ok(Fault::MalformedJson),
        _ => Err(format!("unknown line `{word} {rest}`")),
    }
}

fn point(rest: &str) -> Result<Point, String> {
    match rest {
        "before-first-byte" => Ok(Point::BeforeFirstByte { written: false }),
        "before-first-byte written" => Ok(Point::BeforeFirstByte { written: true }),
        "before-first-block" => Ok(Point::BeforeFirstBlock),
        "mid-input" => Ok(Point::MidInput),
        _ => Ok(Point::Bytes(usize::try_from(number(rest)?).map_err(|_| "too large a number")?)),
    }
}

/// Free text, or a JSON string where it begins with a quote.
fn words(rest: &str) -> Result<String, String> {
    if !rest.starts_with('"') {
        return Ok(rest.to_owned());
    }
    let body = Body::parse(rest).map_err(|error| format!("no JSON string: {error}"))?;
    body.root().str().map(std::borrow::Cow::into_owned).ok_or_else(|| "no JSON string".to_owned())
}

/// The text of a JSON object; empty is `{}`.
fn object(text: &str) -> Result<String, String> {
    let text = if text.is_empty() { "{}" } else { text };
    let body = Body::parse(text).map_err(|error| format!("the input is no JSON: {error}"))?;
    if body.root().kind() != Kind::Object {
        return Err("the input is no JSON object".to_owned());
    }
    Ok(text.to_owned())
}

/// `N`, `N..M` (both included) or `N..`.
fn range(text: &str) -> Result<(u64, u64), String> {
    match text.split_once("..") {
        None => number(text).map(|count| (count, count)),
        Some((from, "")) => Ok((number(from)?, u64::MAX)),
        Some((from, to)) => Ok((number(from)?, number(to)?)),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a number, not `{text}`"))
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn here_document<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>, end: &str) -> Option<String> {
    let mut text = Vec::new();
    for (_, line) in lines {
        if line.trim() == end {
            return Some(text.join("\n"));
        }
        text.push(line);
    }
    None
}

const STOP_REASONS: [&str; 7] = [
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
];
