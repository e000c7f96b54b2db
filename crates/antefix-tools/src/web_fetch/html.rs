//! The text of an HTML page: one pass over its tags, without a tree. What the page hides with styles is text here too;
//! scripts, styles and their like are left out. Nothing in a page can make it fail or take more than linear time.

use super::entities;

/// The text of a page, with `#` in front of headings, `-` in front of list items and links as `[text](address)`.
pub(super) fn text(page: &str) -> String {
    let mut text = Text::default();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        text.add(before);
        rest = match markup(from) {
            Some((Markup::Start(tag), behind)) => {
                text.start(&tag);
                if HIDDEN.contains(&tag.name.as_str()) && !tag.is_closed {
                    skip(&tag.name, behind)
                } else {
                    behind
                }
            }
            Some((Markup::End(name), behind)) => {
                text.end(&name);
                behind
            }
            Some((Markup::Other, behind)) => behind,
            None => {
                text.add("<");
                from.get(1..).unwrap_or_default()
            }
        };
    }
    text.add(rest);
    text.finish()
}

enum Markup {
    Start(Tag),
    End(String),
    /// A comment, a declaration, an instruction.
    Other,
}

struct Tag {
    name: String,
    is_closed: bool,
    /// `href` of a link, `alt` of an image.
    value: Option<String>,
}

/// The text so far.
#[derive(Default)]
struct Text {
    out: String,
    /// Line breaks that come in front of the next word.
    breaks: usize,
    /// A space comes in front of the next word.
    gap: bool,
    /// What stands in front of the next word: `# `, `- `.
    mark: String,
    /// Depth of elements whose white space counts.
    verbatim: usize,
    /// Where a link began, and where it leads; one ends where the next begins.
    link: Option<(usize, String)>,
}

impl Text {
    fn add(&mut self, raw: &str) {
        let decoded = entities::decode(raw);
        if self.verbatim > 0 {
            if !decoded.is_empty() {
                self.lead();
                self.out.push_str(&decoded);
            }
            return;
        }
        for (index, word) in decoded.split(is_space).enumerate() {
            self.gap |= index > 0;
            if !word.is_empty() {
                self.lead();
                self.out.push_str(word);
            }
        }
    }

    /// Puts what is due in front of a word.
    fn lead(&mut self) {
        if self.breaks > 0 && !self.out.is_empty() {
            self.out.truncate(self.out.trim_end_matches([' ', '\n']).len());
            self.out.extend(std::iter::repeat_n('\n', self.breaks));
        } else if self.gap && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
            self.out.push(' ');
        }
        (self.breaks, self.gap) = (0, false);
        self.out.push_str(&std::mem::take(&mut self.mark));
    }

    fn start(&mut self, tag: &Tag) {
        match tag.name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block(2);
                let level = tag.name.bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
                self.mark = format!("{} ", "#".repeat(level));
            }
            "li" => {
                self.block(1);
                "- ".clone_into(&mut self.mark);
            }
            "br" => self.breaks = (self.breaks + 1).min(2),
            "td" | "th" => self.cell(),
            "pre" | "textarea" => {
                self.block(2);
                self.verbatim += 1;
            }
            "a" => {
                self.end_link();
                let leads_away = |address: &String| address.starts_with("http") || address.starts_with('/');
                self.link = tag.value.clone().filter(leads_away).map(|address| (self.out.len(), address));
            }
            "img" => {
                if let Some(alt) = tag.value.as_deref().filter(|alt| !alt.trim().is_empty()) {
                    self.add(&format!(" [{}] ", alt.trim()));
                }
            }
            name => self.block(breaks_around(name)),
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "pre" | "textarea" => {
                self.verbatim = self.verbatim.saturating_sub(1);
                self.block(2);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.mark.clear();
                self.block(2);
            }
            "li" => {
                self.mark.clear();
                self.block(1);
            }
            "a" => self.end_link(),
            name => self.block(breaks_around(name)),
        }
    }

    /// Ends a link: its text in brackets, if it has any and leads somewhere.
    fn end_link(&mut self) {
        let Some((at, address)) = self.link.take() else { return };
        let Some(added) = self.out.get(at..) else { return };
        let start = at + (added.len() - added.trim_start_matches(['\n', ' ']).len());
        if start < self.out.len() {
            self.out.insert(start, '[');
            self.out.push_str(&format!("]({address})"));
        }
    }

    fn cell(&mut self) {
        if self.breaks == 0 && !self.out.is_empty() && !self.out.ends_with('\n') {
            self.gap = false;
            self.out.push_str(" | ");
        }
    }

    fn block(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
    }

    fn finish(self) -> String {
        let lines: Vec<&str> = self.out.trim().lines().map(str::trim_end).collect();
        lines.join("\n")
    }
}

/// Reads what begins with `<`; `None` where that is no markup.
fn markup(from: &str) -> Option<(Markup, &str)> {
    if let Some(comment) = from.strip_prefix("<!--") {
        let end = comment.find("-->").map_or(comment.len(), |at| at + 3);
        return Some((Markup::Other, comment.get(end..).unwrap_or_default()));
    }
    let second = from.chars().nth(1)?;
    if matches!(second, '!' | '?') {
        let end = from.find('>').map_or(from.len(), |at| at + 1);
        return Some((Markup::Other, from.get(end..).unwrap_or_default()));
    }
    let is_end = second == '/';
    let inner = from.get(if is_end { 2 } else { 1 }..)?;
    if !inner.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return None;
    }
    let end = tag_end(inner);
    let behind = inner.get(end + 1..).unwrap_or_default();
    let tag = inner.get(..end).unwrap_or(inner);
    let name_end = tag.find(|letter: char| is_space(letter) || letter == '/').unwrap_or(tag.len());
    let (name, attributes) = tag.split_at(name_end);
    let name = name.to_ascii_lowercase();
    if is_end {
        return Some((Markup::End(name), behind));
    }
    let wanted = match name.as_str() {
        "a" => Some("href"),
        "img" => Some("alt"),
        _ => None,
    };
    let value = wanted.and_then(|wanted| attribute(attributes, wanted));
    Some((Markup::Start(Tag { name, is_closed: attributes.ends_with('/'), value }), behind))
}

/// Where the `>` of a tag stands, those in quoted values aside.
fn tag_end(inner: &str) -> usize {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in inner.char_indices() {
        match (quote, letter) {
            (None, '>') => return at,
            (None, '"' | '\'') if before == '=' => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        if !is_space(letter) {
            before = letter;
        }
    }
    // A quote without an end would swallow the page.
    inner.find('>').unwrap_or(inner.len())
}

fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|letter: char| is_space(letter) || letter == '/');
        let end = rest.find(|letter: char| is_space(letter) || letter == '=').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() && !behind.starts_with('=') {
            return None;
        }
        let behind = behind.trim_start_matches(is_space);
        let Some(value) = behind.strip_prefix('=').map(|value| value.trim_start_matches(is_space)) else {
            rest = behind;
            continue;
        };
        let (value, behind) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = value.get(1..).unwrap_or_default();
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            _ => value.split_at(value.find(is_space).unwrap_or(value.len())),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(entities::decode(value).trim().to_owned());
        }
        rest = behind;
    }
}

/// What stands behind the end of an element whose content is no text.
fn skip<'t>(name: &str, behind: &'t str) -> &'t str {
    let mut rest = behind;
    while let Some(at) = rest.find("</") {
        rest = rest.get(at..).unwrap_or_default();
        let found = rest.get(2..2 + name.len());
        if found.is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return rest;
        }
        rest = rest.get(2..).unwrap_or_default();
    }
    ""
}

fn breaks_around(name: &str) -> usize {
    match name {
        "p" | "blockquote" | "ul" | "ol" | "dl" | "table" | "section" | "article" | "main" | "header"
        | "footer" | "nav" | "aside" | "figure" | "form" | "hr" | "title" => 2,
        "div" | "tr" | "dt" | "dd" | "figcaption" | "option" | "summary" | "details" | "address"
        | "caption" | "fieldset" | "legend" => 1,
        _ => 0,
    }
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// Elements whose content is no text.
const HIDDEN: [&str; 8] = ["script", "style", "template", "svg", "iframe", "noembed", "noframes", "object"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_text() {
        for (page, expect) in [
            ("", ""),
            ("plain  text\n here", "plain text here"),
            ("<!DOCTYPE html><html><head><title>T &amp; U</title></head><body>b</body>", "T & U\n\nb"),
            ("<h2>Head</h2>text<h3 class='a>b'>Next", "## Head\n\ntext\n\n### Next"),
            ("<p>a</p>\n\n<p>b<br>c</p>", "a\n\nb\nc"),
            ("<ul><li>one</li><li>two <b>bold</b></li></ul>after", "- one\n- two bold\n\nafter"),
            ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2"),
            ("<pre>  x\n    y</pre>z", "x\n    y\n\nz"),
            ("a<pre>\tb  c\n</pre>d", "a\n\n\tb  c\n\nd"),
            (
                "see <a href=\"https://x.example/?a=1&amp;b=2\">this</a>.",
                "see [this](https://x.example/?a=1&b=2).",
            ),
            ("<a href=/p>p</a> <a href='#x'>up</a> <a href=javascript:x>j</a>", "[p](/p) up j"),
            ("<a href=/p><img src=x alt='A map'></a>", "[[A map]](/p)"),
            ("a<script>if (a<b) { alert('</p>') }</script>b<style>p{}</style>c", "abc"),
            ("a<SCRIPT>x</script >b", "ab"),
            ("a<script>never ends", "a"),
            ("a<!-- <p>hidden</p> -->b<!-- never ends", "ab"),
            ("1 < 2 && 3 > 2", "1 < 2 && 3 > 2"),
            ("a <b title=\"x > y\">b</b>", "a b"),
            ("<p title=\"never ends>text", "text"),
            (
                "&lt;b&gt; &#65;&#x42; &nbsp;&eacute; &unknown; &#0; &#x110000; & &amp",
                "<b> AB \u{a0}\u{e9} &unknown; \u{fffd} \u{fffd} & &",
            ),
            ("</p></li></a><li", ""),
        ] {
            assert_eq!(text(page), expect, "{page}");
        }
    }

    /// No page is worse than linear in its length by much, or fails.
    #[test]
    fn hostile_pages_end() {
        for part in
            ["<", "<a href=", "<!--", "<script>", "</", "<pre>", "<a>", "&", "&#", "<p \"", "<li>\u{1f600}"]
        {
            let page = part.repeat(200_000);
            assert!(text(&page).len() <= 4 * page.len(), "{part}");
        }
    }
}
