//! Effects of the verdict on a robot's claim on its requests.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what helpers of a test cannot do fails the test"
)]

mod deciding;
mod enforcing;
mod layering;
mod universe;
mod waiting;
