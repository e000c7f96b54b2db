//! Accounts of conversations that the simulator billed. Its rendering and its cache share no code with the verdicts
//! that the accounts rely on.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

#[path = "simulated/articles.rs"]
mod articles;
#[path = "simulated/conversation.rs"]
mod conversation;
#[path = "simulated/lab.rs"]
mod lab;
#[path = "simulated/residual.rs"]
mod residual;
