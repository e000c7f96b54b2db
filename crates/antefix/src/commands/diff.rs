//! `antefix diff`: where a later request stops extending an earlier one.

mod parameters;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use antefix_prefix::{Change, Class, Difference, Side, first_difference, positions};
use antefix_wire::anthropic::{Request, Ttl};
use antefix_wire::json::Body;

use crate::cli::DiffArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::out::say;
use crate::stream_json::{Object, SCHEMA_VERSION, array};

use antefix_prefix::verdict::Effect;
use parameters::Parameter;

type Markers = Vec<(String, &'static str)>;

/// `antefix diff`
pub fn diff(args: &DiffArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let (earlier, later) = (body(&args.earlier)?, body(&args.later)?);
    let found = first_difference(&earlier, &later).map_err(Failure::usage)?;
    let parameters = parameters::changed(earlier.root(), later.root());
    let markers = (markers(&earlier)?, markers(&later)?);
    if args.json {
        say!("{}", json(found.as_ref(), &parameters, &markers));
    } else {
        print(found.as_ref(), environment.colour && std::io::stdout().is_terminal());
        for parameter in &parameters {
            say!("/{}: {}", parameter.name, parameters::words(parameter.effect));
        }
        if markers.0 != markers.1 {
            say!("markers: {} -> {}", shown(&markers.0), shown(&markers.1));
        }
    }
    let breaks = found.is_some_and(|found| found.class == Class::Normal)
        || parameters.iter().any(|parameter| parameter.effect != Effect::None);
    Ok(ExitCode::from(u8::from(breaks)))
}

/// The markers of a request, as pointer and lifetime.
fn markers(body: &Body) -> Result<Markers, Failure> {
    let request = Request::read(body.root()).map_err(Failure::usage)?;
    let word = |ttl| if ttl == Ttl::OneHour { "1h" } else { "5m" };
    let automatic = request.cache_control.map(|marker| ("(automatic)".to_owned(), word(marker.ttl)));
    let set = positions(&request)
        .into_iter()
        .filter_map(|position| Some((position.pointer(), word(position.marker?))));
    Ok(set.chain(automatic).collect())
}

fn shown(markers: &Markers) -> String {
    if markers.is_empty() {
        return "none".to_owned();
    }
    markers.iter().map(|(pointer, ttl)| format!("{pointer} {ttl}")).collect::<Vec<_>>().join(", ")
}

/// Reads a file that holds a request body.
///
/// # Errors
/// If it cannot be read or is not JSON.
pub fn body(path: &Path) -> Result<Body, Failure> {
    let name = path.display();
    let bytes =
        crate::input::read(path).map_err(|error| Failure::usage(format!("cannot read `{name}`: {error}")))?;
    Body::parse(bytes).map_err(|error| Failure::usage(format!("`{name}` is not JSON: {error}")))
}

fn print(found: Option<&Difference>, colour: bool) {
    let paint = |code: &str, text: &str| {
        if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let Some(found) = found else {
        return say!(
            "no difference: the later request extends the earlier one, byte for byte but for markers"
        );
    };
    let offset = found.offset.map_or_else(String::new, |offset| format!(" at byte {offset} of the value"));
    let side = match found.side {
        Side::Earlier => " (in the earlier request)",
        Side::Later => "",
    };
    say!("{}{offset}{side}: {}", paint("1", &found.pointer), words(found));
    if let Some(text) = &found.earlier {
        say!("{}", paint("31", &format!("- {text}")));
    }
    if let Some(text) = &found.later {
        say!("{}", paint("32", &format!("+ {text}")));
    }
}

fn words(found: &Difference) -> &'static str {
    match (found.class, found.change) {
        (Class::Wire, _) => "spelled another way with the same meaning; the prompt stays the same",
        (_, Change::Added) => "the later request has something here that the earlier one has not",
        (_, Change::Removed) => "the later request lacks what the earlier one has here",
        (_, Change::Replaced) => "another thing stands here",
        (_, Change::Value) => "the value differs",
        (_, Change::KeyOrder) => "the same keys stand in another order, and here that counts",
        (_, Change::Spelling) => "it is spelled another way",
    }
}

fn json(found: Option<&Difference>, changed: &[Parameter], markers: &(Markers, Markers)) -> String {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION);
    object.boolean("extends", found.is_none_or(|found| found.class == Class::Wire));
    object.boolean("same_bytes", found.is_none());
    let rows = changed.iter().map(|parameter| {
        let mut row = Object::new();
        row.text("path", &format!("/{}", parameter.name)).text("effect", parameters::word(parameter.effect));
        row.close()
    });
    object.raw("parameters", &array(rows));
    object.boolean("markers_moved", markers.0 != markers.1);
    let Some(found) = found else {
        object.raw("difference", "null");
        return object.close();
    };
    let mut inner = Object::new();
    inner.text("path", &found.pointer);
    inner.text("side", if found.side == Side::Earlier { "earlier" } else { "later" });
    inner.text("class", if found.class == Class::Wire { "wire" } else { "normal" });
    inner.text("change", change_word(found.change));
    inner.raw("offset", &found.offset.map_or_else(|| "null".to_owned(), |offset| offset.to_string()));
    for (name, text) in [("earlier", &found.earlier), ("later", &found.later)] {
        match text {
            Some(text) => inner.text(name, text),
            None => inner.raw(name, "null"),
        };
    }
    object.raw("difference", &inner.close());
    object.close()
}

const fn change_word(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Replaced => "replaced",
        Change::Value => "value",
        Change::KeyOrder => "key_order",
        Change::Spelling => "spelling",
    }
}
