use std::borrow::Cow;

/// The text with references to characters resolved; those that are not known stay as they are.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find('&') else { return text.into() };
    let (start, mut rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len());
    out.push_str(start);
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let inner = from.get(1..).unwrap_or_default();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '#';
        let end = inner.char_indices().take(LONGEST).find(|(_, letter)| !is_part(*letter));
        let name = inner.get(..end.map_or(inner.len().min(LONGEST), |(at, _)| at)).unwrap_or_default();
        match resolve(name) {
            Some(found) => {
                out.push_str(&found);
                rest = inner.get(name.len()..).unwrap_or_default();
                rest = rest.strip_prefix(';').unwrap_or(rest);
            }
            None => {
                out.push('&');
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out.into()
}

fn resolve(name: &str) -> Option<Cow<'static, str>> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        let letter = char::from_u32(code.ok()?).filter(|letter| !letter.is_control() || *letter == '\n');
        return Some(letter.unwrap_or('\u{fffd}').to_string().into());
    }
    let (_, text) = NAMED.iter().find(|(known, _)| *known == name)?;
    Some((*text).into())
}

/// Letters of a name that are looked at.
const LONGEST: usize = 12;

/// The names that pages use; the HTML standard has 2,231.
const NAMED: [(&str, &str); 60] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", "\u{a0}"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("times", "×"),
    ("divide", "÷"),
    ("plusmn", "±"),
    ("deg", "°"),
    ("sect", "§"),
    ("para", "¶"),
    ("larr", "←"),
    ("rarr", "→"),
    ("uarr", "↑"),
    ("darr", "↓"),
    ("euro", "€"),
    ("pound", "£"),
    ("yen", "¥"),
    ("cent", "¢"),
    ("frac12", "½"),
    ("sup2", "²"),
    ("micro", "µ"),
    ("le", "≤"),
    ("ge", "≥"),
    ("ne", "≠"),
    ("infin", "∞"),
    ("agrave", "à"),
    ("aacute", "á"),
    ("acirc", "â"),
    ("auml", "ä"),
    ("Auml", "Ä"),
    ("aring", "å"),
    ("ccedil", "ç"),
    ("egrave", "è"),
    ("eacute", "é"),
    ("ecirc", "ê"),
    ("iacute", "í"),
    ("ntilde", "ñ"),
    ("oacute", "ó"),
    ("ouml", "ö"),
    ("Ouml", "Ö"),
    ("szlig", "ß"),
    ("uuml", "ü"),
    ("Uuml", "Ü"),
    ("shy", ""),
];
