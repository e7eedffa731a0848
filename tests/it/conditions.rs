//! Rules for any visitor, including people: conditions on addresses and request headers.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod lists;
mod places;
mod proxies;
mod serving;
mod table;
mod wrong;
