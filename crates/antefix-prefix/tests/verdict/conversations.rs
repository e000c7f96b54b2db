//! Conversations made by a rule, and ways to break them.

use antefix_prefix::verdict::Kind;

/// Numbers from a seed.
#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A sentence in one of several languages, never the same twice.
    fn sentence(&mut self) -> String {
        const WORDS: [&[&str]; 5] = [
            &["find", "the", "retry", "budget", "in", "crate", "module"],
            &["suche", "die", "Grenze", "für", "Wiederholungen", "im", "Quelltext"],
            &["где", "находится", "предел", "повторов", "в", "коде"],
            &["再試行", "上限", "は", "どこ", "コード"],
            &["trouve", "la", "limite", "d'essais", "\\n", "\\\"ici\\\""],
        ];
        let words = WORDS[self.below(WORDS.len())];
        let count = 4 + self.below(20);
        let text: Vec<_> = (0..count).map(|_| self.of(words)).collect();
        format!(
            "{} ({} apples)",
            text.join(" "),
            NUMBERS[self.below(NUMBERS.len())].repeat(1 + self.below(3))
        )
    }
}

const NUMBERS: [&str; 8] = ["one-", "deux-", "drei-", "quatre-", "five-", "sechs-", "sete-", "acht-"];

#[derive(Clone)]
pub struct Tool {
    name: String,
    description: String,
    properties: Vec<(String, String)>,
}

#[derive(Clone)]
pub struct Message {
    role: &'static str,
    blocks: Vec<String>,
}

/// A request that is written as JSON in the end.
#[derive(Clone)]
pub struct Request {
    model: &'static str,
    parameters: Vec<String>,
    tools: Vec<Tool>,
    system: Vec<String>,
    messages: Vec<Message>,
    calls: usize,
    marked: bool,
}

impl Request {
    pub fn random(dice: &mut Dice) -> Self {
        let tools = (0..3 + dice.below(4)).map(|index| Tool {
            name: format!("{}_{index}", dice.of(&["Read", "mcp__wiki__find", "suche", "查找"])),
            description: dice.sentence(),
            properties: vec![("path".into(), dice.sentence()), ("pattern".into(), dice.sentence())],
        });
        let mut request = Self {
            model: "claude-sonnet-5",
            parameters: Vec::new(),
            tools: tools.collect(),
            system: (0..2 + dice.below(3)).map(|_| dice.sentence()).collect(),
            messages: Vec::new(),
            calls: 0,
            marked: true,
        };
        request.start_anew(dice);
        for _ in 0..=dice.below(4) {
            request.go_on(dice);
        }
        request
    }

    /// Another conversation of the same client.
    pub fn start_anew(&mut self, dice: &mut Dice) {
        let reminder = text("<system-reminder>\\nThe project uses spaces, never tabs.\\n</system-reminder>");
        self.messages = vec![Message { role: "user", blocks: vec![reminder, text(&dice.sentence())] }];
    }

    /// A step: the model thinks, speaks, calls tools; results; a word of the user.
    pub fn go_on(&mut self, dice: &mut Dice) {
        let mut said = vec![
            format!(
                r#"{{"type":"thinking","thinking":"{}","signature":"c2ln{}"}}"#,
                dice.sentence(),
                dice.below(999)
            ),
            text(&dice.sentence()),
        ];
        let mut results = Vec::new();
        for _ in 0..=dice.below(3) {
            self.calls += 1;
            let id = format!("toolu_{}_{}", self.calls, dice.below(100_000));
            let (path, pattern) = (dice.sentence(), dice.sentence());
            said.push(format!(
                r#"{{"type":"tool_use","id":"{id}","name":"Read_0","input":{{"path":"{path}","pattern":"{pattern}"}}}}"#
            ));
            results.push(format!(
                r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{} {}"}}"#,
                dice.sentence(),
                "line of output ".repeat(12)
            ));
        }
        self.messages.push(Message { role: "assistant", blocks: said });
        self.messages.push(Message { role: "user", blocks: results });
        self.messages.push(Message { role: "assistant", blocks: vec![text(&dice.sentence())] });
        self.messages.push(Message { role: "user", blocks: vec![text(&dice.sentence())] });
    }

    pub fn json(&self) -> String {
        let tools: Vec<_> = self.tools.iter().map(Tool::json).collect();
        let system: Vec<_> = self.system.iter().map(|one| text(one)).collect();
        let last = self.messages.len() - 1;
        let messages: Vec<_> = self
            .messages
            .iter()
            .enumerate()
            .map(|(index, message)| {
                let mut blocks = message.blocks.clone();
                if index == last && self.marked {
                    let end = blocks.pop().unwrap();
                    let open = end.strip_suffix('}').unwrap();
                    blocks.push(format!(r#"{open},"cache_control":{{"type":"ephemeral"}}}}"#));
                }
                format!(r#"{{"role":"{}","content":[{}]}}"#, message.role, blocks.join(","))
            })
            .collect();
        let parameters: String = self.parameters.iter().flat_map(|one| [one.as_str(), ","]).collect();
        format!(
            r#"{{"model":"{}",{parameters}"tools":[{}],"system":[{}],"messages":[{}]}}"#,
            self.model,
            tools.join(","),
            system.join(","),
            messages.join(",")
        )
    }

    /// A message of that role which is neither the first nor the last one sent before the last step.
    fn old(&self, role: &str, dice: &mut Dice) -> usize {
        let end = self.messages.len() - 5;
        let fitting: Vec<_> = (1..end).filter(|&at| self.messages[at].role == role).collect();
        dice.of(&fitting)
    }

    /// A block whose text has this in it.
    fn block(&self, needle: &str, dice: &mut Dice) -> (usize, usize) {
        let end = self.messages.len() - 4;
        let mut found = Vec::new();
        for (at, message) in self.messages[..end].iter().enumerate() {
            found.extend(
                message
                    .blocks
                    .iter()
                    .enumerate()
                    .filter(|(_, block)| block.contains(needle))
                    .map(|(index, _)| (at, index)),
            );
        }
        dice.of(&found)
    }
}

impl Tool {
    fn json(&self) -> String {
        let properties: Vec<_> = self
            .properties
            .iter()
            .map(|(name, about)| format!(r#""{name}":{{"type":"string","description":"{about}"}}"#))
            .collect();
        format!(
            r#"{{"name":"{}","description":"{}","input_schema":{{"type":"object","properties":{{{}}}}}}}"#,
            self.name,
            self.description,
            properties.join(",")
        )
    }
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

type Break = fn(&mut Request, &mut Dice) -> Option<(Kind, String)>;

/// Ways to break a conversation, with what each is called and where it is.
pub const BREAKS: [(&str, Break); 24] = [
    ("a tool moves to the end", |later, dice| {
        let at = dice.below(later.tools.len() - 1);
        let tool = later.tools.remove(at);
        later.tools.push(tool);
        Some((Kind::ToolsReordered, format!("/tools/{at}")))
    }),
    ("keys of a schema change places", |later, dice| {
        let at = dice.below(later.tools.len());
        later.tools[at].properties.reverse();
        Some((Kind::ToolsKeyOrder, format!("/tools/{at}/input_schema/properties")))
    }),
    ("a tool joins", |later, dice| {
        let at = dice.below(later.tools.len() + 1);
        later
            .tools
            .insert(at, Tool { name: "late".into(), description: dice.sentence(), properties: Vec::new() });
        Some((Kind::ToolsAdded, format!("/tools/{at}")))
    }),
    ("a tool leaves", |later, dice| {
        let at = dice.below(later.tools.len());
        later.tools.remove(at);
        Some((Kind::ToolsRemoved, format!("/tools/{at}")))
    }),
    ("a description is reworded", |later, dice| {
        let at = dice.below(later.tools.len());
        later.tools[at].description.push_str(" Use it often.");
        Some((Kind::ToolsDescription, format!("/tools/{at}/description")))
    }),
    ("a parameter is documented anew", |later, dice| {
        let at = dice.below(later.tools.len());
        later.tools[at].properties[1].1.push('!');
        Some((Kind::ToolsSchema, format!("/tools/{at}/input_schema/properties/pattern/description")))
    }),
    ("another model", |later, _| {
        later.model = "claude-opus-5";
        Some((Kind::ParamsModel, "/model".into()))
    }),
    ("another effort", |later, _| {
        later.parameters.push(r#""output_config":{"effort":"low"}"#.into());
        Some((Kind::ParamsEffort, "/output_config/effort".into()))
    }),
    ("fast mode", |later, _| {
        later.parameters.push(r#""speed":"fast""#.into());
        Some((Kind::ParamsSpeed, "/speed".into()))
    }),
    ("thinking is switched on", |later, _| {
        later.parameters.push(r#""thinking":{"type":"enabled","budget_tokens":2048}"#.into());
        Some((Kind::ParamsThinking, "/thinking".into()))
    }),
    ("another format", |later, _| {
        later.parameters.push(r#""output_config":{"format":{"type":"json_schema"}}"#.into());
        Some((Kind::ParamsFormat, "/output_config/format".into()))
    }),
    ("the system prompt is reworded", |later, dice| {
        let at = dice.below(later.system.len());
        later.system[at].push_str(" Be kind.");
        Some((Kind::SystemChanged, format!("/system/{at}/text")))
    }),
    ("an old message is reworded", |later, dice| {
        let at = later.old("assistant", dice);
        let index =
            later.messages[at].blocks.iter().position(|block| block.contains(r#""type":"text""#)).unwrap();
        later.messages[at].blocks[index] = text(&format!("Zusatz: {}", dice.sentence()));
        Some((Kind::Rewritten, format!("/messages/{at}/content/{index}/text")))
    }),
    ("the results of a message are cleared", |later, dice| {
        let (at, index) = later.block("tool_result", dice);
        let block = &mut later.messages[at].blocks[index];
        let start = block.find(r#""content""#).unwrap();
        let placeholder =
            dice.of(&["[Old tool result content cleared]", "[removed to save space]", "<pruned>"]);
        *block = format!(r#"{}"content":"{placeholder}"}}"#, &block[..start]);
        Some((Kind::ToolResultCleared, format!("/messages/{at}/content/{index}/content")))
    }),
    ("a result is another", |later, dice| {
        let (at, index) = later.block("tool_result", dice);
        let block = &mut later.messages[at].blocks[index];
        *block = block.replace("line of output ", "row of text ");
        Some((Kind::ToolResultRewritten, format!("/messages/{at}/content/{index}/content")))
    }),
    ("a result's form changes", |later, dice| {
        let (at, index) = later.block("tool_result", dice);
        let block = &mut later.messages[at].blocks[index];
        let start = block.find(r#""content":"#).unwrap() + r#""content":"#.len();
        let content = block[start..block.len() - 1].to_owned();
        *block = format!(r#"{}[{{"type":"text","text":{content}}}]}}"#, &block[..start]);
        Some((Kind::Reserialized, format!("/messages/{at}/content/{index}/content")))
    }),
    ("the keys of a call change places", |later, dice| {
        let (at, index) = later.block("tool_use\"", dice);
        let block = &mut later.messages[at].blocks[index];
        let start = block.find(r#""input":{"#).unwrap() + r#""input":{"#.len();
        let inner = block[start..block.len() - 2].to_owned();
        let (left, right) = inner.split_once(r#","pattern":"#).unwrap();
        *block = format!(r#"{}"pattern":{right},{left}}}}}"#, &block[..start]);
        Some((Kind::ToolInputKeyOrder, format!("/messages/{at}/content/{index}/input")))
    }),
    ("thinking is left out", |later, dice| {
        let (at, index) = later.block(r#""thinking""#, dice);
        later.messages[at].blocks.remove(index);
        Some((Kind::ThinkingDropped, format!("/messages/{at}/content/{index}")))
    }),
    ("a note is put into the middle", |later, dice| {
        let at = later.old("assistant", dice);
        later.messages.insert(at, Message { role: "system", blocks: vec![text(&dice.sentence())] });
        Some((Kind::InsertedMid, format!("/messages/{at}")))
    }),
    ("a block is put into an old message", |later, dice| {
        let at = later.old("user", dice);
        let index = later.messages[at].blocks.len();
        later.messages[at].blocks.push(text(&dice.sentence()));
        Some((Kind::InsertedMid, format!("/messages/{at}/content/{index}")))
    }),
    ("a reminder is said twice", |later, dice| {
        let at = later.old("user", dice);
        let index = later.messages[at].blocks.len();
        let reminder = later.messages[0].blocks[0].clone();
        later.messages[at].blocks.push(reminder);
        Some((Kind::Duplicated, format!("/messages/{at}/content/{index}")))
    }),
    ("a reminder moves to the newest message", |later, _| {
        let reminder = later.messages[0].blocks.remove(0);
        later.messages.last_mut().unwrap().blocks.insert(0, reminder);
        Some((Kind::BlockMigrated, "/messages/0/content/0/text".into()))
    }),
    ("a message is taken out", |later, dice| {
        let at = later.old("assistant", dice);
        later.messages.remove(at);
        Some((Kind::Removed, format!("/messages/{at}")))
    }),
    ("results change places", |later, dice| {
        let (at, _) = later.block("tool_result", dice);
        if later.messages[at].blocks.len() < 2 {
            return None;
        }
        later.messages[at].blocks.swap(0, 1);
        Some((Kind::Reordered, format!("/messages/{at}/content/0/tool_use_id")))
    }),
];

type Clean = fn(&Request, &mut Request, &mut Dice) -> (String, String);

/// What may follow a request without breaking anything.
pub const CLEAN: [(&str, Clean); 10] = [
    ("a step more", |earlier, later, dice| {
        later.go_on(dice);
        (earlier.json(), later.json())
    }),
    ("the same once more", |earlier, later, _| (earlier.json(), later.json())),
    ("no markers any more", |earlier, later, dice| {
        later.go_on(dice);
        later.marked = false;
        (earlier.json(), later.json())
    }),
    ("escapes and white space", |earlier, later, dice| {
        later.go_on(dice);
        let spaced = later
            .json()
            .replace(r#","type":"#, r#" , "type" : "#)
            .replace("é", "\\u00e9")
            .replace("für", "f\\u00fcr");
        (earlier.json(), spaced)
    }),
    ("keys of a block in another order", |earlier, later, dice| {
        later.go_on(dice);
        let swapped = later.json().replace(r#"{"role":"user","content":"#, r#"{"content":"#);
        let swapped = swapped.replace(r#"]},{"role":"assistant""#, r#"],"role":"user"},{"role":"assistant""#);
        let swapped =
            swapped.strip_suffix("]}]}").map(|front| format!(r#"{front}],"role":"user"}}]}}"#)).unwrap();
        (earlier.json(), swapped)
    }),
    ("back to an earlier point, and on", |earlier, later, dice| {
        let keep = later.messages.len() - 1;
        later.messages.truncate(keep);
        later.messages.push(Message { role: "user", blocks: vec![text(&dice.sentence())] });
        (earlier.json(), later.json())
    }),
    ("a side call behind the end", |earlier, later, dice| {
        later.messages.push(Message { role: "assistant", blocks: vec![text("Yes.")] });
        later.messages.push(Message { role: "user", blocks: vec![text(&dice.sentence())] });
        (earlier.json(), later.json())
    }),
    ("the last message grows", |earlier, later, dice| {
        later.messages.last_mut().unwrap().blocks.push(text(&dice.sentence()));
        (earlier.json(), later.json())
    }),
    ("other sampling, a user id, a longer answer", |earlier, later, dice| {
        later.go_on(dice);
        later.parameters.push(r#""max_tokens":99,"temperature":0.5,"metadata":{"user_id":"u2"}"#.into());
        (earlier.json(), later.json())
    }),
    ("a deferred tool joins", |earlier, later, dice| {
        later.go_on(dice);
        let tool = r#","tools":[{"name":"late","defer_loading":true,"input_schema":{}},"#;
        (earlier.json(), later.json().replacen(r#","tools":["#, tool, 1))
    }),
];
