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

    /// Returns the detector in force, for longer than a request.
    #[must_use]
    pub fn load_full(&self) -> Arc<Detector> {
        self.current.load_full()
    }

    /// Replaces the detector; requests under way keep the old one.
    pub fn replace(&self, detector: Detector) {
        self.current.store(Arc::new(detector));
    }

    /// Replaces the detector with one of other robots.
    ///
    /// What the one before does about unlisted robots, it does too.
    pub fn replace_robots(&self, detector: &Detector) {
        // Tried again where another exchange came between, so that neither change is lost.
        self.current.rcu(|current| {
            detector
                .clone()
                .recognise_unlisted(current.recognises_unlisted())
        });
    }

    /// Sets whether robots that no registry lists are recognised.
    pub fn recognise_unlisted(&self, recognise: bool) {
        self.current
            .rcu(|current| Detector::clone(current).recognise_unlisted(recognise));
    }
}

impl fmt::Debug for SharedDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDetector")
            .field("robots", &self.load().robots().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Pattern, PatternKind, Robot, Source};

    #[test]
    fn other_robots_do_not_change_what_is_done_about_unlisted_ones() {
        let mut robot = Robot::new("a", Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, "ABot")];
        let fresh = Detector::new([Arc::new(robot)]).unwrap();
        let shared = SharedDetector::default();
        shared.recognise_unlisted(true);
        shared.replace_robots(&fresh);
        assert!(shared.load().recognises_unlisted());
        assert_eq!(shared.load().robots().len(), 1);
        shared.recognise_unlisted(false);
        assert!(!shared.load().recognises_unlisted());
        assert_eq!(shared.load().robots().len(), 1);
    }
}
