//! Rules with a pace for each address, network or User-Agent, or for the whole site.

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
