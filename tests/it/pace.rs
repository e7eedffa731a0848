//! Rules with a pace of each address, network, User-Agent, or of the whole site.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod counting;
mod errors;
mod fleet;
mod house;
mod load;
mod wrong;
