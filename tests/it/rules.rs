//! Rules and lists of robots: from settings to decisions, and in a running server.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod administering;
mod building;
mod deciding;
mod serving;
mod universe;
