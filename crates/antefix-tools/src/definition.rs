//! How a tool is shown to the model, as frozen bytes.

use antefix_wire::json::{Body, Kind, ScanError, compact, write_string};

/// A tool as the model sees it: compact JSON that goes into the request's tools array as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: String,
    json: String,
}

impl Definition {
    /// Freezes a definition; `schema` is the JSON Schema of the input, of which only white space is dropped.
    ///
    /// # Errors
    /// [`DefinitionError`] where the name or the schema cannot be sent.
    pub fn new(name: &str, description: &str, schema: &str) -> Result<Self, DefinitionError> {
        if !valid_name(name) {
            return Err(DefinitionError::Name(name.to_owned()));
        }
        let schema =
            Body::parse(schema).map_err(|source| DefinitionError::Json { name: name.to_owned(), source })?;
        if schema.root().kind() != Kind::Object {
            return Err(DefinitionError::NotAnObject(name.to_owned()));
        }
        let mut json = b"{\"name\":".to_vec();
        write_string(&mut json, name);
        json.extend_from_slice(b",\"description\":");
        write_string(&mut json, description);
        json.extend_from_slice(b",\"input_schema\":");
        compact(&mut json, schema.root());
        json.push(b'}');
        // INVARIANT: every piece was UTF-8, so nothing is replaced.
        Ok(Self { name: name.to_owned(), json: String::from_utf8_lossy(&json).into_owned() })
    }

    /// The tool's name: `[a-zA-Z0-9_-]{1,64}`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object `{"name","description","input_schema"}` in compact JSON.
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// Why a definition cannot be sent.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DefinitionError {
    /// The name is not 1 to 64 of `[a-zA-Z0-9_-]`.
    #[error("the tool name `{0}` is not 1 to 64 of a-z, A-Z, 0-9, `_` and `-`")]
    Name(String),
    /// The schema is not JSON.
    #[error("the input schema of `{name}` is not JSON: {source}")]
    Json {
        /// The tool's name.
        name: String,
        /// What is wrong with the schema.
        source: ScanError,
    },
    /// The schema is JSON, but not an object.
    #[error("the input schema of `{0}` is not an object")]
    NotAnObject(String),
}

fn valid_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_compact_and_keep_key_order() {
        let schema = "{ \"type\": \"object\",\n \"properties\": { \"z\": {\"maximum\": 1.0e2}, \"a\": {} } }";
        let definition = Definition::new("my-tool_2", "Says \"hi\".\n", schema).unwrap();
        assert_eq!(
            definition.json(),
            r#"{"name":"my-tool_2","description":"Says \"hi\".\n","input_schema":{"type":"object","properties":{"z":{"maximum":1.0e2},"a":{}}}}"#
        );
    }

    #[test]
    fn bad_definitions_are_refused() {
        let long = "x".repeat(65);
        for name in ["", "a b", "é", "a.b", long.as_str()] {
            assert_eq!(Definition::new(name, "", "{}"), Err(DefinitionError::Name(name.to_owned())));
        }
        assert_eq!(Definition::new("a", "", "[]"), Err(DefinitionError::NotAnObject("a".to_owned())));
        assert!(matches!(Definition::new("a", "", "{"), Err(DefinitionError::Json { .. })));
    }
}
