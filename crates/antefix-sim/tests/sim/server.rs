//! Routes, keys, headers and the models that can be listed.

use antefix_sim::{Config, Limits, UnifiedQuota};
use antefix_wire::json::Body;

use crate::harness::{Lab, body, test_config};

fn error_of(text: &str) -> (String, String) {
    let body = Body::parse(text).unwrap();
    let text = |pointer: &str| body.root().pointer(pointer).unwrap().str().unwrap().into_owned();
    assert_eq!(text("/type"), "error");
    assert!(text("/request_id").starts_with("req_"));
    (text("/error/type"), text("/error/message"))
}

#[test]
fn routes_answer_as_documented() {
    let cases = [
        ("HEAD", "/api/hello", 200, ""),
        ("GET", "/v1/models?limit=1000", 200, ""),
        ("GET", "/v1/models/claude-opus-5-5", 200, ""),
        ("GET", "/v1/models/gpt-5", 404, "not_found_error"),
        ("POST", "/v1/messages?beta=true", 200, ""),
        ("GET", "/v1/messages", 405, "invalid_request_error"),
        ("PUT", "/v1/messages/count_tokens", 405, "invalid_request_error"),
        ("POST", "/v1/models", 405, "invalid_request_error"),
        ("POST", "/v1/complete", 404, "not_found_error"),
        ("GET", "/", 404, "not_found_error"),
    ];
    for (method, path, status, kind) in cases {
        let mut lab = Lab::new(test_config());
        let sent = lab.request(0, method, path, &body("u20", ""));
        assert_eq!(sent.status, status, "{method} {path}: {}", sent.text);
        assert!(sent.response.header("request-id").is_some(), "{method} {path}");
        if !kind.is_empty() {
            assert_eq!(error_of(&sent.text).0, kind, "{method} {path}");
        }
    }
}

#[test]
fn keys_and_versions_are_checked() {
    type Headers = &'static [(&'static str, &'static str)];
    let cases: [(Headers, u16, &str, &str); 7] = [
        (&[("anthropic-version", "2023-06-01")], 401, "authentication_error", "x-api-key header is required"),
        (
            &[("x-api-key", ""), ("anthropic-version", "1")],
            401,
            "authentication_error",
            "x-api-key header is required",
        ),
        (
            &[("x-api-key", "invalid-key"), ("anthropic-version", "1")],
            401,
            "authentication_error",
            "invalid x-api-key",
        ),
        (&[("x-api-key", "k")], 400, "invalid_request_error", "anthropic-version: header is required"),
        (&[("x-api-key", "k"), ("anthropic-version", "2023-06-01")], 200, "", ""),
        (&[("authorization", "Bearer k"), ("anthropic-version", "2023-06-01")], 200, "", ""),
        (
            &[("authorization", "Basic k"), ("anthropic-version", "1")],
            401,
            "authentication_error",
            "x-api-key header is required",
        ),
    ];
    for (headers, status, kind, message) in cases {
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sent = Lab::new(test_config()).raw(0, "POST", "/v1/messages", &headers, &body("u20", ""));
        assert_eq!(sent.status, status, "{headers:?}");
        if status != 200 {
            assert_eq!(error_of(&sent.text), (kind.to_owned(), message.to_owned()), "{headers:?}");
        }
    }
}

#[test]
fn bodies_that_cannot_be_read_are_refused() {
    let cases = [
        ("", 400, "invalid_request_error"),
        ("{", 400, "invalid_request_error"),
        ("[]", 400, "invalid_request_error"),
        ("{}", 400, "invalid_request_error"),
        ("{\"model\":\"claude-test\",\"max_tokens\":1}", 400, "invalid_request_error"),
        ("{\"model\":\"claude-test\",\"max_tokens\":1,\"messages\":{}}", 400, "invalid_request_error"),
        (
            "{\"model\":\"gpt-5\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
            404,
            "not_found_error",
        ),
    ];
    for (text, status, kind) in cases {
        let sent = Lab::new(test_config()).post(0, text);
        assert_eq!((sent.status, error_of(&sent.text).0.as_str()), (status, kind), "{text}");
    }
    let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(32 << 20));
    assert_eq!(Lab::new(test_config()).post(0, &huge).status, 413);
}

#[test]
fn unknown_models_can_be_let_in() {
    let body = "{\"model\":\"local\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
    let mut lab = Lab::new(Config { accept_unknown_models: true, ..test_config() });
    assert_eq!(lab.post(0, body).status, 200);
}

#[test]
fn tokens_are_counted_as_they_are_billed() {
    let mut lab = Lab::new(Config { tokenizer: antefix_sim::Tokenizer::Estimate, ..test_config() });
    for blocks in ["u20", "T300 S77 u33 c100 r61 a5 u8", "u9 i500", "D200 T100 u5"] {
        let counted = lab.request(0, "POST", "/v1/messages/count_tokens", &body(blocks, ""));
        lab.post(0, &body(blocks, ""));
        let billed = lab.simulator.log().last().unwrap().total();
        assert_eq!(counted.text, format!("{{\"input_tokens\":{billed}}}"), "{blocks}");
    }
    let without_limit = body("u20", "").replace("\"max_tokens\":1000,", "");
    assert_eq!(lab.request(0, "POST", "/v1/messages/count_tokens", &without_limit).status, 200);
    assert_eq!(lab.simulator.log().len(), 4, "counting is not billed");
}

#[test]
fn rate_limits_leave_cache_reads_out() {
    let limits = Limits { requests: 3, input_tokens: 1_000, output_tokens: 50 };
    let mut lab = Lab::new(Config { limits, ..test_config() });
    let remaining = |sent: &crate::harness::Sent, what: &str| {
        sent.response.header(&format!("anthropic-ratelimit-{what}-remaining")).unwrap().to_owned()
    };
    let first = lab.post(0, &body("u600!", ""));
    assert_eq!(
        (remaining(&first, "requests"), remaining(&first, "input-tokens")),
        ("2".into(), "400".into())
    );
    assert_eq!(first.response.header("anthropic-ratelimit-requests-reset"), Some("1970-01-01T00:01:00Z"));
    let second = lab.post(1, &body("u600!", ""));
    assert_eq!(
        (remaining(&second, "requests"), remaining(&second, "input-tokens")),
        ("1".into(), "400".into())
    );
    assert_eq!(lab.post(2, &body("u600!", "")).status, 200);
    let fourth = lab.post(10_500, &body("u600!", ""));
    assert_eq!((fourth.status, fourth.response.header("retry-after")), (429, Some("50")));
    assert_eq!(error_of(&fourth.text).0, "rate_limit_error");
    assert_eq!(lab.post(60_000, &body("u600!", "")).status, 200, "the next minute");
}

#[test]
fn a_subscriptions_quota_is_told_in_headers() {
    let quota = UnifiedQuota { five_hours: 1_000, week: 10_000 };
    let mut lab = Lab::new(Config { unified_quota: Some(quota), ..test_config() });
    let sent = lab.post(0, &body("u200!", ""));
    let header = |name: &str| sent.response.header(&format!("anthropic-ratelimit-unified-{name}"));
    // 200 written at 1.25 and 2 output tokens at 5.
    assert_eq!(header("5h-utilization"), Some("0.26"));
    assert_eq!(header("7d-utilization"), Some("0.02"));
    assert_eq!(header("5h-reset"), Some("18000"));
    assert_eq!(header("status"), Some("allowed"));
    let mut plain = Lab::new(test_config());
    let sent = plain.post(0, &body("u200!", ""));
    assert_eq!(sent.response.header("anthropic-ratelimit-unified-status"), None);
}
