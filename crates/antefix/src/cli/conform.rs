use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `antefix conform`
#[derive(Debug, Args)]
pub struct ConformArgs {
    /// The agent that is put to the test
    #[arg(value_enum)]
    pub agent: Agent,
    /// Only rows with this in their name; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub row: Vec<String>,
    /// Only columns with this in their name; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub column: Vec<String>,
    /// Keep the captured requests of each cell in this folder, which must be empty or not there
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// How many cells are played at the same time [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Also play rows with the MCP servers of this file, which has the form of .mcp.json: they stay, go and come back
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Print the names of the rows and what changes in each, and play nothing
    #[arg(long, conflicts_with = "json")]
    pub list: bool,
    /// Play nothing, and be the MCP server that this script describes: the servers of the scenes are made so
    #[arg(long, value_name = "SCRIPT", hide = true)]
    pub serve: Option<PathBuf>,
    /// Print as JSON; without --keep the captures stay in a temporary folder, which is named
    #[arg(long)]
    pub json: bool,
}

/// Who is put to the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Agent {
    /// This antefix
    #[value(name = "self")]
    Itself,
}
