//! Prints `docs/providers.md`.

fn main() {
    print!("{}", antefix_models::providers_table());
}
