//! How numbers are written for people.

use antefix_models::Counts;
use antefix_session::event::efficiency_permille;

/// A number in at most five places, rounded: 950, 9,950, 12.3k, 507k, 1.25M.
pub fn short(number: u64) -> String {
    let scaled = |unit: u64, letter: char| {
        let tenths = number.saturating_add(unit / 20) / (unit / 10);
        if tenths < 1000 {
            format!("{}.{}{letter}", tenths / 10, tenths % 10)
        } else {
            format!("{}{letter}", number.saturating_add(unit / 2) / unit)
        }
    };
    match number {
        0..=9_999 => grouped(number),
        10_000..=999_499 => scaled(1_000, 'k'),
        999_500..=999_499_999 => scaled(1_000_000, 'M'),
        _ => scaled(1_000_000_000, 'G'),
    }
}

/// A number with commas: 12,345.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Cache read as a share of input tokens, in per cent with one decimal; `–` without input.
pub fn efficiency(counts: &Counts) -> String {
    percent(efficiency_permille(counts))
}

/// A part of a whole in per cent with one decimal, rounded down; `–` of nothing.
pub fn percent(permille: Option<u64>) -> String {
    permille.map_or_else(|| "–".to_owned(), |permille| format!("{}.{} %", permille / 10, permille % 10))
}

/// The day in UTC.
pub fn today() -> jiff::civil::Date {
    antefix_session::spend::date(antefix_runtime::clock::now())
}

/// A bar of `width` cells: read, written, uncached, in this order. What is not nothing has a cell.
pub fn bar(counts: &Counts, width: u64) -> String {
    let total = counts.prompt().0;
    if total == 0 {
        return "·".repeat(width as usize);
    }
    let written = (counts.write_5m + counts.write_1h).0;
    let (wide, all) = (u128::from(width), u128::from(total));
    let share = |tokens: u64| (u128::from(tokens) * wide + all / 2) / all;
    let cells = |tokens: u64| u64::try_from(share(tokens)).unwrap_or(width).max(u64::from(tokens > 0));
    let uncached = cells(counts.uncached.0).min(width);
    let written = cells(written).min(width - uncached);
    let read = width - written - uncached;
    // A read too small for the bar still shows, at the cost of the widest other part.
    let shift = u64::from(read == 0 && counts.read.0 > 0);
    let (written, uncached) =
        if written >= uncached { (written - shift, uncached) } else { (written, uncached - shift) };
    let cell = |letter: &str, count: u64| letter.repeat(count as usize);
    format!("{}{}{}", cell("█", read + shift), cell("▓", written), cell("░", uncached))
}

#[cfg(test)]
mod tests {
    use antefix_models::Tokens;

    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        for (number, short_form, grouped_form) in [
            (0, "0", "0"),
            (999, "999", "999"),
            (9_999, "9,999", "9,999"),
            (12_345, "12.3k", "12,345"),
            (99_960, "100k", "99,960"),
            (507_499, "507k", "507,499"),
            (999_499, "999k", "999,499"),
            (999_999, "1.0M", "999,999"),
            (1_250_000, "1.3M", "1,250,000"),
            (2_000_000_000, "2.0G", "2,000,000,000"),
            (u64::MAX, "18446744073G", "18,446,744,073,709,551,615"),
        ] {
            assert_eq!((short(number).as_str(), grouped(number).as_str()), (short_form, grouped_form));
        }
    }

    #[test]
    fn a_bar_has_its_width_whatever_the_shares() {
        for (read, written, uncached, expect) in [
            (0, 0, 0, "··········"),
            (100, 0, 0, "██████████"),
            (50, 50, 0, "█████▓▓▓▓▓"),
            (0, 0, 7, "░░░░░░░░░░"),
            (80, 10, 10, "████████▓░"),
            (999, 1, 0, "█████████▓"),
            (1, 999, 1, "█▓▓▓▓▓▓▓▓░"),
            (1, 0, 999, "█░░░░░░░░░"),
            (u64::MAX, u64::MAX, 0, "█▓▓▓▓▓▓▓▓▓"),
        ] {
            let counts = Counts {
                read: Tokens(read),
                write_5m: Tokens(written),
                uncached: Tokens(uncached),
                ..Counts::default()
            };
            assert_eq!(bar(&counts, 10), expect);
        }
    }
}
