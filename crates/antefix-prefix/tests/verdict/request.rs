//! A conversation that is written as a request of any dialect in the end.

use std::collections::BTreeMap;

use crate::dice::Dice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum In {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

pub const DIALECTS: [In; 4] = [In::Anthropic, In::Chat, In::Responses, In::Gemini];

#[derive(Clone)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub properties: Vec<(String, String)>,
}

/// Texts are as they stand between the quotes of JSON.
#[derive(Clone, PartialEq)]
pub enum Block {
    Text(String),
    Thinking(String),
    Call { id: String, path: String, pattern: String, swapped: bool },
    Result { id: String, text: String, in_blocks: bool },
    Image(String),
}

#[derive(Clone)]
pub struct Message {
    pub role: &'static str,
    pub blocks: Vec<Block>,
}

#[derive(Clone)]
pub struct Request {
    pub dialect: In,
    pub model: &'static str,
    pub settings: Vec<String>,
    pub tools: Vec<Tool>,
    pub system: Vec<String>,
    pub messages: Vec<Message>,
    pub marked: bool,
    calls: usize,
}

/// A place in a conversation, whatever its dialect.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A tool, and what stands in it.
    Tool(usize, &'static str),
    System(usize),
    Setting(&'static str),
    /// The block as a whole.
    Block(usize, usize),
    /// The message that holds nothing but the block.
    Entry(usize, usize),
    /// The text of the block, of the result or of the arguments.
    Leaf(usize, usize),
    /// The id of a result's call.
    CallId(usize, usize),
    Message(usize),
}

impl Request {
    pub fn random(dialect: In, dice: &mut Dice) -> Self {
        let tools = (0..3 + dice.below(4)).map(|index| Tool {
            name: format!("{}_{index}", dice.of(&["Read", "mcp__wiki__find", "suche", "查找"])),
            description: dice.sentence(),
            properties: vec![("path".into(), dice.sentence()), ("pattern".into(), dice.sentence())],
        });
        let mut request = Self {
            dialect,
            model: "model-1",
            settings: Vec::new(),
            tools: tools.collect(),
            system: (0..2 + dice.below(3)).map(|_| dice.sentence()).collect(),
            messages: Vec::new(),
            marked: true,
            calls: 0,
        };
        let last = request.system.len() - 1;
        request.system[last] += "\\nWorking directory: /w/one\\nIt is 15:09:20 now.\\nx-line: cch=36ee5; end";
        request.start_anew(dice);
        for _ in 0..=dice.below(4) {
            request.go_on(dice);
        }
        request
    }

    /// Another conversation of the same client.
    pub fn start_anew(&mut self, dice: &mut Dice) {
        let reminder = "<system-reminder>\\nThe project uses spaces, never tabs.\\n</system-reminder>";
        let asked = format!("Today is 2026-10-02. {}", dice.sentence());
        let mut blocks = vec![Block::Text(reminder.into()), Block::Text(asked)];
        if dice.below(3) == 0 {
            blocks.insert(1, Block::Image("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB".into()));
        }
        self.messages = vec![Message { role: "user", blocks }];
    }

    /// A step: the model thinks, speaks, calls tools; results; an answer; a word of the user.
    pub fn go_on(&mut self, dice: &mut Dice) {
        let mut said = vec![Block::Thinking(dice.sentence()), Block::Text(dice.sentence())];
        let mut results = Vec::new();
        for _ in 0..=dice.below(3) {
            self.calls += 1;
            let id = format!("call_{}_{}", self.calls, dice.below(100_000));
            let text = format!("{} {}", dice.sentence(), "line of output ".repeat(12));
            said.push(Block::Call {
                id: id.clone(),
                path: dice.sentence(),
                pattern: dice.sentence(),
                swapped: false,
            });
            results.push(Block::Result { id, text, in_blocks: false });
        }
        self.messages.push(Message { role: "assistant", blocks: said });
        self.messages.push(Message { role: "user", blocks: results });
        self.messages.push(Message { role: "assistant", blocks: vec![Block::Text(dice.sentence())] });
        self.messages.push(Message { role: "user", blocks: vec![Block::Text(dice.sentence())] });
    }

    /// A message of that role which is neither the first nor the last one sent before the last step.
    pub fn old(&self, role: &str, dice: &mut Dice) -> usize {
        let end = self.messages.len() - 5;
        let fitting: Vec<_> = (1..end).filter(|&at| self.messages[at].role == role).collect();
        dice.of(&fitting)
    }

    /// A block of that sort which was sent before the last step.
    pub fn block(&self, is_wanted: fn(&Block) -> bool, dice: &mut Dice) -> Option<(usize, usize)> {
        let end = self.messages.len() - 4;
        let mut found = Vec::new();
        for (at, message) in self.messages[..end].iter().enumerate() {
            let fitting = message.blocks.iter().enumerate().filter(|(_, block)| is_wanted(block));
            found.extend(fitting.map(|(index, _)| (at, index)));
        }
        (!found.is_empty()).then(|| dice.of(&found))
    }

    pub fn json(&self) -> String {
        let settings: String = self.settings.iter().flat_map(|one| [one.as_str(), ","]).collect();
        let (model, tools) = (self.model, self.tools());
        let entries = self.written().entries.join(",");
        match self.dialect {
            In::Anthropic => {
                let mut system = list(&self.system, |one| format!(r#"{{"type":"text","text":"{one}"}}"#));
                if self.marked {
                    system.pop();
                    system += r#","cache_control":{"type":"ephemeral"}}"#;
                }
                format!(
                    r#"{{"model":"{model}",{settings}"tools":[{tools}],"system":[{system}],"messages":[{entries}]}}"#
                )
            }
            In::Chat => {
                let system = list(&self.system, |one| format!(r#"{{"type":"text","text":"{one}"}}"#));
                format!(
                    r#"{{"model":"{model}",{settings}"messages":[{{"role":"system","content":[{system}]}},{entries}],"tools":[{tools}]}}"#
                )
            }
            In::Responses => {
                let system = self.system.join("\\n");
                format!(
                    r#"{{"model":"{model}",{settings}"instructions":"{system}","tools":[{tools}],"input":[{entries}]}}"#
                )
            }
            In::Gemini => {
                let system = list(&self.system, |one| format!(r#"{{"text":"{one}"}}"#));
                format!(
                    r#"{{"model":"{model}",{settings}"systemInstruction":{{"parts":[{system}]}},"tools":[{{"functionDeclarations":[{tools}]}}],"contents":[{entries}]}}"#
                )
            }
        }
    }

    fn tools(&self) -> String {
        list(&self.tools, |tool| {
            let properties = list(&tool.properties, |(name, about)| {
                format!(r#""{name}":{{"type":"string","description":"{about}"}}"#)
            });
            let (name, description) = (&tool.name, &tool.description);
            let head = format!(r#""name":"{name}","description":"{description}""#);
            let schema = format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
            match self.dialect {
                In::Anthropic => format!(r#"{{{head},"input_schema":{schema}}}"#),
                In::Chat => {
                    format!(r#"{{"type":"function","function":{{{head},"parameters":{schema}}}}}"#)
                }
                In::Responses => format!(r#"{{"type":"function",{head},"parameters":{schema}}}"#),
                In::Gemini => format!(r#"{{{head},"parameters":{schema}}}"#),
            }
        })
    }

    /// The JSON Pointer to a place.
    pub fn pointer(&self, place: Place) -> String {
        let schema = |inner: &str| match self.dialect {
            In::Anthropic => inner.to_owned(),
            _ => inner.replace("/input_schema", "/parameters"),
        };
        match place {
            Place::Setting(pointer) => pointer.into(),
            Place::Tool(at, inner) => match self.dialect {
                In::Chat if inner.is_empty() => format!("/tools/{at}"),
                In::Chat => format!("/tools/{at}/function{}", schema(inner)),
                In::Gemini => format!("/tools/0/functionDeclarations/{at}{}", schema(inner)),
                In::Anthropic | In::Responses => format!("/tools/{at}{}", schema(inner)),
            },
            Place::System(at) => match self.dialect {
                In::Anthropic => format!("/system/{at}/text"),
                In::Chat => format!("/messages/0/content/{at}/text"),
                In::Responses => "/instructions".into(),
                In::Gemini => format!("/systemInstruction/parts/{at}/text"),
            },
            Place::Message(at) => self.written().messages[at].clone(),
            Place::Block(at, index) => self.written().blocks[&(at, index)].0.clone(),
            Place::Entry(at, index) => {
                let (whole, _) = self.written().blocks[&(at, index)].clone();
                whole.split("/content").next().unwrap().to_owned()
            }
            Place::Leaf(at, index) => {
                let (whole, leaf) = self.written().blocks[&(at, index)].clone();
                format!("{whole}{leaf}")
            }
            Place::CallId(at, index) => {
                let (whole, _) = self.written().blocks[&(at, index)].clone();
                let id = match self.dialect {
                    In::Anthropic => "/tool_use_id",
                    In::Chat => "/tool_call_id",
                    In::Responses => "/call_id",
                    In::Gemini => "/functionResponse/id",
                };
                format!("{whole}{id}")
            }
        }
    }

    fn written(&self) -> Written {
        let mut written = Written::default();
        let last = self.messages.len() - 1;
        for (at, message) in self.messages.iter().enumerate() {
            match self.dialect {
                In::Anthropic => written.anthropic(at, message, self.marked && at == last),
                In::Chat => written.chat(at, message),
                In::Responses => written.responses(at, message),
                In::Gemini => written.gemini(at, message),
            }
        }
        written
    }
}

/// The entries of a conversation, and where each message and block stands: its pointer, and what leads to its text.
#[derive(Default)]
struct Written {
    entries: Vec<String>,
    messages: Vec<String>,
    blocks: BTreeMap<(usize, usize), (String, &'static str)>,
}

impl Written {
    fn anthropic(&mut self, at: usize, message: &Message, marked: bool) {
        self.messages.push(format!("/messages/{at}"));
        let mut blocks = Vec::new();
        for (index, block) in message.blocks.iter().enumerate() {
            let (text, leaf) = match block {
                Block::Text(text) => (format!(r#"{{"type":"text","text":"{text}"}}"#), "/text"),
                Block::Thinking(text) => {
                    (format!(r#"{{"type":"thinking","thinking":"{text}","signature":"c2ln"}}"#), "/thinking")
                }
                Block::Call { id, .. } => {
                    let input = arguments(block, "\"");
                    (
                        format!(r#"{{"type":"tool_use","id":"{id}","name":"Read_0","input":{input}}}"#),
                        "/input",
                    )
                }
                Block::Result { id, text, in_blocks } => {
                    let text = format!("\"{text}\"");
                    let content =
                        if *in_blocks { format!(r#"[{{"type":"text","text":{text}}}]"#) } else { text };
                    (
                        format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{content}}}"#),
                        "/content",
                    )
                }
                Block::Image(data) => (
                    format!(
                        r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
                    ),
                    "/source/data",
                ),
            };
            self.blocks.insert((at, index), (format!("/messages/{at}/content/{index}"), leaf));
            blocks.push(text);
        }
        if let Some(end) = blocks.last_mut().filter(|_| marked) {
            let open = end.strip_suffix('}').unwrap();
            *end = format!(r#"{open},"cache_control":{{"type":"ephemeral"}}}}"#);
        }
        self.entries.push(format!(r#"{{"role":"{}","content":[{}]}}"#, message.role, blocks.join(",")));
    }

    /// Results are messages of their own; what else is said is one message, whose text is one string where it can.
    fn chat(&mut self, at: usize, message: &Message) {
        self.messages.push(format!("/messages/{}", self.entries.len() + 1));
        for (index, block) in message.blocks.iter().enumerate() {
            if let Block::Result { id, text, .. } = block {
                self.blocks
                    .insert((at, index), (format!("/messages/{}", self.entries.len() + 1), "/content"));
                self.entries.push(format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#));
            }
        }
        let here = format!("/messages/{}", self.entries.len() + 1);
        let is_said = |block: &&Block| matches!(block, Block::Text(_) | Block::Image(_));
        let single = message.blocks.iter().filter(is_said).count() == 1;
        let (mut said, mut calls, mut thought) = (Vec::new(), Vec::new(), String::new());
        for (index, block) in message.blocks.iter().enumerate() {
            let place = match block {
                Block::Text(text) if single => {
                    said.push(text.clone());
                    (format!("{here}/content"), "")
                }
                Block::Text(text) => {
                    said.push(format!(r#"{{"type":"text","text":"{text}"}}"#));
                    (format!("{here}/content/{}", said.len() - 1), "/text")
                }
                Block::Image(data) => {
                    let url = format!("data:image/png;base64,{data}");
                    said.push(format!(r#"{{"type":"image_url","image_url":{{"url":"{url}"}}}}"#));
                    (format!("{here}/content/{}", said.len() - 1), "/image_url/url")
                }
                Block::Thinking(text) => {
                    thought = format!(r#""reasoning_content":"{text}","#);
                    (format!("{here}/reasoning_content"), "")
                }
                Block::Call { id, .. } => {
                    let arguments = arguments(block, "\\\"");
                    calls.push(format!(
                        r#"{{"id":"{id}","type":"function","function":{{"name":"Read_0","arguments":"{arguments}"}}}}"#
                    ));
                    (format!("{here}/tool_calls/{}", calls.len() - 1), "/function/arguments")
                }
                Block::Result { .. } => continue,
            };
            self.blocks.insert((at, index), place);
        }
        if said.is_empty() && calls.is_empty() {
            return;
        }
        let content = if single { format!("\"{}\"", said[0]) } else { format!("[{}]", said.join(",")) };
        let calls =
            if calls.is_empty() { String::new() } else { format!(r#","tool_calls":[{}]"#, calls.join(",")) };
        let role = message.role;
        self.entries.push(format!(r#"{{"role":"{role}",{thought}"content":{content}{calls}}}"#));
    }

    fn responses(&mut self, at: usize, message: &Message) {
        self.messages.push(format!("/input/{}", self.entries.len()));
        let type_name = if message.role == "assistant" { "output_text" } else { "input_text" };
        let mut said: Vec<String> = Vec::new();
        for (index, block) in message.blocks.iter().enumerate() {
            let whole = match block {
                Block::Text(text) => {
                    said.push(format!(r#"{{"type":"{type_name}","text":"{text}"}}"#));
                    None
                }
                Block::Image(data) => {
                    let url = format!("data:image/png;base64,{data}");
                    said.push(format!(r#"{{"type":"input_image","image_url":"{url}"}}"#));
                    None
                }
                Block::Thinking(text) => Some((
                    format!(r#"{{"type":"reasoning","summary":[],"encrypted_content":"{text}"}}"#),
                    "/encrypted_content",
                )),
                Block::Call { id, .. } => {
                    let arguments = arguments(block, "\\\"");
                    let call = format!(
                        r#"{{"type":"function_call","call_id":"{id}","name":"Read_0","arguments":"{arguments}"}}"#
                    );
                    Some((call, "/arguments"))
                }
                Block::Result { id, text, .. } => Some((
                    format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{text}"}}"#),
                    "/output",
                )),
            };
            let Some((entry, leaf)) = whole else {
                let place = format!("/input/{}/content/{}", self.entries.len(), said.len() - 1);
                let leaf = if matches!(block, Block::Text(_)) { "/text" } else { "/image_url" };
                self.blocks.insert((at, index), (place, leaf));
                let goes_on = matches!(message.blocks.get(index + 1), Some(Block::Text(_) | Block::Image(_)));
                if !goes_on {
                    let content = std::mem::take(&mut said).join(",");
                    let role = message.role;
                    self.entries
                        .push(format!(r#"{{"type":"message","role":"{role}","content":[{content}]}}"#));
                }
                continue;
            };
            self.blocks.insert((at, index), (format!("/input/{}", self.entries.len()), leaf));
            self.entries.push(entry);
        }
    }

    fn gemini(&mut self, at: usize, message: &Message) {
        self.messages.push(format!("/contents/{at}"));
        let mut parts = Vec::new();
        for (index, block) in message.blocks.iter().enumerate() {
            let (text, leaf) = match block {
                Block::Text(text) => (format!(r#"{{"text":"{text}"}}"#), "/text"),
                Block::Thinking(text) => (format!(r#"{{"text":"{text}","thought":true}}"#), "/text"),
                Block::Image(data) => (
                    format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}"#),
                    "/inlineData/data",
                ),
                Block::Call { id, .. } => {
                    let args = arguments(block, "\"");
                    let call = format!(r#"{{"functionCall":{{"id":"{id}","name":"Read_0","args":{args}}}}}"#);
                    (call, "/functionCall/args")
                }
                Block::Result { id, text, .. } => (
                    format!(
                        r#"{{"functionResponse":{{"id":"{id}","name":"Read_0","response":{{"output":"{text}"}}}}}}"#
                    ),
                    "/functionResponse/response/output",
                ),
            };
            self.blocks.insert((at, index), (format!("/contents/{at}/parts/{index}"), leaf));
            parts.push(text);
        }
        let role = if message.role == "assistant" { "model" } else { message.role };
        self.entries.push(format!(r#"{{"role":"{role}","parts":[{}]}}"#, parts.join(",")));
    }
}

/// A call's arguments as JSON, or as the inside of a string of JSON.
fn arguments(call: &Block, quote: &str) -> String {
    let Block::Call { path, pattern, swapped, .. } = call else { return String::new() };
    // Inside a string, an escape must be escaped once more.
    let inner = |text: &String| {
        if quote == "\"" { text.clone() } else { text.replace('\\', "\\\\").replace('"', "\\\"") }
    };
    let member = |name: &str, text: &String| format!("{quote}{name}{quote}:{quote}{}{quote}", inner(text));
    let mut members = [member("path", path), member("pattern", pattern)];
    if *swapped {
        members.reverse();
    }
    format!("{{{}}}", members.join(","))
}

fn list<T>(all: &[T], one: impl Fn(&T) -> String) -> String {
    all.iter().map(one).collect::<Vec<_>>().join(",")
}
