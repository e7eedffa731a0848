//! Rules and lists of robots: settings in, decisions out, and as a running server keeps them.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod administering;
mod building;
mod deciding;
mod serving;
mod universe;
