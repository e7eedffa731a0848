//! A policy that can be exchanged while it is read.

use std::{fmt, sync::Arc};

use arc_swap::{ArcSwap, Guard};

use super::Policy;

/// Policy that is exchanged as a whole; readers never wait. Clones share it.
#[derive(Clone)]
pub struct SharedPolicy {
    current: Arc<ArcSwap<Policy>>,
}

impl SharedPolicy {
    /// Creates one that starts with `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(policy)),
        }
    }

    /// Returns the policy in force, for one request.
    #[must_use]
    pub fn load(&self) -> Guard<Arc<Policy>> {
        self.current.load()
    }

    /// Puts another policy in force.
    ///
    /// A rule that slows robots down and stays the same, whatever its name and
    /// place, goes on from where it was; one that changes begins anew.
    pub fn replace(&self, mut policy: Policy) {
        policy.take_over(&self.load());
        self.current.store(Arc::new(policy));
    }
}

impl fmt::Debug for SharedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedPolicy").field(&**self.load()).finish()
    }
}
