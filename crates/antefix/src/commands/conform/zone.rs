use antefix_runtime::clock;

/// A time zone, by the hours it is ahead of UTC. Scenes are played around noon, so that midnight comes only when a row
/// wants it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    ahead: i64,
}

impl Zone {
    /// Where it is between twelve and one now.
    pub fn at_noon() -> Self {
        let hour = clock::now().0 / 3_600_000 % 24;
        Self { ahead: 12 - hour.cast_signed() }
    }

    /// Where it is another day there: thirteen hours on, or as many back where there is no such zone.
    pub fn another_day(self) -> Self {
        Self { ahead: if self.ahead <= 1 { self.ahead + 13 } else { self.ahead - 13 } }
    }

    /// As the variable `TZ` has it: POSIX counts hours behind UTC.
    pub fn name(self) -> String {
        format!("<{:+03}>{}", self.ahead, -self.ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_day_is_a_zone_that_there_is() {
        for ahead in -11..=12 {
            let other = Zone { ahead }.another_day().ahead;
            assert!((-12..=14).contains(&other), "{ahead} -> {other}");
            assert_eq!((other - ahead).abs(), 13, "from noon, midnight lies between");
        }
        assert_eq!(Zone { ahead: 5 }.name(), "<+05>-5");
        assert_eq!(Zone { ahead: -11 }.name(), "<-11>11");
    }
}
