//! A detector that can be exchanged while it is read.

use std::{fmt, sync::Arc};

use arc_swap::{ArcSwap, Guard};

use super::Detector;

/// Detector that is exchanged as a whole; readers never wait.
///
/// Clones share the detector.
#[derive(Clone, Default)]
pub struct SharedDetector {
    current: Arc<ArcSwap<Detector>>,
}

impl SharedDetector {
    /// Creates one that starts with `detector`.
    #[must_use]
    pub fn new(detector: Detector) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(detector)),
        }
    }

    /// Returns the detector in force, for one request.
    #[must_use]
    pub fn load(&self) -> Guard<Arc<Detector>> {
        self.current.load()
    }

    /// Puts another detector in force; requests under way keep the old one.
    pub fn replace(&self, detector: Detector) {
        self.current.store(Arc::new(detector));
    }
}

impl fmt::Debug for SharedDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDetector")
            .field("robots", &self.load().robots().len())
            .finish()
    }
}
