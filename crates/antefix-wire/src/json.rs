//! Spans of a JSON text: where each value starts and ends, found in one pass; the bytes stay as they are.

mod plain_run;
mod scan;
mod text;

pub use scan::{Limits, ScanError, ScanErrorKind};
pub use text::{compact, unescape, write_string};

use std::borrow::Cow;

use crate::ByteRange;

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number, kept as the text it was sent as.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// One value of the text; 16 bytes. The spans of a text stand in document order, an object's members as key
/// and value in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: u32,
    end: u32,
    /// Index of the first span behind this value's subtree.
    next: u32,
    kind: Kind,
    /// A string that holds at least one backslash.
    escaped: bool,
}

/// A JSON text with the spans of its values.
///
/// ```
/// use antefix_wire::json::{Body, Kind, Node};
/// let body = Body::parse(*br#"{"max_tokens": 1.0e2, "stop": ["\u0041"]}"#)?;
/// let limit = body.root().get("max_tokens").unwrap();
/// assert_eq!((limit.kind(), limit.raw()), (Kind::Number, "1.0e2"));
/// assert_eq!(body.root().pointer("/stop/0").and_then(Node::str).as_deref(), Some("A"));
/// # Ok::<(), antefix_wire::json::ScanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Body {
    text: String,
    spans: Vec<Span>,
}

impl Body {
    /// Scans `bytes` with the default [`Limits`].
    ///
    /// # Errors
    /// [`ScanError`] says what is wrong and at which byte.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Result<Self, ScanError> {
        Self::parse_with(bytes, Limits::default())
    }

    /// Scans `bytes` with the given limits.
    ///
    /// # Errors
    /// [`ScanError`] says what is wrong and at which byte.
    pub fn parse_with(bytes: impl Into<Vec<u8>>, limits: Limits) -> Result<Self, ScanError> {
        let text = String::from_utf8(bytes.into()).map_err(|error| ScanError {
            kind: ScanErrorKind::Utf8,
            offset: error.utf8_error().valid_up_to(),
        })?;
        let spans = scan::scan(&text, limits)?;
        Ok(Self { text, spans })
    }

    /// The text, byte for byte as it came in.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes, as they came in.
    pub fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Gives the bytes back.
    pub fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    /// The outermost value.
    pub fn root(&self) -> Node<'_> {
        Node { text: &self.text, spans: &self.spans, index: 0 }
    }

    /// Number of values and keys in the text.
    pub fn span_count(&self) -> usize {
        self.spans.len()
    }
}

/// One value of a [`Body`]: a cheap cursor.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    text: &'a str,
    spans: &'a [Span],
    index: usize,
}

impl<'a> Node<'a> {
    fn span(self) -> Span {
        // INVARIANT: an index comes from the scan, which wrote that many spans.
        self.spans[self.index]
    }

    /// What the value is.
    pub fn kind(self) -> Kind {
        self.span().kind
    }

    /// Where the value stands in the body.
    pub fn range(self) -> ByteRange {
        let span = self.span();
        ByteRange::new(span.start as usize, span.end as usize)
    }

    /// The value's text as it was sent.
    pub fn raw(self) -> &'a str {
        let span = self.span();
        // INVARIANT: the scan found the span in this very text, between two ASCII characters.
        &self.text[span.start as usize..span.end as usize]
    }

    /// Number of values and keys in this subtree, itself included.
    pub fn span_count(self) -> usize {
        self.span().next as usize - self.index
    }

    /// The decoded text of a string; `None` for any other kind. A lone surrogate becomes U+FFFD.
    pub fn str(self) -> Option<Cow<'a, str>> {
        let span = self.span();
        if span.kind != Kind::String {
            return None;
        }
        // INVARIANT: a string's span begins and ends with its quotes.
        let inner = &self.text[span.start as usize + 1..span.end as usize - 1];
        Some(if span.escaped { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) })
    }

    /// Whether this is a string that decodes to `expected`.
    pub fn is_str(self, expected: &str) -> bool {
        self.str().is_some_and(|text| text == expected)
    }

    /// Whether a string's text holds an escape; `false` for any other kind.
    pub fn is_escaped(self) -> bool {
        self.span().escaped
    }

    /// A number without fraction or exponent that fits; `None` for anything else.
    pub fn u64(self) -> Option<u64> {
        (self.kind() == Kind::Number).then(|| self.raw().parse().ok())?
    }

    /// `true` or `false`; `None` for anything else.
    pub fn bool(self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.raw() == "true")
    }

    /// Whether the value is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The members of an object in the order sent, as key and value; empty for any other kind.
    pub fn members(self) -> Members<'a> {
        Members { children: self.children(Kind::Object) }
    }

    /// The items of an array; empty for any other kind.
    pub fn items(self) -> Items<'a> {
        Items { children: self.children(Kind::Array) }
    }

    /// The value of an object's member; where a key is given more than once, the last one, as the common
    /// parsers have it.
    pub fn get(self, key: &str) -> Option<Node<'a>> {
        self.members().filter(|(name, _)| name.is_str(key)).last().map(|(_, value)| value)
    }

    /// Follows a JSON Pointer (RFC 6901) from this value.
    pub fn pointer(self, pointer: &str) -> Option<Node<'a>> {
        let mut node = self;
        let mut rest = pointer;
        while let Some(tail) = rest.strip_prefix('/') {
            let (token, next) = tail.split_at(tail.find('/').unwrap_or(tail.len()));
            rest = next;
            node = match node.kind() {
                Kind::Object => node.get(&token.replace("~1", "/").replace("~0", "~"))?,
                Kind::Array => node.items().nth(array_index(token)?)?,
                _ => return None,
            };
        }
        rest.is_empty().then_some(node)
    }

    /// The spans of this value and of all below it, in document order.
    fn subtree(self) -> &'a [Span] {
        // INVARIANT: the scan ends every subtree within the spans it wrote.
        &self.spans[self.index..self.span().next as usize]
    }

    fn children(self, kind: Kind) -> Children<'a> {
        let span = self.span();
        let end = if span.kind == kind { span.next as usize } else { self.index + 1 };
        Children { text: self.text, spans: self.spans, index: self.index + 1, end }
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

#[derive(Clone)]
struct Children<'a> {
    text: &'a str,
    spans: &'a [Span],
    index: usize,
    end: usize,
}

impl<'a> Children<'a> {
    fn next(&mut self) -> Option<Node<'a>> {
        if self.index >= self.end {
            return None;
        }
        let node = Node { text: self.text, spans: self.spans, index: self.index };
        self.index = node.span().next as usize;
        Some(node)
    }
}

/// Members of an object; see [`Node::members`].
#[derive(Clone)]
pub struct Members<'a> {
    children: Children<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Node<'a>, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.children.next()?, self.children.next()?))
    }
}

/// Items of an array; see [`Node::items`].
#[derive(Clone)]
pub struct Items<'a> {
    children: Children<'a>,
}

impl<'a> Iterator for Items<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.children.next()
    }
}

/// The index that a pointer's token names: digits without a leading zero, as RFC 6901 has it.
fn array_index(token: &str) -> Option<usize> {
    let is_canonical = token == "0" || token.starts_with(|first| ('1'..='9').contains(&first));
    is_canonical.then(|| token.parse().ok())?
}
