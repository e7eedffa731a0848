//! The decision endpoint: decides like our own proxy, over a socket and over TCP.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod apache;
mod counting;
mod deciding;
mod files;
mod house;
mod nginx;
mod query;
mod trusting;
