//! What rules do to robots, over HTTP and around an application of its own.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod answers;
mod app;
mod deciding;
mod evading;
mod explaining;
mod in_place;
mod outcome;
mod refusing;
mod report;
mod slowing;
