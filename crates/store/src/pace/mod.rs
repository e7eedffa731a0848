//! How the instances of a fleet share the pace that rules set.
//!
//! Each instance gives its share of what is left of a pace, and once a second tells the others
//! through the database what it has served. Nothing waits for that: while the database is away each
//! goes on giving its share, and all together no more than one would.

mod exchange;

pub use exchange::Exchange;
