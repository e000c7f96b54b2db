//! One file for each command.

pub mod bill;
pub mod chat;
pub mod check;
pub mod conform;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod growth;
pub mod ledger;
pub mod mcp;
pub mod plan;
pub mod prices;
pub mod run;
pub mod selftest;
pub mod sessions;
pub mod sim;
pub mod tools;
pub mod verify;
pub mod whatif;
