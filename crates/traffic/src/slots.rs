//! Lock-free slots in which requests store data without allocating memory or waiting.

use std::{
    sync::atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};

/// Maximum number of slots that a request tries; an occupied slot belongs to another active
/// request.
const TRIES: usize = 4;

const FREE: u64 = 0;
const CLAIMED: u64 = 1;
const SETTLED: u64 = 2;
const STATE: u64 = 0b11;

/// A fixed number of slots for request data; `COUNT` must be a power of two.
#[derive(Debug)]
pub(crate) struct Slots<L, const COUNT: usize> {
    slots: Box<[Slot<L>]>,
    next: AtomicUsize,
}

/// A slot for the data of one request, aligned to a pair of cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot<L> {
    state: AtomicU64,
    left: L,
}

/// A reference to the slot of a request that has no response yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ticket(u16);

/// Words of memory that any number of threads can read and write.
#[derive(Debug)]
pub(crate) struct Words<const COUNT: usize>([AtomicU64; COUNT]);

impl<L: Default, const COUNT: usize> Default for Slots<L, COUNT> {
    fn default() -> Self {
        Self {
            slots: (0..COUNT).map(|_| Slot::default()).collect(),
            next: AtomicUsize::new(0),
        }
    }
}

impl<L, const COUNT: usize> Slots<L, COUNT> {
    /// Writes data to a free slot. Returns `None` if none of the tried slots is free.
    ///
    /// The lowest two bits of `told` are reserved for the slot's state; the other bits are stored
    /// until the slot is freed.
    #[inline]
    pub(crate) fn claim(&self, told: u64, write: impl FnOnce(&L)) -> Option<Ticket> {
        for _ in 0..TRIES {
            let at = self.next.fetch_add(1, Relaxed) % COUNT;
            let slot = self.slots.get(at)?;
            let claimed = told | CLAIMED;
            let is_mine = slot.state.compare_exchange(FREE, claimed, Acquire, Relaxed);
            if is_mine.is_ok() {
                write(&slot.left);
                return u16::try_from(at).ok().map(Ticket);
            }
        }
        None
    }

    /// Records the result of a request in the request's slot, in addition to the bits stored by
    /// `claim`.
    #[inline]
    pub(crate) fn settle(&self, ticket: Ticket, told: u64) {
        if let Some(slot) = self.slots.get(usize::from(ticket.0)) {
            let before = slot.state.load(Relaxed) & !STATE;
            // A thread that reads this state also sees the data that was written earlier.
            slot.state.store(before | told | SETTLED, Release);
        }
    }

    /// Frees a slot without reading its data.
    pub(crate) fn release(&self, ticket: Ticket) {
        if let Some(slot) = self.slots.get(usize::from(ticket.0)) {
            slot.state.store(FREE, Release);
        }
    }

    /// Empties the slots of all finished requests, and returns the number of slots that were
    /// emptied.
    pub(crate) fn drain_all(&self, mut take: impl FnMut(&L, u64)) -> usize {
        let mut taken = 0;
        for slot in &self.slots {
            let state = slot.state.load(Acquire);
            if state & STATE == SETTLED {
                take(&slot.left, state);
                slot.state.store(FREE, Release);
                taken += 1;
            }
        }
        taken
    }

    /// Returns the pause before the next drain; the pause is shortest after a drain that emptied
    /// many slots.
    pub(crate) fn pause(
        taken: usize,
        last: Duration,
        [shortest, longest]: [Duration; 2],
    ) -> Duration {
        if taken > COUNT / 4 {
            shortest
        } else {
            longest.min(2 * last)
        }
    }
}

impl<const COUNT: usize> Default for Words<COUNT> {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; COUNT])
    }
}

impl<const COUNT: usize> Words<COUNT> {
    pub(crate) fn store(&self, words: [u64; COUNT]) {
        for (place, word) in self.0.iter().zip(words) {
            place.store(word, Relaxed);
        }
    }

    pub(crate) fn load(&self) -> [u64; COUNT] {
        self.0.each_ref().map(|word| word.load(Relaxed))
    }

    /// Writes the first bytes of a text, eight at a time, and returns the number of bytes that were
    /// written.
    #[inline]
    pub(crate) fn write(&self, text: &[u8]) -> u64 {
        let text = text.get(..8 * COUNT).unwrap_or(text);
        let (whole, rest) = text.as_chunks::<8>();
        let mut places = self.0.iter();
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

    /// Reads a stored text of the given length into `text`, which must have room for the maximum
    /// length.
    pub(crate) fn read<'t>(&self, text: &'t mut [u8], length: usize) -> &'t [u8] {
        let (words, _) = text.as_chunks_mut::<8>();
        for (word, place) in words.iter_mut().zip(&self.0).take(length.div_ceil(8)) {
            *word = place.load(Relaxed).to_le_bytes();
        }
        text.get(..length).unwrap_or_default()
    }
}
