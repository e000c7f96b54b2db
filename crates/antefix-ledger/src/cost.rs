use antefix_models::{Counts, Money, Prices, Tokens, cost};

/// Of the input of a request, the tokens that were paid for again, by the category they were billed in.
///
/// The prefix comes first, and one-hour entries come before five-minute ones: so one-hour writes first, then
/// five-minute writes, then plain input. What was read was not paid for again.
pub fn rewritten_counts(billed: &Counts, rewritten: Tokens) -> Counts {
    let mut rest = rewritten;
    let mut take = |most: Tokens| {
        let taken = most.min(rest);
        rest = rest - taken;
        taken
    };
    Counts {
        write_1h: take(billed.write_1h),
        write_5m: take(billed.write_5m),
        uncached: take(billed.uncached),
        ..Counts::default()
    }
}

/// What tokens that were paid for again cost more than reading them would have.
pub fn waste(prices: &Prices, rewritten: &Counts) -> Money {
    let read = Counts { read: rewritten.prompt(), ..Counts::default() };
    cost(prices, &Counts { output: Tokens::ZERO, ..*rewritten }) - cost(prices, &read)
}

/// What a request cost, and what it could have cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// As billed.
    pub actual: Money,
    /// Had nothing been cached: all input at the plain price.
    pub no_cache: Money,
    /// Had all that was in the cache been read.
    pub perfect: Money,
}

impl Comparison {
    /// Compares a request of which `rewritten` tokens were paid for again.
    pub fn of(prices: &Prices, billed: &Counts, rewritten: Tokens) -> Self {
        let again = rewritten_counts(billed, rewritten);
        let plain = Counts { uncached: billed.prompt(), output: billed.output, ..Counts::default() };
        let perfect = Counts {
            uncached: billed.uncached - again.uncached,
            read: billed.read + again.prompt(),
            write_5m: billed.write_5m - again.write_5m,
            write_1h: billed.write_1h - again.write_1h,
            output: billed.output,
        };
        Self { actual: cost(prices, billed), no_cache: cost(prices, &plain), perfect: cost(prices, &perfect) }
    }

    /// What was paid for nothing.
    pub fn waste(&self) -> Money {
        self.actual - self.perfect
    }
}

#[cfg(test)]
mod tests {
    use antefix_models::Price;

    use super::*;

    const PRICES: Prices = Prices {
        input: Price(1000),
        write_5m: Price(1250),
        write_1h: Price(2000),
        read: Price(100),
        output: Price(5000),
    };

    fn counts(uncached: u64, read: u64, write_5m: u64, write_1h: u64, output: u64) -> Counts {
        let [uncached, read, write_5m, write_1h, output] =
            [uncached, read, write_5m, write_1h, output].map(Tokens);
        Counts { uncached, read, write_5m, write_1h, output }
    }

    #[test]
    fn rewritten_tokens_are_taken_in_the_order_of_the_prompt() {
        let billed = counts(7, 50, 20, 10, 3);
        for (rewritten, expect) in [
            (0, counts(0, 0, 0, 0, 0)),
            (4, counts(0, 0, 0, 4, 0)),
            (25, counts(0, 0, 15, 10, 0)),
            (33, counts(3, 0, 20, 10, 0)),
            (999, counts(7, 0, 20, 10, 0)),
        ] {
            assert_eq!(rewritten_counts(&billed, Tokens(rewritten)), expect, "{rewritten}");
        }
    }

    #[test]
    fn actual_is_perfect_and_the_price_of_the_verdict() {
        for (billed, rewritten) in [
            (counts(7, 50, 20, 10, 3), 25),
            (counts(7, 50, 20, 10, 3), 36),
            (counts(1000, 0, 0, 0, 9), 800),
            (counts(0, 0, 560_000, 0, 40), 559_000),
        ] {
            let compared = Comparison::of(&PRICES, &billed, Tokens(rewritten));
            let verdict = waste(&PRICES, &rewritten_counts(&billed, Tokens(rewritten)));
            assert_eq!(compared.actual, compared.perfect + verdict, "{billed:?}");
            assert_eq!(compared.waste(), verdict);
        }
        let compared = Comparison::of(&PRICES, &counts(0, 0, 10, 0, 1), Tokens(10));
        assert_eq!(
            compared,
            Comparison { actual: Money(17_500), no_cache: Money(15_000), perfect: Money(6_000) }
        );
    }
}
