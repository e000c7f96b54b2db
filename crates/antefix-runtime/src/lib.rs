//! Provider clients, drivers, tool host and the transcript store on disk.

pub mod store;
