//! Prints `docs/models.md`.

fn main() {
    print!("{}", antefix_models::models_table());
}
