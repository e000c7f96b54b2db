//! How numbers are written for people.

use antefix_models::Counts;
use antefix_session::event::efficiency_permille;

/// A number of tokens or bytes in at most four places: 950, 4.1k, 507k, 1.2M.
pub fn short(number: u64) -> String {
    let scaled = |unit: u64, letter: char| {
        let tenths = number / (unit / 10);
        if tenths < 100 {
            format!("{}.{}{letter}", tenths / 10, tenths % 10)
        } else {
            format!("{}{letter}", tenths / 10)
        }
    };
    match number {
        0..=999 => number.to_string(),
        1_000..=999_999 => scaled(1_000, 'k'),
        1_000_000..=999_999_999 => scaled(1_000_000, 'M'),
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
    efficiency_permille(counts)
        .map_or_else(|| "–".to_owned(), |permille| format!("{}.{} %", permille / 10, permille % 10))
}

/// A bar of `width` cells: read, written, uncached, in this order.
pub fn bar(counts: &Counts, width: u64) -> String {
    let total = counts.prompt().0;
    if total == 0 {
        return "·".repeat(width as usize);
    }
    let cells = |tokens: u64| (tokens * width + total / 2) / total;
    let read = cells(counts.read.0).min(width);
    let uncached = cells(counts.uncached.0).min(width - read);
    let written = width - read - uncached;
    format!("{}{}{}", "█".repeat(read as usize), "▓".repeat(written as usize), "░".repeat(uncached as usize))
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
            (1000, "1.0k", "1,000"),
            (4_149, "4.1k", "4,149"),
            (12_345, "12k", "12,345"),
            (999_999, "999k", "999,999"),
            (1_250_000, "1.2M", "1,250,000"),
            (2_000_000_000, "2.0G", "2,000,000,000"),
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
            (999, 1, 0, "██████████"),
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
