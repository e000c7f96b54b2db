//! What the simulator predicts of requests that a real provider has answered, and where the two disagree.
//!
//! The simulator does not imitate a tokeniser, so sizes cannot be compared. What can is *what was read*: nothing,
//! exactly what an earlier request had in the cache when its answer was over, or a part of that; and whether anything
//! was written, and to live how long.

use antefix_models::{Counts, Tokens};
use antefix_sim::{Binding, Config, HttpRequest, Millis, Script, Simulator};

use crate::stream_json::{Object, SCHEMA_VERSION, array};

/// A request that was answered.
pub struct Trial {
    /// What it is, for people.
    pub name: String,
    /// When it left, in milliseconds.
    pub at_ms: u64,
    /// Its `anthropic-beta` header.
    pub betas: Option<String>,
    /// Its body.
    pub body: Vec<u8>,
    /// What the provider reported; `None` if it reported nothing.
    pub real: Option<Counts>,
}

/// What was predicted of a request and what the provider reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// What it is.
    pub name: String,
    /// What the simulator bills; `None` if it refuses the request.
    pub predicted: Option<(Counts, Shape)>,
    /// What the provider billed.
    pub real: Option<(Counts, Shape)>,
}

/// What a usage says, sizes aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What was read.
    pub reads: Reads,
    /// Something was written to live five minutes.
    pub writes_5m: bool,
    /// Something was written to live one hour.
    pub writes_1h: bool,
}

/// What was read from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Nothing.
    Nothing,
    /// All that the request of this number, from 1, had in the cache.
    All(usize),
    /// Something else: a part of what a request had.
    Part,
}

impl Compared {
    /// Whether both say the same; `None` where one says nothing.
    pub fn agrees(&self) -> Option<bool> {
        let ((_, predicted), (_, real)) = self.predicted.zip(self.real)?;
        Some(predicted == real)
    }
}

impl Shape {
    /// The shape in words.
    pub fn words(self) -> String {
        let reads = match self.reads {
            Reads::Nothing => "reads nothing".to_owned(),
            Reads::All(number) => format!("reads all that request {number} had in the cache"),
            Reads::Part => "reads a part of what was in the cache".to_owned(),
        };
        let writes = match (self.writes_5m, self.writes_1h) {
            (false, false) => "writes nothing",
            (true, false) => "writes for five minutes",
            (false, true) => "writes for one hour",
            (true, true) => "writes for five minutes and for one hour",
        };
        format!("{reads}, {writes}")
    }
}

/// Replays trials, which are in order of time, and compares.
pub fn compare(trials: &[Trial]) -> Vec<Compared> {
    let config = Config { accept_unknown_models: true, binding: Binding::Never, ..Config::default() };
    let mut simulator = Simulator::new(config, Script::default_script());
    let predicted: Vec<Option<Counts>> = trials.iter().map(|trial| bill(&mut simulator, trial)).collect();
    let real: Vec<Option<Counts>> = trials.iter().map(|trial| trial.real).collect();
    let both = shapes(&predicted).into_iter().zip(shapes(&real)).zip(trials);
    both.map(|((predicted, real), trial)| Compared { name: trial.name.clone(), predicted, real }).collect()
}

fn bill(simulator: &mut Simulator, trial: &Trial) -> Option<Counts> {
    let mut headers = vec![
        ("x-api-key".to_owned(), "forecast".to_owned()),
        ("anthropic-version".to_owned(), "2023-06-01".to_owned()),
    ];
    headers.extend(trial.betas.clone().map(|betas| ("anthropic-beta".to_owned(), betas)));
    let request = HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body: &trial.body };
    if simulator.handle(&request, Millis(trial.at_ms)).status != 200 {
        return None;
    }
    let billed = simulator.log().last()?;
    Some(Counts {
        uncached: Tokens(billed.uncached),
        read: Tokens(billed.read),
        write_5m: Tokens(billed.write_5m),
        write_1h: Tokens(billed.write_1h),
        output: Tokens(billed.output),
    })
}

/// The shape of each usage, told by the usages in front of it.
fn shapes(all: &[Option<Counts>]) -> Vec<Option<(Counts, Shape)>> {
    let cached = |counts: &Counts| counts.read + counts.write_5m + counts.write_1h;
    let reads = |index: usize, counts: &Counts| {
        if counts.read.is_zero() {
            return Reads::Nothing;
        }
        // The first of several that had the same.
        let had =
            |earlier: &Option<Counts>| earlier.as_ref().is_some_and(|earlier| cached(earlier) == counts.read);
        all.iter().take(index).position(had).map_or(Reads::Part, |at| Reads::All(at + 1))
    };
    let shape = |(index, counts): (usize, &Option<Counts>)| {
        let counts = (*counts)?;
        let (writes_5m, writes_1h) = (!counts.write_5m.is_zero(), !counts.write_1h.is_zero());
        Some((counts, Shape { reads: reads(index, &counts), writes_5m, writes_1h }))
    };
    all.iter().enumerate().map(shape).collect()
}

/// The comparison as lines for people.
pub fn lines(compared: &[Compared]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, one) in compared.iter().enumerate() {
        let sign = match one.agrees() {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "·",
        };
        lines.push(format!("{sign} {} {}", index + 1, one.name));
        let said = |side: &Option<(Counts, Shape)>, nothing: &str| {
            side.map_or_else(
                || nothing.to_owned(),
                |(counts, shape)| {
                    let written = counts.write_5m + counts.write_1h;
                    format!(
                        "{} (read {}, written {}, neither {} tokens)",
                        shape.words(),
                        counts.read,
                        written,
                        counts.uncached
                    )
                },
            )
        };
        if one.agrees() == Some(true) {
            lines.push(format!("    {}", said(&one.real, "no usage")));
        } else {
            lines.push(format!("    predicted: {}", said(&one.predicted, "the simulator refuses it")));
            lines.push(format!("    reported:  {}", said(&one.real, "no usage")));
        }
    }
    lines
}

/// The comparison as JSON.
pub fn json(compared: &[Compared]) -> String {
    let side = |side: &Option<(Counts, Shape)>| {
        let Some((counts, shape)) = side else { return "null".to_owned() };
        let mut object = Object::new();
        object.text("words", &shape.words()).number("read", counts.read.0);
        object.number("write_5m", counts.write_5m.0).number("write_1h", counts.write_1h.0);
        object.number("ordinary", counts.uncached.0);
        object.close()
    };
    let rows = compared.iter().map(|one| {
        let mut object = Object::new();
        object.text("name", &one.name);
        object.raw("agrees", &one.agrees().map_or_else(|| "null".to_owned(), |agrees| agrees.to_string()));
        object.raw("predicted", &side(&one.predicted)).raw("reported", &side(&one.real));
        object.close()
    });
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION);
    object.boolean("agrees", compared.iter().all(|one| one.agrees() != Some(false)));
    object.raw("requests", &array(rows));
    object.close()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(uncached: u64, read: u64, write_5m: u64, write_1h: u64) -> Counts {
        let [uncached, read, write_5m, write_1h] = [uncached, read, write_5m, write_1h].map(Tokens);
        Counts { uncached, read, write_5m, write_1h, output: Tokens::ZERO }
    }

    #[test]
    fn a_shape_is_told_by_what_earlier_requests_had() {
        let all = [
            Some(usage(3, 0, 100, 0)),
            Some(usage(3, 100, 0, 0)),
            None,
            Some(usage(3, 100, 0, 20)),
            Some(usage(3, 60, 50, 0)),
            Some(usage(3, 120, 0, 0)),
            Some(usage(3, 0, 0, 0)),
        ];
        let found: Vec<_> = shapes(&all).iter().map(|shape| shape.map(|(_, shape)| shape.words())).collect();
        let expect = [
            Some("reads nothing, writes for five minutes"),
            Some("reads all that request 1 had in the cache, writes nothing"),
            None,
            Some("reads all that request 1 had in the cache, writes for one hour"),
            Some("reads a part of what was in the cache, writes for five minutes"),
            Some("reads all that request 4 had in the cache, writes nothing"),
            Some("reads nothing, writes nothing"),
        ];
        assert_eq!(found, expect.map(|text| text.map(str::to_owned)));
    }
}
