//! Rules about any visitor: where a request comes from, what it has for headers, people too.

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
