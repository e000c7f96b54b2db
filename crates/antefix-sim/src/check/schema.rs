//! The input schema of a client's own tool.
//!
//! The rules are those the Messages API answers with (November 2026): it names the member at fault, and refuses the
//! request whatever the model.

use antefix_wire::json::{Body, Kind, Node};

use crate::error::ApiError;

/// Checks the schema of the tool at `path`, e.g. `tools.0.custom`.
pub(super) fn check(path: &str, schema: &str) -> Result<(), ApiError> {
    let path = format!("{path}.input_schema");
    let body = Body::parse(schema).map_err(|error| ApiError::invalid(format!("{path}: {error}")))?;
    let root = body.root();
    if root.kind() != Kind::Object {
        return Err(ApiError::invalid(format!("{path}: Input should be a valid dictionary")));
    }
    match root.get("type") {
        None => return Err(ApiError::invalid(format!("{path}.type: Field required"))),
        Some(kind) if !kind.is_str("object") => {
            return Err(ApiError::invalid(format!("{path}.type: Input should be 'object'")));
        }
        Some(_) => {}
    }
    if COMBINATIONS.iter().any(|name| root.get(name).is_some()) {
        let problem = "input_schema does not support oneOf, allOf, or anyOf at the top level";
        return Err(ApiError::invalid(format!("{path}: {problem}")));
    }
    match root.get("properties") {
        None => Ok(()),
        Some(properties) => check_properties(&format!("{path}.properties"), properties),
    }
}

fn check_properties(path: &str, properties: Node<'_>) -> Result<(), ApiError> {
    match properties.kind() {
        Kind::Null => return Ok(()),
        Kind::Object => {}
        _ => return Err(ApiError::invalid(format!("{path}: Input should be a valid dictionary"))),
    }
    if properties.members().all(|(name, _)| name.str().is_some_and(|name| is_property_name(&name))) {
        return Ok(());
    }
    let problem = "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'";
    Err(ApiError::invalid(format!("{path}: {problem}")))
}

fn is_property_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    !name.is_empty() && name.len() <= 64 && name.bytes().all(plain)
}

const COMBINATIONS: [&str; 3] = ["oneOf", "allOf", "anyOf"];
