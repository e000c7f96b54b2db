//! `antefix growth`: what fills the history of a session, and what it costs to send it again and again.

mod json;
mod part;
mod print;
mod reads;
mod ride;

use std::process::ExitCode;

use antefix_ledger::Account;
use antefix_models::{Counts, Money, Tokens};
use antefix_runtime::transcript::read;

use crate::cli::GrowthArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::ledger::of_session;
use crate::out::say;
use crate::price_file;

use part::Part;
use reads::WholeRead;
use ride::Piece;

/// What a session's history consists of.
pub struct Growth {
    /// The session.
    pub session: String,
    /// What its requests cost, with the two figures that a bill hangs on.
    pub account: Account,
    /// Its pieces, in the order in which they came.
    pub pieces: Vec<Piece>,
    /// The pieces by kind, the dearest first.
    pub parts: Vec<(Part, Sum)>,
    /// The results of tools by file, the dearest first.
    pub files: Vec<(String, Sum)>,
    /// Files that were read whole, and how much of each was needed, the dearest first.
    pub reads: Vec<WholeRead>,
}

/// What some pieces weigh together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many they are.
    pub pieces: u64,
    /// Their own tokens, each counted once.
    pub tokens: Tokens,
    /// Requests in which one of them rode, added up over the pieces.
    pub rides: u64,
    /// Tokens that were sent of them, over all requests.
    pub sent: Counts,
    /// What these cost; of priced requests alone.
    pub cost: Money,
}

/// `antefix growth`
pub fn growth(args: &GrowthArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let sessions = folders::sessions(environment)?;
    let id = folders::find(&sessions, args.session.as_deref(), &folders::working_folder(None)?)?;
    let book = price_file::book(environment)?;
    let (account, postings) = of_session(environment, &id, &book)?;
    let (header, entries) = read(&sessions.inspect(&id)?.transcript)?;
    let pieces = ride::pieces(header, &entries, &postings, &book).map_err(Failure::failed)?;
    let growth = Growth::of(id.as_str(), account, pieces);
    if args.json {
        say!("{}", json::growth(&growth));
    } else {
        print::growth(&growth);
    }
    Ok(ExitCode::SUCCESS)
}

impl Growth {
    fn of(session: &str, account: Account, mut pieces: Vec<Piece>) -> Self {
        // What never left, or left in requests of another session's bill, has cost nothing here.
        pieces.retain(|piece| piece.rides > 0);
        let parts = dearest(pieces.iter().map(|piece| (piece.part.clone(), piece)));
        let with_file = pieces.iter().filter(|piece| matches!(piece.part, Part::Results(_)));
        let files = dearest(with_file.filter_map(|piece| Some((piece.file.clone()?, piece))));
        let reads = reads::whole(&pieces);
        Self { session: session.to_owned(), account, pieces, parts, files, reads }
    }

    /// Tokens of the pieces for which `is` holds, each counted once.
    pub fn tokens(&self, is: impl Fn(&Part) -> bool) -> Tokens {
        let pieces = self.pieces.iter().filter(|piece| is(&piece.part));
        pieces.fold(Tokens::ZERO, |sum, piece| sum + piece.tokens())
    }
}

impl Sum {
    fn add(&mut self, piece: &Piece) {
        self.pieces += 1;
        self.tokens += piece.tokens();
        self.rides += piece.rides;
        self.sent += piece.sent;
        self.cost += piece.cost;
    }
}

/// The pieces of each name added up, the dearest first, and of what costs the same the largest.
fn dearest<'p, K: Ord + Clone>(named: impl Iterator<Item = (K, &'p Piece)>) -> Vec<(K, Sum)> {
    let mut sums = std::collections::BTreeMap::<K, Sum>::new();
    for (name, piece) in named {
        sums.entry(name).or_default().add(piece);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(_, one), (_, other)| {
        (other.cost, other.sent.prompt()).cmp(&(one.cost, one.sent.prompt()))
    });
    sums
}
