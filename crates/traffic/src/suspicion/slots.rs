//! Slots that requests leave what is to be judged in: no lock, no allocation, and nobody waits.

use std::{
    net::{IpAddr, Ipv6Addr},
    sync::atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use robot_detection_fleets::{Closed, MAX_TARGET_BYTES, MAX_USER_AGENT_BYTES, Observation};

/// Slots of a process, a power of two: half a megabyte.
pub(super) const SLOTS: usize = 1_024;

/// Slots that a request tries: one that is held belongs to a request that is still being answered.
const TRIES: usize = 4;

/// Words of User-Agent and target.
const TEXT_WORDS: usize = MAX_USER_AGENT_BYTES / 8;
const TARGET_WORDS: usize = MAX_TARGET_BYTES / 8;

/// Words of the address, the fingerprint, and the lengths with what holds.
const MORE_WORDS: usize = 4;

const FREE: u64 = 0;
const CLAIMED: u64 = 1;
const SETTLED: u64 = 2;
/// Whether it was answered by a trap.
const IN_TRAP: u64 = 1 << 2;
/// Where the status stands behind the state.
const STATUS_AT: u32 = 16;
const STATE: u64 = 0b11;

const HAS_REFERRER: u64 = 1 << 16;

/// Slots of all requests.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Box<[Slot]>,
    next: AtomicUsize,
}

/// What one request leaves.
#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    state: AtomicU64,
    user_agent: [AtomicU64; TEXT_WORDS],
    target: [AtomicU64; TARGET_WORDS],
    more: [AtomicU64; MORE_WORDS],
}

/// Slot of a request that has not been answered yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Slip(u16);

impl Default for Slots {
    fn default() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            next: AtomicUsize::new(0),
        }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            state: AtomicU64::new(FREE),
            user_agent: [const { AtomicU64::new(0) }; TEXT_WORDS],
            target: [const { AtomicU64::new(0) }; TARGET_WORDS],
            more: [const { AtomicU64::new(0) }; MORE_WORDS],
        }
    }
}

impl Slots {
    /// Leaves a request, but for time and status, in a free slot; `None` where there is none.
    pub(super) fn leave(&self, seen: &Observation<'_>) -> Option<Slip> {
        for _ in 0..TRIES {
            let at = self.next.fetch_add(1, Relaxed) % SLOTS;
            let slot = self.slots.get(at)?;
            let is_mine = slot.state.compare_exchange(FREE, CLAIMED, Acquire, Relaxed);
            if is_mine.is_ok() {
                slot.write(seen);
                return u16::try_from(at).ok().map(Slip);
            }
        }
        None
    }

    /// Records how a request was answered, so that it is judged.
    pub(super) fn settle(&self, slip: Slip, status: u16, is_trap: bool) {
        let trap = if is_trap { IN_TRAP } else { 0 };
        self.set(slip, SETTLED | trap | u64::from(status) << STATUS_AT);
    }

    /// Gives a slot back whose request is not to be judged.
    pub(super) fn release(&self, slip: Slip) {
        self.set(slip, FREE);
    }

    /// Empties the slots of requests that were answered; returns how many there were.
    pub(super) fn drain(&self, at_s: i64, mut take: impl FnMut(&Observation<'_>)) -> usize {
        let mut taken = 0;
        for slot in &self.slots {
            let state = slot.state.load(Acquire);
            if state & STATE == SETTLED {
                slot.read(at_s, state, &mut take);
                slot.state.store(FREE, Release);
                taken += 1;
            }
        }
        taken
    }

    fn set(&self, slip: Slip, state: u64) {
        if let Some(slot) = self.slots.get(usize::from(slip.0)) {
            // Whoever sees the state sees what was left before.
            slot.state.store(state, Release);
        }
    }
}

impl Slot {
    fn write(&self, seen: &Observation<'_>) {
        let user_agent = write(&self.user_agent, seen.user_agent);
        let target = write(&self.target, seen.target);
        let address = match seen.address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let (high, low) = halves(address);
        let referrer = if seen.has_referrer { HAS_REFERRER } else { 0 };
        let told = user_agent | target << 8 | referrer;
        for (place, word) in self.more.iter().zip([high, low, seen.fingerprint, told]) {
            place.store(word, Relaxed);
        }
    }

    fn read(&self, at_s: i64, state: u64, take: &mut impl FnMut(&Observation<'_>)) {
        let [high, low, fingerprint, told] = self.more.each_ref().map(|word| word.load(Relaxed));
        let [user_agent_bytes, target_bytes, ..] = told.to_le_bytes();
        let mut user_agent = [0; MAX_USER_AGENT_BYTES];
        let mut target = [0; MAX_TARGET_BYTES];
        let [_, _, low_status, high_status, ..] = state.to_le_bytes();
        take(&Observation {
            at_s,
            user_agent: read(&self.user_agent, &mut user_agent, user_agent_bytes),
            fingerprint,
            address: IpAddr::V6(Ipv6Addr::from_bits(
                u128::from(high) << 64 | u128::from(low),
            )),
            target: read(&self.target, &mut target, target_bytes),
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

/// Writes the first bytes of a text, eight at a time; returns how many there are.
fn write(places: &[AtomicU64], text: &[u8]) -> u64 {
    let text = text.get(..8 * places.len()).unwrap_or(text);
    let (whole, rest) = text.as_chunks::<8>();
    let mut places = places.iter();
    for (word, place) in whole.iter().zip(&mut places) {
        place.store(u64::from_le_bytes(*word), Relaxed);
    }
    if let (false, Some(place)) = (rest.is_empty(), places.next()) {
        let word = rest.iter().rev();
        let word = word.fold(0, |word, byte| word << 8 | u64::from(*byte));
        place.store(word, Relaxed);
    }
    text.len() as u64
}

fn read<'t>(places: &[AtomicU64], text: &'t mut [u8], length: u8) -> &'t [u8] {
    let (words, _) = text.as_chunks_mut::<8>();
    let length = usize::from(length);
    for (word, place) in words.iter_mut().zip(places).take(length.div_ceil(8)) {
        *word = place.load(Relaxed).to_le_bytes();
    }
    text.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// User-Agent, target, address, fingerprint, status, whether there is a referrer, and a trap.
    type Left = (String, String, IpAddr, u64, u16, [bool; 2]);

    fn left(slots: &Slots) -> Vec<Left> {
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
    fn what_is_left_is_read_once_it_is_answered() {
        let slots = Slots::default();
        let addresses = ["192.0.2.1", "2001:db8:1:2:3:4:5:6"].map(|text| text.parse().unwrap());
        let slips = addresses.map(|address: IpAddr| {
            let long = format!("/{}", "a".repeat(300));
            slots.leave(&Observation {
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
            slots.settle(slip.unwrap(), 404, is_trap);
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
    fn who_finds_no_slot_waits_for_none() {
        let slots = Slots::default();
        let seen = Observation::default();
        let slips: Vec<_> = std::iter::from_fn(|| slots.leave(&seen)).collect();
        assert_eq!(slips.len(), SLOTS);
        assert!(size_of::<Slot>() * SLOTS <= 1 << 19);
        for slip in slips {
            slots.release(slip);
        }
        assert_eq!(left(&slots), []);
        assert!(slots.leave(&seen).is_some());
    }
}
