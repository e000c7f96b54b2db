//! Counts of tokens.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// A number of tokens. Sums and differences saturate: a count never wraps and is never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tokens(pub u64);

impl Tokens {
    /// No tokens.
    pub const ZERO: Self = Self(0);

    /// An image at most, where it must be estimated: its size on a screen counts and not its bytes.
    ///
    /// Source: an image of the largest size that is not scaled down has about 4,800 tokens on the newest models, 1,600 on
    /// others (platform.claude.com/docs/en/build-with-claude/vision, September 2026).
    pub const OF_AN_IMAGE: Self = Self(5_000);

    /// Tokens of so many bytes of text, where they must be estimated: one for each 3.5 bytes. What a provider reports
    /// takes its place wherever it is known.
    pub const fn of_bytes(bytes: u64) -> Self {
        Self(bytes.saturating_mul(2) / 7)
    }

    /// Whether there are none.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Tokens {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Tokens> for Tokens {
    fn sum<I: Iterator<Item = &'a Tokens>>(counts: I) -> Self {
        counts.copied().sum()
    }
}

impl From<u64> for Tokens {
    fn from(count: u64) -> Self {
        Self(count)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        let cases = [
            (Tokens(2) + Tokens(3), Tokens(5)),
            (Tokens(u64::MAX) + Tokens(1), Tokens(u64::MAX)),
            (Tokens(3) - Tokens(2), Tokens(1)),
            (Tokens(2) - Tokens(3), Tokens::ZERO),
            ([Tokens(1), Tokens(2)].iter().sum(), Tokens(3)),
        ];
        for (actual, expect) in cases {
            assert_eq!(actual, expect);
        }
    }
}
