//! The slots in which observations of requests are stored.

use std::net::{IpAddr, Ipv6Addr};

use robot_detection_fleets::{Closed, MAX_TARGET_BYTES, MAX_USER_AGENT_BYTES, Observation};

use crate::slots::{self, Ticket, Words};

/// Number of slots in a process; together, they take half a megabyte.
const SLOTS: usize = 1_024;

/// Bit that is set if a trap page was requested.
const IN_TRAP: u64 = 1 << 2;
/// Position of the HTTP status in the bits of a slot's state.
const STATUS_AT: u32 = 16;

const HAS_REFERRER: u64 = 1 << 16;

/// The slots for the observations of all requests.
pub(super) type Slots = slots::Slots<StoredObservation, SLOTS>;

/// The stored observation of a single request.
#[derive(Debug, Default)]
pub(super) struct StoredObservation {
    user_agent: Words<{ MAX_USER_AGENT_BYTES / 8 }>,
    target: Words<{ MAX_TARGET_BYTES / 8 }>,
    /// Address, fingerprint, and a word that combines lengths and flags.
    more: Words<4>,
}

/// A reference to the slot of a request that has no response yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ObservationTicket(Ticket);

impl Slots {
    /// Stores an observation, without its time and status, in a free slot; returns `None` if no
    /// slot is free.
    pub(super) fn store(&self, seen: &Observation<'_>) -> Option<ObservationTicket> {
        self.claim(0, |left| left.write(seen))
            .map(ObservationTicket)
    }

    /// Records the response to a human request, so that the request will be evaluated.
    pub(super) fn record(&self, slip: ObservationTicket, status: u16, is_trap: bool) {
        let trap = if is_trap { IN_TRAP } else { 0 };
        self.settle(slip.0, trap | u64::from(status) << STATUS_AT);
    }

    /// Frees the slot of a request that will not be evaluated.
    pub(super) fn discard(&self, slip: ObservationTicket) {
        self.release(slip.0);
    }

    /// Removes the observations of finished requests from their slots, and returns the number of
    /// these observations.
    pub(super) fn drain(&self, at_s: i64, mut take: impl FnMut(&Observation<'_>)) -> usize {
        self.drain_all(|left, told| left.read(at_s, told, &mut take))
    }
}

impl StoredObservation {
    fn write(&self, seen: &Observation<'_>) {
        let user_agent = self.user_agent.write(seen.user_agent);
        let target = self.target.write(seen.target);
        let address = match seen.address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let (high, low) = halves(address);
        let referrer = if seen.has_referrer { HAS_REFERRER } else { 0 };
        let told = user_agent | target << 8 | referrer;
        self.more.store([high, low, seen.fingerprint, told]);
    }

    fn read(&self, at_s: i64, state: u64, take: &mut impl FnMut(&Observation<'_>)) {
        let [high, low, fingerprint, told] = self.more.load();
        let [user_agent_bytes, target_bytes, ..] = told.to_le_bytes();
        let mut user_agent = [0; MAX_USER_AGENT_BYTES];
        let mut target = [0; MAX_TARGET_BYTES];
        let [_, _, low_status, high_status, ..] = state.to_le_bytes();
        take(&Observation {
            at_s,
            user_agent: self
                .user_agent
                .read(&mut user_agent, user_agent_bytes.into()),
            fingerprint,
            address: IpAddr::V6(Ipv6Addr::from_bits(
                u128::from(high) << 64 | u128::from(low),
            )),
            target: self.target.read(&mut target, target_bytes.into()),
            status: u16::from_le_bytes([low_status, high_status]),
            has_referrer: told & HAS_REFERRER != 0,
            closed: (state & IN_TRAP != 0).then_some(Closed::Trap),
            ..Observation::default()
        });
    }
}

fn halves(address: Ipv6Addr) -> (u64, u64) {
    let segments = address.segments().map(u64::from);
    let (high, low) = segments.split_at(4);
    let half = |segments: &[u64]| segments.iter().fold(0, |half, one| half << 16 | one);
    (half(high), half(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// User-Agent, target, address, fingerprint, status, presence of a referrer, and trap.
    type StoredObservation = (String, String, IpAddr, u64, u16, [bool; 2]);

    fn left(slots: &Slots) -> Vec<StoredObservation> {
        let mut left = Vec::new();
        slots.drain(7, |seen| {
            assert_eq!(seen.at_s, 7);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            left.push((
                text(seen.user_agent),
                text(seen.target),
                seen.address.to_canonical(),
                seen.fingerprint,
                seen.status,
                [seen.has_referrer, seen.closed == Some(Closed::Trap)],
            ));
        });
        left
    }

    #[test]
    fn observation_is_read_once_the_request_is_finished() {
        let slots = Slots::default();
        let addresses = ["192.0.2.1", "2001:db8:1:2:3:4:5:6"].map(|text| text.parse().unwrap());
        let slips = addresses.map(|address: IpAddr| {
            let long = format!("/{}", "a".repeat(300));
            slots.store(&Observation {
                user_agent: b"Chrome/152.0.0.0 x",
                target: if address.is_ipv4() {
                    b"/a?b"
                } else {
                    long.as_bytes()
                },
                address,
                fingerprint: u64::MAX,
                has_referrer: address.is_ipv4(),
                ..Observation::default()
            })
        });
        assert_eq!(left(&slots), []);
        for (slip, is_trap) in slips.into_iter().zip([false, true]) {
            slots.record(slip.unwrap(), 404, is_trap);
        }
        let agent = "Chrome/152.0.0.0 x".to_owned();
        let cut = format!("/{}", "a".repeat(MAX_TARGET_BYTES - 1));
        assert_eq!(
            left(&slots),
            [
                (
                    agent.clone(),
                    "/a?b".to_owned(),
                    addresses[0],
                    u64::MAX,
                    404,
                    [true, false]
                ),
                (agent, cut, addresses[1], u64::MAX, 404, [false, true]),
            ]
        );
        assert_eq!(left(&slots), []);
    }

    #[test]
    fn requests_do_not_wait_for_a_free_slot() {
        let slots = Slots::default();
        let seen = Observation::default();
        let slips: Vec<_> = std::iter::from_fn(|| slots.store(&seen)).collect();
        assert_eq!(slips.len(), SLOTS);
        assert!(size_of::<StoredObservation>() < 504);
        for slip in slips {
            slots.discard(slip);
        }
        assert_eq!(left(&slots), []);
        assert!(slots.store(&seen).is_some());
    }
}
