use antefix_session::event::{ResponseEnd, ResponseFacts};

/// What stands in a secret's place.
const REDACTED: &str = "[secret]";

/// Shorter texts are no keys, and would be found everywhere.
const SHORTEST: usize = 8;

/// The end of a request without the secret it was authenticated with: a server may send it back in an error's text,
/// an id or a header, and all of these are kept and shown. What the model said is not touched.
pub(super) fn without_secret(end: ResponseEnd, secret: &str) -> ResponseEnd {
    if secret.len() < SHORTEST {
        return end;
    }
    let clean = |text: String| if text.contains(secret) { text.replace(secret, REDACTED) } else { text };
    let facts = |facts: ResponseFacts| ResponseFacts {
        request_id: facts.request_id.map(clean),
        quota: facts.quota.into_iter().map(|(name, value)| (clean(name), clean(value))).collect(),
        ..facts
    };
    match end {
        ResponseEnd::Message { mut message, response, cut } => {
            message.message_id = message.message_id.take().map(clean);
            message.stop_reason = message.stop_reason.take().map(clean);
            message.error = message.error.take().map(|(kind, text)| (clean(kind), clean(text)));
            message.unknown = std::mem::take(&mut message.unknown).into_iter().map(clean).collect();
            ResponseEnd::Message { message, response: facts(response), cut: cut.map(clean) }
        }
        ResponseEnd::Rejected { response, kind, message, retry_after } => ResponseEnd::Rejected {
            response: facts(response),
            kind: clean(kind),
            message: clean(message),
            retry_after,
        },
        ResponseEnd::Unreachable { error, retryable } => {
            ResponseEnd::Unreachable { error: clean(error), retryable }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_a_server_sends_back_is_not_kept() {
        let response = ResponseFacts {
            status: 401,
            request_id: Some("req-sk-secret-1".to_owned()),
            quota: vec![("anthropic-ratelimit-x".to_owned(), "sk-secret-1".to_owned())],
            ..ResponseFacts::default()
        };
        let end = ResponseEnd::Rejected {
            response,
            kind: "authentication_error".to_owned(),
            message: "bad key sk-secret-1, really sk-secret-1".to_owned(),
            retry_after: None,
        };
        let shown = format!("{:?}", without_secret(end, "sk-secret-1"));
        assert!(!shown.contains("sk-secret-1"), "{shown}");
        assert!(shown.contains("bad key [secret], really [secret]"), "{shown}");
    }

    #[test]
    fn a_short_word_is_no_key() {
        let end = ResponseEnd::Unreachable { error: "sim is down".to_owned(), retryable: true };
        assert!(format!("{:?}", without_secret(end, "sim")).contains("sim is down"));
    }
}
