//! Rules and dated prices per model and platform, as data; integer money.
