//! Progress of a refresh.

use crate::store::RefreshRecord;
use robot_detection_layer::registry::Source;

/// Progress of a refresh, for the admin page and the progress bar.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Progress {
    /// No refresh has begun yet, or the last one was given up.
    #[default]
    Idle,
    /// The source is being read.
    Downloading {
        /// The source.
        source: Source,
        /// Bytes so far, decompressed.
        bytes: u64,
        /// All bytes, where the server announced them.
        total: Option<u64>,
    },
    /// The records are being read.
    Parsing {
        /// The source.
        source: Source,
    },
    /// The patterns are being tested against browsers.
    Testing {
        /// The source.
        source: Source,
        /// Robots that were read.
        robots: u64,
    },
    /// The rows are being replaced.
    Storing {
        /// The source.
        source: Source,
        /// Robots that are stored.
        robots: u64,
    },
    /// The last refresh ended, well or not.
    Done {
        /// Its record in the history.
        record: Box<RefreshRecord>,
    },
}
