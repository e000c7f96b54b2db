//! `antefix check`: whether the frozen part of a prompt is still the one of a baseline.

use std::path::Path;
use std::process::ExitCode;

use antefix_models::{Platform, rules};
use antefix_prefix::verdict::{Dialect, Finding, Observation, Prompt, judge};
use antefix_wire::json::{Body, Node};

use super::diff::body;
use crate::cli::CheckArgs;
use crate::failure::Failure;
use crate::out::{say, tell};
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION, quoted};

/// `antefix check`
pub fn check(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let name = args.body.display().to_string();
    let body = body(&args.body)?;
    let frozen = frozen(body.root(), &name)?;
    if args.write {
        return write(&frozen, args);
    }
    let baseline = baseline(&args.baseline)?;
    let found = changed(&baseline, &frozen)?;
    if args.json {
        say!("{}", json(found.as_ref()));
    } else if let Some(finding) = &found {
        print(finding);
    } else {
        say!("✓ tools and system prompt of `{}` are those of the baseline", harmless(&name));
    }
    Ok(ExitCode::from(u8::from(found.is_some())))
}

/// A request that holds the frozen part of another one alone, with a message behind it that is always the same, so
/// that nothing can be appended to the frozen part unseen.
fn frozen(root: Node<'_>, name: &str) -> Result<Body, Failure> {
    let dialect = Dialect::detect(root);
    let is_request = root.get("messages").is_some() || root.get("input").is_some();
    if !is_request {
        return Err(Failure::usage(format!("`{name}` is not a request")));
    }
    let mut object = Object::new();
    let mut keep = |member: &str| {
        if let Some(value) = root.get(member) {
            object.raw(member, value.raw());
        }
    };
    keep("tools");
    match dialect {
        Dialect::Anthropic => {
            keep("system");
            object.number("max_tokens", 1).raw("messages", &format!("[{}]", marked_end()));
        }
        Dialect::OpenAiChat => {
            let leading = leading(root.get("messages"));
            object.raw("messages", &format!("[{leading}{END}]"));
        }
        _ => {
            keep("instructions");
            let leading = leading(root.get("input"));
            object.raw("input", &format!("[{leading}{END}]"));
        }
    }
    Body::parse(object.close()).map_err(Failure::failed)
}

/// The leading system and developer messages, each with a comma behind it.
fn leading(messages: Option<Node<'_>>) -> String {
    let is_frozen = |message: &Node<'_>| {
        message.get("role").is_some_and(|role| role.is_str("system") || role.is_str("developer"))
    };
    let leading = messages.into_iter().flat_map(Node::items).take_while(is_frozen);
    leading.flat_map(|message| [message.raw(), ","]).collect()
}

fn marked_end() -> String {
    END.replace(
        "\"end of the frozen part\"",
        r#"[{"type":"text","text":"end of the frozen part","cache_control":{"type":"ephemeral"}}]"#,
    )
}

fn write(frozen: &Body, args: &CheckArgs) -> Result<ExitCode, Failure> {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).raw("frozen", frozen.text());
    let path = args.baseline.display().to_string();
    std::fs::write(&args.baseline, object.close() + "\n")
        .map_err(|error| Failure::usage(format!("cannot write `{path}`: {error}")))?;
    tell!("wrote `{}`: the tools and the system prompt, as sent", harmless(&path));
    Ok(ExitCode::SUCCESS)
}

fn baseline(path: &Path) -> Result<Body, Failure> {
    let name = path.display();
    if !path.exists() {
        return Err(
            Failure::usage(format!("there is no baseline `{name}`")).hint("--write makes it from the body")
        );
    }
    let file = body(path)?;
    let root = file.root();
    if root.get("schema_version").and_then(Node::u64) != Some(SCHEMA_VERSION) {
        return Err(Failure::usage(format!("`{name}` is no baseline of this version"))
            .hint("--write makes a new one"));
    }
    let frozen = root.get("frozen").ok_or_else(|| Failure::usage(format!("`{name}` holds no `frozen`")))?;
    Body::parse(frozen.raw()).map_err(Failure::usage)
}

fn changed(baseline: &Body, frozen: &Body) -> Result<Option<Finding>, Failure> {
    let [old, new] = [baseline, frozen].map(|body| Prompt::read(body.root()));
    let (old, new) = (old.map_err(Failure::usage)?, new.map_err(Failure::usage)?);
    if old.dialect != new.dialect {
        return Err(
            Failure::usage("the baseline is of a request in another dialect").hint("--write makes a new one")
        );
    }
    let rules = rules(Platform::Anthropic, "");
    let observe = |prompt| Observation::new(rules.clone()).with_prompt(prompt);
    Ok(judge(&observe(&old), &observe(&new)).breaks.into_iter().next())
}

fn print(finding: &Finding) {
    let offset = finding.offset.map_or_else(String::new, |offset| format!(" at byte {offset} of the value"));
    say!("✗ {}{offset}: {}", harmless(&finding.path), finding.kind.id());
    for (sign, text) in [("-", &finding.earlier), ("+", &finding.later)] {
        if let Some(text) = text {
            say!("{sign} {}", harmless(text));
        }
    }
    say!("{}", finding.kind.row().sentence);
}

fn json(found: Option<&Finding>) -> String {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).boolean("same", found.is_none());
    let Some(finding) = found else {
        object.raw("difference", "null");
        return object.close();
    };
    let mut inner = Object::new();
    let text = |text: Option<&str>| text.map_or_else(|| "null".to_owned(), quoted);
    inner.text("path", &finding.path).text("kind", finding.kind.id());
    inner.raw("offset", &finding.offset.map_or_else(|| "null".to_owned(), |offset| offset.to_string()));
    inner.raw("earlier", &text(finding.earlier.as_deref())).raw("later", &text(finding.later.as_deref()));
    object.raw("difference", &inner.close());
    object.close()
}

/// What stands behind the frozen part.
const END: &str = r#"{"role":"user","content":"end of the frozen part"}"#;
