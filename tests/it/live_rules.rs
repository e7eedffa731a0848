//! Rules that are made while servers run: at once, on every instance, with and without the database.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic, its helpers too"
)]

mod clicking;
mod commands;
mod deciding;
mod fleet;
mod house;
mod starting;
