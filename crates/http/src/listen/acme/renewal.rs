//! Times of orders, without I/O.

use std::time::Duration;

use super::super::certificate::Validity;

/// Longest wait after failures.
const MAX_WAIT: Duration = Duration::from_hours(6);

/// Returns the time, in seconds of the epoch, from which on a certificate is to be renewed.
///
/// That is when a third of its lifetime is left.
pub(super) fn renewal_time(validity: Validity) -> u64 {
    let Validity {
        not_before,
        not_after,
    } = validity;
    not_after.saturating_sub(not_after.saturating_sub(not_before) / 3)
}

/// Returns the wait after so many failures in a row: three times as long after each.
pub(super) fn back_off(wait: Duration, failures: u32) -> Duration {
    let factor = 3_u32.saturating_pow(failures.saturating_sub(1));
    wait.saturating_mul(factor).min(MAX_WAIT.max(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_time_is_left() {
        for (not_before, not_after, expected) in
            [(0, 90, 60), (1_000, 1_003, 1_002), (5, 5, 5), (9, 3, 3)]
        {
            let validity = Validity {
                not_before,
                not_after,
            };
            assert_eq!(renewal_time(validity), expected);
        }
    }

    #[test]
    fn failures_make_it_wait_longer_up_to_six_hours() {
        let minute = Duration::from_mins(1);
        let minutes = [1, 2, 3, 4, 5, 6, 7, 100].map(|failures| back_off(minute, failures));
        let expected = [1, 3, 9, 27, 81, 243, 360, 360].map(Duration::from_mins);
        assert_eq!(minutes, expected);
        assert_eq!(back_off(minute, 0), minute);
    }
}
