//! Sharing of rate limits between instances.
//!
//! Each instance enforces its share of the remaining rate, and once a second stores its usage in
//! the database for the others. No request waits for this: during a database outage, each instance
//! continues to enforce its share, so that together they never exceed the limit.

mod exchange;

pub use exchange::Exchange;
