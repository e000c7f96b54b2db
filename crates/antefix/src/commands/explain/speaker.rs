//! Who sent a captured request, as far as it says so: two conversations in one capture are told apart by that.

use antefix_wire::json::{Body, Node};

use super::source::Hints;

/// Reads from a request and from what was captured beside it which session and which agent it is of.
pub fn read_speaker(hints: &mut Hints, meta: Node<'_>, body: Option<&Body>) {
    let header = |names: &[&str]| names.iter().find_map(|name| text(meta.get("headers")?.get(name)));
    let own = || text(meta.get("session"));
    hints.session = own().or_else(|| header(&SESSION_HEADERS)).or_else(|| body.and_then(of_user));
    hints.agent = header(&AGENT_HEADERS);
}

/// The session that is named within the name of the user.
fn of_user(body: &Body) -> Option<String> {
    let user = text(body.root().get("metadata")?.get("user_id"))?;
    let object = Body::parse(user.as_bytes()).ok();
    let member = object.as_ref().and_then(|object| text(object.root().get("session_id")));
    member.or_else(|| user.split_once(SESSION_IN_USER).map(|(_, session)| session.to_owned()))
}

fn text(node: Option<Node<'_>>) -> Option<String> {
    node.and_then(Node::str).filter(|text| !text.is_empty()).map(|text| text.into_owned())
}

/// Headers that name the session. Measured at the socket of Claude Code, 2026-11: new versions send this one, older ones
/// have the session in `metadata.user_id` alone. A key such as `prompt_cache_key` is none: one conversation may change it.
const SESSION_HEADERS: [&str; 1] = ["x-claude-code-session-id"];

/// Headers that name a subagent, which speaks in the session of the agent that it works for. Measured likewise.
const AGENT_HEADERS: [&str; 1] = ["x-claude-code-agent-id"];

/// What stands in front of the session in `metadata.user_id` of older versions; newer ones write an object with a member
/// `session_id` there. Measured likewise.
const SESSION_IN_USER: &str = "_session_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_agents_are_read_where_clients_name_them() {
        const ROWS: [(&str, &str, Option<&str>, Option<&str>); 8] = [
            ("{}", "{}", None, None),
            (r#"{"session":"own","headers":{"x-claude-code-session-id":"s"}}"#, "{}", Some("own"), None),
            (r#"{"session":null,"headers":{"x-claude-code-session-id":"s"}}"#, "{}", Some("s"), None),
            (
                r#"{"headers":{"x-claude-code-session-id":"s","x-claude-code-agent-id":"a"}}"#,
                "{}",
                Some("s"),
                Some("a"),
            ),
            ("{}", r#"{"metadata":{"user_id":"user_1_account__session_s"}}"#, Some("s"), None),
            (
                "{}",
                r#"{"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s\"}"}}"#,
                Some("s"),
                None,
            ),
            ("{}", r#"{"metadata":{"user_id":"somebody"}}"#, None, None),
            ("{}", r#"{"prompt_cache_key":"k"}"#, None, None),
        ];
        for (meta, body, session, agent) in ROWS {
            let (meta, body) = (Body::parse(meta).unwrap(), Body::parse(body).unwrap());
            let mut hints = Hints::default();
            read_speaker(&mut hints, meta.root(), Some(&body));
            assert_eq!(
                (hints.session.as_deref(), hints.agent.as_deref()),
                (session, agent),
                "{}",
                body.root().raw()
            );
        }
    }
}
