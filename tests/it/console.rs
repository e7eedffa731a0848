//! The console as a whole: filled with a day of traffic, acted from, and shown what is hostile.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic, its helpers too"
)]

mod axe;
mod day;
mod hostile;
mod house;
mod late;
mod screens;
