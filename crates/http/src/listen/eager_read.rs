//! The decision whether to read from a connection as soon as it is accepted.
//!
//! If clients are nearby or connections queue up, the first request has usually arrived already,
//! and the socket need not be registered with the runtime. If requests rarely arrive that early,
//! the read is a wasted system call. Each thread decides based on the results of its last reads.

use std::cell::Cell;

/// The miss score at which most connections are no longer read eagerly.
const MAX_MISSES: u32 = 64;
/// The number of misses that one hit outweighs. A hit saves the system calls that register and
/// deregister the socket, a timer and usually a task; a miss costs one system call.
const HIT_WEIGHT: u32 = 8;
/// The interval, in connections, at which a connection is read eagerly regardless of the score, to
/// detect changes.
const PROBE_INTERVAL: u32 = 8;

thread_local! {
    /// The miss score, which is the number of reads without data minus the weight of the hits.
    static MISSED: Cell<u32> = const { Cell::new(0) };
    static WAITED_FOR: Cell<u32> = const { Cell::new(0) };
}

/// Returns `true` if the next connection should be read before its socket is known to be readable.
pub(super) fn should_read_eagerly() -> bool {
    if MISSED.get() < MAX_MISSES {
        return true;
    }
    let waited_for = WAITED_FOR.get().wrapping_add(1);
    WAITED_FOR.set(waited_for);
    waited_for.is_multiple_of(PROBE_INTERVAL)
}

/// Records whether an eager read has found data.
pub(super) fn record_result(has_found: bool) {
    let missed = MISSED.get();
    MISSED.set(if has_found {
        missed.saturating_sub(HIT_WEIGHT)
    } else {
        MAX_MISSES.min(missed + 1)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of connections that are read eagerly if one in `one_in` has sent a
    /// request.
    fn reads_eagerly(connections: u32, one_in: u32) -> u32 {
        let reads_eagerly = |number: &u32| {
            let is_worth_it = should_read_eagerly();
            if is_worth_it {
                record_result(number.is_multiple_of(one_in));
            }
            is_worth_it
        };
        let reads_eagerly = (0..connections).filter(reads_eagerly).count();
        u32::try_from(reads_eagerly).unwrap()
    }

    #[test]
    fn eager_reads_continue_as_long_as_they_find_requests() {
        assert_eq!(reads_eagerly(1000, 1), 1000);
        assert_eq!(reads_eagerly(1000, 3), 1000);
        // All connections are read eagerly until the misses exceed the limit, and then only a few.
        let first = reads_eagerly(1000, u32::MAX);
        assert!((100..300).contains(&first), "{first}");
        let then = reads_eagerly(1000, u32::MAX);
        assert!((100..200).contains(&then), "{then}");
        // Once requests are found again, all connections are read eagerly after a few connections.
        let again = reads_eagerly(1000, 1);
        assert!(again > 980, "{again}");
        assert_eq!(reads_eagerly(1000, 1), 1000);
    }
}
