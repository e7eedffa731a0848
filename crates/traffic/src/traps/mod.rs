//! Traps: paths that no human visitor sees, disallowed by robots.txt, and the pages served there.
//!
//! [`TrapPaths`] are secret to each installation: derived from the seed that its instances share
//! and from the site name. A client that requests such a path has read it in robots.txt despite the
//! `Disallow` rule, or follows every link of a page, visible or not.

mod page;
mod paths;

pub use page::TrapPages;
pub use paths::TrapPaths;
