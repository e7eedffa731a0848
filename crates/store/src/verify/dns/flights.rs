//! Addresses that are being looked up, so that nobody looks up the same beside.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::host::Host;

type Shared = Arc<tokio::sync::Mutex<Host>>;

/// Addresses that are being looked up, each with how many take part.
#[derive(Clone, Debug, Default)]
pub(super) struct Flights(Arc<Mutex<HashMap<IpAddr, (usize, Shared)>>>);

/// Place at the look-up of one address; the last one to leave ends it.
#[derive(Debug)]
pub(super) struct Flight {
    flights: Flights,
    address: IpAddr,
    host: Shared,
}

impl Flights {
    /// Joins the look-up of an address, or begins it with what is known already.
    pub(super) fn join(&self, address: IpAddr, known: impl FnOnce() -> Host) -> Flight {
        let mut flights = self.lock();
        let (members, host) = flights
            .entry(address)
            .or_insert_with(|| (0, Arc::new(tokio::sync::Mutex::new(known()))));
        *members += 1;
        Flight {
            flights: self.clone(),
            address,
            host: Arc::clone(host),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, (usize, Shared)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// Waits until it may look; what others saw meanwhile is in the host.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, Host> {
        self.host.lock().await
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut flights = self.flights.lock();
        if let Entry::Occupied(mut flight) = flights.entry(self.address) {
            flight.get_mut().0 -= 1;
            if flight.get().0 == 0 {
                flight.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_ends_a_flight() {
        let flights = Flights::default();
        let address = IpAddr::from([192, 0, 2, 1]);
        let first = flights.join(address, Host::default);
        let second = flights.join(address, || unreachable!("it is under way"));
        assert!(Arc::ptr_eq(&first.host, &second.host));
        drop(first);
        assert_eq!(flights.lock().len(), 1);
        drop(second);
        assert_eq!(flights.lock().len(), 0);
    }
}
