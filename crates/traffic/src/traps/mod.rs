//! Traps: paths that human visitors do not see and that robots.txt disallows, and the pages served
//! at these paths.
//!
//! [`TrapPaths`] are secret to each installation: they are derived from the site name and from the
//! seed that the installation's instances share. A client that requests a trap path either found
//! the path in robots.txt and ignored the `Disallow` rule, or follows every link on a page, visible
//! or not.

mod page;
mod paths;

pub use page::TrapPages;
pub use paths::TrapPaths;
