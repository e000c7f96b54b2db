//! `docs/models.md` is what the data says.

use std::path::Path;

#[test]
fn the_page_is_generated_from_the_data() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(page == antefix_models::models_table(), "{} is stale: {REGENERATE}", path.display());
}

const REGENERATE: &str = "cargo run -p antefix-models --example models_table > docs/models.md";
