//! Traps: paths that no person is shown, that robots.txt closes, and what is served there.
//!
//! [`TrapPaths`] are secret to each installation: made from the seed that its instances share, and the
//! name of the site. Whoever asks for one has read them in robots.txt, which says not to, or follows
//! every link of a page, seen or not.

mod page;
mod paths;

pub use page::TrapPages;
pub use paths::TrapPaths;
