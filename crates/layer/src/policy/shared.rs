//! A policy that can be exchanged while it is read.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};

use super::Policy;

/// Policy that is exchanged as a whole; readers never wait. Clones share it.
#[derive(Clone)]
pub struct SharedPolicy {
    current: Arc<Current>,
}

#[derive(Debug)]
struct Current {
    policy: ArcSwap<Policy>,
    /// Grows after each exchange.
    version: AtomicU64,
}

impl SharedPolicy {
    /// Creates one that starts with `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            current: Arc::new(Current {
                policy: ArcSwap::from_pointee(policy),
                version: AtomicU64::new(0),
            }),
        }
    }

    /// Returns the policy in force, for one request.
    #[must_use]
    pub fn load(&self) -> Guard<Arc<Policy>> {
        self.current.policy.load()
    }

    /// Returns a number that is another one as soon as another policy is in force.
    ///
    /// Read it before the policy, to keep with what is made of that.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.current.version.load(Ordering::Acquire)
    }

    /// Replaces the policy.
    ///
    /// A rule that slows robots down and stays the same, whatever its name and
    /// place, goes on from where it was; one that changes begins anew.
    pub fn replace(&self, mut policy: Policy) {
        policy.take_over(&self.load());
        self.current.policy.store(Arc::new(policy));
        // After the store: whoever reads this version finds this policy, or a later one.
        self.current.version.fetch_add(1, Ordering::Release);
    }
}

impl fmt::Debug for SharedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedPolicy").field(&**self.load()).finish()
    }
}
