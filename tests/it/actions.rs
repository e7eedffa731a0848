//! Actions of rules for robots, over HTTP and in an application that uses the layer.

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
