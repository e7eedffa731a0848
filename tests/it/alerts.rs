//! Alerts: their conditions, times and receivers.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod judging;
mod receiver;
mod secrets;
mod sending;
mod telling;
