//! `antefix conform`: one change between two messages, in each row another, with each kind of provider: what is kept of
//! the prompt, what is read from the cache, and whether the model is told.

mod captured;
mod column;
mod judge;
mod place;
mod print;
mod row;
mod rows;
mod scene;
mod servers;
mod zone;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;

use tokio::runtime::Handle;

use crate::cli::ConformArgs;
use crate::failure::Failure;
use crate::out::{prose, say, tell};

use captured::Captured;
use column::Column;
use judge::{Share, Verdict, judge};
use row::Row;
use scene::{Played, Scene};

/// A row in a column, played and judged.
pub struct Cell {
    /// Its row.
    pub row: Row,
    /// Its column.
    pub column: Column,
    /// What came of it.
    pub verdict: Verdict,
    /// The share that is read where nothing changes.
    pub expected: Share,
    /// Its captured requests.
    pub capture: PathBuf,
}

/// `antefix conform`
pub fn conform(args: &ConformArgs) -> Result<ExitCode, Failure> {
    if let Some(script) = &args.serve {
        return super::mcp::scripted(script);
    }
    let mut rows = rows::rows();
    rows.extend(args.peers.as_deref().map(servers::peers).unwrap_or_default());
    let rows = chosen(rows, |row| row.name, &args.row, "row")?;
    let columns = chosen(Column::ALL.to_vec(), |column| column.name(), &args.column, "column")?;
    if args.list {
        for line in print::list(&rows) {
            say!("{line}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let folders = Folders::make(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let stage = Stage { folders: &folders, runtime: runtime.handle(), jobs: jobs(args) };
    let cells = stage.play(&rows, &columns)?;
    let is_ok = cells.iter().all(|cell| cell.verdict.findings.is_empty());
    if args.json {
        say!("{}", print::json(&cells));
    } else {
        for line in print::table(&rows, &columns, &cells) {
            prose!("{line}");
        }
    }
    if folders.kept {
        tell!("the captured requests are in {}", folders.captures.display());
    }
    Ok(ExitCode::from(u8::from(!is_ok)))
}

/// Those with one of the names in theirs; all if none is asked for.
fn chosen<T>(
    all: Vec<T>,
    name: impl Fn(&T) -> &'static str,
    asked: &[String],
    what: &str,
) -> Result<Vec<T>, Failure> {
    for word in asked {
        if !all.iter().any(|one| name(one).contains(word.as_str())) {
            let names: Vec<_> = all.iter().map(&name).collect();
            return Err(Failure::usage(format!("no {what} has `{word}` in its name"))
                .hint(format!("the {what}s are {}", names.join(", "))));
        }
    }
    // A name that is asked for whole means that one alone.
    let is_meant = |one: &T| {
        asked.is_empty()
            || asked.iter().any(|word| {
                name(one) == word
                    || name(one).contains(word.as_str()) && all.iter().all(|one| name(one) != word)
            })
    };
    let meant: Vec<bool> = all.iter().map(is_meant).collect();
    Ok(all.into_iter().zip(meant).filter_map(|(one, meant)| meant.then_some(one)).collect())
}

fn jobs(args: &ConformArgs) -> usize {
    args.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Where scenes are played and their requests are kept.
struct Folders {
    scenes: PathBuf,
    captures: PathBuf,
    /// The captures stay.
    kept: bool,
}

impl Folders {
    fn make(args: &ConformArgs) -> Result<Self, Failure> {
        let own = std::env::temp_dir().join(format!("antefix-conform-{}", std::process::id()));
        let kept = args.keep.is_some() || args.json;
        let captures = match &args.keep {
            Some(folder) => std::path::absolute(folder)?,
            None if kept => own.with_extension("captures"),
            None => own.join("captures"),
        };
        if captures.exists() && captures.read_dir().map_or(true, |mut entries| entries.next().is_some()) {
            return Err(Failure::usage(format!("`{}` is there already and not empty", captures.display())));
        }
        std::fs::create_dir_all(&own)?;
        std::fs::create_dir_all(&captures)?;
        // Links in the path to temporary folders would make two names of one place.
        Ok(Self { scenes: std::fs::canonicalize(&own)?, captures, kept })
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        // What cannot be removed from the temporary folder is left to the system.
        let _ = std::fs::remove_dir_all(&self.scenes);
    }
}

/// What all cells share.
struct Stage<'a> {
    folders: &'a Folders,
    runtime: &'a Handle,
    jobs: usize,
}

impl Stage<'_> {
    /// Plays the unchanged run of each column first, then all cells, several at a time.
    fn play(&self, rows: &[Row], columns: &[Column]) -> Result<Vec<Cell>, Failure> {
        let unchanged = Row::new("unchanged", "nothing changes");
        let controls = self
            .all(columns.iter().map(|column| (unchanged.clone(), *column)).collect(), |_| Share::default())?;
        let expected = |column: Column| {
            controls
                .iter()
                .find(|cell| cell.column == column)
                .map_or(Share::default(), |cell| cell.verdict.cached)
        };
        let broken = controls.iter().find(|cell| !cell.verdict.kept.is_whole());
        if let Some(cell) = broken {
            let text = format!("{}: the prompt is not even kept where nothing changes", cell.column.name());
            return Err(Failure::failed(text));
        }
        let scenes = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, *column)));
        let scenes = scenes.filter(|(row, column)| (row.is_in)(*column));
        self.all(scenes.map(|(row, column)| (row.clone(), column)).collect(), expected)
    }

    /// Plays scenes, as many at a time as there are jobs; they come back in the order in which they were given.
    fn all(
        &self,
        scenes: Vec<(Row, Column)>,
        expected: impl Fn(Column) -> Share + Sync,
    ) -> Result<Vec<Cell>, Failure> {
        let count = scenes.len();
        let waiting = Mutex::new(scenes.into_iter().enumerate());
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(count) {
                scope.spawn(|| {
                    loop {
                        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some((at, (row, column))) = next else { break };
                        let cell = self.cell(row, column, expected(column));
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((at, cell));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, cell)| cell).collect()
    }

    /// Plays and judges one scene. A run that ends as it should not is a finding of the cell.
    fn cell(&self, row: Row, column: Column, expected: Share) -> Result<Cell, Failure> {
        let capture = self.folders.captures.join(row.name).join(column.name());
        std::fs::create_dir_all(&capture)?;
        let root = self.folders.scenes.join(format!("{}.{}", row.name, column.name()));
        let verdict = match self.scene(&row, column, root, &capture) {
            Ok((played, requests)) => {
                print::record(&row, column, &played, &requests, &capture)?;
                judge(&row, column, &requests, &played, expected)
            }
            Err(failure) => Verdict {
                kept: Share { part: 0, of: 1 },
                cached: Share { part: 0, of: 1 },
                findings: vec![failure.text().to_owned()],
                ..Verdict::default()
            },
        };
        Ok(Cell { row, column, verdict, expected, capture })
    }

    fn scene(
        &self,
        row: &Row,
        column: Column,
        root: PathBuf,
        capture: &Path,
    ) -> Result<(Played, Vec<Captured>), Failure> {
        let (played, bill) = Scene::set(column, root, capture, self.runtime)?.play(row)?;
        Ok((played, Captured::read_all(capture, &bill)?))
    }
}
