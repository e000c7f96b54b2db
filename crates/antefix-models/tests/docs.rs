//! `docs/models.md` and `docs/providers.md` are what the data says.

use std::path::Path;

#[test]
fn the_pages_are_generated_from_the_data() {
    for (name, page) in
        [("models", antefix_models::models_table()), ("providers", antefix_models::providers_table())]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{name}.md"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let regenerate = format!("cargo run -p antefix-models --example {name}_table > docs/{name}.md");
        assert!(text == page, "{} is stale: {regenerate}", path.display());
    }
}
