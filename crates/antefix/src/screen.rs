//! What a turn looks like in a terminal: the reply on standard output, everything else on standard error.

use std::io::{IsTerminal, Write};

use antefix_models::Money;
use antefix_prefix::{Cause, Certainty, Limit};
use antefix_runtime::driver::{Shown, Subagent, SubagentNews};
use antefix_session::conversation::Call;
use antefix_session::event::{RequestReport, SessionEvent, WarmReport};
use antefix_session::record::EndReason;
use antefix_session::warm::Outlook;
use antefix_wire::assemble::Delta;
use antefix_wire::json::{Body, Kind, Node};

use crate::compaction;
use crate::out::tell;
use crate::text::{bar, efficiency, short};

/// Characters of a text beside the reply that are shown at most.
const LONGEST: usize = 4_000;

/// Lines of a diff that are shown at most once it was made.
const DIFF_LINES: usize = 60;

/// Tools whose results hold a diff.
const EDITORS: [&str; 3] = ["edit", "multi_edit", "write"];

/// Shows a turn as it runs.
pub struct Screen {
    colour: bool,
    /// Text of the reply stands on the current line of standard output.
    open_line: bool,
    /// The model is thinking and that was said.
    in_thinking: bool,
    /// The reply so far, where it goes to a file or a pipe: what is said again after a cut must not stand there twice.
    held: Option<String>,
    /// Why the provider could not read all, as far as it was said.
    limits: Vec<Cause>,
    /// The user goes on by typing.
    is_chat: bool,
}

impl Screen {
    /// A screen; colour only where standard error is a terminal and colour is wanted.
    pub fn new(colour: bool) -> Self {
        Self {
            colour: colour && std::io::stderr().is_terminal(),
            open_line: false,
            in_thinking: false,
            held: (!std::io::stdout().is_terminal()).then(String::new),
            limits: Vec::new(),
            is_chat: false,
        }
    }

    /// A screen whose user goes on by typing.
    pub fn of_chat(self) -> Self {
        Self { is_chat: true, ..self }
    }

    /// Shows one thing.
    pub fn show(&mut self, shown: &Shown<'_>) {
        match shown {
            Shown::Delta(delta) => self.delta(delta),
            Shown::Event(event) => self.event(event),
            // A question is shown by whoever asks it.
            Shown::Progress { .. } | Shown::Question(_) => {}
            Shown::Subagent { subagent, news } => self.subagent(subagent, news),
            Shown::Decided(decided) => {
                let (mark, name) =
                    (if decided.allowed { "·" } else { "!" }, one_line(&decided.call.name, 64));
                if let Some(text) = &decided.text {
                    self.line(&self.yellow(&format!("{mark} {name} {text}")));
                }
            }
        }
    }

    /// Shows what a subagent does in a line each: its calls, its troubles and its end.
    fn subagent(&mut self, subagent: &Subagent, news: &SubagentNews) {
        let name = one_line(subagent.agent.as_deref().unwrap_or(&subagent.description), 40);
        match news {
            SubagentNews::Event(SessionEvent::CallStarted(call)) => {
                self.line(&self.dim(&format!("  {name} → {}", describe(call))));
            }
            SubagentNews::Event(SessionEvent::CallFinished { call, is_error: true, text }) => {
                self.line(&self.dim(&format!("  {name} ✗ {} {}", one_line(&call.name, 64), outcome(text))));
            }
            SubagentNews::Event(SessionEvent::RequestFinished(report)) => {
                if let Some(warning) = report.warning() {
                    self.line(&self.yellow(&format!("  {name} ! {warning}")));
                }
            }
            SubagentNews::Event(SessionEvent::Retrying { reason, wait, .. }) => {
                let wait = seconds(*wait);
                self.line(&self.yellow(&format!("  {name} ! {reason}; trying again in {wait} s")));
            }
            SubagentNews::Event(SessionEvent::Notice(text)) => {
                self.line(&self.yellow(&format!("  {name} ! {text}")));
            }
            SubagentNews::Event(SessionEvent::TurnEnded { reason, message, .. }) => {
                let how = message.as_deref().unwrap_or(reason.word());
                let text = if *reason == EndReason::EndTurn { "is done" } else { how };
                self.line(&self.dim(&format!("  {name} · {text}")));
            }
            SubagentNews::Event(_) => {}
            SubagentNews::Decided(decided) => {
                if let Some(text) = &decided.text {
                    let mark = if decided.allowed { "·" } else { "!" };
                    let tool = one_line(&decided.call.name, 64);
                    self.line(&self.yellow(&format!("  {name} {mark} {tool} {text}")));
                }
            }
        }
    }

    /// Says something beside the conversation.
    pub fn note(&mut self, text: &str) {
        self.line(&self.dim(&format!("· {text}")));
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Text { text, .. } => {
                self.open_line = !text.ends_with('\n');
                match &mut self.held {
                    Some(held) => held.push_str(&harmless(text)),
                    None => print(&harmless(text)),
                }
            }
            Delta::BlockStopped { .. } => {
                self.end_line();
                self.in_thinking = false;
            }
            Delta::Thinking { .. } if !self.in_thinking => {
                self.in_thinking = true;
                self.line(&self.dim("· thinking …"));
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::CallStarted(call) => {
                self.give();
                self.line(&format!("{} {}", self.bold("→"), describe(call)));
            }
            SessionEvent::CallFinished { call, is_error, text } => {
                let mark = if *is_error { self.red("✗") } else { self.green("✓") };
                self.line(&format!("{mark} {} {}", one_line(&call.name, 64), self.dim(&outcome(text))));
                if EDITORS.contains(&call.name.as_str()) && !*is_error {
                    self.diff(text.lines().skip_while(|line| !line.starts_with("@@ ")));
                }
            }
            SessionEvent::RequestFinished(report) => self.report(report),
            SessionEvent::Retrying { reason, wait, .. } => {
                if let Some(held) = &mut self.held {
                    held.clear();
                }
                self.line(&self.yellow(&format!("! {reason}; trying again in {} s", seconds(*wait))));
            }
            SessionEvent::Reminder { kind, key, text } => {
                let of = if key.is_empty() { kind.clone() } else { format!("{kind} {key}") };
                self.note(&one_line(&format!("the model is told ({of}): {text}"), 200));
            }
            SessionEvent::Notice(text) => self.line(&self.yellow(&format!("! {text}"))),
            SessionEvent::TurnEnded { reason, message, .. } => self.ended(*reason, message.as_deref()),
            SessionEvent::RequestStarted { limits, positions, .. } => {
                self.give();
                for limit in limits {
                    self.limit(limit, *positions);
                }
            }
            SessionEvent::CompactionStarted { trigger, forecast, window } => {
                self.line(&self.yellow(&format!("! {}", compaction::started(*trigger, forecast, *window))));
            }
            SessionEvent::CompactionEnded { tokens, failure } => {
                self.line(&self.yellow(&format!("! {}", compaction::ended(*tokens, failure.as_deref()))));
            }
            SessionEvent::Forecast(outlook) => self.line(&self.dim(&forecast(outlook))),
            SessionEvent::KeptWarm(warm) => self.kept_warm(warm),
            SessionEvent::TurnStarted { .. } => {}
        }
    }

    /// Says once why a part of the prompt cannot be read from the cache.
    fn limit(&mut self, limit: &Limit, positions: u64) {
        if self.limits.contains(&limit.cause) {
            return;
        }
        self.limits.push(limit.cause);
        let may = match limit.certainty {
            Certainty::Documented => "is",
            Certainty::Possible => "may be",
        };
        let (at, cause, source) = (limit.at, limit.cause, limit.source);
        let text = format!(
            "· provider-limited: {cause}; what follows position {at} of {positions} {may} read anew ({source})"
        );
        self.line(&self.dim(&text));
    }

    /// Shows the lines of a diff, as many as a screen holds.
    fn diff<'t>(&mut self, lines: impl Iterator<Item = &'t str>) {
        let mut rest = 0_usize;
        for (index, line) in lines.enumerate() {
            if index >= DIFF_LINES {
                rest += 1;
                continue;
            }
            let shown = match line.chars().next() {
                Some('+') => self.green(line),
                Some('-') => self.red(line),
                _ => self.dim(line),
            };
            self.line(&format!("  {shown}"));
        }
        if rest > 0 {
            self.line(&self.dim(&format!("  … {rest} more lines")));
        }
    }

    fn report(&mut self, report: &RequestReport) {
        let Some(counts) = report.counts else {
            return self.line(&self.dim("cache: the provider reported no usage"));
        };
        if report.is_estimated {
            let (input, output) = (short(counts.prompt().0), short(counts.output.0));
            let text = format!(
                "the server reported no usage; estimated from bytes: {input} tokens in, {output} out, what was read from its cache is not known"
            );
            return self.line(&self.dim(&text));
        }
        let uncached = match counts.uncached.0 {
            0 => String::new(),
            uncached => format!(" · {} uncached", short(uncached)),
        };
        let line = format!(
            "cache {} {} of {} input tokens read · {} written{uncached} · {} · session {}",
            bar(&counts, 10),
            efficiency(&counts),
            short(counts.prompt().0),
            short((counts.write_5m + counts.write_1h).0),
            dollars(report.cost),
            dollars(report.total_cost),
        );
        self.line(&self.dim(&line));
        for edit in &report.edits {
            self.line(&self.yellow(&format!("! {}", compaction::edited(edit))));
        }
        if let Some(warning) = report.warning() {
            self.line(&self.yellow(&format!("! {warning}")));
        }
    }

    fn kept_warm(&mut self, warm: &WarmReport) {
        if let Some(error) = &warm.error {
            return self.line(&self.yellow(&format!("! the cache is not kept warm any longer: {error}")));
        }
        let read = warm.report.counts.map_or(0, |counts| counts.read.0);
        let line = format!(
            "· cache kept warm: {} tokens read for {}; the next request would cost {} more without",
            short(read),
            dollars(warm.report.cost),
            dollars(Some(warm.saves)),
        );
        self.line(&self.dim(&line));
    }

    fn ended(&mut self, reason: EndReason, message: Option<&str>) {
        self.end_line();
        self.give();
        match reason {
            EndReason::EndTurn | EndReason::StopSequence => {}
            EndReason::Interrupted => {
                let next = if self.is_chat { "" } else { "; go on with `antefix run --continue`" };
                self.line(&self.yellow(&format!("! stopped{next}")));
            }
            _ => self.line(&self.yellow(&format!("! {}", message.unwrap_or(reason.word())))),
        }
        if let Some(rest) = what_is_kept(reason) {
            self.line(&self.dim(&format!("hint: {rest}")));
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.open_line) {
            match &mut self.held {
                Some(held) => held.push('\n'),
                None => print("\n"),
            }
        }
    }

    /// Prints what was held back.
    fn give(&mut self) {
        if let Some(held) = &mut self.held {
            print(&std::mem::take(held));
        }
    }

    fn line(&mut self, text: &str) {
        self.end_line();
        tell!("{text}");
    }

    /// The text in colour, without what a terminal would obey, and no longer than a screen holds.
    fn paint(&self, code: &str, text: &str) -> String {
        let cut = text.char_indices().nth(LONGEST).map_or(text, |(at, _)| &text[..at]);
        let more = if cut.len() < text.len() { " …" } else { "" };
        let text = &format!("{}{more}", harmless(cut));
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn red(&self, text: &str) -> String {
        self.paint("31", text)
    }

    fn green(&self, text: &str) -> String {
        self.paint("32", text)
    }

    fn yellow(&self, text: &str) -> String {
        self.paint("33", text)
    }
}

/// What has become of the turn where that is not plain.
fn what_is_kept(reason: EndReason) -> Option<&'static str> {
    match reason {
        EndReason::Rejected => {
            Some("what was asked is left out of the session, which goes on with --continue")
        }
        EndReason::Failed => Some("the session is kept; when the trouble is over, go on with --continue"),
        _ => None,
    }
}

/// What the next request is expected to cost, in one line.
fn forecast(outlook: &Outlook) -> String {
    let expiry = match outlook.expires_in {
        None => "how long the cache lives is not known".to_owned(),
        Some(left) if left > 0 => format!("the cache expires in {}", span(left.unsigned_abs())),
        Some(over) => format!("the cache expired {} ago", span(over.unsigned_abs())),
    };
    let (warm, cold) = match (outlook.warm, outlook.cold) {
        (None, None) => ("unpriced".to_owned(), "unpriced".to_owned()),
        (warm, cold) => (dollars(warm), dollars(cold)),
    };
    let tokens = short(outlook.tokens.0);
    if outlook.reads.is_zero() {
        return format!(
            "· nothing of this request is known to be in the cache; it has about {tokens} tokens of input: {cold}"
        );
    }
    format!(
        "· {expiry}; this request has about {tokens} tokens of input: {warm} with {} of them read, {cold} without",
        short(outlook.reads.0),
    )
}

/// An amount, or that there is no price.
pub fn dollars(cost: Option<Money>) -> String {
    cost.map_or_else(|| "unpriced".to_owned(), |cost| format!("{cost:.4}"))
}

/// A length of time in its two largest units.
fn span(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, _, _) => format!("{days} d {hours} h"),
    }
}

fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that has gone away does not stop the turn.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A call in one line: the tool and what of its input fits.
pub fn describe(call: &Call) -> String {
    let Ok(body) = Body::parse(call.input.to_vec()) else { return call.name.clone() };
    let mut parts = Vec::new();
    for (name, value) in body.root().members() {
        let name = name.str().unwrap_or_default();
        parts.push(format!("{name}={}", one_line(&value_text(value), 80)));
    }
    one_line(&format!("{} {}", call.name, parts.join(" ")), 160)
}

fn value_text(value: Node<'_>) -> String {
    match value.kind() {
        Kind::String => value.str().unwrap_or_default().into_owned(),
        _ => value.raw().to_owned(),
    }
}

fn outcome(text: &str) -> String {
    let mut shown = text.lines().filter(|line| !line.trim().is_empty() && *line != "[exit code 0]");
    let first = shown.next().unwrap_or("");
    let more = match shown.count() {
        0 => String::new(),
        1 => " (+1 line)".to_owned(),
        lines => format!(" (+{lines} lines)"),
    };
    format!("{}{more}", one_line(first.trim(), 100))
}

/// The text on one line, cut to `limit` characters; control characters are shown, never sent to the terminal.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        match letter {
            '\n' => out.push('⏎'),
            '\t' => out.push(' '),
            letter if is_unseen(letter) => out.extend(letter.escape_debug()),
            letter => out.push(letter),
        }
    }
    out
}

/// Whether a letter is obeyed by a terminal, turns others round, or is not seen: shown as a number where something is
/// to be decided about a text.
fn is_unseen(letter: char) -> bool {
    letter.is_control() || !letter.is_ascii() && letter.escape_debug().len() > 1
}

/// The text with everything that is not seen shown, line ends and tabs aside.
pub fn laid_open(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let stays = matches!(letter, '\n' | '\t') || !is_unseen(letter);
        if stays { out.push(letter) } else { out.extend(letter.escape_debug()) }
    }
    out
}

/// The text without what a terminal would obey: control characters, but for line ends and tabs, and those that turn
/// the order of letters round are shown.
pub fn harmless(text: &str) -> std::borrow::Cow<'_, str> {
    let turns = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let obeyed = |letter: char| turns(letter) || letter.is_control() && letter != '\n' && letter != '\t';
    if !text.contains(obeyed) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if obeyed(letter) { out.extend(letter.escape_debug()) } else { out.push(letter) }
    }
    out.into()
}

fn seconds(milliseconds: u64) -> String {
    let tenths = milliseconds.div_ceil(100);
    if tenths.is_multiple_of(10) {
        (tenths / 10).to_string()
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}
