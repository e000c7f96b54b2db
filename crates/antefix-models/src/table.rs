//! The data as a page for readers.

mod providers;

use std::fmt::Write as _;

pub use providers::providers_table;

use jiff::civil::Date;

use crate::registry::{Days, Model, Origin, PlatformRow, registry};
use crate::rules::{Collapse, Minimum, Retention, Support};
use crate::{Platform, Price, Prices, Tokens, rules};

/// Every row of the data as Markdown: what `docs/models.md` holds.
pub fn models_table() -> String {
    [INTRODUCTION.to_owned(), models(), platforms(), prices(), fast_mode(), notes()].join("\n")
}

fn models() -> String {
    let mut page = String::from(
        "## Models\n\n| model | shortest prefix | window | output | thinking kept | bound | \
         in-band system / tools / effort | \
         levels of effort | tool prompt auto / any | retires |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for model in &registry().models {
        let tool_prompt = (model.tool_prompt.auto_or_none, model.tool_prompt.any_or_tool);
        let cells = [
            format!("`{}`", model.id),
            minimum(model),
            model.window.to_string(),
            model.max_output.to_string(),
            retention(model.retention).to_owned(),
            if model.binding { "yes" } else { "no" }.to_owned(),
            format!(
                "{} / {} / {}",
                word(model.in_band_system),
                word(model.in_band_tools),
                word(model.in_band_effort)
            ),
            if model.efforts.is_empty() { "–".to_owned() } else { model.efforts.join(", ") },
            format!("{} / {}", optional(tool_prompt.0), optional(tool_prompt.1)),
            retirement(model),
        ];
        row(&mut page, &cells);
    }
    page
}

fn platforms() -> String {
    let mut page = String::from(
        "## Platforms\n\n| platform | lookback | runs are one position | markers | 1 h | \
         automatic marker | diagnostics | \
         in-band system / tools / effort / clear_at | batch | US only | regional | fast mode |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for platform in &registry().platforms {
        row(&mut page, &platform_cells(platform));
    }
    list(&mut page, "No automatic marker on Bedrock", |model| model.legacy_bedrock);
    list(&mut page, "No US-only inference", |model| !model.geo_us);
    list(&mut page, "No regional surcharge", |model| !model.regional_premium);
    page
}

fn list(page: &mut String, what: &str, holds: fn(&Model) -> bool) {
    let models = registry().models.iter().filter(|model| holds(model));
    let models: Vec<_> = models.map(|model| format!("`{}`", model.id)).collect();
    let _ = writeln!(page, "\n{what}: {}.", models.join(", "));
}

fn platform_cells(row: &PlatformRow) -> [String; 12] {
    let collapse = match row.collapse {
        Collapse::Yes => "yes",
        Collapse::No => "no",
        Collapse::Unknown => "not documented",
    };
    let in_band = [row.in_band_system, row.in_band_tools, row.in_band_effort, row.in_band_clear_at];
    [
        format!("`{}`", row.platform),
        row.lookback.to_string(),
        collapse.to_owned(),
        row.max_markers.to_string(),
        word(row.one_hour_ttl).to_owned(),
        word(row.automatic_marker).to_owned(),
        word(row.diagnostics).to_owned(),
        in_band.map(word).join(" / "),
        percent(row.batch),
        percent(row.geo_us),
        percent(row.regional),
        if row.fast { "yes" } else { "–" }.to_owned(),
    ]
}

fn prices() -> String {
    let mut page = String::from(
        "## Prices\n\nUS dollars per million tokens. A row with a prompt length holds for the whole request. \
         A platform called `compatible` has no prices.\n\n| model | days | prompt | input | write 5 m | \
         write 1 h | read | output | read / input | source | read on |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for price in &registry().prices {
        let Prices { input, write_5m, write_1h, read, output } = price.prices;
        let prompt = price.above.map_or_else(|| "any".to_owned(), |above| format!("> {above}"));
        let mut cells = vec![format!("`{}`", price.model), days(price.days), prompt];
        cells.extend([input, write_5m, write_1h, read, output].map(Price::usd_per_million));
        cells.push(format!("1/{}", input.0 / read.0.max(1)));
        cells.extend([price.origin.source.to_owned(), price.origin.date.to_string()]);
        row(&mut page, &cells);
    }
    page
}

fn fast_mode() -> String {
    let mut page =
        String::from("## Fast mode\n\n| model | days | price | source | read on |\n|---|---|---|---|---|\n");
    for fast in &registry().fast {
        let origin = [fast.origin.source.to_owned(), fast.origin.date.to_string()];
        let cells = [format!("`{}`", fast.model), days(fast.days), percent(Some(fast.percent))];
        row(&mut page, &[cells.as_slice(), &origin].concat());
    }
    page
}

fn notes() -> String {
    let mut page = String::from("## Sources and notes\n\n");
    let registry = registry();
    for model in &registry.models {
        entry(&mut page, model.id, model.origin, &model.notes);
    }
    for row in &registry.platforms {
        entry(&mut page, row.platform.name(), row.origin, &row.notes);
    }
    let unknown = rules(Platform::Anthropic, "");
    let _ = writeln!(
        page,
        "- an unknown model: shortest prefix {} to {}, window {}, thinking of the last turn kept, bound, \
         no price.",
        unknown.minimum.below, unknown.minimum.sure, unknown.context_window
    );
    page
}

fn entry(page: &mut String, name: &str, origin: Origin, notes: &[&str]) {
    let _ = writeln!(page, "- {name}: {} (read {})", origin.source, origin.date);
    for note in notes {
        let _ = writeln!(page, "  - {note}");
    }
}

fn row(page: &mut String, cells: &[String]) {
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn minimum(model: &Model) -> String {
    let Minimum { below, sure, stated } = model.minimum;
    let band = if below == sure { String::new() } else { format!(" ({below} to {sure})") };
    let bedrock = model.minimum_on_bedrock.map_or_else(String::new, |tokens| format!(", Bedrock {tokens}"));
    format!("{stated}{band}{bedrock}")
}

fn retirement(model: &Model) -> String {
    match (model.retires, model.earliest_retirement) {
        (Some(day), _) => day.to_string(),
        (None, Some(day)) => format!("not before {day}"),
        (None, None) => "–".to_owned(),
    }
}

fn retention(retention: Retention) -> &'static str {
    match retention {
        Retention::AllTurns => "all turns",
        Retention::LastTurn => "last turn",
    }
}

fn word(support: Support) -> &'static str {
    match support {
        Support::Yes => "yes",
        Support::No => "no",
        Support::Unverified => "?",
    }
}

fn optional(tokens: Option<Tokens>) -> String {
    tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string())
}

fn percent(percent: Option<u64>) -> String {
    percent.map_or_else(|| "–".to_owned(), |percent| format!("{percent} %"))
}

fn days(days: Days) -> String {
    let before = |day: Date| format!("before {day}");
    match (days.from, days.until) {
        (None, None) => "any".to_owned(),
        (Some(from), None) => format!("from {from}"),
        (None, Some(until)) => before(until),
        (Some(from), Some(until)) => format!("from {from}, {}", before(until)),
    }
}

const INTRODUCTION: &str = "# Models\n\nWhat the data of `antefix-models` says about each model and platform. \
Generated: `cargo run -p antefix-models --example models_table > docs/models.md`.\n\n\
`?` means that no source says; nothing relies on it. A range behind a shortest prefix spans what sources claim: \
in it, a prefix that was not read is no break. Percentages are of the list price.\n\n\
Pages behind the columns, under platform.claude.com/docs/en: build-with-claude/prompt-caching (shortest prefix, \
lookback, markers), models/overview (window, output), build-with-claude/mid-conversation-system-messages \
(in-band), build-with-claude/thinking and preserved-thinking (kept, bound), agents-and-tools/tool-use/overview \
(tool prompt), about-claude/model-deprecations (retires), about-claude/pricing.\n";
