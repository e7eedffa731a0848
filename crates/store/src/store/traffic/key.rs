//! Keys, counts and time spans of traffic totals.

use std::ops::{AddAssign, Range};

use sha2::{Digest as _, Sha256};

/// The length of a traffic key's ID in bits; `SQLite` stores integers of this length in six bytes.
///
/// With ten thousand keys, IDs collide in one out of three million databases.
const ID_BITS: u32 = 47;

/// The dimensions by which requests are counted: the visitor and the decision.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TrafficKey {
    /// The name of the site.
    pub site: String,
    /// The kind of visitor.
    pub kind: String,
    /// The ID of the robot; empty for human visitors.
    pub robot: String,
    /// The verdict on the requests' claims; `none` if there was no claim or no verification.
    pub verdict: String,
    /// The decision for the requests; in a dry run, the decision that would have been enforced.
    pub decision: String,
    /// The cause of the decision: a rule's label, or a word that describes another cause.
    pub cause: String,
    /// The first digit of the HTTP status, such as 2 for 200 to 299; 0 for other statuses.
    pub status: u8,
}

/// The number of requests, with their total size and duration.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TrafficCount {
    /// The number of counted requests.
    pub requests: u64,
    /// The total size of the response bodies that were sent, in bytes.
    pub bytes: u64,
    /// The total time from the request heads to the ends of the responses, in microseconds.
    pub micros: u64,
}

/// The number of requests with the same key in one minute.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MinuteCounts {
    /// The minute, as the number of minutes since the Unix epoch.
    pub minute: i64,
    /// The traffic key shared by the requests.
    pub key: TrafficKey,
    /// The count of the requests.
    pub count: TrafficCount,
}

/// The length of a time span for which traffic totals are stored.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum TrafficSpan {
    /// Minutes; their totals are stored for 48 hours.
    Minute,
    /// Hours; their totals are stored for 35 days.
    Hour,
    /// Days in UTC; their totals are stored indefinitely.
    Day,
}

impl TrafficKey {
    /// Returns the traffic key's ID, a hash of its fields, so that all instances compute the same
    /// ID.
    pub(super) fn id(&self) -> i64 {
        let mut hash = Sha256::new();
        for text in [
            &self.site,
            &self.kind,
            &self.robot,
            &self.verdict,
            &self.decision,
            &self.cause,
        ] {
            // The length is hashed too, so that `ab`, `c` and `a`, `bc` differ.
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        hash.update([self.status]);
        let digest = hash.finalize();
        let bytes = digest.first_chunk().copied().unwrap_or_default();
        (u64::from_be_bytes(bytes) >> (64 - ID_BITS)).cast_signed()
    }
}

impl TrafficCount {
    /// Returns `true` if no requests were counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for TrafficCount {
    // Saturating, as a forged log line must not cause a total to overflow.
    fn add_assign(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.micros = self.micros.saturating_add(other.micros);
    }
}

impl TrafficSpan {
    /// All span lengths, shortest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// Returns the length of the span in minutes.
    pub fn minutes(self) -> i64 {
        match self {
            Self::Minute => 1,
            Self::Hour => 60,
            Self::Day => 24 * 60,
        }
    }

    /// Returns the time for which the span's totals are stored, in minutes; `None` means no limit.
    pub fn retention_minutes(self) -> Option<i64> {
        match self {
            Self::Minute => Some(48 * 60),
            Self::Hour => Some(35 * 24 * 60),
            Self::Day => None,
        }
    }

    /// Returns the start of the span that contains a minute.
    pub fn start(self, minute: i64) -> i64 {
        minute - minute.rem_euclid(self.minutes())
    }

    /// Returns `true` if old totals of this span are packed; the totals of minutes are removed
    /// before they would be packed.
    pub(super) fn is_packed(self) -> bool {
        self != Self::Minute
    }

    pub(super) fn number(self) -> i64 {
        match self {
            Self::Minute => 0,
            Self::Hour => 1,
            Self::Day => 2,
        }
    }

    /// Splits a range of minutes into pieces for which totals exist at `now`: the longest spans in
    /// the middle, and shorter spans at the ends if these are still stored.
    ///
    /// If shorter spans are no longer stored, the piece is extended to whole longer spans.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_store::store::TrafficSpan::{self, Day, Hour, Minute};
    ///
    /// let (day, now) = (24 * 60, 100 * 24 * 60 + 90);
    /// let pieces = TrafficSpan::cover(98 * day + 30..now, now);
    /// let expected = [
    ///     (Hour, 98 * day..99 * day),
    ///     (Day, 99 * day..100 * day),
    ///     (Hour, 100 * day..100 * day + 60),
    ///     (Minute, 100 * day + 60..now),
    /// ];
    /// assert_eq!(pieces, expected);
    /// ```
    pub fn cover(minutes: Range<i64>, now: i64) -> Vec<(Self, Range<i64>)> {
        Self::cover_up_to(minutes, now, Self::Day)
    }

    /// Splits a range of minutes like [`cover`](Self::cover), but into spans of at most the given
    /// length.
    ///
    /// Longer spans are used only where no shorter spans are stored. The covered range is the same
    /// as with [`cover`](Self::cover).
    pub fn cover_up_to(minutes: Range<i64>, now: i64, most: Self) -> Vec<(Self, Range<i64>)> {
        let kept = |span: Self| (span, span.retention_minutes().unwrap_or(i64::MAX));
        Self::cover_with(&Self::ALL.map(kept), minutes, now, most)
    }

    /// Splits a range of minutes into pieces of the given spans. The spans are sorted by length,
    /// each with the time for which it is stored, in minutes.
    pub(super) fn cover_with(
        kept: &[(Self, i64)],
        minutes: Range<i64>,
        now: i64,
        most: Self,
    ) -> Vec<(Self, Range<i64>)> {
        let mut pieces: Vec<(Self, Range<i64>)> = Vec::new();
        let mut at = minutes.start;
        while at < minutes.end {
            let span = Self::longest(kept, at..minutes.end, now, most);
            let (began, ended) = (span.start(at), span.start(at) + span.minutes());
            match pieces.last_mut() {
                Some((same, piece)) if *same == span => piece.end = ended,
                _ => pieces.push((span, began..ended)),
            }
            at = ended;
        }
        pieces
    }

    /// Returns the range covered by consecutive pieces, or `None` if there are no pieces.
    pub fn covered(pieces: &[(Self, Range<i64>)]) -> Option<Range<i64>> {
        let (first, last) = (pieces.first()?, pieces.last()?);
        Some(first.1.start..last.1.end)
    }

    /// Returns the longest span that starts at a minute and ends within the range, or else the
    /// shortest span that is still stored.
    fn longest(kept: &[(Self, i64)], minutes: Range<i64>, now: i64, most: Self) -> Self {
        let (at, end) = (minutes.start, minutes.end);
        let is_kept = |(span, kept): &&(Self, i64)| span.start(at) >= now.saturating_sub(*kept);
        let fits = |(span, _): &&(Self, i64)| span.start(at) == at && at + span.minutes() <= end;
        let mut longest_first = kept.iter().rev().filter(|(span, _)| *span <= most);
        let longest = longest_first.find(|span| fits(span) && is_kept(span));
        let found = longest.or_else(|| kept.iter().find(is_kept));
        found.map_or(Self::Day, |(span, _)| *span)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn different_keys_have_different_ids() {
        let key = |site: &str, kind: &str, status| TrafficKey {
            site: site.to_owned(),
            kind: kind.to_owned(),
            status,
            ..TrafficKey::default()
        };
        let ids = [
            key("a", "b", 2).id(),
            key("ab", "", 2).id(),
            key("", "ab", 2).id(),
            key("a", "b", 3).id(),
        ];
        for (at, id) in ids.iter().enumerate() {
            assert!((0..1 << ID_BITS).contains(id));
            assert!(!ids[..at].contains(id));
        }
        assert_eq!(key("a", "b", 2).id(), ids[0]);
    }

    #[test]
    fn expired_spans_are_covered_by_longer_ones() {
        let day = TrafficSpan::Day.minutes();
        let now = 100 * day;
        let old = TrafficSpan::cover(day + 1..day + 2, now);
        assert_eq!(old, [(TrafficSpan::Day, day..2 * day)]);
        let hour = TrafficSpan::cover(90 * day + 1..90 * day + 2, now);
        assert_eq!(hour, [(TrafficSpan::Hour, 90 * day..90 * day + 60)]);
        assert_eq!(TrafficSpan::cover(5..5, now), []);
    }

    proptest! {
        #[test]
        fn pieces_are_consecutive_and_cover_every_minute(
            start in 0_i64..100_000,
            length in 1_i64..100_000,
            later in 0_i64..100_000,
        ) {
            let now = start + length + later;
            let pieces = TrafficSpan::cover(start..start + length, now);
            let (first, last) = (pieces.first().unwrap(), pieces.last().unwrap());
            prop_assert!(first.1.start <= start && last.1.end >= start + length);
            for two in pieces.windows(2) {
                prop_assert_eq!(two[0].1.end, two[1].1.start);
            }
            for (span, piece) in &pieces {
                prop_assert_eq!(span.start(piece.start), piece.start);
                prop_assert_eq!(span.start(piece.end), piece.end);
            }
            for most in TrafficSpan::ALL {
                let by = TrafficSpan::cover_up_to(start..start + length, now, most);
                prop_assert_eq!(TrafficSpan::covered(&by), TrafficSpan::covered(&pieces));
            }
            // Ranges still stored by the minute are covered exactly.
            if start >= now - 48 * 60 {
                prop_assert_eq!((first.1.start, last.1.end), (start, start + length));
            }
        }
    }
}
