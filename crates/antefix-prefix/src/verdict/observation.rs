//! What is known of one request.

use antefix_models::{Counts, Rules, Tokens, Ttl};
use antefix_wire::anthropic::Cleared;

use super::{Kind, Prompt};

/// A moment in milliseconds since the Unix epoch, or of whatever clock all requests share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

/// What the provider has done to a prompt before it was read, because the client had asked for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerEdit {
    /// A summary stands for all that was said.
    Summarised,
    /// Results of old calls, or old thinking, are left out.
    Cleared,
}

impl ServerEdit {
    /// The kind of what is lost by it.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Summarised => Kind::ServerCompaction,
            Self::Cleared => Kind::ContextEdit,
        }
    }
}

/// What an answer says was done to its prompt. A clearing is said again in each answer behind it, so that it is only new
/// where it exceeds that of the request before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// A summary was written, and stands for all that was said.
    pub summarised: bool,
    /// What is left out; `None` if nothing is.
    pub cleared: Option<Cleared>,
}

/// What is known of one request and its answer. All but the rules may be missing.
#[derive(Clone, Debug)]
pub struct Observation<'a> {
    /// What went to the provider.
    pub prompt: Option<&'a Prompt<'a>>,
    /// Whether the provider caches without being asked, where no body says it.
    pub implicit: bool,
    /// What the client sent, where a gateway stands between.
    pub client: Option<&'a Prompt<'a>>,
    /// The rules of the model on its platform.
    pub rules: Rules,
    /// What was billed.
    pub usage: Option<Counts>,
    /// The server refused it: nothing of it was kept, and nothing was billed.
    pub refused: bool,
    /// When the request left.
    pub started_at: Option<Millis>,
    /// When the first byte of the answer came.
    pub first_byte_at: Option<Millis>,
    /// The lifetime of its entries, where it is known from elsewhere than its markers.
    pub ttl: Option<Ttl>,
    /// The process that sent it.
    pub process: Option<String>,
    /// The client's session.
    pub session: Option<String>,
    /// The agent within the session.
    pub agent: Option<String>,
    /// The account or key.
    pub account: Option<String>,
    /// The provider behind a router.
    pub provider: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The set of beta features, as sent in a header.
    pub betas: Option<String>,
    /// The set of beta features that the client asked for, where a gateway stands between.
    pub client_betas: Option<String>,
    /// A digest of the prompt's prefix that someone else took.
    pub prefix: Option<String>,
    /// The server's reason for a miss, as it names it.
    pub server_reason: Option<String>,
    /// What the answer says was done to the prompt; `None` if the answer is not known.
    pub edits: Option<Edits>,
    /// From this request on other parameters were asked for on purpose, so that what they change is planned.
    pub is_altered: bool,
}

impl<'a> Observation<'a> {
    /// An observation of which only the rules are known.
    pub fn new(rules: Rules) -> Self {
        Self {
            prompt: None,
            implicit: false,
            client: None,
            rules,
            usage: None,
            refused: false,
            started_at: None,
            first_byte_at: None,
            ttl: None,
            process: None,
            session: None,
            agent: None,
            account: None,
            provider: None,
            region: None,
            betas: None,
            client_betas: None,
            prefix: None,
            server_reason: None,
            edits: None,
            is_altered: false,
        }
    }

    /// The same with a body.
    pub fn with_prompt(self, prompt: &'a Prompt<'a>) -> Self {
        Self { prompt: Some(prompt), ..self }
    }

    /// Tokens that were in the cache when the answer was over, as far as the provider tells. `None` where it told
    /// nothing of a cache: no usage, or a provider whose counts are all 0.
    pub(super) fn cached(&self) -> Option<Tokens> {
        let usage = self.usage?;
        let told = usage.read + usage.write_5m + usage.write_1h;
        if self.is_implicit() && usage.write_5m.is_zero() && usage.write_1h.is_zero() {
            // Such providers keep what they have read and do not count it as written.
            return Some(usage.prompt());
        }
        (!told.is_zero()).then_some(told)
    }

    pub(super) fn is_implicit(&self) -> bool {
        self.prompt.map_or(self.implicit, |prompt| prompt.dialect.is_implicit())
    }

    /// Whether it asked for entries of one hour and of five minutes.
    pub(super) fn asks_for_both(&self) -> bool {
        use antefix_wire::anthropic::Ttl as Wire;
        let by_usage = self.usage.is_some_and(|usage| !usage.write_5m.is_zero() && !usage.write_1h.is_zero());
        let by_markers = self.prompt.is_some_and(|prompt| {
            let asks =
                |ttl| prompt.automatic == Some(ttl) || prompt.items().any(|item| item.marker == Some(ttl));
            asks(Wire::FiveMinutes) && asks(Wire::OneHour)
        });
        by_usage || by_markers
    }

    /// How long what this request wrote or read lives; `None` where the provider promises nothing.
    pub(super) fn lifetime(&self) -> Option<Ttl> {
        if self.ttl.is_some() {
            return self.ttl;
        }
        if self.is_implicit() {
            return None;
        }
        let written = self.usage.map(|usage| (usage.write_5m.is_zero(), usage.write_1h.is_zero()));
        match written {
            Some((false, true)) => return Some(Ttl::FiveMinutes),
            // What lives short stands behind what lives long, so that it is the end that counts; where the markers
            // are known, they say more, since servers write results of their own tools for five minutes.
            Some((false, false)) if self.prompt.is_none() => return Some(Ttl::FiveMinutes),
            Some((true, false)) => return Some(Ttl::OneHour),
            _ => {}
        }
        let prompt = self.prompt?;
        let last = prompt.automatic.or_else(|| prompt.items().filter_map(|item| item.marker).last())?;
        Some(match last {
            antefix_wire::anthropic::Ttl::FiveMinutes => Ttl::FiveMinutes,
            antefix_wire::anthropic::Ttl::OneHour => Ttl::OneHour,
        })
    }
}
