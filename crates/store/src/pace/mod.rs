//! Sharing of rate limits between instances.
//!
//! Each instance enforces its share of the remaining rate, and stores its usage in the database
//! once a second, for the other instances. No request waits for the database. During an outage,
//! each instance continues to enforce its share, so all instances together never exceed the limit.

mod exchange;

pub use exchange::Exchange;
