//! What is counted of visitors: sums by minute, hour and day.

mod add;
mod import;
mod key;
mod read;
mod series;
pub(super) mod sql;

pub use add::{LiveMinutes, TrafficBatch};
pub use import::{ImportProgress, TrafficImport};
pub use key::{CountedMinute, TrafficCount, TrafficKey, TrafficSpan};
pub use read::TrafficSum;
pub use series::{TrafficCell, TrafficPart, TrafficSeries};
