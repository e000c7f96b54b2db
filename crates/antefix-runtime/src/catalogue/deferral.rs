use antefix_models::Tokens;
use antefix_tools::Listing;

/// Which tools are left out of the prompt until they are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deferral {
    /// Those of servers, where their definitions are long enough that leaving them out pays.
    #[default]
    Auto,
    /// Those of servers.
    On,
    /// None.
    Off,
    /// All but the two that find and call the others.
    All,
}

impl Deferral {
    /// Every choice.
    pub const ALL: [Self; 4] = [Self::Auto, Self::On, Self::Off, Self::All];

    /// The name in settings and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
            Self::All => "all",
        }
    }

    /// The choice of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }

    /// How the tools of servers are listed, whose definitions have so many bytes; `is_native` says that requests take
    /// `defer_loading`.
    pub(super) fn listing(self, is_native: bool, bytes: u64, window: Tokens) -> Listing {
        let tokens = Tokens::of_bytes(bytes);
        let pays = match (self, is_native) {
            (Self::Off, _) => false,
            (Self::On | Self::All, _) => true,
            (Self::Auto, true) => tokens >= DEFER_FROM,
            (Self::Auto, false) => tokens.0 > window.0 / CROWDED,
        };
        match (pays, is_native) {
            (false, _) => Listing::Open,
            (true, true) => Listing::Deferred,
            (true, false) => Listing::Hidden,
        }
    }
}

/// Tokens of definitions, estimated at 3.5 bytes each, from which on `auto` defers where `defer_loading` is taken.
///
/// What is in the prompt is written once (1.25 × the input price) and read with each further request (0.025–0.1 ×). A
/// search costs one request more: the whole prompt read once, and some hundred tokens of output. With a prompt of 30,000
/// tokens, 20 requests, three searches and reads at 0.1 ×, both cost the same at about 3,500 tokens of definitions;
/// at 0.025 × at about 2,600. Below that, deferring costs more than it saves, and a model that need not search makes
/// fewer mistakes.
pub const DEFER_FROM: Tokens = Tokens(4_000);

/// Where tools are called through another tool, they are left out only if they would fill more than this part of the
/// window: how well models call tools that way has not been measured.
const CROWDED: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_tools_of_servers_stand() {
        let (few, many) = (13_999, 14_000);
        for (deferral, is_native, bytes, window, expect) in [
            (Deferral::Auto, true, few, 200_000, Listing::Open),
            (Deferral::Auto, true, many, 200_000, Listing::Deferred),
            (Deferral::Auto, false, many, 200_000, Listing::Open),
            (Deferral::Auto, false, many, 32_000, Listing::Hidden),
            (Deferral::Off, true, many, 200_000, Listing::Open),
            (Deferral::On, true, few, 200_000, Listing::Deferred),
            (Deferral::On, false, few, 200_000, Listing::Hidden),
            (Deferral::All, true, few, 200_000, Listing::Deferred),
        ] {
            let got = deferral.listing(is_native, bytes, Tokens(window));
            assert_eq!(got, expect, "{deferral:?} {is_native} {bytes} {window}");
        }
        for choice in Deferral::ALL {
            assert_eq!(Deferral::from_name(choice.name()), Some(choice));
        }
    }
}
