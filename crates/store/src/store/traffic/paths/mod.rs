//! Counts of requested paths: exact for the most frequent paths, by pattern for the rest.

mod add;
mod key;
mod pattern;
mod read;
pub(in crate::store) mod sql;
mod trim;

pub(in crate::store) use add::deletion_statements;
pub(super) use add::steps;
pub use key::{CountedPaths, PathCount, PathKey, PathOmissions};
pub use pattern::{MAX_PATH_BYTES, parent_pattern, path_pattern, stored_path};
pub use read::{PathSum, PathSums};
