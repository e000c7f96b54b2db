//! `antefix sim --check`: what the simulator predicts of a captured trace, against what the provider reported.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use antefix_ledger::{Convention, Row};
use antefix_wire::json::{Kind, Node};

use crate::commands::diff::body;
use crate::failure::Failure;
use crate::forecast::{Trial, compare, json, lines};
use crate::out::{say, tell};

/// Compares and says where the two disagree; exit code 1 if they do.
pub fn check(folder: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    let compared = compare(&trials(folder)?);
    if as_json {
        say!("{}", json(&compared));
    } else {
        say!("{}", lines(&compared).join("\n"));
        let told = compared.iter().filter(|one| one.agrees().is_some()).count();
        let right = compared.iter().filter(|one| one.agrees() == Some(true)).count();
        tell!(
            "{right} of {told} requests with a usage read and wrote what was predicted; sizes are not compared"
        );
    }
    let disagrees = compared.iter().any(|one| one.agrees() == Some(false));
    Ok(ExitCode::from(u8::from(disagrees)))
}

/// The requests of a folder that `--capture DIR` has written (docs/formats/capture.md), answered ones alone.
fn trials(folder: &Path) -> Result<Vec<Trial>, Failure> {
    let name = folder.display();
    let entries = std::fs::read_dir(folder)
        .map_err(|error| Failure::usage(format!("cannot read `{name}`: {error}")))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".meta.json"));
    paths.sort();
    let read = paths.iter().map(|path| trial(path)).collect::<Result<Vec<_>, _>>()?;
    let mut trials: Vec<Trial> = read.into_iter().flatten().collect();
    trials.sort_by_key(|trial| trial.at_ms);
    if trials.is_empty() {
        return Err(Failure::usage(format!("`{name}` holds no captured request that was answered"))
            .hint("`--capture DIR` writes them"));
    }
    Ok(trials)
}

fn trial(meta: &Path) -> Result<Option<Trial>, Failure> {
    let sent = PathBuf::from(meta.to_string_lossy().replace(".meta.json", ".body.json"));
    let parsed = body(meta)?;
    let root = parsed.root();
    let is_message = root.get("path").and_then(Node::str).is_none_or(|path| path.starts_with("/v1/messages"));
    if root.get("status").and_then(Node::u64) != Some(200) || !is_message {
        return Ok(None);
    }
    let usage = root.get("usage").filter(|usage| usage.kind() == Kind::Object);
    let betas = root.get("headers").and_then(|headers| headers.get("anthropic-beta")).and_then(Node::str);
    let name = sent.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Some(Trial {
        name,
        at_ms: root.get("at_ms").and_then(Node::u64).unwrap_or(0),
        betas: betas.map(|text| text.into_owned()),
        body: body(&sent)?.into_bytes(),
        real: usage.map(|usage| Row::read(usage, Convention::detect(usage)).counts),
    }))
}
