//! A detector that can be replaced while in use.

use std::{fmt, sync::Arc};

use arc_swap::{ArcSwap, Guard};

use super::Detector;

/// A shared detector that is replaced atomically; readers never wait.
///
/// Clones share the same detector.
#[derive(Clone, Default)]
pub struct SharedDetector {
    current: Arc<ArcSwap<Detector>>,
}

impl SharedDetector {
    /// Creates a shared detector from `detector`.
    #[must_use]
    pub fn new(detector: Detector) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(detector)),
        }
    }

    /// Returns the current detector, for use during one request.
    #[must_use]
    pub fn load(&self) -> Guard<Arc<Detector>> {
        self.current.load()
    }

    /// Returns the current detector, for use beyond a single request.
    #[must_use]
    pub fn load_full(&self) -> Arc<Detector> {
        self.current.load_full()
    }

    /// Replaces the detector; requests in progress continue to use the old one.
    pub fn replace(&self, detector: Detector) {
        self.current.store(Arc::new(detector));
    }

    /// Replaces the detector with one that detects different robots.
    ///
    /// The setting for the detection of unlisted robots does not change.
    pub fn replace_robots(&self, detector: &Detector) {
        // Retried after a concurrent replacement, so that no change is lost.
        self.current.rcu(|current| {
            detector
                .clone()
                .recognise_unlisted(current.recognises_unlisted())
        });
    }

    /// Sets whether robots that are not in the registry are detected.
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
    fn replacing_robots_keeps_the_setting_for_unlisted_robots() {
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
