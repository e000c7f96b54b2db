//! Dates and times of day, in the forms in which clients write them.

/// Whether a word is a time of day, or a date with one: `15:09`, `9:41:07PM`, `2026-10-02T15:09:20Z`.
pub(super) fn is_time(word: &str) -> bool {
    let clean = word.trim_end_matches(|end: char| end.is_ascii_alphabetic());
    let suffix = &word[clean.len()..];
    if !matches!(suffix.to_ascii_lowercase().as_str(), "" | "z" | "am" | "pm" | "h" | "utc" | "gmt") {
        return false;
    }
    let clock = match clean.split_once('T') {
        Some((day, clock)) if is_iso_day(day) => clock.split(['+', '-']).next().unwrap_or_default(),
        Some(_) => return false,
        None => clean,
    };
    let mut parts = clock.split(':');
    let number = |part: Option<&str>, most: u32, widths: &[usize]| {
        part.is_some_and(|part| {
            widths.contains(&part.len()) && part.parse::<u32>().is_ok_and(|number| number < most)
        })
    };
    let hours_and_minutes = number(parts.next(), 25, &[1, 2]) && number(parts.next(), 60, &[2]);
    let seconds = parts.next().is_none_or(|part| number(part.split('.').next(), 61, &[2]));
    hours_and_minutes && seconds && parts.next().is_none()
}

/// Whether a word is two numbers with a colon and nothing else: a time of day, or a ratio, a score, a verse.
pub(super) fn is_two_numbers(word: &str) -> bool {
    let mut parts = word.split(':');
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
}

/// Whether a date stands at that offset.
pub(super) fn is_date(text: &str, at: usize) -> bool {
    run(text, at).is_some_and(|(words, _)| is_date_of(&words))
}

/// Whether a date stands there and a time of day right behind it.
pub(super) fn then_time(text: &str, at: usize) -> bool {
    let Some((words, end)) = run(text, at).filter(|(words, _)| is_date_of(words)) else {
        return false;
    };
    let rest = text[end..].trim_start_matches([' ', ',']);
    let next = rest.split([' ', '\n', ',', ';']).next().unwrap_or_default();
    !words.is_empty() && text.len() - end - rest.len() <= 2 && is_time(next.trim_end_matches('.'))
}

fn is_iso_day(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [4, 2, 2] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
}

/// The words around an offset that can be part of a date, and where the last one ends.
fn run(text: &str, at: usize) -> Option<(Vec<Word>, usize)> {
    let start = text[..at].rfind('\n').map_or(0, |found| found + 1);
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    let words = split(&text[start..end]);
    let at = at - start;
    let here = words.iter().position(|(from, to, _)| (*from..=*to).contains(&at))?;
    let line = &text[start..end];
    let joined = |left: usize| {
        let (Some((_, end, _)), Some((begin, ..))) = (words.get(left), words.get(left + 1)) else {
            return false;
        };
        let gap = &line[*end..*begin];
        gap.chars().count() <= 2 && gap.chars().all(|one| " -/.,年月日".contains(one))
    };
    words.get(here).filter(|(.., word)| *word != Word::Other)?;
    let is_part = |index: usize| words.get(index).is_some_and(|(.., word)| *word != Word::Other);
    let mut first = here;
    while first > 0 && joined(first - 1) && is_part(first - 1) {
        first -= 1;
    }
    let mut last = here;
    while joined(last) && is_part(last + 1) {
        last += 1;
    }
    let (_, last_end, _) = words.get(last)?;
    Some((words.get(first..=last)?.iter().map(|(.., word)| *word).collect(), start + last_end))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Year,
    Number,
    Month,
    Weekday,
    Other,
}

fn is_date_of(words: &[Word]) -> bool {
    let count = |word| words.iter().filter(|found| **found == word).count();
    let (years, numbers, months, days) =
        (count(Word::Year), count(Word::Number), count(Word::Month), count(Word::Weekday));
    let named = months == 1 && (1..=2).contains(&(years + numbers));
    let numeric =
        months == 0 && years == 1 && numbers == 2 && !matches!(words, [Word::Number, Word::Year, ..]);
    let weekday = days == 1 && words.len() == 1;
    named || numeric || weekday
}

/// Runs of letters or digits with their offsets. The signs of East Asian dates set words apart, and so does a change
/// of script, since such text has no spaces.
fn split(line: &str) -> Vec<(usize, usize, Word)> {
    let mut words = Vec::new();
    let mut open: Option<(usize, Script)> = None;
    for (at, character) in line.char_indices().chain([(line.len(), ' ')]) {
        let script = Script::of(character);
        match (open, script) {
            (Some((_, known)), Some(script)) if known == script => {}
            (None, None) => {}
            (open_word, script) => {
                if let Some((start, _)) = open_word {
                    // A number beside a colon is part of a time of day.
                    let behind_time =
                        line[..start].strip_suffix(':').is_some_and(|front| front.ends_with(is_digit));
                    let timed = character == ':' || behind_time;
                    words.push((start, at, if timed { Word::Other } else { word(&line[start..at]) }));
                }
                open = script.map(|script| (at, script));
            }
        }
    }
    words
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Spaced,
    Unspaced,
}

impl Script {
    fn of(character: char) -> Option<Self> {
        let is_word = character.is_alphanumeric() && !"年月日".contains(character);
        is_word.then_some(if character >= '\u{2e80}' { Self::Unspaced } else { Self::Spaced })
    }
}

fn word(text: &str) -> Word {
    let ordinal = ["st", "nd", "rd", "th"].iter().find_map(|end| text.strip_suffix(end));
    let digits = ordinal.filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = digits.parse::<u32>().unwrap_or(0);
        return match digits.len() {
            4 if (1900..2100).contains(&number) => Word::Year,
            1 | 2 if (1..=31).contains(&number) => Word::Number,
            _ => Word::Other,
        };
    }
    let lower = text.to_lowercase();
    let is_one_of = |names: &[&str]| names.iter().any(|name| *name == lower);
    if is_one_of(&MONTHS) {
        Word::Month
    } else if is_one_of(&WEEKDAYS) {
        Word::Weekday
    } else {
        Word::Other
    }
}

/// English, German, French, Spanish; short and long.
const MONTHS: [&str; 60] = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "januar",
    "februar",
    "märz",
    "mai",
    "juni",
    "juli",
    "oktober",
    "dezember",
    "okt",
    "dez",
    "janvier",
    "février",
    "mars",
    "avril",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
    "mär",
    "juil",
    "ene",
];
const WEEKDAYS: [&str; 37] = [
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "sat",
    "sun",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonntag",
    "lundi",
    "mardi",
    "mercredi",
    "jeudi",
    "vendredi",
    "samedi",
    "dimanche",
    "lunes",
    "martes",
    "miércoles",
    "jueves",
    "viernes",
    "sábado",
    "domingo",
    "tues",
    "thurs",
];
