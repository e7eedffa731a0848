//! The layer.

use std::sync::Arc;

use http::HeaderName;
use tower_layer::Layer;

use crate::detect::SharedDetector;
use crate::policy::SharedPolicy;

use super::{LayerBuilder, RobotDetectionService, Stats, redirect::PreparedRedirects};

/// Layer that redirects robots on filtered paths and identifies them elsewhere.
///
/// Clones share everything, counters included.
#[derive(Clone, Debug)]
pub struct RobotDetectionLayer {
    shared: Arc<Shared>,
}

/// What all services of one layer share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) detector: SharedDetector,
    pub(super) policy: SharedPolicy,
    pub(super) identification_header: Option<HeaderName>,
    pub(super) redirects: Arc<PreparedRedirects>,
    pub(super) stats: Arc<Stats>,
}

impl RobotDetectionLayer {
    /// Creates a layer that follows a detector and a policy, whatever replaces them.
    #[must_use]
    pub fn new(detector: SharedDetector, policy: SharedPolicy) -> Self {
        Self {
            shared: Arc::new(Shared {
                detector,
                policy,
                identification_header: None,
                redirects: Arc::default(),
                stats: Arc::default(),
            }),
        }
    }

    /// Creates a builder, for an application that uses nothing but the layer.
    #[must_use]
    pub fn builder() -> LayerBuilder {
        LayerBuilder::default()
    }

    /// Names a request header that tells an upstream the robot's id; none by default.
    ///
    /// What a client sent under that name is always removed, also where a `_`,
    /// a `.` or another sign stands for a `-`. Bytes of the id other than
    /// visible ASCII, and `%`, are percent-encoded.
    ///
    /// # Example
    ///
    /// ```
    /// use http::HeaderName;
    /// use robot_detection::{
    ///     detect::SharedDetector,
    ///     layer::RobotDetectionLayer,
    ///     policy::{Policy, SharedPolicy},
    /// };
    ///
    /// let policy = SharedPolicy::new(Policy::builder().build()?);
    /// let layer = RobotDetectionLayer::new(SharedDetector::default(), policy)
    ///     .identification_header(HeaderName::from_static("x-robot-detection"));
    /// # Ok::<(), robot_detection::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn identification_header(self, name: HeaderName) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        shared.identification_header = Some(name);
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> &Arc<Stats> {
        &self.shared.stats
    }

    /// Returns the detector that the layer follows.
    #[must_use]
    pub fn detector(&self) -> &SharedDetector {
        &self.shared.detector
    }

    /// Returns the policy that the layer follows.
    #[must_use]
    pub fn policy(&self) -> &SharedPolicy {
        &self.shared.policy
    }
}

impl<S> Layer<S> for RobotDetectionLayer {
    type Service = RobotDetectionService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RobotDetectionService::new(inner, Arc::clone(&self.shared))
    }
}
