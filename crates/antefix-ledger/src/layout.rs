//! Which tokens of a request belong to which part of its prompt.

use antefix_models::{Counts, Tokens};

/// Tokens of each part of a prompt of `prompt` tokens, which always add up to it.
///
/// `known` holds what earlier requests have taught of the same parts; the others share what is left in proportion to
/// their `weights` (bytes). Where nothing is left for them, or nobody is there to take it, all share by weight: the
/// provider rendered the prompt in another way than before.
///
/// ```
/// use antefix_ledger::measure;
/// use antefix_models::Tokens;
/// let first = measure(&[None, None], &[300, 100], Tokens(80));
/// assert_eq!(first, [Tokens(60), Tokens(20)]);
/// assert_eq!(measure(&[Some(Tokens(60)), Some(Tokens(20)), None], &[300, 100, 9_999], Tokens(95))[2], Tokens(15));
/// ```
pub fn measure(known: &[Option<Tokens>], weights: &[u64], prompt: Tokens) -> Vec<Tokens> {
    let told: Tokens = known.iter().flatten().copied().fold(Tokens::ZERO, |sum, tokens| sum + tokens);
    let new = || known.iter().zip(weights).filter(|(known, _)| known.is_none()).map(|(_, weight)| *weight);
    let fits = if new().any(|weight| weight > 0) { told < prompt } else { told == prompt };
    if !fits {
        return shares(weights, prompt.0);
    }
    let mut left = shares(&new().collect::<Vec<_>>(), prompt.0 - told.0).into_iter();
    known.iter().map(|known| known.or_else(|| left.next()).unwrap_or_default()).collect()
}

/// Lays what a request was billed out over the parts of its prompt, in reading order: what was read comes first, then
/// what was written for an hour, then for five minutes, and what was neither last. The sums are those of `billed`; the
/// output belongs to no part.
///
/// Source: providers bill a prompt with entries of both lifetimes in that order
/// (platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026).
pub fn lay_out(tokens: &[Tokens], billed: &Counts) -> Vec<Counts> {
    let mut left = Counts { output: Tokens::ZERO, ..*billed };
    let mut take = |wanted: Tokens| {
        let mut wanted = wanted;
        let mut from = |source: &mut Tokens| {
            let taken = wanted.min(*source);
            *source = *source - taken;
            wanted = wanted - taken;
            taken
        };
        Counts {
            read: from(&mut left.read),
            write_1h: from(&mut left.write_1h),
            write_5m: from(&mut left.write_5m),
            uncached: from(&mut left.uncached),
            output: Tokens::ZERO,
        }
    };
    tokens.iter().map(|tokens| take(*tokens)).collect()
}

/// `whole` in parts as the weights stand to each other; the parts add up to it, unless all weights are zero.
fn shares(weights: &[u64], whole: u64) -> Vec<Tokens> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let mut before = 0_u128;
    let mut given = 0_u64;
    let share = |weight: &u64| {
        before += u128::from(*weight);
        let upto = (u128::from(whole) * before).checked_div(all).unwrap_or(0);
        let upto = u64::try_from(upto).unwrap_or(whole);
        let own = upto - given;
        given = upto;
        Tokens(own)
    };
    weights.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(numbers: &[u64]) -> Vec<Tokens> {
        numbers.iter().copied().map(Tokens).collect()
    }

    #[test]
    fn tokens_of_parts_add_up_to_the_prompt() {
        let known = |numbers: &[i64]| -> Vec<Option<Tokens>> {
            numbers.iter().map(|number| u64::try_from(*number).ok().map(Tokens)).collect()
        };
        for (old, weights, prompt, expect) in [
            (&[-1, -1][..], &[1, 1][..], 3, &[1, 2][..]),
            (&[2, -1], &[1, 1], 3, &[2, 1]),
            (&[2, 1], &[7, 1], 3, &[2, 1]),
            // Less than was known: rendered in another way.
            (&[20, -1], &[3, 1], 8, &[6, 2]),
            // More than was known, and nothing new to have it.
            (&[2, 1], &[3, 1], 8, &[6, 2]),
            (&[5, -1], &[1, 0], 8, &[8, 0]),
            (&[], &[], 8, &[]),
        ] {
            assert_eq!(measure(&known(old), weights, Tokens(prompt)), tokens(expect), "{old:?} {prompt}");
        }
    }

    #[test]
    fn what_was_read_comes_first_and_the_sums_are_those_of_the_bill() {
        let counts = |[read, write_1h, write_5m, uncached]: [u64; 4]| Counts {
            read: Tokens(read),
            write_1h: Tokens(write_1h),
            write_5m: Tokens(write_5m),
            uncached: Tokens(uncached),
            output: Tokens::ZERO,
        };
        let billed = Counts { output: Tokens(99), ..counts([10, 5, 5, 2]) };
        let parts = lay_out(&tokens(&[4, 8, 9, 1]), &billed);
        assert_eq!(parts, [[4, 0, 0, 0], [6, 2, 0, 0], [0, 3, 5, 1], [0, 0, 0, 1]].map(counts));
    }
}
