//! The strict reader sees in the data files what a full TOML reader sees: the files stay TOML.

use std::path::Path;

#[test]
fn the_data_files_are_toml() {
    for (name, tables) in [
        ("models", &["model"][..]),
        ("platforms", &["platform"]),
        ("prices", &["fast", "price"]),
        ("templates", &["template"]),
        ("presets", &["preset"]),
        ("chat_prices", &["chat_price"]),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/{name}.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let keys: Vec<_> = table.keys().map(String::as_str).collect();
        assert_eq!(keys, tables, "{name}");
        for (key, rows) in &table {
            let rows = rows.as_array().unwrap();
            assert_eq!(rows.len(), text.lines().filter(|line| *line == format!("[[{key}]]")).count());
            for row in rows {
                assert!(row["source"].is_str() && row["date"].is_datetime(), "{row:?}");
            }
        }
    }
}
