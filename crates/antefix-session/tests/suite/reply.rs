//! Ways a request can end, made by hand.

use antefix_session::dialect::Dialect;
use antefix_session::event::{ResponseEnd, ResponseFacts};
use antefix_session::record::Millis;
use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, AssembledBlock};

/// One way a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Done,
    /// That many calls side by side.
    Calls(usize),
    Empty,
    /// A reply with thinking and nothing behind it.
    OnlyThinking,
    MaxInText,
    MaxInThinking,
    MaxInInput,
    /// The first call is whole, the second is not.
    MaxInSecondInput,
    /// The first call is whole, the second one's input is not JSON.
    BrokenInput,
    /// Two calls whose input is not JSON.
    BrokenInputs,
    /// Three calls: two with the same id, and `toolu_1`, which an earlier reply may have used.
    SameIds,
    /// It stops for a call and holds one that has no id.
    NoCall,
    /// Behind the result of a tool of the provider.
    Pause,
    /// In the midst of such a tool.
    PauseOpen,
    /// Behind text that ends in white space.
    PauseInText,
    Refusal,
    /// The stream ends in the midst of it.
    RefusalCut,
    StopSequence,
    Window,
    CutBefore,
    CutInText,
    /// Behind a whole call.
    CutBehindCall,
    /// In the midst of a tool of the provider.
    CutInServerTool,
    /// An error event in the stream.
    StreamError,
    Unreachable {
        retryable: bool,
    },
    Rejected(u16),
}

/// What is needed to make one: the simulator's reply to the request, of which thinking, id and usage are taken,
/// and the number of the first call.
pub struct Material {
    pub dialect: Dialect,
    pub reply: Assembled,
    pub next_call: u64,
}

impl Material {
    pub fn end(&self, end: End) -> ResponseEnd {
        let said = text("Some text.");
        match end {
            End::Done => self.whole("end_turn", vec![said]),
            End::Calls(count) => self.whole("tool_use", (0..count as u64).map(|at| self.call(at)).collect()),
            End::Empty => whole(Assembled { blocks: Vec::new(), ..self.message("end_turn", vec![]) }),
            End::OnlyThinking => self.whole("end_turn", vec![text(" \n")]),
            End::MaxInText => self.whole("max_tokens", vec![unfinished(text("Some te"))]),
            End::MaxInThinking => {
                let json = match self.dialect {
                    Dialect::Anthropic => r#"{"type":"thinking","thinking":"Let me","signature":""}"#,
                    Dialect::OpenAiChat => r#"{"reasoning_content":"Let me"}"#,
                };
                let blocks = vec![unfinished(block(BlockKind::Thinking, json))];
                whole(Assembled { blocks, ..self.message("max_tokens", vec![]) })
            }
            End::MaxInInput => self.whole("max_tokens", vec![unfinished(self.call(0))]),
            End::MaxInSecondInput => self.whole("max_tokens", vec![self.call(0), unfinished(self.call(1))]),
            End::BrokenInput => self.whole("tool_use", vec![self.call(0), broken(&self.call(1))]),
            End::BrokenInputs => {
                self.whole("tool_use", vec![said, broken(&self.call(0)), broken(&self.call(1))])
            }
            End::SameIds => {
                let earlier = Material { next_call: 1, reply: Assembled::default(), ..*self }.call(0);
                self.whole("tool_use", vec![self.call(0), self.call(0), earlier])
            }
            End::NoCall => {
                let nameless = match self.dialect {
                    Dialect::Anthropic => r#"{"type":"tool_use","name":"read","input":{}}"#,
                    Dialect::OpenAiChat => {
                        r#"{"id":"call_1","type":"function","function":{"name":"","arguments":"{}"}}"#
                    }
                };
                let nameless = block(BlockKind::ToolUse, nameless);
                self.whole("tool_use", vec![said, nameless])
            }
            End::Pause => self.whole("pause_turn", vec![said, self.server_call(), self.server_result()]),
            End::PauseOpen => self.whole("pause_turn", vec![said, self.server_call()]),
            End::PauseInText => self.whole("pause_turn", vec![text("Some text. ")]),
            End::Refusal => self.whole("refusal", vec![said]),
            End::RefusalCut => cut(self.message("refusal", vec![said])),
            End::StopSequence => self.whole("stop_sequence", vec![said]),
            End::Window => self.whole("model_context_window_exceeded", vec![said]),
            End::CutBefore => cut(Assembled { blocks: Vec::new(), ..self.message("", vec![]) }),
            End::CutInText => cut(self.message("", vec![unfinished(text("Some te"))])),
            End::CutBehindCall => cut(self.message("", vec![self.call(0), unfinished(self.call(1))])),
            End::CutInServerTool => {
                cut(self.message("", vec![said, self.server_call(), unfinished(self.server_result())]))
            }
            End::StreamError => {
                let error = Some(("overloaded_error".to_owned(), "Overloaded".to_owned()));
                whole(Assembled { complete: false, error, ..self.message("", vec![said]) })
            }
            End::Unreachable { retryable } => {
                ResponseEnd::Unreachable { error: "connection refused".to_owned(), retryable }
            }
            End::Rejected(status) => ResponseEnd::Rejected {
                response: facts(status),
                kind: "some_error".to_owned(),
                message: "No.".to_owned(),
                retry_after: None,
            },
        }
    }

    fn whole(&self, stop: &str, blocks: Vec<AssembledBlock>) -> ResponseEnd {
        whole(self.message(stop, blocks))
    }

    /// The simulator's reply with its thinking in front of these blocks.
    fn message(&self, stop: &str, blocks: Vec<AssembledBlock>) -> Assembled {
        let thinking = self.reply.blocks.iter().filter(|block| block.kind == BlockKind::Thinking).cloned();
        Assembled {
            blocks: thinking.chain(blocks).collect(),
            stop_reason: Some(self.stop(stop).to_owned()).filter(|stop| !stop.is_empty()),
            ..self.reply.clone()
        }
    }

    /// Why the model stopped, as the dialect names it.
    fn stop<'a>(&self, name: &'a str) -> &'a str {
        match (self.dialect, name) {
            (Dialect::Anthropic, name) => name,
            (Dialect::OpenAiChat, "end_turn" | "stop_sequence") => "stop",
            (Dialect::OpenAiChat, "tool_use") => "tool_calls",
            (Dialect::OpenAiChat, "max_tokens" | "model_context_window_exceeded") => "length",
            (Dialect::OpenAiChat, "refusal") => "content_filter",
            (Dialect::OpenAiChat, name) => name,
        }
    }

    fn call(&self, index: u64) -> AssembledBlock {
        let number = self.next_call + index;
        let json = match self.dialect {
            Dialect::Anthropic => format!(
                r#"{{"type":"tool_use","id":"toolu_{number}","name":"read","input":{{"z":1.50,"a":"caf\u00e9"}}}}"#
            ),
            Dialect::OpenAiChat => format!(
                r#"{{"id":"toolu_{number}","type":"function","function":{{"name":"read","arguments":"{{\"z\":1.50,\"a\":\"caf\\u00e9\"}}"}}}}"#
            ),
        };
        block(BlockKind::ToolUse, &json)
    }

    fn server_call(&self) -> AssembledBlock {
        let number = self.next_call;
        let json = format!(
            r#"{{"type":"server_tool_use","id":"srvtoolu_{number}","name":"web_search","input":{{"query":"x"}}}}"#
        );
        block(BlockKind::ServerToolUse, &json)
    }

    fn server_result(&self) -> AssembledBlock {
        let number = self.next_call;
        let json =
            format!(r#"{{"type":"web_search_tool_result","tool_use_id":"srvtoolu_{number}","content":[]}}"#);
        block(BlockKind::ServerToolResult, &json)
    }
}

pub fn whole(message: Assembled) -> ResponseEnd {
    ResponseEnd::Message { message: Box::new(message), response: facts(200), cut: None }
}

fn cut(message: Assembled) -> ResponseEnd {
    let message = Box::new(Assembled { complete: false, ..message });
    ResponseEnd::Message { message, response: facts(200), cut: Some("connection reset".to_owned()) }
}

fn facts(status: u16) -> ResponseFacts {
    ResponseFacts {
        status,
        request_id: Some("req_1".to_owned()),
        first_byte: Some(Millis(5)),
        quota: vec![("anthropic-ratelimit-requests-remaining".to_owned(), "3".to_owned())],
        too_long: None,
    }
}

fn text(text: &str) -> AssembledBlock {
    let mut json = br#"{"type":"text","text":"#.to_vec();
    antefix_wire::json::write_string(&mut json, text);
    json.push(b'}');
    AssembledBlock { json, ..block(BlockKind::Text, "") }
}

fn unfinished(block: AssembledBlock) -> AssembledBlock {
    AssembledBlock { complete: false, ..block }
}

/// A call as it is put together from an input that is no JSON object.
fn broken(block: &AssembledBlock) -> AssembledBlock {
    let json = String::from_utf8(block.json.clone()).unwrap();
    let written = r#"{"z":1.50,"a":"caf\u00e9""#;
    let json = json.replace(&format!("{written}}}"), "{}").replace(CHAT_INPUT, "{}").into_bytes();
    AssembledBlock { json, complete: false, broken_input: Some(written.to_owned()), ..block.clone() }
}

const CHAT_INPUT: &str = r#"{\"z\":1.50,\"a\":\"caf\\u00e9\"}"#;

fn block(kind: BlockKind, json: &str) -> AssembledBlock {
    AssembledBlock {
        json: json.as_bytes().to_vec(),
        kind,
        complete: true,
        broken_input: None,
        unknown_deltas: 0,
    }
}
