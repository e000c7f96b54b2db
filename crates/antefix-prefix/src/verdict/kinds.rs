//! The table of kinds: all that a verdict can be called.
//!
//! One row each says where it strikes, who can cause it, how it is seen, whether it is a fault, what repairs it, and
//! the public reports or provider's rules behind it. The table drives the code, `docs/breaks.md` and the tests. What
//! fits no row is called `tools.changed`, `system.changed`, `messages.rewritten` or `unexplained`.

#[macro_use]
mod made;
mod table;

pub use table::Kind;

use super::{Party, Severity};

/// The part of a request, or of its life, that a kind is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Tool definitions.
    Tools,
    /// The system prompt.
    System,
    /// The conversation.
    Messages,
    /// Settings beside the prompt.
    Parameters,
    /// Where the request was sent.
    Routing,
    /// Cache markers.
    Layout,
    /// Lifetimes and overlaps.
    Time,
    /// The provider's own doing.
    Provider,
    /// Between client and provider.
    Gateway,
    /// Counts alone.
    Usage,
    /// Book-keeping.
    Ledger,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name in output.
    pub id: &'static str,
    /// What it is about.
    pub segment: Segment,
    /// A fault, expected, or for information.
    pub class: Severity,
    /// Who can cause it, the likeliest first.
    pub causes: &'static [Party],
    /// How it shows in two bodies; empty where it does not.
    pub pair: &'static str,
    /// How it shows in usage alone; empty where it does not.
    pub usage: &'static str,
    /// What the agent can do.
    pub agent: Option<&'static str>,
    /// What a gateway can do.
    pub gateway: Option<&'static str>,
    /// Whether the gateway's repair leaves what the model is told as it was.
    pub safe: bool,
    /// The server's reasons that say the same.
    pub server: &'static [&'static str],
    /// Public reports and provider's rules.
    pub sources: &'static [&'static str],
    /// What happened, in one plain sentence.
    pub sentence: &'static str,
}

impl Kind {
    /// The name in output.
    pub const fn id(self) -> &'static str {
        self.row().id
    }

    /// A kind that says no more than which part changed.
    pub fn is_generic(self) -> bool {
        matches!(self, Self::ToolsChanged | Self::SystemChanged | Self::Rewritten | Self::Unexplained)
    }
}

/// The table as a page in Markdown: `docs/breaks.md`.
pub fn breaks_table() -> String {
    let mut page = String::from(PAGE_HEAD);
    for kind in Kind::ALL {
        let row = kind.row();
        let causes: Vec<_> = row.causes.iter().map(|party| party.word()).collect();
        let (about, class, causes) = (word(row.segment), row.class.word(), causes.join(", "));
        page += &format!("\n## `{}`\n{}\n\n", row.id, row.sentence);
        page += &format!("- about: {about}; {class}; caused by: {causes}\n");
        let seen = [("in two bodies", row.pair), ("in usage alone", row.usage)];
        for (place, text) in seen.iter().filter(|(_, text)| !text.is_empty()) {
            page += &format!("- seen {place}: {text}\n");
        }
        if let Some(text) = row.agent {
            page += &format!("- the agent can: {text}\n");
        }
        if let Some(text) = row.gateway {
            let safe =
                if row.safe { "the model is told the same" } else { "may change what the model is told" };
            page += &format!("- a gateway can: {text} ({safe})\n");
        }
        page += &format!("- sources: {}\n", row.sources.join(", "));
    }
    page
}

const fn word(segment: Segment) -> &'static str {
    match segment {
        Segment::Tools => "tools",
        Segment::System => "system prompt",
        Segment::Messages => "messages",
        Segment::Parameters => "parameters",
        Segment::Routing => "routing",
        Segment::Layout => "markers",
        Segment::Time => "time",
        Segment::Provider => "provider",
        Segment::Gateway => "gateway",
        Segment::Usage => "usage",
        Segment::Ledger => "book-keeping",
    }
}

const PAGE_HEAD: &str = "# Why a prompt cache breaks: the kinds\n\
    Generated from the table in `antefix-prefix` (`cargo run -p antefix-prefix --example breaks_table > docs/breaks.md`).\n\
    `antefix explain` names these. A kind stands here only with a public report or a provider's rule behind it.\n";
