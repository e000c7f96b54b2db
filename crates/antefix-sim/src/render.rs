//! From a request to the list of texts the model would read, in reading order.

use antefix_models::{Retention, Rules};

use crate::config::{BetaKey, Config, ImageRule, Tokenizer};
use crate::request::{Block, Clear, Marker, Message, Request, Role, Tool};

/// One rendered block: the unit of the cache.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    pub section: Section,
    /// All that has to be equal for two blocks to be the same to the cache.
    pub identity: String,
    pub tokens: u64,
    pub run: Run,
    /// Its markers; one block carries several only through blocks inside it.
    pub markers: Vec<Marker>,
    /// Whether the automatic marker may land here.
    pub markable: bool,
}

/// Where a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Tools,
    System,
    Messages,
}

/// Blocks of one run may share a position of the lookback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    ToolUse,
    ToolResult,
    Alone,
}

impl Run {
    fn of(kind: &str) -> Self {
        match kind {
            "tool_use" => Self::ToolUse,
            "tool_result" => Self::ToolResult,
            _ => Self::Alone,
        }
    }
}

/// What must be equal for two requests to share anything at all.
pub(crate) fn scope(request: &Request, tenant: &str, config: &Config) -> String {
    let params = &request.params;
    let betas: Vec<&str> = match &config.betas {
        BetaKey::All => params.betas.iter().map(String::as_str).collect(),
        BetaKey::Only(list) => {
            params.betas.iter().filter(|beta| list.contains(beta)).map(String::as_str).collect()
        }
        BetaKey::None => Vec::new(),
    };
    let budget = params.thinking.budget.map(|budget| budget.to_string()).unwrap_or_default();
    let parts = [
        tenant,
        &request.model,
        &params.geo,
        &betas.join(","),
        &params.thinking.kind,
        &budget,
        &params.effort,
        &params.format,
        &params.task_budget,
    ];
    parts.join(SEPARATOR)
}

/// Renders a request: tools, then the system prompt, then messages. Deferred tools are left out; what the
/// model's rules strip from old turns is stripped.
pub(crate) fn render(request: &Request, rules: &Rules, config: &Config) -> Vec<Rendered> {
    let mut renderer = Renderer { config, salt: String::new(), blocks: Vec::new() };
    renderer.tools(request);
    renderer.salt = system_salt(request);
    renderer.system(request);
    renderer.salt.push_str(&message_salt(request, config));
    renderer.messages(request, rules);
    renderer.hidden_tool_prompt(request, rules);
    renderer.blocks
}

struct Renderer<'a> {
    config: &'a Config,
    /// Waits for the next block, whose identity it becomes part of: from there on everything differs.
    salt: String,
    blocks: Vec<Rendered>,
}

impl Renderer<'_> {
    fn tools(&mut self, request: &Request) {
        for tool in request.tools.iter().filter(|tool| !tool.deferred && !tool.web) {
            self.tool(Section::Tools, tool);
        }
    }

    /// Web search and web fetch change the system prompt, so their definitions stand at its head.
    fn system(&mut self, request: &Request) {
        for tool in request.tools.iter().filter(|tool| tool.web && !tool.deferred) {
            self.tool(Section::System, tool);
        }
        for block in &request.system {
            self.block(Section::System, "system", block, block.markable());
        }
    }

    fn messages(&mut self, request: &Request, rules: &Rules) {
        let thinking_from = first_kept_thinking(request, rules);
        for (index, message) in request.messages.iter().enumerate() {
            if is_cleared(&request.messages, index) {
                continue;
            }
            for block in &message.blocks {
                if !(block.is_thinking() && index < thinking_from) {
                    let markable = block.markable() && !message.clears;
                    self.block(Section::Messages, message.role.name(), block, markable);
                }
            }
        }
    }

    fn tool(&mut self, section: Section, tool: &Tool) {
        let rendered = Rendered {
            section,
            identity: self.identity("tool", &tool.text),
            tokens: self.tokens(&tool.text),
            run: Run::Alone,
            markers: tool.marker.iter().cloned().collect(),
            markable: true,
        };
        self.blocks.push(rendered);
    }

    fn block(&mut self, section: Section, role: &str, block: &Block, markable: bool) {
        let tokens = match (self.config.tokenizer, block.images) {
            (Tokenizer::Estimate, images @ 1..) => images * self.config.image_tokens + 4,
            _ => self.tokens(&block.text),
        };
        let rendered = Rendered {
            section,
            identity: self.identity(&format!("{role}{SEPARATOR}{}", block.kind), &block.text),
            tokens,
            run: Run::of(&block.kind),
            markers: block.markers.clone(),
            markable,
        };
        self.blocks.push(rendered);
    }

    /// Uses up the salt.
    fn identity(&mut self, header: &str, text: &str) -> String {
        let salt = std::mem::take(&mut self.salt);
        if !self.config.fold_white_space {
            return format!("{salt}{header}{SEPARATOR}{text}");
        }
        let folded: Vec<_> = text.split_whitespace().collect();
        format!("{salt}{header}{SEPARATOR}{}", folded.join(" "))
    }

    fn tokens(&self, text: &str) -> u64 {
        self.config.tokenizer.block(text.len())
    }

    /// The hidden text is counted with the first block; whatever changes it changes the tools as well.
    fn hidden_tool_prompt(&mut self, request: &Request, rules: &Rules) {
        if !self.config.tool_prompt || request.tools.is_empty() {
            return;
        }
        let hidden = match request.params.tool_choice.as_str() {
            "any" | "tool" => rules.tool_prompt.any_or_tool,
            _ => rules.tool_prompt.auto_or_none,
        };
        if let (Some(first), Some(hidden)) = (self.blocks.first_mut(), hidden) {
            first.tokens += hidden.0;
        }
    }
}

/// Toggles whose change costs the system level and what follows it.
fn system_salt(request: &Request) -> String {
    let web = request.tools.iter().any(|tool| tool.web);
    let citations = request.messages.iter().flat_map(|message| &message.blocks).any(|block| block.citations);
    format!("system web={web} citations={citations} speed={}{SEPARATOR}", request.params.speed)
}

/// Toggles whose change costs the messages level.
fn message_salt(request: &Request, config: &Config) -> String {
    let params = &request.params;
    let images: u64 =
        request.messages.iter().flat_map(|message| &message.blocks).map(|block| block.images).sum();
    let images = match config.images {
        ImageRule::Presence => u64::from(images > 0),
        ImageRule::Count => images,
        ImageRule::Off => 0,
    };
    let choice = match params.tool_choice.as_str() {
        "" => "auto",
        other => other,
    };
    let (tool, serial) = (&params.forced_tool, params.disable_parallel);
    format!("messages choice={choice} tool={tool} serial={serial} images={images}{SEPARATOR}")
}

/// A `clear_at` system message disappears once any later message is the user's.
fn is_cleared(messages: &[Message], index: usize) -> bool {
    let clears = messages.get(index).is_some_and(|message| message.clears);
    clears && messages.iter().skip(index).any(|message| message.role == Role::User)
}

/// Index of the first message whose thinking is still rendered.
pub(crate) fn first_kept_thinking(request: &Request, rules: &Rules) -> usize {
    let spoken = |message: &Message| {
        message.role == Role::User && message.blocks.iter().any(|block| block.kind != "tool_result")
    };
    let messages = request.messages.iter().enumerate();
    let turns: Vec<usize> = messages.filter(|(_, message)| spoken(message)).map(|(at, _)| at).collect();
    let keep = match (request.params.edits.thinking, rules.thinking_retention) {
        (Some(Clear::KeepAll), _) | (None, Retention::AllTurns) => return 0,
        (Some(Clear::KeepTurns(turns)), _) => turns.max(1) as usize,
        (None, Retention::LastTurn) => 1,
    };
    // The user's words start a turn: with one turn kept, thinking in front of the last of them is gone.
    turns.len().checked_sub(keep).and_then(|at| turns.get(at)).copied().unwrap_or(0)
}

/// Stands between parts that are compared as one text.
const SEPARATOR: &str = "\u{1f}";
