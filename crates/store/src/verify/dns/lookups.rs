//! DNS lookups in progress, so that concurrent proofs for an address share queries.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
    sync::Arc,
};

use parking_lot::Mutex;

use super::host::AddressRecords;

type Shared = Arc<tokio::sync::Mutex<AddressRecords>>;

/// Addresses that are being looked up, each with the number of participants.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookups(Arc<Mutex<HashMap<IpAddr, (usize, Shared)>>>);

/// A participant's slot in the lookup of an address; the lookup ends when the last slot is dropped.
#[derive(Debug)]
pub(super) struct LookupSlot {
    lookups: Lookups,
    address: IpAddr,
    host: Shared,
}

impl Lookups {
    /// Joins the lookup of an address, or starts a lookup with the cached records.
    pub(super) fn join(
        &self,
        address: IpAddr,
        known: impl FnOnce() -> AddressRecords,
    ) -> LookupSlot {
        let mut lookups = self.0.lock();
        let (members, host) = lookups
            .entry(address)
            .or_insert_with(|| (0, Arc::new(tokio::sync::Mutex::new(known()))));
        *members += 1;
        LookupSlot {
            lookups: self.clone(),
            address,
            host: Arc::clone(host),
        }
    }
}

impl LookupSlot {
    /// Waits for the right to query DNS. The returned records contain the results of other
    /// participants.
    pub(super) async fn lock(&self) -> tokio::sync::MutexGuard<'_, AddressRecords> {
        self.host.lock().await
    }
}

impl Drop for LookupSlot {
    fn drop(&mut self) {
        let mut lookups = self.lookups.0.lock();
        if let Entry::Occupied(mut slot) = lookups.entry(self.address) {
            slot.get_mut().0 -= 1;
            if slot.get().0 == 0 {
                slot.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_participant_ends_the_lookup() {
        let lookups = Lookups::default();
        let address = IpAddr::from([192, 0, 2, 1]);
        let first = lookups.join(address, AddressRecords::default);
        let second = lookups.join(address, || unreachable!("lookup started twice"));
        assert!(Arc::ptr_eq(&first.host, &second.host));
        drop(first);
        assert_eq!(lookups.0.lock().len(), 1);
        drop(second);
        assert_eq!(lookups.0.lock().len(), 0);
    }
}
