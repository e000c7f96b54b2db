//! What is made of the rows of the table.

macro_rules! kinds {
    ($($name:ident $id:literal {
        segment: $segment:ident, class: $class:ident, causes: [$($cause:ident),*],
        pair: $pair:literal,
        usage: $usage:literal,
        agent: $agent:expr,
        gateway: $gateway:expr,
        safe: $safe:literal,
        server: [$($server:literal),*],
        sources: [$($source:literal),*],
        sentence: $sentence:literal,
    }),* $(,)?) => {
        /// What a verdict is called; see its [`row`](Kind::row).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = concat!("`", $id, "`: ", $sentence)] $name),*
        }

        impl Kind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its row in the table.
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => &Row {
                        id: $id,
                        segment: Segment::$segment,
                        class: Severity::$class,
                        causes: &[$(Party::$cause),*],
                        pair: $pair,
                        usage: $usage,
                        agent: $agent,
                        gateway: $gateway,
                        safe: $safe,
                        server: &[$($server),*],
                        sources: &[$($source),*],
                        sentence: $sentence,
                    }),*
                }
            }
        }
    };
}
