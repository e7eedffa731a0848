//! Limits on the number of connections: in total, per address and per thread.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tracing::warn;

use super::{counts::OpenConnection, workers::RuntimeSlot};

/// A permit for one connection under all limits, which is released when this value is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
    _slot: RuntimeSlot,
    _open: OpenConnection,
    /// A shared permit for a client of any listener, if the limit on open files requires shared
    /// permits.
    _shared: Option<OwnedSemaphorePermit>,
    _address: Option<AddressPermit>,
}

impl ConnectionPermit {
    pub(super) fn new(
        permit: OwnedSemaphorePermit,
        slot: RuntimeSlot,
        open: OpenConnection,
    ) -> Self {
        Self {
            _permit: permit,
            _slot: slot,
            _open: open,
            _shared: None,
            _address: None,
        }
    }

    pub(super) fn with_shared(self, shared: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            _shared: shared,
            ..self
        }
    }

    pub(super) fn with_address(self, address: Option<AddressPermit>) -> Self {
        Self {
            _address: address,
            ..self
        }
    }
}

/// The limits on the number of connections from each IPv4 address or IPv6 /64 network.
#[derive(Debug)]
pub(super) struct AddressLimits {
    /// The maximum number of connections; 0 means no limit.
    limit: usize,
    counts: Mutex<HashMap<IpAddr, Count>>,
}

#[derive(Debug, Default)]
struct Count {
    connections: usize,
    has_warned: bool,
}

/// A permit for one connection from an address.
#[derive(Debug)]
pub(super) struct AddressPermit {
    addresses: Arc<AddressLimits>,
    key: IpAddr,
}

/// An error for an address that has reached its connection limit.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct TooManyConnections;

impl AddressLimits {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            counts: Mutex::default(),
        }
    }

    pub(super) fn acquire(
        self: &Arc<Self>,
        addr: IpAddr,
    ) -> Result<Option<AddressPermit>, TooManyConnections> {
        if self.limit == 0 {
            return Ok(None);
        }
        let key = network(addr);
        let mut counts = self.counts.lock();
        let count = counts.entry(key).or_default();
        if count.connections < self.limit {
            count.connections += 1;
            return Ok(Some(AddressPermit {
                addresses: Arc::clone(self),
                key,
            }));
        }
        let has_warned = std::mem::replace(&mut count.has_warned, true);
        // Every connection acquires this lock, so the lock is released before anything is logged.
        drop(counts);
        if !has_warned {
            let limit = self.limit;
            warn!(client = %key, "{key} has {limit} connections (max_connections_per_address): closing further connections");
        }
        Err(TooManyConnections)
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut counts = self.addresses.counts.lock();
        if let Entry::Occupied(mut entry) = counts.entry(self.key) {
            entry.get_mut().connections -= 1;
            if entry.get().connections == 0 {
                // The table contains only connected addresses, so clients with changing addresses
                // cannot make it grow.
                entry.remove();
            }
        }
    }
}

/// Returns the key under which an address is counted. A single subscriber has all addresses of an
/// IPv6 /64 network, which are counted together.
fn network(addr: IpAddr) -> IpAddr {
    match addr.to_canonical() {
        IpAddr::V6(addr) => Ipv6Addr::from_bits(addr.to_bits() & (u128::MAX << 64)).into(),
        addr @ IpAddr::V4(_) => addr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_limited_and_regains_its_permits() {
        let addresses = Arc::new(AddressLimits::new(2));
        let one = "192.0.2.1".parse().unwrap();
        let first = addresses.acquire(one).unwrap();
        let second = addresses
            .acquire("::ffff:192.0.2.1".parse().unwrap())
            .unwrap();
        assert_eq!(addresses.acquire(one).unwrap_err(), TooManyConnections);
        assert!(addresses.acquire("192.0.2.2".parse().unwrap()).is_ok());
        drop(first);
        let third = addresses.acquire(one).unwrap();
        assert_eq!(addresses.acquire(one).unwrap_err(), TooManyConnections);
        drop((second, third));
        assert!(addresses.counts.lock().is_empty());
    }

    #[test]
    fn ipv6_counts_by_64_bits() {
        let addresses = Arc::new(AddressLimits::new(1));
        let _permit = addresses.acquire("2001:db8::1".parse().unwrap()).unwrap();
        let next = "2001:db8::ffff:ffff:ffff:ffff".parse().unwrap();
        assert_eq!(addresses.acquire(next).unwrap_err(), TooManyConnections);
        assert!(
            addresses
                .acquire("2001:db8:0:1::1".parse().unwrap())
                .is_ok()
        );
    }

    #[test]
    fn connections_are_not_counted_without_a_limit() {
        let addresses = Arc::new(AddressLimits::new(0));
        assert!(
            addresses
                .acquire("192.0.2.1".parse().unwrap())
                .unwrap()
                .is_none()
        );
    }
}
