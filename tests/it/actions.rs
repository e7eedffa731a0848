//! What rules do to robots, over HTTP and around an application of its own.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod app;
mod deciding;
mod explaining;
mod in_place;
mod outcome;
mod refusing;
mod report;
mod slowing;
