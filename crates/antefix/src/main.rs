//! The antefix command.

fn main() {}
