//! One file for each command.

pub mod demo;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod plan;
pub mod run;
pub mod sessions;
pub mod sim;
pub mod verify;
