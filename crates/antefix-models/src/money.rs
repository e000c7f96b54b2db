//! Money as an integer, so that the parts of a bill add up to the bill.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use crate::Tokens;

/// An amount in 1e-12 US dollars. The smallest list price is a few thousand of these per token, so every
/// modifier in use stays exact; 128 bits hold any sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(pub i128);

impl Money {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// One US dollar.
    pub const DOLLAR: Self = Self(1_000_000_000_000);

    /// The exact amount in dollars as a decimal, without trailing zeros: `0.0123`, `-2`, `0`.
    pub fn usd(self) -> String {
        let dollar = Self::DOLLAR.0.unsigned_abs();
        let (whole, part) = (self.0.unsigned_abs() / dollar, self.0.unsigned_abs() % dollar);
        let sign = if self.0 < 0 { "-" } else { "" };
        if part == 0 {
            return format!("{sign}{whole}");
        }
        let part = format!("{part:012}");
        format!("{sign}{whole}.{}", part.trim_end_matches('0'))
    }

    /// Dollars as the text of a JSON number, exponent included, as servers report a cost; to 1e-12 $, half away from
    /// zero. `None` for what is negative or no number in range.
    ///
    /// ```
    /// # use antefix_models::Money;
    /// assert_eq!(Money::from_number("1.25e-5").map(Money::usd).as_deref(), Some("0.0000125"));
    /// ```
    pub fn from_number(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() + part.len() > 30 || !is_digits(whole) || !is_digits(part) {
            return None;
        }
        let digits: i128 = format!("{whole}{part}").parse().ok()?;
        let shift =
            exponent.checked_add(DIGITS.cast_signed())?.checked_sub(i32::try_from(part.len()).ok()?)?;
        let power = 10_i128.checked_pow(shift.unsigned_abs());
        match (digits, power) {
            (0, _) => Some(Self::ZERO),
            (_, Some(power)) if shift >= 0 => digits.checked_mul(power).map(Self),
            (_, Some(power)) => Some(Self((digits + power / 2) / power)),
            // Less than half of the smallest amount.
            (_, None) => (shift < 0).then_some(Self::ZERO),
        }
    }

    /// The amount to that many digits behind the point, half away from zero.
    fn rounded(self, digits: usize) -> Self {
        let spare = DIGITS.saturating_sub(u32::try_from(digits).unwrap_or(DIGITS));
        let step = 10i128.pow(spare);
        let half = if self.0 < 0 { -step / 2 } else { step / 2 };
        Self(self.0.saturating_add(half) / step * step)
    }
}

impl std::str::FromStr for Money {
    type Err = MoneyError;

    /// Reads what [`usd`](Self::usd) writes; not negative, and exact or refused.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 18 || part.len() > 12 || !digits(whole) || !digits(part) {
            return Err(MoneyError);
        }
        let amount: i128 = format!("{whole}{part:0<12}").parse().map_err(|_| MoneyError)?;
        Ok(Self(amount))
    }
}

impl fmt::Display for Money {
    /// `$1.2345`: the exact amount, with at least two digits behind the point. A precision (`{:.4}`) rounds
    /// to that many digits, half away from zero.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = formatter.precision();
        let shown = digits.map_or(*self, |digits| self.rounded(digits));
        let text = shown.usd();
        let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let width = digits.unwrap_or(2);
        let point = if width == 0 && part.is_empty() { "" } else { "." };
        write!(formatter, "{sign}${whole}{point}{part:0<width$}")
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Money {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Money {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Money {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Money> for Money {
    fn sum<I: Iterator<Item = &'a Money>>(amounts: I) -> Self {
        amounts.copied().sum()
    }
}

/// A text that is no amount of dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected dollars as a decimal with at most 12 digits behind the point, such as `0.50`")]
pub struct MoneyError;

/// A price in 1e-12 US dollars per token: $1 per million tokens is 1,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(pub u64);

impl Price {
    /// Reads dollars per million tokens from decimal text with at most six digits behind the point; `None` for
    /// anything else.
    ///
    /// ```
    /// use antefix_models::Price;
    /// assert_eq!(Price::from_usd_per_million("0.25"), Some(Price(250_000)));
    /// ```
    pub fn from_usd_per_million(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 6 {
            return None;
        }
        let part: u64 = format!("{part:0<6}").parse().ok()?;
        Some(Self(whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part)?))
    }

    /// The price of a million tokens, as `usd` prints it.
    pub fn usd_per_million(self) -> String {
        Money(i128::from(self.0) * 1_000_000).usd()
    }
}

impl Mul<Tokens> for Price {
    type Output = Money;

    fn mul(self, tokens: Tokens) -> Money {
        // Two 64-bit factors fit in 128 bits, sign included, as long as both are below 2^63; no bill comes
        // near.
        Money(i128::from(self.0).saturating_mul(i128::from(tokens.0)))
    }
}

impl fmt::Display for Price {
    /// `$0.10/MTok`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/MTok", Money(i128::from(self.0) * 1_000_000))
    }
}

/// Digits behind the point that an amount can hold.
const DIGITS: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_numbers_are_read_in_any_form() {
        for (text, expect) in [
            ("0", Some(0)),
            ("0.0", Some(0)),
            ("0e99", Some(0)),
            ("2", Some(2_000_000_000_000)),
            ("0.00123", Some(1_230_000_000)),
            ("1.5e-5", Some(15_000_000)),
            ("1.5E+2", Some(150_000_000_000_000)),
            ("0.0000000000014", Some(1)),
            ("0.0000000000015", Some(2)),
            ("4e-13", Some(0)),
            ("5e-13", Some(1)),
            ("1e-400", Some(0)),
            ("1e400", None),
            ("-1", None),
            (".5", None),
            ("1e", None),
            ("NaN", None),
            ("", None),
            ("0.1234567890123456789012345678901", None),
        ] {
            assert_eq!(Money::from_number(text), expect.map(Money), "{text}");
        }
    }

    #[test]
    fn amounts_are_read_exactly_or_refused() {
        for (text, expect) in [
            ("0.50", Some(500_000_000_000)),
            ("12", Some(12_000_000_000_000)),
            ("0.000000000001", Some(1)),
            ("7.", Some(7_000_000_000_000)),
            ("", None),
            (".5", None),
            ("-1", None),
            ("1e3", None),
            ("1,5", None),
            ("0.0000000000001", None),
        ] {
            assert_eq!(text.parse::<Money>().ok(), expect.map(Money), "{text}");
        }
    }

    #[test]
    fn money_prints_exactly() {
        let cases = [
            (0, "0", "$0.00"),
            (1, "0.000000000001", "$0.000000000001"),
            (-1, "-0.000000000001", "-$0.000000000001"),
            (1_234_500_000_000, "1.2345", "$1.2345"),
            (-2_000_000_000_000, "-2", "-$2.00"),
            (500_000_000_000, "0.5", "$0.50"),
            (12_000_000_000_010, "12.00000000001", "$12.00000000001"),
        ];
        for (picos, usd, shown) in cases {
            assert_eq!((Money(picos).usd().as_str(), Money(picos).to_string().as_str()), (usd, shown));
        }
    }

    #[test]
    fn a_precision_rounds_half_away_from_zero() {
        let cases = [
            (1_234_500_000_000, 4, "$1.2345"),
            (1_234_550_000_000, 4, "$1.2346"),
            (1_234_549_999_999, 4, "$1.2345"),
            (-1_234_550_000_000, 4, "-$1.2346"),
            (999_999_000_000, 2, "$1.00"),
            (1_500_000_000_000, 0, "$2"),
            (1, 12, "$0.000000000001"),
            (1, 14, "$0.00000000000100"),
        ];
        for (picos, digits, shown) in cases {
            assert_eq!(format!("{:.digits$}", Money(picos)), shown, "{picos} to {digits} digits");
        }
    }

    #[test]
    fn decimal_prices_are_read_exactly() {
        let cases = [
            ("0.003", Some(3_000)),
            ("12.5", Some(12_500_000)),
            ("8", Some(8_000_000)),
            ("0.0000001", None),
            ("1.", None),
            (".5", None),
            ("-1", None),
            ("1e3", None),
            ("99999999999999", None),
        ];
        for (text, expect) in cases {
            assert_eq!(Price::from_usd_per_million(text), expect.map(Price), "{text}");
        }
    }

    #[test]
    fn prices_print_per_million() {
        for (picos, per_million, shown) in [
            (100_000, "0.1", "$0.10/MTok"),
            (12_500_000, "12.5", "$12.50/MTok"),
            (3_000, "0.003", "$0.003/MTok"),
        ] {
            assert_eq!(
                (Price(picos).usd_per_million().as_str(), Price(picos).to_string().as_str()),
                (per_million, shown)
            );
        }
    }

    #[test]
    fn the_largest_price_of_the_largest_count_is_a_sum() {
        assert_eq!(Price(u64::MAX) * Tokens(u64::MAX), Money(i128::MAX));
        assert_eq!(Price(7) * Tokens(3), Money(21));
    }
}
