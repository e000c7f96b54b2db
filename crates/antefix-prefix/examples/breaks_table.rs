//! Prints `docs/breaks.md`.

fn main() {
    print!("{}", antefix_prefix::verdict::breaks_table());
}
