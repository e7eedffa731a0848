//! Traffic totals: numbers of requests by minute, hour and day.

mod add;
mod gather;
mod import;
mod key;
mod pack;
mod packed;
pub(super) mod parameters;
pub(super) mod paths;
mod read;
mod series;
pub(super) mod sql;

pub(super) use add::is_next_batch;
pub use add::{LiveMinutes, TrafficBatch};
pub use import::{ImportProgress, TrafficImport};
pub use key::{MinuteCounts, TrafficCount, TrafficKey, TrafficSpan};
pub use parameters::{PackedParameters, ParameterKey};
pub(super) use paths::deletion_statements;
pub use paths::{
    CountedPaths, MAX_PATH_BYTES, PathCount, PathKey, PathOmissions, PathSum, PathSums,
    parent_pattern, path_pattern, stored_path,
};
pub use read::TrafficSum;
pub use series::{TrafficCell, TrafficRange, TrafficSeries, TrafficStep};

handle! {
    /// Access to the traffic totals.
    TrafficSums, traffic
}
