//! The whole console: filled with a day of traffic, used for actions, and with hostile data.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests and their helpers may panic"
)]

mod axe;
mod day;
mod hostile;
mod house;
mod screens;
