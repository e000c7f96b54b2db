//! Finds the row of a model by the id a platform gives it.

use crate::Platform;
use crate::registry::{Model, registry};

/// The model that `text` names on `platform`. Ids are compared exactly, after the parts only a platform adds
/// are taken off: a vendor prefix and version on Bedrock, `@version` on Google Cloud, a snapshot date
/// anywhere.
///
/// Source: the model tables of platform.claude.com/docs/en/models/overview, October 2026.
pub(crate) fn find(platform: Platform, text: &str) -> Option<&'static Model> {
    let plain = match platform {
        Platform::Bedrock => bedrock(text)?,
        Platform::GoogleCloud => google(text)?,
        Platform::Compatible => {
            let text = text.strip_prefix("anthropic/").unwrap_or(text);
            bedrock(text).and_then(google)?
        }
        Platform::Anthropic | Platform::ClaudeOnAws | Platform::Foundry => text,
        Platform::Local | Platform::DeepSeek | Platform::OpenRouter | Platform::WorkersAi => return None,
    };
    exact(plain).or_else(|| exact(without_date(plain)?))
}

fn exact(id: &str) -> Option<&'static Model> {
    registry().models.iter().find(|model| model.id == id || model.names.contains(&id))
}

/// `arn:…/us.anthropic.claude-sonnet-4-5-20250929-v1:0` to `claude-sonnet-4-5-20250929`.
fn bedrock(text: &str) -> Option<&str> {
    let id = if text.starts_with("arn:") { text.rsplit_once('/')?.1 } else { text };
    let Some((region, name)) = id.split_once("anthropic.") else {
        return Some(id);
    };
    let region = region.strip_suffix('.').unwrap_or(region);
    let plausible = region.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    plausible.then(|| without_version(name))
}

/// Takes `-v1:0` or `-v1` off the end.
fn without_version(name: &str) -> &str {
    let Some((id, version)) = name.rsplit_once("-v") else {
        return name;
    };
    let (major, minor) = version.split_once(':').unwrap_or((version, "0"));
    if number(major) && number(minor) { id } else { name }
}

/// Takes `@20250929`, `@default` or `@latest` off the end.
fn google(text: &str) -> Option<&str> {
    let Some((id, version)) = text.split_once('@') else {
        return Some(text);
    };
    (snapshot(version) || version == "default" || version == "latest").then_some(id)
}

fn without_date(id: &str) -> Option<&str> {
    let (base, date) = id.rsplit_once('-')?;
    snapshot(date).then_some(base)
}

fn snapshot(text: &str) -> bool {
    text.len() == 8 && text.starts_with("20") && number(text)
}

fn number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Platform::{Anthropic, Bedrock, ClaudeOnAws, Compatible, Foundry, GoogleCloud};

    #[test]
    fn ids_are_matched_in_each_vendors_spelling() {
        let cases = [
            (Anthropic, "claude-opus-5-5", Some("claude-opus-5-5")),
            (Anthropic, "claude-opus-5", Some("claude-opus-5")),
            (Anthropic, "claude-opus-5-20260724", Some("claude-opus-5")),
            (Anthropic, "claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5")),
            (Anthropic, "claude-sonnet-4-20250514", Some("claude-sonnet-4")),
            (Anthropic, "claude-opus-4-0", Some("claude-opus-4")),
            (Anthropic, "claude-opus-4-1-20250805", Some("claude-opus-4-1")),
            (Anthropic, "claude-3-5-haiku-latest", Some("claude-3-5-haiku")),
            (Anthropic, "claude-3-5-haiku-20241022", Some("claude-3-5-haiku")),
            (Anthropic, "claude-mythos-preview", Some("claude-mythos-preview")),
            (Anthropic, "claude-opus-5-5-fast", None),
            (Anthropic, "claude-opus-5-6", None),
            (Anthropic, "claude-opus-5-5-2026072", None),
            (Anthropic, "Claude-Opus-5-5", None),
            (Anthropic, "claude-opus-5-5 ", None),
            (Anthropic, "", None),
            (Anthropic, "anthropic.claude-opus-5-5", None),
            (Anthropic, "claude-haiku-4-5@20251001", None),
            (ClaudeOnAws, "claude-opus-5-5", Some("claude-opus-5-5")),
            (Foundry, "claude-haiku-5-5", Some("claude-haiku-5-5")),
            (Bedrock, "anthropic.claude-opus-5-5", Some("claude-opus-5-5")),
            (Bedrock, "anthropic.claude-opus-4-6-v1", Some("claude-opus-4-6")),
            (Bedrock, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some("claude-sonnet-4-5")),
            (Bedrock, "global.anthropic.claude-sonnet-4-6", Some("claude-sonnet-4-6")),
            (Bedrock, "us-gov.anthropic.claude-haiku-4-5-20251001-v1:0", Some("claude-haiku-4-5")),
            (
                Bedrock,
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-5-20251101-v1:0",
                Some("claude-opus-4-5"),
            ),
            (Bedrock, "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2", None),
            (Bedrock, "anthropic.claude-opus-5-5-v1:x", None),
            (Bedrock, "anthropic.claude-opus-5-5-vx", None),
            (Bedrock, "x/y.anthropic.claude-opus-5", None),
            (GoogleCloud, "claude-opus-5-5", Some("claude-opus-5-5")),
            (GoogleCloud, "claude-haiku-4-5@20251001", Some("claude-haiku-4-5")),
            (GoogleCloud, "claude-opus-4-6@default", Some("claude-opus-4-6")),
            (GoogleCloud, "claude-opus-4-6@beta", None),
            (Compatible, "anthropic/claude-opus-5-5", Some("claude-opus-5-5")),
            (Compatible, "us.anthropic.claude-sonnet-4-6", Some("claude-sonnet-4-6")),
            (Compatible, "deepseek-v4-pro", None),
        ];
        for (platform, text, expect) in cases {
            assert_eq!(find(platform, text).map(|model| model.id), expect, "{platform} {text}");
        }
    }
}
