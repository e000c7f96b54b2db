//! A server that follows a script, for tests of whatever speaks to servers: it can be late, silent, loud, wrong,
//! different at each list and at each start, and die at any point.
//!
//! The program `antefix-mcp-scripted SCRIPT` runs it. A script is one JSON object; each member may be left out:
//!
//! | member | |
//! |---|---|
//! | `name`, `version`, `instructions` | what it says of itself |
//! | `tools` | the tools it lists, as they are written |
//! | `lists` | several lists: each `tools/list` from the start gets the next, the last one stays |
//! | `page` | tools on a page |
//! | `cursors` | cursors of next pages that lists of tools give in turn, for ever |
//! | `ttl_ms`, `cache_scope` | what it says of how long a list lives |
//! | `start_delay_ms` | how long it reads nothing |
//! | `noise`, `flood` | lines on standard output that are no messages, and how often they are printed |
//! | `log` | lines on standard error |
//! | `silent` | methods that get no answer |
//! | `refuse` | `{METHOD: {error}}` |
//! | `exit_at` | `{METHOD: exit code}` |
//! | `calls` | `{TOOL: {…}}`, see below |
//! | `resources`, `prompts` | what it lists; `contents` and `messages` are what reading them gives |
//! | `starts_file`, `starts` | a file in which starts are counted; the members of the n-th of `starts` go before those above, the last one stays |
//!
//! A call may have, done in this order: `delay_ms`, `noise` (in which `$ID` is the call's id), `log`, `exit` (a code),
//! `silent`, `progress` (how often), `until_cancelled` (a file that is written then; `late` is a text that it is answered
//! with all the same), `change` (a new list of tools, of which it tells), `ask` (parameters of a question; the answer is
//! the text), `error` (refused with this), `cut` (so many bytes of a result, and the end), and then a result: `result` as
//! it is written, `parts` (a list of parts and how often each is repeated: `[[PART, 2]]`), `image_bytes` (an image of so
//! many letters), or a text: `text`, `bytes` (so many letters), `env` (a variable's value), else the parameters as they
//! came. `is_error` marks it as failed.

use std::fmt::Write as _;
use std::io::{BufRead, ErrorKind, Write, stderr, stdin, stdout};
use std::path::Path;
use std::time::Duration;

use antefix_wire::json::{Body, Kind, Node, write_string};

/// What a scripted server is connected to.
pub struct Around<'a, I, O, E> {
    /// Where messages come from.
    pub input: I,
    /// Where they go to.
    pub output: O,
    /// Where the log goes to.
    pub errors: E,
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Serves until the input ends; the number is the exit code that the script asks for.
///
/// # Errors
/// If the script is no JSON object, or input or output fail.
pub fn serve<I: BufRead, O: Write, E: Write>(
    script: &str,
    around: Around<'_, I, O, E>,
) -> std::io::Result<u8> {
    let script = Body::parse(script).map_err(|error| std::io::Error::other(error.to_string()))?;
    let start = started(script.root())?;
    let mut server =
        Server { script: script.root(), start, lists: 0, pages: 0, list: None, questions: 0, around };
    server.open()?;
    while let Some(line) = server.read()? {
        let Ok(message) = Body::parse(line) else { continue };
        if let Some(code) = server.answer(message.root())? {
            return Ok(code);
        }
    }
    Ok(0)
}

/// Serves what the script in a file says on the standard streams of this process.
///
/// # Errors
/// If the file cannot be read or is no script, or input or output fail.
pub fn serve_file(script: &Path, variable: &dyn Fn(&str) -> Option<String>) -> std::io::Result<u8> {
    let text = std::fs::read_to_string(script)
        .map_err(|error| std::io::Error::other(format!("`{}` cannot be read: {error}", script.display())))?;
    let around = Around { input: stdin().lock(), output: stdout().lock(), errors: stderr(), variable };
    match serve(&text, around) {
        // Whoever asked has gone away.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        served => served,
    }
}

struct Server<'a, I, O, E> {
    script: Node<'a>,
    /// Which of its starts this is, from 0.
    start: usize,
    /// Lists that were asked for from their start.
    lists: usize,
    /// Pages of lists that were asked for.
    pages: usize,
    /// The tools that a call has set.
    list: Option<Node<'a>>,
    questions: u64,
    around: Around<'a, I, O, E>,
}

impl<'a, I: BufRead, O: Write, E: Write> Server<'a, I, O, E> {
    /// A member of the script, of this start's part first.
    fn get(&self, key: &str) -> Option<Node<'a>> {
        let starts: Vec<Node<'a>> = self.script.get("starts").into_iter().flat_map(Node::items).collect();
        let own = starts.get(self.start).or(starts.last()).and_then(|own| own.get(key));
        own.or_else(|| self.script.get(key))
    }

    fn open(&mut self) -> std::io::Result<()> {
        self.log(self.get("log"))?;
        let times = self.get("flood").and_then(Node::u64).unwrap_or(1);
        for _ in 0..times {
            self.noise(self.get("noise"))?;
        }
        pause(self.get("start_delay_ms"));
        Ok(())
    }

    fn read(&mut self) -> std::io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.around.input.read_line(&mut line)?;
        Ok((read > 0).then_some(line))
    }

    fn say(&mut self, text: &str) -> std::io::Result<()> {
        self.around.output.write_all(text.as_bytes())?;
        self.around.output.write_all(b"\n")?;
        self.around.output.flush()
    }

    fn noise(&mut self, lines: Option<Node<'_>>) -> std::io::Result<()> {
        lines.into_iter().flat_map(Node::items).filter_map(Node::str).try_for_each(|line| self.say(&line))
    }

    fn log(&mut self, lines: Option<Node<'_>>) -> std::io::Result<()> {
        for line in lines.into_iter().flat_map(Node::items).filter_map(Node::str) {
            writeln!(self.around.errors, "{line}")?;
        }
        self.around.errors.flush()
    }

    /// Answers a message; a code ends the server.
    fn answer(&mut self, message: Node<'_>) -> std::io::Result<Option<u8>> {
        let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Node::str)) else {
            return Ok(None);
        };
        let (id, method) = (id.raw(), method.as_ref());
        if let Some(code) = self.get("exit_at").and_then(|codes| codes.get(method)) {
            return Ok(Some(exit_code(code)));
        }
        if self.get("silent").is_some_and(|silent| silent.items().any(|name| name.is_str(method))) {
            return Ok(None);
        }
        if let Some(error) = self.get("refuse").and_then(|errors| errors.get(method)) {
            self.say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.raw()))?;
            return Ok(None);
        }
        let params = message.get("params");
        let result = match method {
            "initialize" => self.about(params),
            "server/discover" => self.discovered(),
            "tools/list" => self.tools(params),
            "tools/call" => return self.call(id, params),
            "resources/list" => self.list("resources"),
            "prompts/list" => self.list("prompts"),
            "resources/read" => format!("{{\"contents\":{}}}", raw(self.get("contents"), "[]")),
            "prompts/get" => format!("{{\"messages\":{}}}", raw(self.get("messages"), "[]")),
            "ping" => "{}".to_owned(),
            _ => {
                let error = "{\"code\":-32601,\"message\":\"there is no such method\"}";
                self.say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}"))?;
                return Ok(None);
            }
        };
        self.result(id, &result)?;
        Ok(None)
    }

    fn result(&mut self, id: &str, result: &str) -> std::io::Result<()> {
        self.say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"))
    }

    fn about(&self, params: Option<Node<'_>>) -> String {
        let version = params.and_then(|params| params.get("protocolVersion"));
        let mut out = format!("{{\"protocolVersion\":{}", raw(version, "\"2025-06-18\""));
        write!(out, ",\"capabilities\":{}", self.capabilities()).unwrap_or_default();
        write!(out, ",\"serverInfo\":{}", self.software()).unwrap_or_default();
        if let Some(instructions) = self.get("instructions") {
            write!(out, ",\"instructions\":{}", instructions.raw()).unwrap_or_default();
        }
        out.push('}');
        out
    }

    fn discovered(&self) -> String {
        format!(
            "{{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"serverInfo\":{},\
             \"ttlMs\":0,\"cacheScope\":\"private\"}}",
            self.capabilities(),
            self.software()
        )
    }

    fn software(&self) -> String {
        format!(
            "{{\"name\":{},\"version\":{}}}",
            raw(self.get("name"), "\"scripted\""),
            raw(self.get("version"), "\"1\"")
        )
    }

    fn capabilities(&self) -> String {
        let mut out = "{\"tools\":{\"listChanged\":true}".to_owned();
        for key in ["resources", "prompts"] {
            if self.get(key).is_some() {
                write!(out, ",\"{key}\":{{}}").unwrap_or_default();
            }
        }
        out.push('}');
        out
    }

    fn tools(&mut self, params: Option<Node<'_>>) -> String {
        let from = params.and_then(|params| params.get("cursor")?.str()?.parse::<usize>().ok());
        if from.is_none() {
            self.lists += 1;
        }
        let lists: Vec<Node<'a>> = self.get("lists").into_iter().flat_map(Node::items).collect();
        let list = self.list.or_else(|| lists.get(self.lists.saturating_sub(1)).or(lists.last()).copied());
        let list = list.or_else(|| self.get("tools"));
        let tools: Vec<&str> = list.into_iter().flat_map(Node::items).map(Node::raw).collect();
        let page = self.get("page").and_then(Node::u64).map_or(tools.len().max(1), |page| page as usize);
        let from = from.unwrap_or(0).min(tools.len());
        let shown = tools.iter().skip(from).take(page).copied().collect::<Vec<_>>().join(",");
        let mut out = format!("{{\"tools\":[{shown}]");
        let cursors: Vec<Node<'a>> = self.get("cursors").into_iter().flat_map(Node::items).collect();
        if let Some(cursor) = cursors.get(self.pages % cursors.len().max(1)) {
            write!(out, ",\"nextCursor\":{}", cursor.raw()).unwrap_or_default();
        } else if from + page < tools.len() {
            write!(out, ",\"nextCursor\":\"{}\"", from + page).unwrap_or_default();
        }
        self.pages += 1;
        if let Some(ttl) = self.get("ttl_ms") {
            write!(out, ",\"ttlMs\":{}", ttl.raw()).unwrap_or_default();
        }
        if let Some(scope) = self.get("cache_scope") {
            write!(out, ",\"cacheScope\":{}", scope.raw()).unwrap_or_default();
        }
        out.push('}');
        out
    }

    fn list(&self, key: &str) -> String {
        format!("{{\"{key}\":{}}}", raw(self.get(key), "[]"))
    }

    fn call(&mut self, id: &str, params: Option<Node<'_>>) -> std::io::Result<Option<u8>> {
        let name = params.and_then(|params| params.get("name")?.str()).unwrap_or_default().into_owned();
        let call = self.get("calls").and_then(|calls| calls.get(&name));
        let has = |key: &str| call.and_then(|call| call.get(key));
        pause(has("delay_ms"));
        for line in has("noise").into_iter().flat_map(Node::items).filter_map(Node::str) {
            self.say(&line.replace("$ID", id))?;
        }
        self.log(has("log"))?;
        if let Some(code) = has("exit") {
            return Ok(Some(exit_code(code)));
        }
        if has("silent").is_some() {
            return Ok(None);
        }
        self.progress(has("progress").and_then(Node::u64).unwrap_or(0), params)?;
        if let Some(mark) = has("until_cancelled").and_then(Node::str) {
            self.until_cancelled(&mark)?;
            if let Some(late) = has("late").and_then(Node::str) {
                self.result(id, &text_result(&late, false))?;
            }
            return Ok(None);
        }
        if let Some(list) = has("change") {
            self.list = Some(list);
            self.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}")?;
        }
        if let Some(error) = has("error") {
            self.say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.raw()))?;
            return Ok(None);
        }
        if let Some(bytes) = has("cut").and_then(Node::u64) {
            let answer =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}", text_result("never", false));
            let start = answer.as_bytes().get(..bytes as usize).unwrap_or(answer.as_bytes());
            self.around.output.write_all(start)?;
            self.around.output.flush()?;
            return Ok(Some(0));
        }
        if let Some(result) = has("result").map(|result| result.raw().to_owned()).or_else(|| parts(call)) {
            self.result(id, &result)?;
            return Ok(None);
        }
        let text = match has("ask") {
            Some(question) => self.ask(question.raw())?,
            None => self.text(call, params),
        };
        let is_error = has("is_error").is_some();
        self.result(id, &text_result(&text, is_error))?;
        Ok(None)
    }

    fn text(&self, call: Option<Node<'_>>, params: Option<Node<'_>>) -> String {
        let has = |key: &str| call.and_then(|call| call.get(key));
        if let Some(text) = has("text").and_then(Node::str) {
            return text.into_owned();
        }
        if let Some(bytes) = has("bytes").and_then(Node::u64) {
            return "x".repeat(bytes as usize);
        }
        if let Some(name) = has("env").and_then(Node::str) {
            return (self.around.variable)(&name).unwrap_or_else(|| "not set".to_owned());
        }
        raw(params, "{}").to_owned()
    }

    fn progress(&mut self, times: u64, params: Option<Node<'_>>) -> std::io::Result<()> {
        let Some(token) = params.and_then(|params| params.get("_meta")?.get("progressToken")) else {
            return Ok(());
        };
        for step in 1..=times {
            self.say(&format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{},\
                 \"progress\":{step},\"total\":{times},\"message\":\"step {step}\"}}}}",
                token.raw()
            ))?;
        }
        Ok(())
    }

    /// Asks the user, and gives the text of the answer.
    fn ask(&mut self, params: &str) -> std::io::Result<String> {
        self.questions += 1;
        let id = format!("\"question {}\"", self.questions);
        self.say(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"elicitation/create\",\"params\":{params}}}"
        ))?;
        while let Some(line) = self.read()? {
            let Ok(message) = Body::parse(line) else { continue };
            let root = message.root();
            if root.get("id").is_some_and(|found| found.raw() == id) {
                return Ok(raw(root.get("result").or(root.get("error")), "").to_owned());
            }
        }
        Ok(String::new())
    }

    fn until_cancelled(&mut self, mark: &str) -> std::io::Result<()> {
        while let Some(line) = self.read()? {
            let Ok(message) = Body::parse(line) else { continue };
            if message.root().get("method").is_some_and(|method| method.is_str("notifications/cancelled")) {
                return std::fs::write(mark, raw(message.root().get("params"), "{}"));
            }
        }
        Ok(())
    }
}

/// Which start this is, counted in a file where the script names one.
fn started(script: Node<'_>) -> std::io::Result<usize> {
    let Some(path) = script.get("starts_file").and_then(Node::str) else { return Ok(0) };
    let before = std::fs::read(Path::new(path.as_ref())).unwrap_or_default();
    std::fs::write(Path::new(path.as_ref()), [before.as_slice(), b"."].concat())?;
    Ok(before.len())
}

/// A result of parts that are repeated, or of one large image.
fn parts(call: Option<Node<'_>>) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(bytes) = call?.get("image_bytes").and_then(Node::u64) {
        let data = "A".repeat(bytes as usize);
        parts.push(format!("{{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"{data}\"}}"));
    } else {
        for row in call?.get("parts")?.items() {
            let mut row = row.items();
            let (part, times) = (row.next()?, row.next().and_then(Node::u64).unwrap_or(1));
            parts.extend((0..times).map(|_| part.raw().to_owned()));
        }
    }
    Some(format!("{{\"content\":[{}]}}", parts.join(",")))
}

fn text_result(text: &str, is_error: bool) -> String {
    let mut out = b"{\"content\":[{\"type\":\"text\",\"text\":".to_vec();
    write_string(&mut out, text);
    out.extend_from_slice(if is_error { b"}],\"isError\":true}" } else { b"}]}" });
    String::from_utf8_lossy(&out).into_owned()
}

fn raw<'a>(node: Option<Node<'a>>, otherwise: &'a str) -> &'a str {
    node.map_or(otherwise, Node::raw)
}

fn pause(milliseconds: Option<Node<'_>>) {
    if let Some(milliseconds) = milliseconds.filter(|node| node.kind() == Kind::Number).and_then(Node::u64) {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
}

fn exit_code(node: Node<'_>) -> u8 {
    node.u64().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
