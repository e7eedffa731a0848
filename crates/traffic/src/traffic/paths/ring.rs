//! Slots that requests leave their paths in: no lock, no allocation, and nobody waits.

use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use robot_detection_store::store::MAX_PATH_BYTES;

use super::note::{PathNote, first_bytes};

/// Slots of a process, a power of two: half a megabyte, for as many requests as come between two
/// times that they are emptied.
pub(in crate::traffic) const SLOTS: usize = 4_096;

/// Slots that a request tries: one that is held belongs to a robot that is still being answered.
const TRIES: usize = 4;

const FREE: u64 = 0;
const CLAIMED: u64 = 1;
const SETTLED: u64 = 2;
/// Bits of a state, behind which the length of the path stands, and whether it was cut.
const LENGTH_AT: u32 = 8;
const IS_CUT: u64 = 1 << 2;
const STATE: u64 = 0b11;
/// Where the class of the status and the number of the visitor stand.
const CLASS_AT: u32 = 16;
const VISITOR_AT: u32 = 32;

/// Slots of all requests.
#[derive(Debug)]
pub(in crate::traffic) struct Ring {
    slots: Box<[Slot]>,
    next: AtomicUsize,
}

/// Path of one request; a pair of cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    state: AtomicU64,
    words: [AtomicU64; MAX_PATH_BYTES / 8],
}

/// Slot of a request that has not been answered yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ticket(u16);

/// What was read from a slot.
#[derive(Clone, Copy, Debug)]
pub(in crate::traffic) struct Settled {
    pub(in crate::traffic) visitor: u32,
    pub(in crate::traffic) class: u8,
    pub(in crate::traffic) path: PathNote,
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            next: AtomicUsize::new(0),
        }
    }
}

impl Ring {
    /// Leaves a path in a free slot; `None` where there is none.
    #[inline]
    pub(in crate::traffic) fn claim(&self, path: &str) -> Option<Ticket> {
        let (path, is_cut) = first_bytes(path);
        for _ in 0..TRIES {
            let at = self.next.fetch_add(1, Relaxed) % SLOTS;
            let slot = self.slots.get(at)?;
            let length = (path.len() as u64) << LENGTH_AT;
            let cut = if is_cut { IS_CUT } else { 0 };
            let claimed = CLAIMED | length | cut;
            let is_mine = slot.state.compare_exchange(FREE, claimed, Acquire, Relaxed);
            if is_mine.is_ok() {
                slot.write(path);
                return u16::try_from(at).ok().map(Ticket);
            }
        }
        None
    }

    /// Records who left a path and how he was answered, so that it is counted.
    #[inline]
    pub(in crate::traffic) fn settle(&self, ticket: Ticket, visitor: u32, class: u8) {
        let Some(slot) = self.slots.get(usize::from(ticket.0)) else {
            return;
        };
        let claimed = slot.state.load(Relaxed) & !STATE;
        let told = u64::from(visitor) << VISITOR_AT | u64::from(class) << CLASS_AT;
        // Whoever sees the state sees the path that was left before.
        slot.state.store(claimed | told | SETTLED, Release);
    }

    /// Gives a slot back whose request is not to be counted.
    pub(in crate::traffic) fn release(&self, ticket: Ticket) {
        if let Some(slot) = self.slots.get(usize::from(ticket.0)) {
            slot.state.store(FREE, Release);
        }
    }

    /// Empties the slots of requests that were answered; returns how many there were.
    pub(in crate::traffic) fn drain(&self, mut take: impl FnMut(&Settled)) -> usize {
        let mut taken = 0;
        for slot in &self.slots {
            let state = slot.state.load(Acquire);
            if state & STATE != SETTLED {
                continue;
            }
            take(&slot.read(state));
            slot.state.store(FREE, Release);
            taken += 1;
        }
        taken
    }
}

impl Slot {
    /// Writes a path, eight bytes at a time.
    #[inline]
    fn write(&self, path: &[u8]) {
        let (whole, rest) = path.as_chunks::<8>();
        let mut places = self.words.iter();
        for (word, place) in whole.iter().zip(&mut places) {
            place.store(u64::from_le_bytes(*word), Relaxed);
        }
        if let (false, Some(place)) = (rest.is_empty(), places.next()) {
            let word = rest.iter().rev();
            let word = word.fold(0, |word, byte| word << 8 | u64::from(*byte));
            place.store(word, Relaxed);
        }
    }

    fn read(&self, state: u64) -> Settled {
        let mut bytes = [0; MAX_PATH_BYTES];
        let (places, _) = bytes.as_chunks_mut::<8>();
        let [_, length, class, ..] = state.to_le_bytes();
        let used = usize::from(length).div_ceil(8);
        for (place, word) in places.iter_mut().zip(&self.words).take(used) {
            *place = word.load(Relaxed).to_le_bytes();
        }
        Settled {
            visitor: u32::try_from(state >> VISITOR_AT).unwrap_or_default(),
            class,
            path: PathNote::read(bytes, length, state & IS_CUT != 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(ring: &Ring) -> Vec<String> {
        let mut paths = Vec::new();
        ring.drain(|settled| paths.push(settled.path.kept_text(false)));
        paths
    }

    #[test]
    fn a_path_is_read_when_its_request_was_answered() {
        let ring = Ring::default();
        let long = format!("/{}", "a/".repeat(100));
        let tickets: Vec<_> = ["/", "/a/b.html", &long]
            .iter()
            .map(|path| ring.claim(path).unwrap())
            .collect();
        assert_eq!(paths(&ring), Vec::<String>::new());
        for ticket in &tickets[1..] {
            ring.settle(*ticket, 7 | 1 << 31, 4);
        }
        let mut seen = Vec::new();
        ring.drain(|settled| seen.push((settled.visitor, settled.class)));
        assert_eq!(seen, [(7 | 1 << 31, 4); 2]);
        ring.release(tickets[0]);
        assert_eq!(paths(&ring), Vec::<String>::new());
    }

    #[test]
    fn who_finds_no_slot_waits_for_none() {
        let ring = Ring::default();
        let tickets: Vec<_> = std::iter::from_fn(|| ring.claim("/a")).collect();
        assert_eq!(tickets.len(), SLOTS);
        // Few of those that are held for long keep nobody else away.
        for ticket in tickets.iter().skip(100) {
            ring.settle(*ticket, 0, 2);
        }
        assert_eq!(ring.drain(|_| ()), SLOTS - 100);
        let again = (0..1_000).filter(|_| ring.claim("/a").is_some()).count();
        assert!(again > 900, "{again}");
    }

    #[test]
    fn threads_that_leave_paths_at_once_leave_each_whole() {
        let ring = Ring::default();
        let texts = ["/aaaaaaaaaaaaaaaaaaaaaaaa", "/bbbb/bbbbbbbbbbbbbbbbb", "/c"];
        let (mut left, mut skipped, mut read) = (0, 0, 0);
        std::thread::scope(|scope| {
            let threads = texts.map(|text| {
                let ring = &ring;
                scope.spawn(move || {
                    let leave = |_: &usize| {
                        let ticket = ring.claim(text);
                        ticket.map(|ticket| ring.settle(ticket, 1, 2)).is_some()
                    };
                    (0..20_000).filter(leave).count()
                })
            });
            let mut drain = || {
                let paths = paths(&ring);
                assert!(paths.iter().all(|path| texts.contains(&&**path)));
                read += paths.len();
            };
            while threads.iter().any(|thread| !thread.is_finished()) {
                drain();
            }
            for thread in threads {
                let count = thread.join().unwrap();
                left += count;
                skipped += 20_000 - count;
            }
            drain();
        });
        assert_eq!((read, left + skipped), (left, 60_000));
    }
}
