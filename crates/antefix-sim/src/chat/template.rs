//! Chat templates: from messages to the tokens the model reads.

use crate::Millis;
use crate::config::{ChatConfig, Config, TemplateClass};
use crate::meter::timestamp;

use super::answer::{Completion, Said};
use super::request::{ChatMessage, ChatRequest, ChatRole, Piece};
use super::token::{Special, Token, tokens};

/// Renders a request, up to where the model goes on.
pub(crate) fn render(request: &ChatRequest, config: &Config, chat: &ChatConfig, now: Millis) -> Vec<Token> {
    let mut writer = Writer::default();
    let template = Template { request, class: chat.template, image_tokens: config.image_tokens };
    let date = (chat.template == TemplateClass::Dated).then(|| timestamp(now));
    template.head(&mut writer, date.as_deref().and_then(|moment| moment.get(..10)));
    for (at, message) in request.messages.iter().enumerate().skip(template.system_messages()) {
        if chat.template == TemplateClass::ToolsLate && Some(at) == template.last_user() {
            template.tools(&mut writer);
        }
        template.message(&mut writer, at, message);
    }
    writer.opening(ChatRole::Assistant);
    writer.tokens
}

/// The tokens the model makes of its answer, in the order it makes them, with the one that ends it.
pub(crate) fn render_answer(completion: &Completion) -> Vec<Token> {
    let mut writer = Writer::default();
    for said in &completion.said {
        match said {
            Said::Reasoning(text) => writer.reasoning(text),
            Said::Text(text) => writer.text(text),
            Said::Call { name, arguments, .. } => writer.call("", name, arguments),
        }
    }
    writer.special(Special::End);
    writer.tokens
}

struct Template<'a> {
    request: &'a ChatRequest,
    class: TemplateClass,
    image_tokens: u64,
}

impl Template<'_> {
    /// System messages in front of all others stand in the head.
    fn system_messages(&self) -> usize {
        self.request.messages.iter().take_while(|message| message.role == ChatRole::System).count()
    }

    fn last_user(&self) -> Option<usize> {
        self.request.messages.iter().rposition(|message| message.role == ChatRole::User)
    }

    fn head(&self, writer: &mut Writer, date: Option<&str>) {
        let system = self.request.messages.iter().take(self.system_messages());
        let with_tools = !self.request.tools.is_empty() && self.class != TemplateClass::ToolsLate;
        if self.system_messages() == 0 && !with_tools && date.is_none() {
            return;
        }
        writer.opening(ChatRole::System);
        if let Some(date) = date {
            writer.text("Today is ");
            writer.text(date);
            writer.text(".\n");
        }
        for message in system {
            self.content(writer, message);
        }
        if with_tools {
            self.tools(writer);
        }
        writer.special(Special::End);
    }

    fn tools(&self, writer: &mut Writer) {
        if self.request.tools.is_empty() {
            return;
        }
        writer.special(Special::Tools);
        for tool in &self.request.tools {
            writer.text(&tool.text);
            writer.text("\n");
        }
        writer.special(Special::EndTools);
    }

    fn message(&self, writer: &mut Writer, at: usize, message: &ChatMessage) {
        writer.opening(message.role);
        if self.class == TemplateClass::ToolsLate {
            writer.text(&message.call_id);
        }
        let stripped = self.class == TemplateClass::ReasoningStripping && Some(at) < self.last_user();
        if !message.reasoning.is_empty() && !stripped {
            writer.reasoning(&message.reasoning);
        }
        self.content(writer, message);
        for call in &message.calls {
            let id = if self.class == TemplateClass::ToolsLate { call.id.as_str() } else { "" };
            writer.call(id, &call.name, &call.arguments);
        }
        writer.special(Special::End);
    }

    fn content(&self, writer: &mut Writer, message: &ChatMessage) {
        for piece in &message.content {
            match piece {
                Piece::Text(text) => writer.text(text),
                Piece::Image(source) => {
                    let token = Token::image(source);
                    writer.tokens.extend((0..self.image_tokens).map(|_| token));
                }
            }
        }
    }
}

#[derive(Default)]
struct Writer {
    tokens: Vec<Token>,
}

impl Writer {
    fn special(&mut self, piece: Special) {
        self.tokens.push(Token::special(piece));
    }

    fn text(&mut self, text: &str) {
        self.tokens.extend(tokens(text));
    }

    fn opening(&mut self, role: ChatRole) {
        self.special(Special::Start);
        self.text(role.name());
        self.text("\n");
    }

    fn reasoning(&mut self, text: &str) {
        self.special(Special::Think);
        self.text(text);
        self.special(Special::EndThink);
    }

    fn call(&mut self, id: &str, name: &str, arguments: &str) {
        self.special(Special::Call);
        self.text(id);
        self.text(name);
        self.text("\n");
        self.text(arguments);
        self.special(Special::EndCall);
    }
}
