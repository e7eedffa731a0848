//! Decides whether to read from a connection as soon as it is accepted.
//!
//! Where clients are close, or connections wait to be accepted, the request is mostly there,
//! and the socket need not be registered with the runtime. Where it hardly ever is, the read
//! is a system call for nothing. Each thread decides by what its last reads found.

use std::cell::Cell;

/// Score of misses from which on most connections are not read eagerly.
const MAX_MISSES: u32 = 64;
/// Misses that one hit outweighs: it saves the system calls that register and deregister the
/// socket, a timer and mostly a task, each miss costs one call.
const HIT_WEIGHT: u32 = 8;
/// One of so many connections is read eagerly all the same, to notice a change of the clients.
const PROBE_INTERVAL: u32 = 8;

thread_local! {
    /// Score: reads that found nothing, less what hits have outweighed.
    static MISSED: Cell<u32> = const { Cell::new(0) };
    static WAITED_FOR: Cell<u32> = const { Cell::new(0) };
}

/// Returns `true` if the next connection is to be read before its socket is known to be readable.
pub(super) fn should_try() -> bool {
    if MISSED.get() < MAX_MISSES {
        return true;
    }
    let waited_for = WAITED_FOR.get().wrapping_add(1);
    WAITED_FOR.set(waited_for);
    waited_for.is_multiple_of(PROBE_INTERVAL)
}

/// Records the result of an eager read.
pub(super) fn record(has_found: bool) {
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

    /// How many of so many connections are looked at, if a request is there for one in `one_in`.
    fn reads_eagerly(connections: u32, one_in: u32) -> u32 {
        let reads_eagerly = |number: &u32| {
            let is_worth_it = should_try();
            if is_worth_it {
                record(number.is_multiple_of(one_in));
            }
            is_worth_it
        };
        let reads_eagerly = (0..connections).filter(reads_eagerly).count();
        u32::try_from(reads_eagerly).unwrap()
    }

    #[test]
    fn connections_are_looked_at_as_long_as_that_finds_something() {
        assert_eq!(reads_eagerly(1000, 1), 1000);
        assert_eq!(reads_eagerly(1000, 3), 1000);
        // Up to the last of a long time without, and few from then on.
        let first = reads_eagerly(1000, u32::MAX);
        assert!((100..300).contains(&first), "{first}");
        let then = reads_eagerly(1000, u32::MAX);
        assert!((100..200).contains(&then), "{then}");
        // Found again, they are looked at after a few.
        let again = reads_eagerly(1000, 1);
        assert!(again > 980, "{again}");
        assert_eq!(reads_eagerly(1000, 1), 1000);
    }
}
