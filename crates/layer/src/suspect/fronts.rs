//! A record of the headers that the front proxies forward.

use std::{
    net::IpAddr,
    sync::{
        OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

use crate::keys::halves;

use super::seen::Field;

/// Maximum number of tracked proxies. Behind other proxies, headers are not considered missing.
const MAX_FRONTS: usize = 64;

/// Number of slots that are searched for a proxy.
const PLACES: usize = 8;

/// Number of browser requests after which a proxy's missing headers are reported: by then, there
/// have been hundreds of visitors, and some visitors have sent each of the headers.
const ENOUGH: u32 = 500;

/// Headers that are considered missing only behind a proxy that has forwarded such headers before;
/// `true` for headers that browsers send only over HTTPS.
const MISSED: [(Field, &str, bool); 9] = [
    (Field::Accept, "Accept", false),
    (Field::Language, "Accept-Language", false),
    (Field::Encoding, "Accept-Encoding", false),
    (Field::Upgrade, "Upgrade-Insecure-Requests", false),
    (Field::Referer, "Referer", false),
    (Field::Hints, "Sec-CH-UA", true),
    (Field::FetchSite, "Sec-Fetch-Site", true),
    (Field::FetchMode, "Sec-Fetch-Mode", true),
    (Field::FetchDest, "Sec-Fetch-Dest", true),
];

/// A bit in addition to the bits for headers, set if a proxy has forwarded HTTPS requests.
pub(super) const OVER_HTTPS: u32 = 1 << 31;

/// A trusted proxy, with the headers that it never forwards.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FrontHeaders {
    /// The address of the proxy.
    pub front: IpAddr,
    /// Headers that browsers send but that the proxy has never forwarded; their absence is not a
    /// reason for suspicion.
    pub taken_off: Vec<&'static str>,
}

/// The headers that each proxy has forwarded at least once.
#[derive(Debug)]
pub(super) struct Fronts([Front; MAX_FRONTS]);

#[derive(Debug, Default)]
struct Front {
    /// The key of the proxy; 0 if the slot is free.
    key: AtomicU64,
    fields: AtomicU32,
    /// The number of requests, counted up to [`ENOUGH`].
    requests: AtomicU32,
    address: OnceLock<IpAddr>,
}

impl Default for Fronts {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Front::default()))
    }
}

impl Fronts {
    /// Returns the bits of the headers that a proxy is known to forward.
    pub(super) fn headers_forwarded_by(&self, front: IpAddr) -> u32 {
        let key = key(front);
        let known = self
            .places(key)
            .find(|place| place.key.load(Relaxed) == key);
        known.map_or(0, |place| place.fields.load(Relaxed))
    }

    /// Records the headers of a request, and returns all headers that the proxy has ever forwarded.
    pub(super) fn record_headers(&self, front: IpAddr, came: u32) -> u32 {
        let key = key(front);
        for place in self.places(key) {
            let taken = place.key.load(Relaxed);
            let is_ours = taken == key
                || taken == 0
                    && match place.key.compare_exchange(0, key, Relaxed, Relaxed) {
                        Ok(_) => place.address.set(front).is_ok(),
                        Err(other) => other == key,
                    };
            if !is_ours {
                continue;
            }
            if place.requests.load(Relaxed) < ENOUGH {
                place.requests.fetch_add(1, Relaxed);
            }
            let known = place.fields.load(Relaxed);
            // Nearly every request contains no new header, so that nothing is written.
            if known | came != known {
                place.fields.fetch_or(came, Relaxed);
            }
            return known | came;
        }
        came
    }

    /// Returns the proxies that have forwarded enough requests, but have never forwarded some
    /// headers.
    pub(super) fn removing_headers(&self) -> Vec<FrontHeaders> {
        let fronts = self.learnt().map(|(front, came)| {
            let is_taken_off = |field: Field, is_https: bool| {
                came & field.bit() == 0 && (!is_https || came & OVER_HTTPS != 0)
            };
            let missed = MISSED.iter().copied();
            let taken_off = missed.filter(|(field, _, is_https)| is_taken_off(*field, *is_https));
            FrontHeaders {
                front,
                taken_off: taken_off.map(|(_, name, _)| name).collect(),
            }
        });
        fronts.filter(|front| !front.taken_off.is_empty()).collect()
    }

    /// Returns the proxies that have forwarded enough requests, with the headers that each proxy
    /// forwarded.
    fn learnt(&self) -> impl Iterator<Item = (IpAddr, u32)> {
        let enough = |front: &&Front| front.requests.load(Relaxed) >= ENOUGH;
        let fronts = self.0.iter().filter(enough);
        fronts.filter_map(|front| Some((*front.address.get()?, front.fields.load(Relaxed))))
    }

    fn places(&self, key: u64) -> impl Iterator<Item = &Front> {
        let start = usize::try_from(key >> 32).unwrap_or_default();
        (0..PLACES).filter_map(move |step| self.0.get((start + step) % MAX_FRONTS))
    }
}

/// Returns a non-zero key for the address of a proxy; addresses with the same key are treated as
/// one proxy.
fn key(front: IpAddr) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let number = match front {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let (high, low) = halves(number);
    (high.rotate_left(32) ^ low).wrapping_mul(ODD) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_that_a_front_has_forwarded_once_is_expected_later() {
        let fronts = Fronts::default();
        let [first, second] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        assert_eq!(fronts.record_headers(first, 0b01), 0b01);
        assert_eq!(fronts.record_headers(first, 0b10), 0b11);
        assert_eq!(fronts.record_headers(first, 0), 0b11);
        assert_eq!(
            (
                fronts.headers_forwarded_by(first),
                fronts.headers_forwarded_by(second)
            ),
            (0b11, 0)
        );
        assert_eq!(
            fronts.record_headers(second, 0),
            0,
            "proxies are independent"
        );
    }

    #[test]
    fn front_is_reported_after_enough_requests() {
        let fronts = Fronts::default();
        let [often, seldom] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        fronts.record_headers(seldom, 0b01);
        for _ in 1..ENOUGH {
            fronts.record_headers(often, 0b01);
        }
        assert_eq!(fronts.learnt().count(), 0);
        fronts.record_headers(often, 0b10);
        assert_eq!(fronts.learnt().collect::<Vec<_>>(), [(often, 0b11)]);
    }

    #[test]
    fn beyond_the_limit_no_header_is_expected() {
        let fronts = Fronts::default();
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        for number in 0..10_000 {
            fronts.record_headers(address(number), 0b01);
        }
        let kept = (0..10_000).filter(|number| fronts.record_headers(address(*number), 0) == 0b01);
        assert!((1..=MAX_FRONTS).contains(&kept.count()));
    }
}
