//! The single way in which tests wait for a condition that no channel reports.

use std::time::{Duration, Instant};

/// Time limit of a wait: on a busy machine a browser starts in 20 seconds.
const LONGEST: Duration = Duration::from_mins(2);

/// Time between two checks.
const PAUSE: Duration = Duration::from_millis(10);

/// Result of a check: `bool`, or `Option` of the awaited value.
pub(crate) trait Look {
    type Output;

    fn found(self) -> Option<Self::Output>;
}

impl Look for bool {
    type Output = ();

    fn found(self) -> Option<()> {
        self.then_some(())
    }
}

impl<T> Look for Option<T> {
    type Output = T;

    fn found(self) -> Self {
        self
    }
}

/// Repeats a check until it succeeds; returns the value found.
///
/// # Panics
///
/// Panics after two minutes.
#[track_caller]
pub(crate) fn eventually<L: Look>(what: &str, mut look: impl FnMut() -> L) -> L::Output {
    let deadline = deadline();
    loop {
        if let Some(found) = look().found() {
            return found;
        }
        deadline.check(what);
        std::thread::sleep(PAUSE);
    }
}

/// Does the same as [`eventually`] without blocking the runtime.
pub(crate) async fn eventually_async<L: Look>(
    what: &str,
    mut look: impl AsyncFnMut() -> L,
) -> L::Output {
    let deadline = deadline();
    loop {
        if let Some(found) = look().await.found() {
            return found;
        }
        deadline.check(what);
        tokio::time::sleep(PAUSE).await;
    }
}

struct Deadline(Instant);

#[expect(clippy::disallowed_methods, reason = "a deadline on real time")]
fn deadline() -> Deadline {
    Deadline(Instant::now() + LONGEST)
}

impl Deadline {
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "a deadline on real time")]
    fn check(&self, what: &str) {
        assert!(Instant::now() < self.0, "timed out waiting until: {what}");
    }
}
