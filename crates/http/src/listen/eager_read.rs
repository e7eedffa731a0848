//! Whether a request is there when its connection is accepted.
//!
//! Where clients are close, or connections wait to be accepted, it mostly is, and reading at
//! once spares having the runtime watch. Where it hardly ever is, a read that finds nothing
//! is a call of the system for nothing. Each thread goes by what it found last.

use std::cell::Cell;

/// Reads that found nothing, after which most connections are waited for.
const ENOUGH: u32 = 64;
/// What one read that found something outweighs: about what it spares.
const WORTH: u32 = 8;
/// Of so many connections one is looked at all the same.
const SELDOM: u32 = 8;

thread_local! {
    /// Reads that found nothing, less what others have outweighed.
    static MISSED: Cell<u32> = const { Cell::new(0) };
    static WAITED_FOR: Cell<u32> = const { Cell::new(0) };
}

/// Returns `true` if the next connection is to be read before anything says that something came.
pub(super) fn should_try() -> bool {
    if MISSED.get() < ENOUGH {
        return true;
    }
    let waited_for = WAITED_FOR.get().wrapping_add(1);
    WAITED_FOR.set(waited_for);
    waited_for.is_multiple_of(SELDOM)
}

/// Takes note of a first read.
pub(super) fn record(has_found: bool) {
    let missed = MISSED.get();
    MISSED.set(if has_found {
        missed.saturating_sub(WORTH)
    } else {
        ENOUGH.min(missed + 1)
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
