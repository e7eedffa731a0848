//! The slots in which request paths are stored.

use robot_detection_store::store::MAX_PATH_BYTES;

use super::note::{ShortPath, first_bytes};
use crate::slots::{Slots, Ticket, Words};

/// Number of slots in a process (half a megabyte); enough for the requests between two drains.
const SLOTS: usize = 4_096;

/// Positions of the path length and of the flag for a truncated path in the bits of a slot's state.
const LENGTH_AT: u32 = 8;
const IS_CUT: u64 = 1 << 2;
/// Positions of the status class and of the visitor number in the bits of a slot's state.
const CLASS_AT: u32 = 16;
const VISITOR_AT: u32 = 32;

/// The slots for the paths of all requests.
pub(in crate::traffic) type PathSlots = Slots<Words<{ MAX_PATH_BYTES / 8 }>, SLOTS>;

/// The content of a slot whose request has finished.
#[derive(Clone, Copy, Debug)]
pub(in crate::traffic) struct RecordedPath {
    pub(in crate::traffic) visitor: u32,
    pub(in crate::traffic) class: u8,
    pub(in crate::traffic) path: ShortPath,
}

impl PathSlots {
    /// Stores a path in a free slot; returns `None` if no slot is free.
    #[inline]
    pub(in crate::traffic) fn claim_path(&self, path: &str) -> Option<Ticket> {
        let (path, is_cut) = first_bytes(path);
        let cut = if is_cut { IS_CUT } else { 0 };
        let told = (path.len() as u64) << LENGTH_AT | cut;
        self.claim(told, |words| {
            words.write(path);
        })
    }

    /// Records the visitor and status class for a stored path, so that the request will be counted.
    #[inline]
    pub(in crate::traffic) fn settle_path(&self, ticket: Ticket, visitor: u32, class: u8) {
        let class = u64::from(class) << CLASS_AT;
        self.settle(ticket, u64::from(visitor) << VISITOR_AT | class);
    }

    /// Empties the slots of finished requests, and returns the number of slots that were emptied.
    pub(in crate::traffic) fn drain_paths(&self, mut take: impl FnMut(&RecordedPath)) -> usize {
        self.drain_all(|words, told| {
            let [_, length, class, ..] = told.to_le_bytes();
            let mut bytes = [0; MAX_PATH_BYTES];
            words.read(&mut bytes, length);
            take(&RecordedPath {
                visitor: u32::try_from(told >> VISITOR_AT).unwrap_or_default(),
                class,
                path: ShortPath::read(bytes, length, told & IS_CUT != 0),
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(ring: &PathSlots) -> Vec<String> {
        let mut paths = Vec::new();
        ring.drain_paths(|settled| paths.push(settled.path.kept_text(false)));
        paths
    }

    #[test]
    fn path_is_read_once_its_request_is_finished() {
        let ring = PathSlots::default();
        let long = format!("/{}", "a/".repeat(100));
        let tickets: Vec<_> = ["/", "/a/b.html", &long]
            .iter()
            .map(|path| ring.claim_path(path).unwrap())
            .collect();
        assert_eq!(paths(&ring), Vec::<String>::new());
        for ticket in &tickets[1..] {
            ring.settle_path(*ticket, 7 | 1 << 31, 4);
        }
        let mut seen = Vec::new();
        ring.drain_paths(|settled| seen.push((settled.visitor, settled.class)));
        assert_eq!(seen, [(7 | 1 << 31, 4); 2]);
        ring.release(tickets[0]);
        assert_eq!(paths(&ring), Vec::<String>::new());
    }

    #[test]
    fn requests_do_not_wait_for_a_free_slot() {
        let ring = PathSlots::default();
        let tickets: Vec<_> = std::iter::from_fn(|| ring.claim_path("/a")).collect();
        assert_eq!(tickets.len(), SLOTS);
        // A few slots that stay occupied do not block other requests.
        for ticket in tickets.iter().skip(100) {
            ring.settle_path(*ticket, 0, 2);
        }
        assert_eq!(ring.drain_paths(|_| ()), SLOTS - 100);
        let again = (0..1_000)
            .filter(|_| ring.claim_path("/a").is_some())
            .count();
        assert!(again > 900, "{again}");
    }

    #[test]
    fn concurrent_threads_store_complete_paths() {
        let ring = PathSlots::default();
        let texts = ["/aaaaaaaaaaaaaaaaaaaaaaaa", "/bbbb/bbbbbbbbbbbbbbbbb", "/c"];
        let (mut left, mut skipped, mut read) = (0, 0, 0);
        std::thread::scope(|scope| {
            let threads = texts.map(|text| {
                let ring = &ring;
                scope.spawn(move || {
                    let leave = |_: &usize| {
                        let ticket = ring.claim_path(text);
                        ticket
                            .map(|ticket| ring.settle_path(ticket, 1, 2))
                            .is_some()
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
