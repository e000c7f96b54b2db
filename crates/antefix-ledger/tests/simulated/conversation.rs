//! Conversations made by a rule, and changes that break their prefix without changing a size.

/// Numbers from a seed.
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

    fn words(&mut self, most: usize) -> String {
        let count = 3 + self.below(most);
        (0..count).flat_map(|_| [WORDS[self.below(WORDS.len())], " "]).collect()
    }
}

/// All of one length, so that one takes the place of another.
const WORDS: [&str; 6] = ["apple", "grape", "lemon", "mango", "melon", "peach"];

#[derive(Clone)]
struct Tool {
    name: String,
    about: String,
    properties: [(&'static str, String); 2],
}

/// A conversation as it is sent.
#[derive(Clone)]
pub struct Conversation {
    tools: Vec<Tool>,
    system: Vec<String>,
    messages: Vec<(&'static str, Vec<String>)>,
    calls: usize,
}

impl Tool {
    fn json(&self) -> String {
        let property = |(name, about): &(&str, String)| {
            format!(r#""{name}":{{"type":"string","description":"{about}"}}"#)
        };
        let properties = self.properties.each_ref().map(property).join(",");
        let Self { name, about, .. } = self;
        format!(
            r#"{{"name":"{name}","description":"{about}","input_schema":{{"type":"object","properties":{{{properties}}}}}}}"#
        )
    }
}

impl Conversation {
    pub fn random(dice: &mut Dice) -> Self {
        let tools = (0..3 + dice.below(3)).map(|index| Tool {
            name: format!("tool{index}"),
            about: dice.words(12),
            properties: ["path", "mode"].map(|name| (name, dice.words(5))),
        });
        Self {
            tools: tools.collect(),
            system: vec![dice.words(30), dice.words(20)],
            messages: vec![("user", vec![text(&dice.words(30))])],
            calls: 0,
        }
    }

    /// The model answers or calls tools, and the user or the tools go on.
    pub fn step(&mut self, dice: &mut Dice) {
        let mut said = vec![text(&dice.words(20))];
        let mut back = Vec::new();
        for _ in 0..dice.below(4) {
            self.calls += 1;
            let (id, name) = (format!("toolu_{}", self.calls), &self.tools[0].name);
            said.push(format!(
                r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{"path":"{}","mode":"{}"}}}}"#,
                dice.words(4),
                dice.words(2)
            ));
            back.push(format!(
                r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{}"}}"#,
                dice.words(80)
            ));
        }
        if back.is_empty() {
            back.push(text(&dice.words(12)));
        }
        self.messages.push(("assistant", said));
        self.messages.push(("user", back));
    }

    /// A side call: another question behind the end.
    pub fn side_call(&self, dice: &mut Dice) -> Self {
        let mut fork = self.clone();
        fork.messages.push(("assistant", vec![text("So far so good.")]));
        fork.messages.push(("user", vec![text(&dice.words(9))]));
        fork
    }

    /// Another question behind something the model said in between, if it ever said anything without a call.
    pub fn fork(&self, dice: &mut Dice) -> Option<Self> {
        let is_answer = |(role, blocks): &(&str, Vec<String>)| *role == "assistant" && blocks.len() == 1;
        let answers: Vec<_> = (0..self.messages.len()).filter(|at| is_answer(&self.messages[*at])).collect();
        let at = *answers.get(dice.below(answers.len().max(1)))?;
        let mut fork = self.clone();
        fork.messages.truncate(at + 1);
        fork.messages.push(("user", vec![text(&dice.words(9))]));
        Some(fork)
    }

    pub fn json(&self) -> String {
        let tools: Vec<_> = self.tools.iter().map(Tool::json).collect();
        let mut system: Vec<_> = self.system.iter().map(|one| text(one)).collect();
        mark(system.last_mut().unwrap());
        let last = self.messages.len() - 1;
        let message = |(index, (role, blocks)): (usize, &(&str, Vec<String>))| {
            let mut blocks = blocks.clone();
            // The new end, and the end of the request before.
            if index == last || index + 2 == last {
                mark(blocks.last_mut().unwrap());
            }
            format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
        };
        let messages: Vec<_> = self.messages.iter().enumerate().map(message).collect();
        format!(
            r#"{{"model":"{}","max_tokens":99,"tools":[{}],"system":[{}],"messages":[{}]}}"#,
            super::lab::MODEL,
            tools.join(","),
            system.join(","),
            messages.join(",")
        )
    }
}

type Change = fn(&mut Conversation, &mut Dice);

/// Changes that keep the size of every part, with the kinds each may be called.
pub const CHANGES: [(&[&str], Change); 7] = [
    (&["tools.reordered"], |sent, _| sent.tools.rotate_left(1)),
    (&["tools.key_order"], |sent, _| sent.tools.last_mut().unwrap().properties.swap(0, 1)),
    (&["tools.description_changed"], |sent, dice| another_word(&mut sent.tools[1].about, dice)),
    (&["system.changed"], |sent, dice| another_word(&mut sent.system[0], dice)),
    (&["messages.rewritten"], |sent, dice| {
        let said = sent.messages.iter_mut().find(|(role, _)| *role == "assistant").unwrap();
        another_word(&mut said.1[0], dice);
    }),
    (&["messages.rewritten", "messages.tool_result_rewritten"], |sent, dice| {
        let (_, blocks) = sent.messages.iter_mut().rev().nth(2).unwrap();
        let end = blocks.last_mut().unwrap();
        another_word(end, dice);
    }),
    (&["messages.rewritten"], |sent, dice| another_word(&mut sent.messages[0].1[0], dice)),
];

/// Puts a word of the same length that was never there in place of the first.
fn another_word(text: &mut String, dice: &mut Dice) {
    let (at, word) = WORDS.iter().filter_map(|word| Some((text.find(word)?, *word))).min().unwrap();
    text.replace_range(at..at + word.len(), &format!("{:05}", dice.below(100_000)));
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

fn mark(block: &mut String) {
    block.pop();
    block.push_str(r#","cache_control":{"type":"ephemeral"}}"#);
}
