//! What a provider may answer instead of a reply: each case ends with a message a person can act on, and with a
//! session that goes on.

mod answers;
mod interrupts;
mod machine;
mod requests;
