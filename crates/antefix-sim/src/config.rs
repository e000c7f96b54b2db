//! What can be set: knobs for everything the provider does not document or that differs between platforms.

/// The simulator's settings; `Config::default()` is the Claude API as documented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {}
