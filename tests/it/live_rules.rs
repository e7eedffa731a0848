//! Live rules on running servers: applied on every instance immediately, and without a database.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests and their helpers may panic"
)]

mod clicking;
mod commands;
mod deciding;
mod fleet;
mod house;
mod starting;
