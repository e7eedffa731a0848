//! Traps: paths that human visitors do not see and that robots.txt disallows, and the pages served
//! at these paths.
//!
//! [`TrapPaths`] are secret to each installation: they are derived from the seed shared by its
//! instances and from the site name. A client that requests such a path either took it from
//! robots.txt despite the `Disallow` rule, or follows every link on a page, visible or not.

mod page;
mod paths;

pub use page::TrapPages;
pub use paths::TrapPaths;
