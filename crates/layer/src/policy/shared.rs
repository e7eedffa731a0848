//! A policy that can be exchanged while it is read.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};

use super::{Overlay, Policy};

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
    /// What the policy in force is made of; held while it is exchanged.
    parts: Mutex<Parts>,
}

#[derive(Debug)]
struct Parts {
    /// Policy without the overlay.
    policy: Policy,
    overlay: Overlay,
}

/// Policy that is exchanged as long as somebody else has it.
#[derive(Clone, Debug)]
pub struct WeakPolicy {
    current: Weak<Current>,
}

impl SharedPolicy {
    /// Creates one that starts with `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            current: Arc::new(Current {
                policy: ArcSwap::from_pointee(policy.clone()),
                version: AtomicU64::new(0),
                parts: Mutex::new(Parts {
                    policy,
                    overlay: Overlay::default(),
                }),
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

    /// Replaces the policy; what is laid over it stays.
    ///
    /// A rule that slows robots down and stays the same, whatever its name and
    /// place, goes on from where it was; one that changes begins anew.
    pub fn replace(&self, policy: Policy) {
        self.exchange(|parts| parts.policy = policy);
    }

    /// Replaces what is laid over the policy, whichever policy that is.
    pub fn lay_over(&self, overlay: Overlay) {
        self.exchange(|parts| parts.overlay = overlay);
    }

    /// Returns a handle that does not keep the policy.
    #[must_use]
    pub fn downgrade(&self) -> WeakPolicy {
        WeakPolicy {
            current: Arc::downgrade(&self.current),
        }
    }

    fn exchange(&self, change: impl FnOnce(&mut Parts)) {
        // A panic between would have left the old parts or the new ones, both whole.
        let parts = self.current.parts.lock();
        let mut parts = parts.unwrap_or_else(PoisonError::into_inner);
        change(&mut parts);
        let mut policy = parts.policy.clone().under(&parts.overlay);
        policy.take_over(&self.load());
        self.current.policy.store(Arc::new(policy));
        // After the store: whoever reads this version finds this policy, or a later one.
        self.current.version.fetch_add(1, Ordering::Release);
    }
}

impl WeakPolicy {
    /// Returns the policy, unless nobody has it any more.
    #[must_use]
    pub fn upgrade(&self) -> Option<SharedPolicy> {
        let current = self.current.upgrade()?;
        Some(SharedPolicy { current })
    }
}

impl fmt::Debug for SharedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedPolicy").field(&**self.load()).finish()
    }
}
