//! Enforcement of the current robots.txt: in the layer, in a running server, on the pages.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod admin;
mod answers;
mod cost;
mod delays;
mod explaining;
mod serving;
mod site;
mod who;
