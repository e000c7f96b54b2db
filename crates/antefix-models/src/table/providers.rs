//! The presets and templates as a page for readers.

use std::fmt::Write as _;

use super::{days, entry, percent, row};
use crate::preset::{Choice, Preset};
use crate::registry::registry;
use crate::{Price, Prices, Rewrite};

/// Every preset, template and price of servers that speak Chat Completions, as Markdown: what `docs/providers.md`
/// holds.
pub fn providers_table() -> String {
    [INTRODUCTION.to_owned(), presets(), keys(), templates(), prices(), notes()].join("\n")
}

fn presets() -> String {
    let mut page = String::from(
        "## Presets\n\n| `--provider` | what | address | key | prices | context length | session affinity | \
         template |\n|---|---|---|---|---|---|---|---|\n",
    );
    for preset in Preset::all() {
        let affinity: Vec<_> = preset.affinity.iter().map(|one| format!("`{one}`")).collect();
        let about = preset
            .retired
            .map_or_else(|| preset.about.clone(), |day| format!("{}; retired on {day}", preset.about));
        let cells = [
            format!("`{}`", preset.name),
            about,
            preset.base_url.as_ref().map_or_else(|| "`--base-url`".to_owned(), |url| format!("`{url}`")),
            key(preset),
            format!("`{}`", preset.platform),
            Choice::name(preset.context_probe).to_owned(),
            if affinity.is_empty() { "–".to_owned() } else { affinity.join(", ") },
            preset.template.as_deref().map_or_else(|| "by model".to_owned(), class),
        ];
        row(&mut page, &cells);
    }
    page
}

fn key(preset: &Preset) -> String {
    match &preset.key_env {
        Some(name) if preset.key_needed => format!("`{name}`"),
        Some(name) => format!("`{name}`, if set"),
        None => "`--api-key-env`".to_owned(),
    }
}

fn keys() -> String {
    let mut page = String::from(OWN_PRESETS);
    for (key, takes, means) in KEYS {
        row(&mut page, &[format!("`{key}`"), (*takes).to_owned(), (*means).to_owned()]);
    }
    page
}

fn templates() -> String {
    let mut page = String::from(TEMPLATES);
    for template in &registry().templates {
        let models: Vec<_> = template.models.iter().map(|part| format!("`{part}`")).collect();
        let cells = [
            models.join(", "),
            class(&template.rewrites),
            if template.strict_alternation { "strict" } else { "–" }.to_owned(),
            Choice::name(template.late_system).to_owned(),
            if template.certain { "yes" } else { "no" }.to_owned(),
            format!("{} (read {})", template.origin.source, template.origin.date),
        ];
        row(&mut page, &cells);
    }
    page
}

fn class(rewrites: &[Rewrite]) -> String {
    if rewrites.is_empty() {
        return crate::template::APPEND_ONLY.to_owned();
    }
    rewrites.iter().map(|rewrite| rewrite.name()).collect::<Vec<_>>().join(", ")
}

fn prices() -> String {
    let mut page = String::from(PRICES);
    for price in &registry().chat_prices {
        let models: Vec<_> = price.models.iter().map(|model| format!("`{model}`")).collect();
        let Prices { input, read, output, .. } = price.prices;
        let mut cells = vec![format!("`{}`", price.platform), models.join(", "), days(price.days)];
        cells.extend([input, read, output].map(Price::usd_per_million));
        cells.extend([percent(price.peak), price.origin.source.to_owned(), price.origin.date.to_string()]);
        row(&mut page, &cells);
    }
    page
}

fn notes() -> String {
    let mut page = String::from("## Sources and notes\n\n");
    for preset in Preset::all() {
        if let Some(origin) = preset.origin {
            let notes: Vec<&str> = preset.notes.iter().map(String::as_str).collect();
            entry(&mut page, &preset.name, origin, &notes);
        }
    }
    for template in registry().templates.iter().filter(|template| !template.notes.is_empty()) {
        let _ = writeln!(page, "- template of {}:", template.models.join(", "));
        for note in &template.notes {
            let _ = writeln!(page, "  - {note}");
        }
    }
    page
}

/// The keys of a user's own preset: name, what it takes, what it means.
const KEYS: &[(&str, &str, &str)] = &[
    ("like", "name of a built-in preset [compatible]", "the preset that the others are taken from"),
    (
        "base_url",
        "text",
        "the address up to where `/chat/completions` goes; `{NAME}` stands for a variable of the environment",
    ),
    (
        "key_env",
        "text",
        "the variable of the environment that holds the key; the key itself never stands in a file",
    ),
    ("key_needed", "true, false", "whether nothing is asked without a key"),
    ("dialect", "openai-chat, anthropic", "the protocol"),
    (
        "platform",
        "name of a platform",
        "whose prices hold: `local` costs nothing, `compatible` has no prices",
    ),
    (
        "template",
        "append-only, or a list of reasoning-stripping, tools-late, dated",
        "what the server's templates do, whatever the model",
    ),
    ("template_unsure", "true, false", "whether that is a guess: the forecast then says *possibly*"),
    ("strict_alternation", "true, false", "user and assistant must take turns"),
    (
        "late_system",
        "yes, no, unverified",
        "whether a system message in the midst of the conversation is rendered where it stands, whatever the model; with yes, reminders are messages of the system prompt's role (docs/reminders.md)",
    ),
    ("context_probe", "models, props, ollama-show, none", "how the context length is found out"),
    (
        "affinity",
        "list of `header:NAME`, `member:NAME`",
        "where the session's id is sent, so that a router finds the machine that holds its cache: `header:x-session-affinity`, `header:x-grok-conv-id`, `member:session_id`, `member:prompt_cache_key`",
    ),
    (
        "include_usage",
        "true, false",
        "whether `stream_options.include_usage` is sent; without it tokens are estimates",
    ),
    ("tools", "yes, no, unverified", "whether models take tools; with no, none are offered"),
    ("reasoning", "sent-back, left-out", "what becomes of a model's reasoning in the requests that follow"),
    ("system_role", "system, developer", "the role of the system prompt"),
    ("max_tokens", "max_tokens, max_completion_tokens", "the member that limits the reply"),
    ("about", "text", "what it is, for `antefix doctor`"),
    ("notes", "list of texts", "what else there is to know"),
    ("retired", "day", "from when the service is gone"),
];

const INTRODUCTION: &str = "# Providers\n\nServers that speak Chat Completions, as the data of `antefix-models` has \
them. Generated: `cargo run -p antefix-models --example providers_table > docs/providers.md`.\n\n\
`antefix run --provider NAME --model MODEL` uses a preset; `--base-url URL` puts another address in its place and \
`--api-key-env NAME` another variable. `antefix doctor --provider NAME` says what is in force and asks the server for \
the length of its context.\n\n\
A server of one's own (prices `local`) costs nothing. What OpenRouter and xAI report as a response's cost is its cost. \
A service without prices is *unpriced*, never free.\n";

const OWN_PRESETS: &str = "## Own presets\n\nIn `settings.toml`, five lines or fewer:\n\n```toml\n\
[provider.mine]\nlike = \"vllm\"\nbase_url = \"http://10.0.0.5:8000/v1\"\nkey_env = \"MY_KEY\"\n\
template = \"reasoning-stripping\"\n```\n\n\
`antefix run --provider mine`. A key that is not known is an error. What a project's file says holds once its folder \
is trusted (docs/permissions.md).\n\n| key | takes | means |\n|---|---|---|\n";

const TEMPLATES: &str = "## Chat templates\n\nAn engine's cache goes by the prompt that it renders from the messages. \
Messages that only grow make a prompt that only grows if the template is *append-only*. Three classes are not, and the \
forecast calls what they cost *provider-limited*:\n\n\
- *reasoning-stripping*: the reasoning of a turn is left out once the user speaks again, so that the prompt changes \
from the first reasoning of that turn on;\n\
- *tools-late*: the tools stand in front of the user's last message, and the prompt changes from the one before on when \
the user speaks again;\n\
- *dated*: the day's date stands in front, and the whole prompt changes at midnight.\n\n\
The first row that names a part of the model's id counts, whatever the case. A model in no row is taken for \
append-only.\n\n| part of the id | class | roles | system message in the midst | read for this model | source |\n|---|---|---|---|---|---|\n";

const PRICES: &str = "## Prices\n\nUS dollars per million tokens. None of these services charges for writing to the \
cache. Peak hours multiply every price.\n\n\
| platform | models | days | input | read | output | peak | source | read on |\n|---|---|---|---|---|---|---|---|---|\n";
