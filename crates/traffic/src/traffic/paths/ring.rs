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

/// Number of bytes for a robot's path and query, and for the network of the client before them.
const TARGET_BYTES: usize = 368;
const NETWORK_BYTES: usize = 8;
/// The number that represents an unknown network.
const NO_NETWORK: u64 = 0;
const QUERY_SLOT_BYTES: usize = NETWORK_BYTES + TARGET_BYTES;

/// The slots for the robots' requests with a query.
pub(in crate::traffic) type QuerySlots = Slots<Words<{ QUERY_SLOT_BYTES / 8 }>, 2_048>;

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
            words.read(&mut bytes, length.into());
            take(&RecordedPath {
                visitor: u32::try_from(told >> VISITOR_AT).unwrap_or_default(),
                class,
                path: ShortPath::read(bytes, length, told & IS_CUT != 0),
            });
        })
    }
}

impl QuerySlots {
    /// Stores the path and query of a robot's request if a slot is free; parameters that do not fit
    /// are left out.
    pub(in crate::traffic) fn record_query(
        &self,
        visitor: u32,
        network: Option<u64>,
        path: &str,
        query: &str,
    ) {
        let room = TARGET_BYTES.checked_sub(path.len() + 1);
        let kept = room.and_then(|room| match query.get(..room) {
            Some(first) if query.len() > room => Some(first.rsplit_once('&')?.0),
            _ => Some(query).filter(|query| query.len() <= room),
        });
        let Some(kept) = kept else { return };
        let mut bytes = [0; QUERY_SLOT_BYTES];
        let mut length = 0;
        for part in [
            &network.unwrap_or(NO_NETWORK).to_le_bytes(),
            path.as_bytes(),
            b"?",
            kept.as_bytes(),
        ] {
            if let Some(place) = bytes.get_mut(length..length + part.len()) {
                place.copy_from_slice(part);
            }
            length += part.len();
        }
        let told = (length as u64) << LENGTH_AT | u64::from(visitor) << VISITOR_AT;
        let content = bytes.get(..length).unwrap_or_default();
        let write = |words: &Words<_>| {
            words.write(content);
        };
        if let Some(ticket) = self.claim(told, write) {
            self.settle(ticket, 0);
        }
    }

    /// Empties the slots, and passes the visitor, network, path and query of each request.
    pub(in crate::traffic) fn drain_queries(
        &self,
        mut take: impl FnMut(u32, Option<u64>, &str, &[u8]),
    ) -> usize {
        self.drain_all(|words, told| {
            let [_, low, high, ..] = told.to_le_bytes();
            let mut bytes = [0; QUERY_SLOT_BYTES];
            let content = words.read(&mut bytes, u16::from_le_bytes([low, high]).into());
            let visitor = u32::try_from(told >> VISITOR_AT).unwrap_or_default();
            if let Some((network, target)) = content.split_first_chunk::<NETWORK_BYTES>()
                && let Ok(target) = str::from_utf8(target)
                && let Some((path, query)) = target.split_once('?')
            {
                let network = u64::from_le_bytes(*network);
                take(
                    visitor,
                    (network != NO_NETWORK).then_some(network),
                    path,
                    query.as_bytes(),
                );
            }
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
