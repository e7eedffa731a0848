//! The time that figures are about.

use std::ops::Range;

use robot_detection_store::store::{Store, StoreError, TrafficSpan};

use super::Moment;

const MINUTE_MS: i64 = 60_000;

/// Time that is asked about: since when, and until when if not now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Times {
    /// Start.
    pub since: Moment,
    /// End, exclusive; `None` means now.
    pub until: Option<Moment>,
}

/// Reason why a time has no minutes.
#[derive(Debug, thiserror::Error)]
pub enum TimesError {
    /// The end is before the beginning.
    #[error("since is later than until: nothing is between them")]
    Backwards,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Times {
    /// Returns the minutes since 1970, as far as anything was counted of them.
    ///
    /// # Errors
    ///
    /// Fails if the end is before the beginning, or if the database does.
    pub async fn minutes(self, store: &Store, now_ms: i64) -> Result<Range<i64>, TimesError> {
        let first = store.traffic().first_day().await?;
        self.within(first, now_ms).ok_or(TimesError::Backwards)
    }

    /// Returns them where the first day of which anything was counted is known; `None` where
    /// since is later than until.
    #[must_use]
    pub fn within(self, first: Option<i64>, now_ms: i64) -> Option<Range<i64>> {
        // The minute that has begun is counted too.
        let now = now_ms.div_euclid(MINUTE_MS) + 1;
        let first = first.unwrap_or(now);
        let until = self.until.map_or(now, |until| until.minute(now, first));
        let since = self.since.minute(now, first.min(until));
        // Nothing was counted before; who asks for the year 1970 waits for no half a million pieces.
        let bounded = |minute: i64| minute.clamp(first.min(now), now);
        (since <= until).then(|| bounded(since)..bounded(until))
    }
}

/// Returns the minutes that are told of, which grow where only whole hours or days are kept.
#[must_use]
pub fn told(minutes: &Range<i64>, now_ms: i64) -> Range<i64> {
    let pieces = TrafficSpan::cover(minutes.clone(), now_ms.div_euclid(MINUTE_MS));
    TrafficSpan::covered(&pieces).unwrap_or(minutes.clone())
}
