//! The face of a Chat Completions server: routes, keys, what is refused, and what an answer looks like.

use antefix_sim::ResponseBody;
use antefix_sim::{
    ChatConfig, Config, ErrorShape, HttpRequest, HttpResponse, Millis, Script, Simulator, StreamEnd,
    TemplateClass,
};
use antefix_wire::json::Body;

const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}},{"type":"function","function":{"name":"edit"}}]"#;
const CALLS: &str = "rule\n  on rounds 0\n  think Hm.\n  text Two.\n  tool read {\"path\":\"ä\"}\n  tool edit {}\nrule\n  text Done: {{results}}.\n";

fn simulator(chat: ChatConfig, script: &str) -> Simulator {
    Simulator::new(Config::chat(chat), Script::parse(script).unwrap_or_else(|error| panic!("{error}")))
}

fn request(simulator: &mut Simulator, method: &str, path: &str, key: &str, body: &str) -> HttpResponse {
    let headers = [("authorization".to_owned(), format!("Bearer {key}"))];
    let headers = if key.is_empty() { &[][..] } else { &headers[..] };
    simulator.handle(&HttpRequest { method, path, headers, body: body.as_bytes() }, Millis(5_000))
}

fn text(response: &HttpResponse) -> String {
    String::from_utf8(response.bytes()).unwrap()
}

fn complete(script: &str, body: &str) -> HttpResponse {
    request(&mut simulator(ChatConfig::vllm(), script), "POST", "/v1/chat/completions", "k", body)
}

/// A body with these members behind the model's.
fn body(members: &str) -> String {
    format!(r#"{{"model":"sim-model",{members}}}"#)
}

fn user(words: &str) -> String {
    format!(r#""messages":[{{"role":"user","content":"{words}"}}]"#)
}

/// `status code message` of a refusal.
fn refusal(response: &HttpResponse) -> String {
    let text = text(response);
    let body = Body::parse(text.as_str()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let error = body.root().get("error").unwrap_or_else(|| panic!("{text}"));
    let member = |key: &str| error.get(key).and_then(|node| node.str()).unwrap_or_default().into_owned();
    format!("{} {} {}", response.status, member("code"), member("message"))
}

#[test]
fn routes_answer_as_documented() {
    let model = r#"{"id":"sim-model","object":"model","created":0,"owned_by":"vllm","root":"sim-model","max_model_len":131072}"#;
    let list = format!(r#"{{"object":"list","data":[{model}]}}"#);
    let cases = [
        ("GET", "/v1/models", "", 200, list.as_str()),
        ("GET", "/v1/models/sim-model", "k", 200, model),
        ("GET", "/v1/models/gpt-5", "k", 404, ""),
        ("GET", "/health", "", 200, r#"{"status":"ok"}"#),
        ("HEAD", "/v1/models", "", 200, ""),
        ("GET", "/v1/models", "invalid-key", 401, ""),
        ("POST", "/v1/chat/completions", "invalid-key", 401, ""),
        ("GET", "/v1/chat/completions", "", 405, ""),
        ("POST", "/v1/messages", "k", 404, ""),
        ("POST", "/v1/completions", "k", 404, ""),
    ];
    for (method, path, key, status, expect) in cases {
        let response = request(&mut simulator(ChatConfig::vllm(), "rule\n text x"), method, path, key, "{}");
        assert_eq!(response.status, status, "{method} {path}");
        assert!(response.header("x-request-id").is_some(), "{method} {path}");
        if !expect.is_empty() {
            assert_eq!(text(&response), expect, "{method} {path}");
        }
    }
    let props = request(&mut simulator(ChatConfig::llamacpp(), ""), "GET", "/props", "", "");
    assert_eq!(
        text(&props),
        "{\"default_generation_settings\":{\"n_ctx\":131072},\"total_slots\":4,\"model_alias\":\"sim-model\",\
         \"model_path\":\"sim-model\",\"chat_template\":\"antefix-sim append-only\",\
         \"modalities\":{\"vision\":true,\"audio\":false}}"
    );
}

#[test]
fn keys_and_models_are_checked_as_the_server_does() {
    let ask = |chat: ChatConfig, key: &str, model: &str| {
        let body = format!(r#"{{"model":"{model}",{}}}"#, user("x"));
        let response =
            request(&mut simulator(chat, "rule\n text x"), "POST", "/v1/chat/completions", key, &body);
        if response.status == 200 { "200".to_owned() } else { refusal(&response) }
    };
    let wrong = "401 invalid_api_key incorrect API key provided";
    let cases = [
        (ChatConfig::vllm(), "", "sim-model", "200"),
        (ChatConfig::vllm(), "any", "sim-model", "200"),
        (ChatConfig::vllm(), "invalid", "sim-model", wrong),
        (ChatConfig::vllm(), "", "gpt-5", "404 model_not_found the model 'gpt-5' does not exist"),
        (ChatConfig::llamacpp(), "", "gpt-5", "200"),
        (ChatConfig::llamacpp(), "invalid", "gpt-5", wrong),
        (
            ChatConfig::openai_legacy(),
            "",
            "sim-model",
            "401 invalid_api_key no API key provided: send it as `Authorization: Bearer KEY`",
        ),
        (ChatConfig::openai_legacy(), "any", "sim-model", "200"),
    ];
    for (chat, key, model, expect) in cases {
        assert_eq!(ask(chat.clone(), key, model), expect, "{chat:?} {key} {model}");
    }
}

#[test]
fn errors_can_have_the_shape_of_each_server() {
    use ErrorShape::{LlamaCpp, OpenAi, Vllm};
    let ask = |errors: ErrorShape, key: &str, model: &str, members: &str| {
        let chat = ChatConfig { errors, context: 30, ..ChatConfig::vllm() };
        let body = format!(r#"{{"model":"{model}",{members}}}"#);
        let script = "rule\n  on text busy\n  error 503 unavailable_error Loading\nrule\n  text x\n";
        text(&request(&mut simulator(chat, script), "POST", "/v1/chat/completions", key, &body))
    };
    let long = "the maximum context length is 30 tokens; the prompt has 108 and the answer needs room for 1";
    let gone = "the model 'gpt' does not exist";
    let cases = [
        (OpenAi, "invalid", "sim-model", user("x"), r#"{"message":"incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}"#.to_owned()),
        (Vllm, "invalid", "sim-model", user("x"), r#""Unauthorized""#.to_owned()),
        (LlamaCpp, "invalid", "sim-model", user("x"), r#"{"code":401,"message":"incorrect API key provided","type":"authentication_error"}"#.to_owned()),
        (Vllm, "", "gpt", user("x"), format!(r#"{{"message":"{gone}","type":"NotFoundError","param":null,"code":404}}"#)),
        (LlamaCpp, "", "gpt", user("x"), format!(r#"{{"code":404,"message":"{gone}","type":"not_found_error"}}"#)),
        (OpenAi, "", "sim-model", user(&" w".repeat(100)), format!(r#"{{"message":"{long}","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}"#)),
        (Vllm, "", "sim-model", user(&" w".repeat(100)), format!(r#"{{"message":"{long}","type":"BadRequestError","param":null,"code":400}}"#)),
        (LlamaCpp, "", "sim-model", user(&" w".repeat(100)), format!(r#"{{"code":400,"message":"{long}","type":"exceed_context_size_error"}}"#)),
        (OpenAi, "", "sim-model", user("busy"), r#"{"message":"Loading","type":"unavailable_error","param":null,"code":"unavailable_error"}"#.to_owned()),
        (LlamaCpp, "", "sim-model", user("busy"), r#"{"code":503,"message":"Loading","type":"unavailable_error"}"#.to_owned()),
    ];
    for (shape, key, model, members, expect) in cases {
        assert_eq!(ask(shape, key, model, &members), format!("{{\"error\":{expect}}}"), "{shape:?}");
    }
}

#[test]
fn an_answer_has_the_documented_shape() {
    let response = complete(CALLS, &body(&format!("{},{TOOLS}", user("go"))));
    assert_eq!(response.header("content-type"), Some("application/json"));
    let answer = text(&response);
    let ids: Vec<&str> = answer.split("\"id\":\"call_").skip(1).filter_map(|rest| rest.get(..24)).collect();
    let [first, second] = ids[..] else { panic!("{answer}") };
    assert_ne!(first, second);
    assert_eq!(
        answer,
        format!(
            "{{\"id\":\"chatcmpl-sim000000000001\",\"object\":\"chat.completion\",\"created\":5,\"model\":\"sim-model\",\
             \"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"Two.\",\"reasoning_content\":\"Hm.\",\
             \"tool_calls\":[\
             {{\"id\":\"call_{first}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{\\\"path\\\":\\\"ä\\\"}}\"}}}},\
             {{\"id\":\"call_{second}\",\"type\":\"function\",\"function\":{{\"name\":\"edit\",\"arguments\":\"{{}}\"}}}}]}},\
             \"logprobs\":null,\"finish_reason\":\"tool_calls\"}}],\
             \"usage\":{{\"prompt_tokens\":82,\"completion_tokens\":26,\"total_tokens\":108,\
             \"completion_tokens_details\":{{\"reasoning_tokens\":4}}}}}}"
        )
    );
}

#[test]
fn reasoning_goes_by_the_name_that_is_set() {
    for (field, stream) in [("reasoning", false), ("reasoning", true), ("reasoning_content", true)] {
        let chat = ChatConfig { reasoning_field: field.to_owned(), ..ChatConfig::vllm() };
        let body = body(&format!("{},\"stream\":{stream}", user("go")));
        let mut simulator = simulator(chat, "rule\n  think Hm\n  text ok\n");
        let answer = text(&request(&mut simulator, "POST", "/v1/chat/completions", "", &body));
        assert!(answer.contains(&format!("\"{field}\":\"Hm\"")), "{field} {stream}: {answer}");
    }
}

/// Joins the deltas of a stream the way a client does: `finish | content | reasoning | calls | usage`.
fn joined(response: &HttpResponse) -> String {
    let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::<String>::new());
    let (mut finish, mut usage) = (String::from("-"), String::from("-"));
    for data in
        text(response).split("\n\n").filter_map(|event| event.strip_prefix("data: ").map(str::to_owned))
    {
        if data == "[DONE]" {
            finish.push_str(" done");
            continue;
        }
        let event = Body::parse(data.as_str()).unwrap();
        let string = |pointer: &str| {
            event.root().pointer(pointer).and_then(|node| node.str()).map(|text| text.into_owned())
        };
        content.extend(string("/choices/0/delta/content"));
        reasoning.extend(string("/choices/0/delta/reasoning_content"));
        if let Some(name) = string("/choices/0/delta/tool_calls/0/function/name") {
            assert_eq!(
                event.root().pointer("/choices/0/delta/tool_calls/0/index").unwrap().u64(),
                Some(calls.len() as u64)
            );
            calls.push(name);
        }
        calls
            .last_mut()
            .into_iter()
            .for_each(|call| call.extend(string("/choices/0/delta/tool_calls/0/function/arguments")));
        finish = string("/choices/0/finish_reason").unwrap_or(finish);
        usage = event.root().get("usage").map_or(usage, |node| node.raw().to_owned());
    }
    [finish, content, reasoning, calls.join(" "), usage].join(" | ")
}

#[test]
fn a_stream_says_what_the_whole_answer_says() {
    let usage = r#"{"prompt_tokens":82,"completion_tokens":26,"total_tokens":108,"completion_tokens_details":{"reasoning_tokens":4}}"#;
    let said = "Two. | Hm. | read{\"path\":\"ä\"} edit{}";
    let cases = [
        ("\"stream\":true", "", format!("tool_calls done | {said} | -")),
        (
            "\"stream\":true,\"stream_options\":{\"include_usage\":true}",
            "",
            format!("tool_calls done | {said} | {usage}"),
        ),
        (
            "\"stream\":true,\"stream_options\":{\"include_usage\":true}",
            "omit usage",
            format!("tool_calls done | {said} | -"),
        ),
        (
            "\"stream\":true,\"stream_options\":{\"include_usage\":true}",
            "omit choices",
            format!("- done |  |  |  | {usage}"),
        ),
        ("\"stream\":true", "omit finish", format!("- done | {said} | -")),
        ("\"stream\":true", "omit done", format!("tool_calls | {said} | -")),
        ("\"stream\":true", "arguments 1", format!("tool_calls done | {said} | -")),
        ("\"stream\":true", "arguments 1000", format!("tool_calls done | {said} | -")),
        ("\"stream\":true", "keep-alive", format!("tool_calls done | {said} | -")),
        (
            "\"stream\":true,\"chat_template_kwargs\":{\"enable_thinking\":false}",
            "",
            format!("tool_calls done | {} | -", said.replace("Hm.", "")),
        ),
    ];
    for (members, line, expect) in cases {
        let script = CALLS.replacen("on rounds 0", &format!("on rounds 0\n  {line}"), 1);
        let response = complete(&script, &body(&format!("{},{TOOLS},{members}", user("go"))));
        assert_eq!(joined(&response), expect, "{members} {line}");
        let comments = text(&response).matches(": keep-alive\n\n").count();
        assert_eq!(comments > 0, line == "keep-alive", "{line}");
        let deltas = text(&response).matches("\"function\":{\"arguments\":").count();
        let expected = match line {
            "arguments 1" => 14,
            "arguments 1000" => 2,
            "omit choices" => 0,
            _ => 5,
        };
        assert_eq!(deltas, expected, "{line}");
    }
}

#[test]
fn what_goes_wrong_on_the_way_is_scripted() {
    let cases = [
        ("cut before-first-byte", StreamEnd::Cut, ""),
        ("cut before-first-block", StreamEnd::Cut, "-"),
        ("hang before-first-block", StreamEnd::Hang, "-"),
        ("cut mid-input", StreamEnd::Cut, "- | Two. | Hm. | read{\"p | -"),
        ("stream-error before-first-block server_error Out of memory", StreamEnd::Clean, "error"),
        ("cut 100", StreamEnd::Cut, "100"),
    ];
    for (line, end, expect) in cases {
        let script = CALLS.replacen("on rounds 0", &format!("on rounds 0\n  {line}"), 1);
        let response = complete(&script, &body(&format!("{},{TOOLS},\"stream\":true", user("go"))));
        let ResponseBody::Stream { end: ended, .. } = &response.body else { panic!("{line}") };
        assert_eq!(*ended, end, "{line}");
        match expect {
            "" => assert_eq!(text(&response), ""),
            "-" => assert_eq!(joined(&response), "- |  |  |  | -", "{line}"),
            "100" => assert_eq!(response.bytes().len(), 100),
            "error" => assert!(text(&response).ends_with(
                "data: {\"error\":{\"message\":\"Out of memory\",\"type\":\"server_error\",\"param\":null,\"code\":\"server_error\"}}\n\n"
            )),
            _ => assert_eq!(joined(&response), expect, "{line}"),
        }
    }
    let refused =
        complete("rule\n  error 429 rate_limit_exceeded Slow down\n  retry-after 7", &body(&user("x")));
    assert_eq!(refusal(&refused), "429 rate_limit_exceeded Slow down");
    assert_eq!(refused.header("retry-after"), Some("7"));
    let empty = complete("rule\n  text x\n  omit choices\n  omit usage", &body(&user("x")));
    assert!(text(&empty).ends_with("\"choices\":[]}"), "{}", text(&empty));
}

/// A conversation in a short notation: `s` system, `u` user, `a` assistant, `c1,c2` an assistant with calls
/// of these ids, `r1` a tool's result.
fn conversation(turns: &str) -> String {
    let messages: Vec<String> = turns.split_whitespace().map(|turn| {
        let (kind, rest) = turn.split_at(1);
        let said = |role: &str| format!(r#"{{"role":"{role}","content":"{turn}"}}"#);
        match kind {
            "s" => said("system"),
            "u" => said("user"),
            "a" => said("assistant"),
            "r" => format!(r#"{{"role":"tool","tool_call_id":"{rest}","content":"result"}}"#),
            "c" => {
                let call = |id: &str| format!(r#"{{"id":"{}","type":"function","function":{{"name":"read","arguments":"{{}}"}}}}"#, id.trim_start_matches('c'));
                let calls: Vec<String> = turn.split(',').map(call).collect();
                format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","))
            }
            _ => panic!("{turn}"),
        }
    }).collect();
    format!(r#""messages":[{}]"#, messages.join(","))
}

#[test]
fn conversations_are_checked_as_strictly_as_the_strictest_server_does() {
    use TemplateClass::{AppendOnly, StrictAlternation, ToolsLate};
    let behind = "a message with role 'tool' must answer a call of the message with 'tool_calls' before it";
    let missing = "a message with 'tool_calls' must be followed by a tool message for each call; none for";
    let order = "after an optional system message, roles must alternate user/assistant/user/assistant";
    let cases = [
        (AppendOnly, "u", String::new()),
        (AppendOnly, "s u a s u", String::new()),
        (AppendOnly, "u u a a", String::new()),
        (AppendOnly, "u c1 r1", String::new()),
        (AppendOnly, "u c1,c2 r2 r1 u", String::new()),
        (AppendOnly, "u c1 r1 c1 r1", String::new()),
        (AppendOnly, "u r1", format!("'messages[1]': {behind}")),
        (AppendOnly, "u c1 r2", format!("'messages[2]': {behind}")),
        (AppendOnly, "u c1 r1 r1", format!("'messages[3]': {behind}")),
        (AppendOnly, "u c1 r1 a r1", format!("'messages[4]': {behind}")),
        (AppendOnly, "u c1", format!("'messages[2]': {missing} 1")),
        (AppendOnly, "u c1,c2 r1", format!("'messages[3]': {missing} 2")),
        (AppendOnly, "u c1,c2 r1 u", format!("'messages[3]': {missing} 2")),
        (AppendOnly, "u c1 u r1", format!("'messages[2]': {missing} 1")),
        (AppendOnly, "u c1,c1 r1", "'messages[1].tool_calls': id '1' stands twice".to_owned()),
        (StrictAlternation, "s u a u", String::new()),
        (StrictAlternation, "u c1 r1 c2 r2 a u", String::new()),
        (StrictAlternation, "u u", format!("'messages[1]': {order}")),
        (StrictAlternation, "a u", format!("'messages[0]': {order}")),
        (StrictAlternation, "u a s u", format!("'messages[2]': {order}")),
        (StrictAlternation, "s s u", format!("'messages[1]': {order}")),
        (StrictAlternation, "u c1 r1 u", format!("'messages[3]': {order}")),
        (ToolsLate, "u cabcdefgh9 rabcdefgh9", String::new()),
        (
            ToolsLate,
            "u cabcdefg9 rabcdefg9",
            "tool call ids must be nine letters or digits, not 'abcdefg9'".to_owned(),
        ),
        (
            ToolsLate,
            "u cabcd_fgh9 rabcd_fgh9",
            "tool call ids must be nine letters or digits, not 'abcd_fgh9'".to_owned(),
        ),
    ];
    for (template, turns, expect) in cases {
        let chat = ChatConfig { template, ..ChatConfig::vllm() };
        let mut simulator = simulator(chat, "rule\n  text x");
        let response =
            request(&mut simulator, "POST", "/v1/chat/completions", "", &body(&conversation(turns)));
        let expect = if expect.is_empty() { "200".to_owned() } else { format!("400  {expect}") };
        let found = if response.status == 200 { "200".to_owned() } else { refusal(&response) };
        assert_eq!(found, expect, "{template:?} {turns}");
    }
}

#[test]
fn bodies_that_cannot_be_read_are_refused() {
    let message = |message: &str| format!(r#""messages":[{message}]"#);
    let call = |call: &str| message(&format!(r#"{{"role":"assistant","tool_calls":[{call}]}}"#));
    let cases = [
        (r#""messages":[]"#.to_owned(), "'messages' must hold at least one message"),
        (r#""messages":{}"#.to_owned(), "'messages' must be an array"),
        (
            message(r#"{"role":"function","content":"x"}"#),
            "'messages[0].role' must be 'system', 'developer', 'user', 'assistant' or 'tool'",
        ),
        (message(r#"{"role":"user"}"#), "'messages[0].content' is required"),
        (message(r#"{"role":"assistant","content":null}"#), "'messages[0].content' is required"),
        (
            message(r#"{"role":"user","content":[]}"#),
            "'messages[0].content' must be a string or an array of parts",
        ),
        (
            message(r#"{"role":"user","content":[{"type":"document"}]}"#),
            "'messages[0].content[0].type': no part of type 'document' in a user message",
        ),
        (
            message(
                r#"{"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"x"}}]}"#,
            ),
            "'messages[0].content[0].type': no part of type 'image_url' in a tool message",
        ),
        (message(r#"{"role":"tool","content":"x"}"#), "'messages[0].tool_call_id' is required"),
        (
            message(r#"{"role":"user","content":"x","tool_calls":[{}]}"#),
            "'messages[0].tool_calls': only an assistant calls tools",
        ),
        (
            call(r#"{"type":"function","function":{"name":"a","arguments":"{}"}}"#),
            "'messages[0].tool_calls[0].id' is required",
        ),
        (
            call(r#"{"id":"1","function":{"name":"a","arguments":"{}"}}"#),
            "'messages[0].tool_calls[0].type' must be 'function'",
        ),
        (
            call(r#"{"id":"1","type":"function","function":{"arguments":"{}"}}"#),
            "'messages[0].tool_calls[0].function.name' is required",
        ),
        (
            call(r#"{"id":"1","type":"function","function":{"name":"a","arguments":"{"}}"#),
            "'messages[0].tool_calls[0].function.arguments' must be a JSON object as a string",
        ),
        (
            call(r#"{"id":"1","type":"function","function":{"name":"a","arguments":{}}}"#),
            "'messages[0].tool_calls[0].function.arguments' is required",
        ),
        (format!("{},\"tools\":[]", user("x")), "'tools' must be an array of at least one tool"),
        (format!("{},\"tools\":[{{\"name\":\"a\"}}]", user("x")), "'tools[0].type' must be 'function'"),
        (
            format!("{},\"tools\":[{{\"type\":\"function\",\"function\":{{\"name\":\"a.b\"}}}}]", user("x")),
            "'tools[0].function.name' must be one to 64 letters, digits, '_' and '-'",
        ),
        (
            format!("{},\"tool_choice\":\"required\"", user("x")),
            "'tool_choice' asks for a tool that is not in 'tools'",
        ),
        (
            format!("{},\"tool_choice\":\"any\"", user("x")),
            "'tool_choice' must be 'none', 'auto', 'required' or a function",
        ),
        (
            format!("{},\"stream_options\":{{}}", user("x")),
            "'stream_options' is only allowed when 'stream' is on",
        ),
        (format!("{},\"n\":2", user("x")), "'n': this server gives one choice"),
        (format!("{},\"max_tokens\":0", user("x")), "'max_tokens' must be at least 1"),
        (format!("{},\"max_tokens\":1.5", user("x")), "'max_tokens' must be a whole number, not negative"),
        (format!("{},\"stop\":[1]", user("x")), "'stop' must be a string or an array of strings"),
    ];
    for (members, expect) in cases {
        assert_eq!(
            refusal(&complete("rule\n text x", &body(&members))),
            format!("400  {expect}"),
            "{members}"
        );
    }
    for (text, expect) in
        [("[]", "the body must be a JSON object"), ("{}", "you must provide a model parameter")]
    {
        assert_eq!(refusal(&complete("rule\n text x", text)), format!("400  {expect}"));
    }
    assert!(refusal(&complete("", "{")).starts_with("400  the body is not valid JSON"));
}

#[test]
fn what_the_server_cannot_do_is_said() {
    let no_tools = ChatConfig { tools: false, ..ChatConfig::vllm() };
    let small = ChatConfig { context: 30, ..ChatConfig::vllm() };
    let few = ChatConfig { context: 30, ..ChatConfig::llamacpp() };
    let long = |prompt: usize, room: usize| {
        format!(
            "400 context_length_exceeded the maximum context length is 30 tokens; the prompt has {prompt} and the answer needs room for {room}"
        )
    };
    let tools = format!("{},{TOOLS}", user("x"));
    // Eight tokens of the template stand around the user's words and in front of the model's.
    let words = |count: usize| user(&" w".repeat(count));
    let cases = [
        (&no_tools, user("x"), "200".to_owned()),
        (
            &no_tools,
            tools,
            "400 unsupported_parameter the model 'sim-model' does not support tools".to_owned(),
        ),
        (&small, words(20), "200".to_owned()),
        (&small, words(21), "200".to_owned()),
        (&small, words(22), long(30, 1)),
        (&small, format!("{},\"max_tokens\":8", words(14)), "200".to_owned()),
        (&small, format!("{},\"max_tokens\":9", words(14)), long(22, 9)),
        (&few, format!("{},\"max_tokens\":10", words(14)), "200".to_owned()),
        (&few, words(22), long(30, 1)),
    ];
    for (chat, members, expect) in cases {
        let mut simulator = simulator(chat.clone(), "rule\n text x");
        let response = request(&mut simulator, "POST", "/v1/chat/completions", "", &body(&members));
        let found = if response.status == 200 { "200".to_owned() } else { refusal(&response) };
        assert_eq!(found, expect, "{members}");
    }
}

#[test]
fn what_the_request_allows_is_kept_to() {
    let named = r#""tool_choice":{"type":"function","function":{"name":"edit"}}"#;
    let cases = [
        ("", "tool_calls | Two. | read{\"path\":\"ä\"} edit{}"),
        ("\"tool_choice\":\"none\"", "stop | Two. | "),
        ("\"tool_choice\":\"required\"", "tool_calls |  | read{\"path\":\"ä\"} edit{}"),
        (named, "tool_calls |  | edit{}"),
        ("\"parallel_tool_calls\":false", "tool_calls | Two. | read{\"path\":\"ä\"}"),
        ("\"stop\":\"wo\"", "stop | T | "),
        ("\"stop\":[\"Hm\",\"Two\"]", "stop |  | "),
        ("\"max_tokens\":4", "length |  | "),
        ("\"max_tokens\":5", "length | Two | "),
        ("\"max_completion_tokens\":6,\"max_tokens\":1", "length | Two. | "),
        ("\"max_tokens\":12", "length | Two. | read{\"path"),
        ("\"max_tokens\":25", "length | Two. | read{\"path\":\"ä\"} edit{}"),
        ("\"max_tokens\":26", "tool_calls | Two. | read{\"path\":\"ä\"} edit{}"),
    ];
    for (member, expect) in cases {
        let member = if member.is_empty() { String::new() } else { format!(",{member}") };
        let response = complete(CALLS, &body(&format!("{},{TOOLS},\"stream\":true{member}", user("go"))));
        let joined = joined(&response).replace(" done", "");
        let parts: Vec<&str> = joined.split(" | ").collect();
        assert_eq!([parts[0], parts[1], parts[3]].join(" | "), expect, "{member}");
    }
    let plain = complete(
        "rule\n text Just words.",
        &body(&format!("{},{TOOLS},\"tool_choice\":\"required\",\"stream\":true", user("go"))),
    );
    assert!(joined(&plain).contains("read{}"), "a call that is demanded is made");
}

#[test]
fn a_script_sees_the_same_conversation_in_both_dialects() {
    let script = "\
rule
  on result-error
  text failed {{results}}
rule
  on results 2
  on result edit
  text both {{said}}
rule
  on rounds 2
  text twice
rule
  on system be brief
  on turn 2
  text second
rule
  text other
";
    let call = |ids: &[(&str, &str)]| {
        let calls: Vec<String> = ids
            .iter()
            .map(|(id, name)| {
                format!(
                    r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":"{{}}"}}}}"#
                )
            })
            .collect();
        format!(r#",{{"role":"assistant","tool_calls":[{}]}}"#, calls.join(","))
    };
    let result =
        |id: &str, text: &str| format!(r#",{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#);
    let say = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    let go = say("user", "go");
    let both =
        format!("{go}{}{}{}", call(&[("1", "read"), ("2", "edit")]), result("1", "x"), result("2", "y"));
    let reminder = say("user", "<system-reminder>x</system-reminder>");
    let cases = [
        (go.clone(), "other"),
        (both.clone(), "both go"),
        (format!("{both},{reminder}"), "both go"),
        (format!("{both},{}", say("user", "new words")), "other"),
        (
            format!(
                "{go}{}{}{}{}",
                call(&[("1", "read")]),
                result("1", "x"),
                call(&[("2", "read")]),
                result("2", "y")
            ),
            "twice",
        ),
        (format!("{go}{}{}", call(&[("1", "read")]), result("1", "Error: no file")), "failed Error: no file"),
        (
            format!(
                "{},{go},{},{}",
                say("developer", "be brief"),
                say("assistant", "ok"),
                say("user", "again")
            ),
            "second",
        ),
    ];
    for (messages, expect) in cases {
        let response = complete(script, &body(&format!("\"messages\":[{messages}],\"stream\":true")));
        assert_eq!(joined(&response).split(" | ").nth(1), Some(expect), "{messages}");
    }
}
