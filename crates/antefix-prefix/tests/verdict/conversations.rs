//! Ways to break a conversation, and ways to go on with one.

use antefix_prefix::verdict::Kind;

use crate::dice::Dice;
use crate::request::{Block, In, Message, Place, Request, Tool};

type Break = fn(&mut Request, &mut Dice) -> Option<(Kind, Place)>;

/// Each with what it is called and where it is; `None` where a conversation or its dialect has no such thing.
pub const BREAKS: [(&str, Break); 32] = [
    ("a tool moves to the end", |later, dice| {
        let at = dice.below(later.tools.len() - 1);
        let tool = later.tools.remove(at);
        later.tools.push(tool);
        Some((Kind::ToolsReordered, Place::Tool(at, "")))
    }),
    ("keys of a schema change places", |later, dice| {
        let at = dice.below(later.tools.len());
        later.tools[at].properties.reverse();
        Some((Kind::ToolsKeyOrder, Place::Tool(at, "/input_schema/properties")))
    }),
    ("a tool joins", |later, dice| {
        let at = dice.below(later.tools.len() + 1);
        later
            .tools
            .insert(at, Tool { name: "late".into(), description: dice.sentence(), properties: Vec::new() });
        Some((Kind::ToolsAdded, Place::Tool(at, "")))
    }),
    ("a tool leaves", |later, dice| {
        let at = dice.below(later.tools.len());
        later.tools.remove(at);
        Some((Kind::ToolsRemoved, Place::Tool(at, "")))
    }),
    ("a description is reworded", |later, dice| {
        let at = dice.below(later.tools.len());
        later.tools[at].description.push_str(" Use it often.");
        Some((Kind::ToolsDescription, Place::Tool(at, "/description")))
    }),
    ("a parameter is documented anew", |later, dice| {
        let at = dice.below(later.tools.len());
        later.tools[at].properties[1].1.push('!');
        Some((Kind::ToolsSchema, Place::Tool(at, "/input_schema/properties/pattern/description")))
    }),
    ("another model", |later, _| {
        later.model = "model-2";
        Some((Kind::ParamsModel, Place::Setting("/model")))
    }),
    ("another effort", |later, _| {
        let (text, pointer) = match later.dialect {
            In::Anthropic => (r#""output_config":{"effort":"low"}"#, "/output_config/effort"),
            In::Chat => (r#""reasoning_effort":"low""#, "/reasoning_effort"),
            In::Responses => (r#""reasoning":{"effort":"low"}"#, "/reasoning/effort"),
            In::Gemini => return None,
        };
        later.settings.push(text.into());
        Some((Kind::ParamsEffort, Place::Setting(pointer)))
    }),
    ("fast mode", |later, _| {
        later.settings.push(r#""speed":"fast""#.into());
        (later.dialect == In::Anthropic).then_some((Kind::ParamsSpeed, Place::Setting("/speed")))
    }),
    ("thinking is switched on", |later, _| {
        later.settings.push(r#""thinking":{"type":"enabled","budget_tokens":2048}"#.into());
        (later.dialect == In::Anthropic).then_some((Kind::ParamsThinking, Place::Setting("/thinking")))
    }),
    ("a tool is demanded", |later, _| {
        later.settings.push(r#""tool_choice":{"type":"any"}"#.into());
        (later.dialect == In::Anthropic).then_some((Kind::ParamsToolChoice, Place::Setting("/tool_choice")))
    }),
    ("another format", |later, _| {
        let (text, pointer) = match later.dialect {
            In::Anthropic => {
                (r#""output_config":{"format":{"type":"json_schema"}}"#, "/output_config/format")
            }
            In::Chat => (r#""response_format":{"type":"json_object"}"#, "/response_format"),
            In::Responses => (r#""text":{"format":{"type":"json_object"}}"#, "/text/format"),
            In::Gemini => return None,
        };
        later.settings.push(text.into());
        Some((Kind::ParamsFormat, Place::Setting(pointer)))
    }),
    ("another tier", |later, _| {
        later.settings.push(r#""service_tier":"flex""#.into());
        let has_tiers = matches!(later.dialect, In::Chat | In::Responses);
        has_tiers.then_some((Kind::ParamsTier, Place::Setting("/service_tier")))
    }),
    ("another cache key", |later, _| {
        let (text, pointer) = match later.dialect {
            In::Anthropic => return None,
            In::Chat | In::Responses => (r#""prompt_cache_key":"b2d9e611""#, "/prompt_cache_key"),
            In::Gemini => (r#""cachedContent":"cachedContents/2""#, "/cachedContent"),
        };
        later.settings.push(text.into());
        Some((Kind::KeyRotated, Place::Setting(pointer)))
    }),
    ("the system prompt is reworded", |later, dice| {
        let at = dice.below(later.system.len());
        later.system[at].push_str(" Be kind.");
        Some((Kind::SystemChanged, Place::System(at)))
    }),
    ("a clock ticks", |later, _| Some((Kind::SystemClock, system(later, "15:09:20", "15:09:34")))),
    ("another folder", |later, _| Some((Kind::SystemEnv, system(later, "/w/one", "/w/two")))),
    ("a token per request", |later, _| Some((Kind::SystemNonce, system(later, "36ee5", "0aaa9")))),
    ("an old message is reworded", |later, dice| {
        let at = later.old("assistant", dice);
        let index = text_of(&later.messages[at])?;
        later.messages[at].blocks[index] = Block::Text(format!("Zusatz: {}", dice.sentence()));
        Some((Kind::Rewritten, Place::Leaf(at, index)))
    }),
    ("a date in an old message moves on", |later, _| {
        let index = later.messages[0].blocks.len() - 1;
        let Block::Text(text) = &mut later.messages[0].blocks[index] else { return None };
        *text = text.replace("2026-10-02", "2026-10-03");
        Some((Kind::DateRollover, Place::Leaf(0, index)))
    }),
    ("the results of a message are cleared", |later, dice| {
        let (at, index) = later.block(is_result, dice)?;
        let placeholder =
            dice.of(&["[Old tool result content cleared]", "[removed to save space]", "<pruned>"]);
        if let Block::Result { text, .. } = &mut later.messages[at].blocks[index] {
            *text = placeholder.into();
        }
        Some((Kind::ToolResultCleared, Place::Leaf(at, index)))
    }),
    ("a result is another", |later, dice| {
        let (at, index) = later.block(is_result, dice)?;
        if let Block::Result { text, .. } = &mut later.messages[at].blocks[index] {
            *text = text.replace("line of output ", "row of text ");
        }
        Some((Kind::ToolResultRewritten, Place::Leaf(at, index)))
    }),
    ("a result's form changes", |later, dice| {
        let (at, index) = later.block(is_result, dice)?;
        if let Block::Result { in_blocks, .. } = &mut later.messages[at].blocks[index] {
            *in_blocks = true;
        }
        (later.dialect == In::Anthropic).then_some((Kind::Reserialized, Place::Leaf(at, index)))
    }),
    ("the keys of a call change places", |later, dice| {
        let (at, index) = later.block(|block| matches!(block, Block::Call { .. }), dice)?;
        if let Block::Call { swapped, .. } = &mut later.messages[at].blocks[index] {
            *swapped = true;
        }
        Some((Kind::ToolInputKeyOrder, Place::Leaf(at, index)))
    }),
    ("thinking is left out", |later, dice| {
        let (at, index) = later.block(|block| matches!(block, Block::Thinking(_)), dice)?;
        later.messages[at].blocks.remove(index);
        Some((Kind::ThinkingDropped, Place::Block(at, index)))
    }),
    ("an image becomes its path", |later, dice| {
        let (at, index) = later.block(|block| matches!(block, Block::Image(_)), dice)?;
        later.messages[at].blocks[index] = Block::Text("[Image: source: /tmp/cache/1.png]".into());
        Some((Kind::ImageReplaced, Place::Block(at, index)))
    }),
    ("a note is put into the middle", |later, dice| {
        let at = later.old("assistant", dice);
        let role = if later.dialect == In::Gemini { "user" } else { "system" };
        later.messages.insert(at, Message { role, blocks: vec![Block::Text(dice.sentence())] });
        Some((Kind::InsertedMid, Place::Message(at)))
    }),
    ("a block is put into an old message", |later, dice| {
        let at = later.old("user", dice);
        let index = later.messages[at].blocks.len();
        let is_told_apart = later.messages[at].blocks.iter().all(is_result);
        later.messages[at].blocks.push(Block::Text(dice.sentence()));
        (in_blocks(later) || is_told_apart).then_some(())?;
        let place = if in_blocks(later) { Place::Block(at, index) } else { Place::Entry(at, index) };
        Some((Kind::InsertedMid, place))
    }),
    ("a reminder is said twice", |later, dice| {
        let at = later.old("user", dice);
        let index = later.messages[at].blocks.len();
        let reminder = later.messages[0].blocks[0].clone();
        later.messages[at].blocks.push(reminder);
        in_blocks(later).then_some((Kind::Duplicated, Place::Block(at, index)))
    }),
    ("a reminder moves to the newest message", |later, _| {
        let reminder = later.messages[0].blocks.remove(0);
        later.messages.last_mut().unwrap().blocks.insert(0, reminder);
        // In a chat the message's form changes with the number of its parts.
        (later.dialect != In::Chat).then_some(())?;
        let has_image = matches!(later.messages[0].blocks[0], Block::Image(_));
        let place = if has_image { Place::Block(0, 0) } else { Place::Leaf(0, 0) };
        Some((Kind::BlockMigrated, place))
    }),
    ("a message is taken out", |later, dice| {
        let at = later.old("assistant", dice);
        let place = Place::Message(at);
        later.messages.remove(at);
        (in_blocks(later)).then_some((Kind::Removed, place))
    }),
    ("results change places", |later, dice| {
        let (at, _) = later.block(is_result, dice)?;
        if later.messages[at].blocks.len() < 2 {
            return None;
        }
        later.messages[at].blocks.swap(0, 1);
        Some((Kind::Reordered, Place::CallId(at, 0)))
    }),
];

/// Whether a message is one entry with its blocks inside.
fn in_blocks(request: &Request) -> bool {
    matches!(request.dialect, In::Anthropic | In::Gemini)
}

/// Changes the block of the system prompt that holds what clients put there.
fn system(later: &mut Request, old: &str, new: &str) -> Place {
    let last = later.system.len() - 1;
    later.system[last] = later.system[last].replace(old, new);
    Place::System(last)
}

fn text_of(message: &Message) -> Option<usize> {
    message.blocks.iter().position(is_text)
}

fn is_text(block: &Block) -> bool {
    matches!(block, Block::Text(_))
}

fn is_result(block: &Block) -> bool {
    matches!(block, Block::Result { .. })
}

type Clean = fn(&Request, &mut Request, &mut Dice) -> Option<(String, String)>;

/// What may follow a request without breaking anything.
pub const CLEAN: [(&str, Clean); 12] = [
    ("a step more", |earlier, later, dice| {
        later.go_on(dice);
        Some((earlier.json(), later.json()))
    }),
    ("the same once more", |earlier, later, _| Some((earlier.json(), later.json()))),
    ("no markers any more", |earlier, later, dice| {
        later.go_on(dice);
        later.marked = false;
        Some((earlier.json(), later.json()))
    }),
    ("escapes and white space", |earlier, later, dice| {
        later.go_on(dice);
        let spaced = later.json().replace(r#","type":"#, r#" , "type" : "#);
        let spaced = spaced.replace("é", "\\u00e9").replace("für", "f\\u00fcr");
        Some((earlier.json(), spaced))
    }),
    ("members of the request in another order", |earlier, later, dice| {
        later.go_on(dice);
        let json = later.json();
        let inner = json.strip_prefix(r#"{"model":"model-1","#)?.strip_suffix('}')?;
        Some((earlier.json(), format!(r#"{{{inner},"model":"model-1"}}"#)))
    }),
    ("keys of a message in another order", |earlier, later, dice| {
        later.go_on(dice);
        (later.dialect == In::Anthropic).then_some(())?;
        let swapped = later.json().replace(r#"{"role":"user","content":"#, r#"{"content":"#);
        let swapped = swapped.replace(r#"]},{"role":"assistant""#, r#"],"role":"user"},{"role":"assistant""#);
        let front = swapped.strip_suffix("]}]}")?;
        Some((earlier.json(), format!(r#"{front}],"role":"user"}}]}}"#)))
    }),
    ("back to an earlier point, and on", |earlier, later, dice| {
        later.messages.pop();
        later.messages.push(Message { role: "user", blocks: vec![Block::Text(dice.sentence())] });
        Some((earlier.json(), later.json()))
    }),
    ("a side call behind the end", |earlier, later, dice| {
        later.messages.push(Message { role: "assistant", blocks: vec![Block::Text("Yes.".into())] });
        later.messages.push(Message { role: "user", blocks: vec![Block::Text(dice.sentence())] });
        Some((earlier.json(), later.json()))
    }),
    ("the last message grows", |earlier, later, dice| {
        later.messages.last_mut()?.blocks.push(Block::Text(dice.sentence()));
        Some((earlier.json(), later.json()))
    }),
    ("the last text goes on", |earlier, later, dice| {
        (later.dialect != In::Anthropic).then_some(())?;
        let Block::Text(text) = later.messages.last_mut()?.blocks.last_mut()? else { return None };
        text.push_str(&dice.sentence());
        Some((earlier.json(), later.json()))
    }),
    ("other sampling, a user id, a longer answer", |earlier, later, dice| {
        later.go_on(dice);
        later.settings.push(r#""max_tokens":99,"temperature":0.5,"metadata":{"user_id":"u2"}"#.into());
        Some((earlier.json(), later.json()))
    }),
    ("a deferred tool joins", |earlier, later, dice| {
        later.go_on(dice);
        (later.dialect == In::Anthropic).then_some(())?;
        let tool = r#","tools":[{"name":"late","defer_loading":true,"input_schema":{}},"#;
        Some((earlier.json(), later.json().replacen(r#","tools":["#, tool, 1)))
    }),
];
