use antefix_session::guard::Limits;

use super::{Moment, Sighting, Source, Surroundings, Unavailable, object_of, text_of};

/// How much of the session's limits in tokens and money is used; told when half, four fifths and nearly all are.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
}

impl Budget {
    /// With the limits that hold.
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }

    /// Percent of each limit that are used, and what the limit is.
    fn used(&self, around: &Surroundings) -> [Option<(u128, String)>; 2] {
        let counts = &around.spent.counts;
        let tokens = u128::from((counts.prompt() + counts.output).0);
        let money = around.spent.known_cost().map(|cost| cost.0).and_then(|cost| u128::try_from(cost).ok());
        let share = |used: u128, limit: u128| (limit > 0).then(|| used.saturating_mul(100) / limit);
        [
            self.limits.max_cost.and_then(|limit| {
                let most = u128::try_from(limit.0).ok()?;
                Some((share(money?, most)?, format!("{} USD", limit.usd())))
            }),
            self.limits
                .max_tokens
                .and_then(|limit| Some((share(tokens, u128::from(limit.0))?, format!("{} tokens", limit.0)))),
        ]
    }
}

impl Source for Budget {
    fn kind(&self) -> &'static str {
        "budget"
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let keyed = ["money", "tokens"].into_iter().zip(self.used(around));
        let sighting = |(key, used): (&str, Option<(u128, String)>)| {
            let (percent, limit) = used?;
            let step = STEPS.iter().rev().find(|step| **step <= percent).unwrap_or(&0);
            Some(Sighting::new(key, object_of([("limit", &limit), ("percent", &step.to_string())])))
        };
        Ok(keyed.filter_map(sighting).collect())
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let percent = |state: &[u8]| text_of(state, "percent")?.parse::<u128>().ok();
        let (before, after) = (percent(known).unwrap_or(0), percent(&now.state)?);
        if after <= before {
            // The limit was raised, or nothing is worth a word yet.
            return Some(String::new());
        }
        let limit = text_of(&now.state, "limit")?;
        Some(format!("Of the {limit} that this session may use, {after} % are used. At 100 % the turn ends."))
    }

    fn moment(&self) -> Moment {
        Moment::Calls
    }

    fn is_instant(&self) -> bool {
        true
    }
}

/// Percent at which the model is told.
const STEPS: [u128; 3] = [50, 80, 95];

#[cfg(test)]
mod tests {
    use antefix_models::Tokens;

    use super::*;
    use crate::context::watcher::tests::{around, at};

    #[test]
    fn the_model_is_told_at_each_step_once() {
        let limits = Limits { max_tokens: Some(Tokens(1_000)), ..Limits::default() };
        let mut source = Budget::new(limits);
        let mut known = b"null".to_vec();
        let text = |percent: u64| {
            format!(
                "Of the 1000 tokens that this session may use, {percent} % are used. At 100 % the turn ends."
            )
        };
        for (used, expect) in [
            (0, Some(String::new())),
            (499, None),
            (500, Some(text(50))),
            (799, None),
            (960, Some(text(95))),
            (10, Some(String::new())),
            (810, Some(text(80))),
        ] {
            let mut around = around("/w", at("2026-11-30T12:00:00Z"));
            around.spent.counts.uncached = Tokens(used);
            let seen = source.observe(&around).unwrap().remove(0);
            let told = (*seen.state != *known).then(|| source.drift(&known, &seen).unwrap());
            assert_eq!(told, expect, "{used}");
            known = seen.state.to_vec();
        }
        assert_eq!(
            Budget::new(Limits::default()).observe(&around("/w", at("2026-11-30T12:00:00Z"))),
            Ok(Vec::new())
        );
    }
}
