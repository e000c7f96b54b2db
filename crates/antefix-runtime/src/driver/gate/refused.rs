use antefix_session::guard::MOST_REFUSED;

/// Who has refused a call.
pub(super) enum RefusedBy<'a> {
    /// A rule or the mode, whom nobody was asked about; why, in words.
    Rule { reason: &'a str },
    /// The user, who was asked.
    User,
    /// Nobody: there is nobody to ask. What the user would have been asked, and how the call can be allowed.
    Nobody { question: &'a str, how: &'a str },
}

impl RefusedBy<'_> {
    /// What the model is told; `count` is how often the same was refused in this turn. A rule is the same the next time; an
    /// answer may be another.
    pub(super) fn text(&self, tool: &str, count: u64) -> String {
        let times = if count == 2 { "twice".to_owned() } else { format!("{count} times") };
        match self {
            Self::Rule { reason } => {
                let again = match count {
                    1 => REFUSED.to_owned(),
                    2 => format!("`{tool}` was refused twice in this turn. {REFUSED}"),
                    _ => format!(
                        "`{tool}` was refused {times} in this turn, and will be refused again: do not repeat it. After \
                         {MOST_REFUSED} calls in a row that one rule refuses, the turn ends."
                    ),
                };
                format!("not allowed by the user's settings, and not asked about: {reason}. {again}")
            }
            Self::User if count == 1 => {
                format!("the user was asked about this call and said no: it was not run. {REFUSED}")
            }
            Self::User => format!(
                "the user was asked about this call and said no: it was not run. The user has said no to this very call \
                 of `{tool}` {times} in this turn. {REFUSED}"
            ),
            Self::Nobody { question, how } => {
                let again = match count {
                    1 => String::new(),
                    _ => format!("This very call of `{tool}` was refused {times} in this turn. "),
                };
                format!(
                    "not run, since the user would have to be asked and nobody is there to answer: {question}. \
                     {again}{REFUSED} The user could allow it: {how}."
                )
            }
        }
    }
}

/// What the model is told with each refusal.
pub(in crate::driver) const REFUSED: &str =
    "Do not try to reach the same in another way; go on without it, or say what is needed and why.";

#[cfg(test)]
mod tests {
    use super::*;

    /// The model took a no of the user's for a rule, and an absent user for a no.
    #[test]
    fn who_refuses_is_told() {
        let rule = RefusedBy::Rule { reason: "`bash(rm)` denies it" };
        let nobody = RefusedBy::Nobody { question: "may `bash` run `rm`?", how: "--allow 'bash(rm)'" };
        let by_rule = "not allowed by the user's settings, and not asked about: `bash(rm)` denies it. ";
        let by_user = "the user was asked about this call and said no: it was not run. ";
        let by_nobody = "not run, since the user would have to be asked and nobody is there to answer: may `bash` run `rm`?. ";
        for (refused, count, expect) in [
            (&rule, 1, format!("{by_rule}{REFUSED}")),
            (&rule, 2, format!("{by_rule}`bash` was refused twice in this turn. {REFUSED}")),
            (
                &rule,
                3,
                format!(
                    "{by_rule}`bash` was refused 3 times in this turn, and will be refused again: do not repeat it. \
                     After 8 calls in a row that one rule refuses, the turn ends."
                ),
            ),
            (&RefusedBy::User, 1, format!("{by_user}{REFUSED}")),
            (
                &RefusedBy::User,
                2,
                format!(
                    "{by_user}The user has said no to this very call of `bash` twice in this turn. {REFUSED}"
                ),
            ),
            (
                &RefusedBy::User,
                3,
                format!(
                    "{by_user}The user has said no to this very call of `bash` 3 times in this turn. {REFUSED}"
                ),
            ),
            (&nobody, 1, format!("{by_nobody}{REFUSED} The user could allow it: --allow 'bash(rm)'.")),
            (
                &nobody,
                2,
                format!(
                    "{by_nobody}This very call of `bash` was refused twice in this turn. {REFUSED} The user could allow \
                     it: --allow 'bash(rm)'."
                ),
            ),
        ] {
            assert_eq!(refused.text("bash", count), expect);
        }
    }
}
