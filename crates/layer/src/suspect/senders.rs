//! Senders of requests in which nothing was found.

use std::{
    net::{IpAddr, SocketAddr},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use super::{agent_key::AgentKey, halves};

/// Senders that are remembered, a power of two: 128 KiB.
const PLACES: usize = 16_384;

/// Senders that need not be judged again: a browser sends dozens of requests over a connection, and
/// one program has sent them all.
///
/// Each has one place, and whoever comes later to the same place takes it. Who makes two senders
/// look alike has only himself to pass for.
#[derive(Debug)]
pub(super) struct Senders(Box<[AtomicU64]>);

impl Default for Senders {
    fn default() -> Self {
        Self((0..PLACES).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Senders {
    /// Returns a number for a sender and what tells its programs apart: the port of its connection, or a
    /// shape of what they send where that is 0.
    pub(super) fn key(sender: SocketAddr, agent: AgentKey, shape: impl FnOnce() -> u64) -> u64 {
        let address = match sender.ip() {
            IpAddr::V4(v4) => v4.to_bits().into(),
            IpAddr::V6(v6) => {
                let (high, low) = halves(v6.to_bits());
                high.rotate_left(32) ^ low
            }
        };
        let which = match sender.port() {
            0 => shape(),
            port => port.into(),
        };
        agent.with(address, which)
    }

    /// Returns `true` if nothing was found in a request of that sender.
    pub(super) fn has(&self, key: u64) -> bool {
        self.place(key)
            .is_some_and(|place| place.load(Relaxed) == key)
    }

    /// Remembers that nothing was found in one.
    pub(super) fn add(&self, key: u64) {
        if let Some(place) = self.place(key) {
            place.store(key, Relaxed);
        }
    }

    fn place(&self, key: u64) -> Option<&AtomicU64> {
        self.0.get(usize::try_from(key >> 40).ok()? % PLACES)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn programs_are_told_apart_by_all_that_is_known() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let keys = [
            Senders::key(at("192.0.2.1:0"), AgentKey::of(b"Chrome/152"), || 5 << 32),
            Senders::key(at("192.0.2.1:0"), AgentKey::of(b"Chrome/152"), || 6 << 32),
            Senders::key(at("192.0.2.1:0"), AgentKey::of(b"Chrome/151"), || 5 << 32),
            Senders::key(at("192.0.2.1:5"), AgentKey::of(b"Chrome/152"), || 5 << 32),
            Senders::key(at("192.0.2.1:6"), AgentKey::of(b"Chrome/152"), || 5 << 32),
            Senders::key(at("192.0.2.2:5"), AgentKey::of(b"Chrome/152"), || 5 << 32),
            Senders::key(at("[2001:db8::1]:5"), AgentKey::of(b"Chrome/152"), || {
                5 << 32
            }),
            Senders::key(
                at("[2001:db8:0:1::]:5"),
                AgentKey::of(b"Chrome/152"),
                || 5 << 32,
            ),
        ];
        let apart: BTreeSet<_> = keys.into_iter().collect();
        assert_eq!(apart.len(), keys.len());
        let again = Senders::key(at("192.0.2.1:5"), AgentKey::of(b"Chrome/152"), || 7 << 32);
        assert_eq!(again, keys[3], "one connection is one program");
    }

    #[test]
    fn many_senders_are_remembered_and_no_other_is_taken_for_one() {
        let senders = Senders::default();
        let key = |number: u16| {
            let address = IpAddr::from([192, 0, 2, 1]);
            Senders::key(
                SocketAddr::new(address, number),
                AgentKey::of(b"Chrome/152.0.0.0"),
                || 1,
            )
        };
        for number in 1..=1_000 {
            assert!(!senders.has(key(number)));
            senders.add(key(number));
        }
        let kept = (1..=1_000).filter(|number| senders.has(key(*number)));
        assert!(kept.count() > 900, "they are spread over all places");
        assert!((1_001..=u16::MAX).all(|number| !senders.has(key(number))));
    }
}
