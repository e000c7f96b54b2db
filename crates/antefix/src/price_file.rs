//! The user's own prices: `prices.toml` in the folder of their configuration. `docs/prices.md` describes it.

use std::path::{Path, PathBuf};

use antefix_models::{ListedPrice, Platform, Price, PriceBook, Prices, Tokens};
use jiff::civil::Date;
use toml::{Table, Value};

use crate::environment::Environment;
use crate::failure::Failure;

/// Where the user's own prices are read from, if there is a place for them.
pub fn path(environment: &Environment) -> Option<PathBuf> {
    environment.config.as_ref().map(|config| config.join("prices.toml"))
}

/// All prices, the user's own in front.
///
/// # Errors
/// If their file cannot be read or says what cannot hold.
pub fn book(environment: &Environment) -> Result<PriceBook, Failure> {
    let Some(path) = path(environment) else { return Ok(PriceBook::default()) };
    let text = match crate::input::read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(PriceBook::default()),
        Err(error) => return Err(wrong(&path, &error.to_string())),
    };
    let own = parse(&text).map_err(|what| wrong(&path, &what).hint(EXAMPLE))?;
    PriceBook::with_own(own).map_err(|error| wrong(&path, &error.to_string()))
}

fn wrong(path: &Path, what: &str) -> Failure {
    Failure::usage(format!("`{}`: {what}", path.display()))
}

fn parse(text: &str) -> Result<Vec<ListedPrice>, String> {
    let mut file: Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let rows = match file.remove("price") {
        Some(Value::Array(rows)) => rows,
        None => Vec::new(),
        Some(_) => return Err("`price` is a list of tables: `[[price]]`".to_owned()),
    };
    if let Some(name) = file.keys().next() {
        return Err(format!("`{name}` is no known key"));
    }
    let rows = rows.into_iter().enumerate().map(|(index, row)| match row {
        Value::Table(row) => Fields { row, number: index + 1 }.price(),
        _ => Err("`price` is a list of tables: `[[price]]`".to_owned()),
    });
    rows.collect()
}

/// What stands in one `[[price]]`; each key is taken once, and what is left over is an error.
struct Fields {
    row: Table,
    number: usize,
}

impl Fields {
    fn price(mut self) -> Result<ListedPrice, String> {
        let input = self.decimal("input")?.ok_or_else(|| self.wrong("input", "is missing"))?;
        let output = self.decimal("output")?.ok_or_else(|| self.wrong("output", "is missing"))?;
        let prices = Prices {
            input,
            output,
            write_5m: self.decimal("write_5m")?.unwrap_or(input),
            write_1h: self.decimal("write_1h")?.unwrap_or(input),
            read: self.decimal("read")?.unwrap_or(input),
        };
        let platform = self.text("platform")?;
        let platform = match platform {
            Some(name) => {
                Some(Platform::from_name(&name).ok_or_else(|| self.wrong("platform", "is not known"))?)
            }
            None => None,
        };
        let price = ListedPrice {
            model: self.text("model")?.ok_or_else(|| self.wrong("model", "is missing"))?,
            platform,
            from: self.date("from")?,
            until: self.date("until")?,
            above: self.tokens("above")?,
            prices,
            source: self.text("source")?.ok_or_else(|| self.wrong("source", "is missing"))?,
            read_on: None,
            is_own: true,
        };
        match self.row.keys().next() {
            Some(name) => Err(self.wrong(name, "is no known key")),
            None => Ok(price),
        }
    }

    fn wrong(&self, key: &str, what: &str) -> String {
        format!("price {}: `{key}` {what}", self.number)
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.row.remove(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "is a text")),
        }
    }

    fn decimal(&mut self, key: &str) -> Result<Option<Price>, String> {
        let text = match self.row.remove(key) {
            None => return Ok(None),
            Some(Value::String(text)) => text,
            Some(Value::Integer(number)) => number.to_string(),
            // A binary fraction is not the price that was written.
            Some(_) => return Err(self.wrong(key, "is dollars per million tokens as text, such as \"0.25\"")),
        };
        let price = Price::from_usd_per_million(&text);
        let form = "is dollars per million tokens with at most six digits behind the point, such as \"0.25\"";
        price.map(Some).ok_or_else(|| self.wrong(key, form))
    }

    fn date(&mut self, key: &str) -> Result<Option<Date>, String> {
        match self.row.remove(key) {
            None => Ok(None),
            Some(Value::Datetime(date)) => date
                .to_string()
                .parse()
                .map(Some)
                .map_err(|_| self.wrong(key, "is a date such as 2026-11-30")),
            Some(_) => Err(self.wrong(key, "is a date such as 2026-11-30, without quotes")),
        }
    }

    fn tokens(&mut self, key: &str) -> Result<Option<Tokens>, String> {
        match self.row.remove(key) {
            None => Ok(None),
            Some(Value::Integer(number)) => u64::try_from(number)
                .map(|count| Some(Tokens(count)))
                .map_err(|_| self.wrong(key, "is a count")),
            Some(_) => Err(self.wrong(key, "is a count of tokens")),
        }
    }
}

/// What a file may look like.
const EXAMPLE: &str = "\
for example: [[price]] model = \"my-model\"  input = \"0.5\"  read = \"0.05\"  output = \"2\"  source = \"contract\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_read_exactly() {
        let text = "
[[price]]
model = \"my-model\"
platform = \"compatible\"
from = 2026-11-01
until = 2027-01-01
above = 1000
input = \"0.5\"
read = \"0.05\"
write_1h = 1
output = \"2.125\"
source = \"contract 7\"
";
        let expect = ListedPrice {
            model: "my-model".to_owned(),
            platform: Some(Platform::Compatible),
            from: Some(jiff::civil::date(2026, 11, 1)),
            until: Some(jiff::civil::date(2027, 1, 1)),
            above: Some(Tokens(1000)),
            prices: Prices {
                input: Price(500_000),
                write_5m: Price(500_000),
                write_1h: Price(1_000_000),
                read: Price(50_000),
                output: Price(2_125_000),
            },
            source: "contract 7".to_owned(),
            read_on: None,
            is_own: true,
        };
        assert_eq!(parse(text), Ok(vec![expect]));
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_hold_is_named() {
        let row = "[[price]]\nmodel = \"m\"\ninput = \"1\"\noutput = \"1\"\nsource = \"s\"\n";
        for (text, expect) in [
            ("[[price]]\nmodel = \"m\"\n".to_owned(), "price 1: `input` is missing"),
            (row.replace("source = \"s\"", ""), "price 1: `source` is missing"),
            (format!("{row}cost = 1"), "price 1: `cost` is no known key"),
            (
                format!("{row}{}", row.replace("\"1\"", "0.1")),
                "price 2: `input` is dollars per million tokens as text",
            ),
            (row.replace("input = \"1\"", "input = \"1e3\""), "price 1: `input` is dollars"),
            (format!("{row}from = \"2026\""), "price 1: `from` is a date"),
            (format!("{row}above = -1"), "price 1: `above` is a count"),
            (format!("{row}platform = \"moon\""), "price 1: `platform` is not known"),
            ("price = 1".to_owned(), "`price` is a list of tables"),
            ("prices = 1".to_owned(), "`prices` is no known key"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.starts_with(expect), "{error}\n{text}");
        }
    }
}
