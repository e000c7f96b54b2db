//! Checks a call's input against the JSON Schema that the model was shown, before the call is made.
//!
//! What is understood: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `minItems`,
//! `maxItems`, `minLength`, `maxLength`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `anyOf`, `oneOf`
//! (as `anyOf`), `allOf` and `$ref` within the schema. All else is let be: whoever runs the call knows better.

use antefix_wire::json::{Body, Kind, Node};
use antefix_wire::{Edit, splice};

/// Gives the input as it is to be taken: where the schema wants something else than a string and a string holds just
/// that as JSON, as models sometimes write it, what it holds stands in its place.
///
/// # Errors
/// What does not fit, in words, each with its place; [`MOST_PROBLEMS`] at most.
pub fn checked(schema: &Body, input: Body) -> Result<Body, Vec<String>> {
    let mut check = Check { root: schema.root(), problems: Vec::new(), steps: 0 };
    let mut edits = check.value(schema.root(), input.root(), "", 0);
    if !check.problems.is_empty() {
        check.problems.truncate(MOST_PROBLEMS);
        return Err(check.problems);
    }
    if edits.is_empty() {
        return Ok(input);
    }
    edits.sort_by_key(|edit| edit.range.start);
    edits.dedup_by_key(|edit| edit.range.start);
    let mended = splice(input.bytes(), &edits).ok().and_then(|bytes| Body::parse(bytes).ok());
    Ok(mended.unwrap_or(input))
}

/// Problems that are told at most.
pub const MOST_PROBLEMS: usize = 5;

struct Check<'s> {
    root: Node<'s>,
    problems: Vec<String>,
    /// Values looked at so far: a schema that refers to itself in two places must end.
    steps: usize,
}

impl<'s> Check<'s> {
    /// Checks one value; gives what is to be replaced in its text.
    fn value(&mut self, schema: Node<'s>, value: Node<'_>, path: &str, depth: usize) -> Vec<Edit> {
        self.steps += 1;
        if depth > DEEPEST || self.steps > MOST_STEPS || schema.bool() == Some(true) {
            return Vec::new();
        }
        if schema.bool() == Some(false) {
            self.problem(path, "is not allowed");
            return Vec::new();
        }
        if let Some(meant) = self.referred(schema) {
            return self.value(meant, value, path, depth + 1);
        }
        if !has_type(schema, value) {
            if let Some(edit) = self.unquoted(schema, value, path, depth) {
                return vec![edit];
            }
            self.problem(path, &format!("is {}: expected {}", excerpt(value), types(schema).join(" or ")));
            return Vec::new();
        }
        self.choices(schema, value, path);
        let mut edits = match value.kind() {
            Kind::Object => self.object(schema, value, path, depth),
            Kind::Array => self.array(schema, value, path, depth),
            Kind::String => self.string(schema, value, path),
            Kind::Number => self.number(schema, value, path),
            Kind::Null | Kind::Bool => Vec::new(),
        };
        for part in schema.get("allOf").into_iter().flat_map(Node::items) {
            edits.extend(self.value(part, value, path, depth + 1));
        }
        for name in ["anyOf", "oneOf"] {
            if let Some(forms) = schema.get(name).filter(|forms| forms.kind() == Kind::Array) {
                edits.extend(self.any(forms, value, path, depth));
            }
        }
        edits
    }

    /// What a schema with a reference means.
    fn referred(&self, schema: Node<'s>) -> Option<Node<'s>> {
        let reference = schema.get("$ref")?.str()?;
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// What stands in the place of a string that holds what is wanted as JSON.
    fn unquoted(&mut self, schema: Node<'s>, value: Node<'_>, path: &str, depth: usize) -> Option<Edit> {
        let held = Body::parse(value.str()?.into_owned()).ok()?;
        if held.root().kind() == Kind::String || !has_type(schema, held.root()) {
            return None;
        }
        let mut edits = self.value(schema, held.root(), path, depth + 1);
        edits.sort_by_key(|edit| edit.range.start);
        edits.dedup_by_key(|edit| edit.range.start);
        let text = splice(held.bytes(), &edits).ok()?;
        Some(Edit::replace(value.range(), text))
    }

    fn choices(&mut self, schema: Node<'s>, value: Node<'_>, path: &str) {
        let listed = schema.get("enum").filter(|choices| choices.kind() == Kind::Array);
        if let Some(choices) = listed
            && !choices.items().any(|choice| is_equal(choice, value))
        {
            let all: Vec<String> = choices.items().take(MOST_CHOICES).map(excerpt).collect();
            self.problem(path, &format!("is {}: expected one of {}", excerpt(value), all.join(", ")));
        }
        if let Some(only) = schema.get("const").filter(|only| !is_equal(*only, value)) {
            self.problem(path, &format!("is {}: expected {}", excerpt(value), excerpt(only)));
        }
    }

    fn object(&mut self, schema: Node<'s>, value: Node<'_>, path: &str, depth: usize) -> Vec<Edit> {
        for name in schema.get("required").into_iter().flat_map(Node::items).filter_map(Node::str) {
            if value.get(&name).is_none() {
                self.problem(&format!("{path}/{name}"), "is missing");
            }
        }
        let properties = schema.get("properties");
        let others = schema.get("additionalProperties").filter(|_| schema.get("patternProperties").is_none());
        let mut edits = Vec::new();
        for (name, member) in value.members() {
            let name = name.str().unwrap_or_default();
            let inner = format!("{path}/{name}");
            match properties.and_then(|properties| properties.get(&name)).or(others) {
                Some(schema) if schema.bool() == Some(false) => {
                    self.problem(&inner, "is not known");
                }
                Some(schema) => edits.extend(self.value(schema, member, &inner, depth + 1)),
                None => {}
            }
        }
        edits
    }

    fn array(&mut self, schema: Node<'s>, value: Node<'_>, path: &str, depth: usize) -> Vec<Edit> {
        self.bounds(schema, ("minItems", "maxItems"), value.items().count(), ("items", path));
        let items = schema.get("items").filter(|_| schema.get("prefixItems").is_none());
        let Some(items) = items.filter(|items| items.kind() != Kind::Array) else { return Vec::new() };
        let each = |(at, item)| self.value(items, item, &format!("{path}/{at}"), depth + 1);
        value.items().enumerate().flat_map(each).collect()
    }

    fn string(&mut self, schema: Node<'s>, value: Node<'_>, path: &str) -> Vec<Edit> {
        let length = value.str().unwrap_or_default().chars().count();
        self.bounds(schema, ("minLength", "maxLength"), length, ("characters", path));
        Vec::new()
    }

    fn bounds(&mut self, schema: Node<'s>, names: (&str, &str), count: usize, (what, path): (&str, &str)) {
        let bound = |name: &str| schema.get(name).and_then(Node::u64);
        if let Some(least) = bound(names.0).filter(|least| (count as u64) < *least) {
            self.problem(path, &format!("has {count} {what}: expected {least} at least"));
        }
        if let Some(most) = bound(names.1).filter(|most| count as u64 > *most) {
            self.problem(path, &format!("has {count} {what}: expected {most} at most"));
        }
    }

    fn number(&mut self, schema: Node<'s>, value: Node<'_>, path: &str) -> Vec<Edit> {
        let Some(number) = float(value) else { return Vec::new() };
        type Fits = fn(f64, f64) -> bool;
        let rows: [(&str, &str, Fits); 4] = [
            ("minimum", "at least", |number, bound| number >= bound),
            ("maximum", "at most", |number, bound| number <= bound),
            ("exclusiveMinimum", "more than", |number, bound| number > bound),
            ("exclusiveMaximum", "less than", |number, bound| number < bound),
        ];
        for (name, word, fits) in rows {
            let bound =
                schema.get(name).filter(|bound| float(*bound).is_some_and(|bound| !fits(number, bound)));
            if let Some(bound) = bound {
                self.problem(path, &format!("is {}: expected {word} {}", excerpt(value), bound.raw()));
            }
        }
        Vec::new()
    }

    /// Checks against several forms, of which one must fit: the first that does counts.
    fn any(&mut self, forms: Node<'s>, value: Node<'_>, path: &str, depth: usize) -> Vec<Edit> {
        let mut nearest: Option<Vec<String>> = None;
        for form in forms.items() {
            let mut check = Check { root: self.root, problems: Vec::new(), steps: self.steps };
            let edits = check.value(form, value, path, depth + 1);
            self.steps = check.steps;
            if check.problems.is_empty() {
                return edits;
            }
            if nearest.as_ref().is_none_or(|nearest| check.problems.len() < nearest.len()) {
                nearest = Some(check.problems);
            }
        }
        self.problems.extend(nearest.unwrap_or_default());
        Vec::new()
    }

    fn problem(&mut self, path: &str, what: &str) {
        let place = if path.is_empty() { "the input" } else { path };
        self.problems.push(format!("`{place}` {what}"));
    }
}

fn types(schema: Node<'_>) -> Vec<String> {
    let Some(types) = schema.get("type") else { return Vec::new() };
    match types.str() {
        Some(one) => vec![one.into_owned()],
        None => types.items().filter_map(Node::str).map(|name| name.into_owned()).collect(),
    }
}

fn has_type(schema: Node<'_>, value: Node<'_>) -> bool {
    let types = types(schema);
    let is_it = |name: &String| match (name.as_str(), value.kind()) {
        ("object", kind) => kind == Kind::Object,
        ("array", kind) => kind == Kind::Array,
        ("string", kind) => kind == Kind::String,
        ("boolean", kind) => kind == Kind::Bool,
        ("null", kind) => kind == Kind::Null,
        ("number", kind) => kind == Kind::Number,
        ("integer", kind) => kind == Kind::Number && float(value).is_none_or(|number| number.fract() == 0.0),
        // A type that is not known is let be.
        _ => true,
    };
    types.is_empty() || types.iter().any(is_it)
}

fn is_equal(one: Node<'_>, other: Node<'_>) -> bool {
    if one.kind() != other.kind() {
        return false;
    }
    match one.kind() {
        Kind::Null => true,
        Kind::Bool => one.raw() == other.raw(),
        Kind::Number => one.raw() == other.raw() || float(one) == float(other),
        Kind::String => one.str() == other.str(),
        Kind::Array => {
            one.items().count() == other.items().count()
                && one.items().zip(other.items()).all(|(one, other)| is_equal(one, other))
        }
        Kind::Object => {
            let is_in = |(name, value): (Node<'_>, Node<'_>)| {
                let name = name.str().unwrap_or_default();
                other.get(&name).is_some_and(|other| is_equal(value, other))
            };
            one.members().count() == other.members().count() && one.members().all(is_in)
        }
    }
}

fn float(node: Node<'_>) -> Option<f64> {
    (node.kind() == Kind::Number).then(|| node.raw().parse().ok())?
}

/// The start of a value's text.
fn excerpt(node: Node<'_>) -> String {
    let start: String = node.raw().chars().take(EXCERPT_CHARS).collect();
    let rest = if start.len() < node.raw().len() { "…" } else { "" };
    format!("`{start}{rest}`")
}

const EXCERPT_CHARS: usize = 40;

/// Choices of an `enum` that are told at most.
const MOST_CHOICES: usize = 20;

/// Levels of a schema that are followed.
const DEEPEST: usize = 64;

/// Values that are looked at in one call at most.
const MOST_STEPS: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, input: &str) -> String {
        match checked(&Body::parse(schema).unwrap(), Body::parse(input).unwrap()) {
            Ok(body) => body.text().to_owned(),
            Err(problems) => problems.join("; "),
        }
    }

    #[test]
    fn inputs_are_held_to_their_schema() {
        let tree = r##"{"type":"object","properties":{"of":{"type":"array","items":{"$ref":"#"}},"n":{"type":"integer"}},"required":["n"]}"##;
        for (schema, input, expect) in [
            (r#"{"type":"object"}"#, "[]", "`the input` is `[]`: expected object"),
            (r#"{"required":["a","b"]}"#, r#"{"b":null}"#, "`/a` is missing"),
            (r#"{"properties":{"a":{"type":"string"}}}"#, r#"{"a":1}"#, "`/a` is `1`: expected string"),
            (
                r#"{"properties":{"a":{"type":["string","null"]}}}"#,
                r#"{"a":[]}"#,
                "`/a` is `[]`: expected string or null",
            ),
            (r#"{"properties":{"a":{"type":"integer"}}}"#, r#"{"a":1.5}"#, "`/a` is `1.5`: expected integer"),
            (r#"{"properties":{"a":{"type":"integer"}}}"#, r#"{"a":2.0}"#, r#"{"a":2.0}"#),
            (r#"{"properties":{},"additionalProperties":false}"#, r#"{"x":1}"#, "`/x` is not known"),
            (r#"{"additionalProperties":{"type":"number"}}"#, r#"{"x":{}}"#, "`/x` is `{}`: expected number"),
            (
                r#"{"properties":{"a":{"enum":["x",1]}}}"#,
                r#"{"a":"y"}"#,
                r#"`/a` is `"y"`: expected one of `"x"`, `1`"#,
            ),
            (r#"{"properties":{"a":{"enum":["x",1]}}}"#, r#"{"a":1.0}"#, r#"{"a":1.0}"#),
            (r#"{"properties":{"a":{"const":{"k":[1]}}}}"#, r#"{"a":{"k":[1]}}"#, r#"{"a":{"k":[1]}}"#),
            (
                r#"{"properties":{"a":{"minimum":1,"exclusiveMaximum":5}}}"#,
                r#"{"a":5}"#,
                "`/a` is `5`: expected less than 5",
            ),
            (r#"{"properties":{"a":{"minimum":1}}}"#, r#"{"a":0}"#, "`/a` is `0`: expected at least 1"),
            (r#"{"properties":{"a":{"maxLength":2}}}"#, r#"{"a":"éé"}"#, r#"{"a":"éé"}"#),
            (
                r#"{"properties":{"a":{"maxLength":2}}}"#,
                r#"{"a":"abc"}"#,
                "`/a` has 3 characters: expected 2 at most",
            ),
            (
                r#"{"properties":{"a":{"minItems":1}}}"#,
                r#"{"a":[]}"#,
                "`/a` has 0 items: expected 1 at least",
            ),
            (
                r#"{"properties":{"a":{"items":{"type":"string"}}}}"#,
                r#"{"a":["x",2]}"#,
                "`/a/1` is `2`: expected string",
            ),
            (r#"{"anyOf":[{"required":["a"]},{"required":["b","c"]}]}"#, r#"{"b":1}"#, "`/a` is missing"),
            (r#"{"oneOf":[{"required":["a"]},{"required":["b"]}]}"#, r#"{"b":1}"#, r#"{"b":1}"#),
            (r#"{"allOf":[{"required":["a"]},{"required":["b"]}]}"#, r#"{"b":1}"#, "`/a` is missing"),
            (
                tree,
                r#"{"n":1,"of":[{"n":2,"of":[{"n":"x"}]}]}"#,
                r#"`/of/0/of/0/n` is `"x"`: expected integer"#,
            ),
            (tree, r#"{"n":1,"of":[{"n":2,"of":[]}]}"#, r#"{"n":1,"of":[{"n":2,"of":[]}]}"#),
            (r#"{"properties":{"a":{"$ref":"elsewhere.json"}}}"#, r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"properties":{"a":{"type":"colour","format":"x"}}}"#, r#"{"a":1}"#, r#"{"a":1}"#),
            ("true", "{}", "{}"),
            ("{}", r#"{"z":1.50,"a":[]}"#, r#"{"z":1.50,"a":[]}"#),
        ] {
            assert_eq!(check(schema, input), expect, "{schema} {input}");
        }
    }

    #[test]
    fn strings_that_hold_json_are_taken_for_what_they_hold() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"},"o":{"type":"object","properties":{"l":{"type":"array","items":{"type":"number"}}}},"b":{"type":"boolean"},"s":{"type":"string"},"u":{"type":["string","object"]}}}"#;
        for (input, expect) in [
            (r#"{"n":"3","b":"true"}"#, r#"{"n":3,"b":true}"#),
            (r#"{"o":"{\"l\":[1,\"2\"]}","n":1}"#, r#"{"o":{"l":[1,2]},"n":1}"#),
            (r#"{"o":"{\"l\":\"[1, \\\"2.50\\\"]\"}"}"#, r#"{"o":{"l":[1, 2.50]}}"#),
            (r#"{"s":"{}","u":"{}"}"#, r#"{"s":"{}","u":"{}"}"#),
            (r#"{"n":"three"}"#, r#"`/n` is `"three"`: expected integer"#),
            (r#"{"o":"[1]"}"#, r#"`/o` is `"[1]"`: expected object"#),
            (r#"{"o":"{\"l\":[{}]}"}"#, "`/o/l/0` is `{}`: expected number"),
            (r#""{\"n\":\"3\"}""#, r#"{"n":3}"#),
        ] {
            assert_eq!(check(schema, input), expect, "{input}");
        }
    }

    /// Such a schema took a time that grows with the power of its depth.
    #[test]
    fn a_schema_that_refers_to_itself_comes_to_an_end() {
        let schema = r##"{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"type":"string"}]}"##;
        assert_eq!(check(schema, "{}"), "{}");
    }
}
