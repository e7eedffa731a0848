//! What is counted apart, and what is counted of it.

use std::ops::{AddAssign, Range};

use sha2::{Digest as _, Sha256};

/// Bits of an id: as many as `SQLite` keeps in six bytes, of which there are millions.
///
/// With ten thousand keys two of them meet once in three million databases.
const ID_BITS: u32 = 47;

/// Visitors and decisions whose requests are counted together.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TrafficKey {
    /// Name of the site.
    pub site: String,
    /// Word for the kind of visitor.
    pub kind: String,
    /// Id of the robot; empty for people.
    pub robot: String,
    /// Word for the verdict; `none` where nothing is claimed, or nobody proves claims.
    pub verdict: String,
    /// Word for what was done, or would have been done in a dry run.
    pub decision: String,
    /// What decided: a rule's label, or a word.
    pub cause: String,
    /// Class of the status: 2 for 200 to 299; 0 for none of the five.
    pub status: u8,
}

/// What is counted of requests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TrafficCount {
    /// Requests.
    pub requests: u64,
    /// Bytes of the responses' bodies that were sent.
    pub bytes: u64,
    /// Microseconds from the requests' heads to the ends of their responses.
    pub micros: u64,
}

/// What was counted of a key in one minute.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CountedMinute {
    /// Minutes since 1970.
    pub minute: i64,
    /// What it was counted of.
    pub key: TrafficKey,
    /// The count.
    pub count: TrafficCount,
}

/// Length of time for which sums are kept.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum TrafficSpan {
    /// A minute; kept for 48 hours.
    Minute,
    /// An hour; kept for 35 days.
    Hour,
    /// A day in UTC; kept for ever.
    Day,
}

impl TrafficKey {
    /// Returns the id, which is made from the rest: instances need not agree on one.
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
            // The length keeps `ab`, `c` apart from `a`, `bc`.
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
    /// Returns `true` if nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for TrafficCount {
    // A forged line of a log must not overflow a sum.
    fn add_assign(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.micros = self.micros.saturating_add(other.micros);
    }
}

impl TrafficSpan {
    /// Every span, the shortest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// Returns its minutes.
    pub fn minutes(self) -> i64 {
        match self {
            Self::Minute => 1,
            Self::Hour => 60,
            Self::Day => 24 * 60,
        }
    }

    /// Returns the minutes after which its sums are removed; `None`: never.
    pub fn kept_minutes(self) -> Option<i64> {
        match self {
            Self::Minute => Some(48 * 60),
            Self::Hour => Some(35 * 24 * 60),
            Self::Day => None,
        }
    }

    /// Returns the beginning of the span that a minute is in.
    pub fn start(self, minute: i64) -> i64 {
        minute - minute.rem_euclid(self.minutes())
    }

    /// Returns `true` if sums of long ago are packed; those of minutes are gone before.
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

    /// Splits minutes into pieces that sums of `now` can answer: the longest spans in the
    /// middle, shorter ones at the ends as far as they are kept.
    ///
    /// Where they are not kept any more, the piece grows to whole spans.
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
        Self::cover_by(minutes, now, Self::Day)
    }

    /// Splits minutes in the same way, into spans of at most a given length.
    ///
    /// Longer ones stand where no shorter ones are kept. The pieces begin and end where those of
    /// [`cover`](Self::cover) do.
    pub fn cover_by(minutes: Range<i64>, now: i64, most: Self) -> Vec<(Self, Range<i64>)> {
        let kept = |span: Self| (span, span.kept_minutes().unwrap_or(i64::MAX));
        Self::cover_of(&Self::ALL.map(kept), minutes, now, most)
    }

    /// Splits minutes into pieces of some spans, the shortest first, each with the minutes for
    /// which its sums are kept.
    pub(super) fn cover_of(
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

    /// Returns the minutes of pieces that follow each other; `None` of no piece.
    pub fn covered(pieces: &[(Self, Range<i64>)]) -> Option<Range<i64>> {
        let (first, last) = (pieces.first()?, pieces.last()?);
        Some(first.1.start..last.1.end)
    }

    /// Returns the longest span that begins at a minute and is over by the end, or else the
    /// shortest that is still kept of it.
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
    fn keys_that_differ_have_other_ids() {
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
    fn what_is_not_kept_any_more_is_told_by_whole_spans() {
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
        fn pieces_follow_each_other_and_cover_every_minute(
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
                let by = TrafficSpan::cover_by(start..start + length, now, most);
                prop_assert_eq!(TrafficSpan::covered(&by), TrafficSpan::covered(&pieces));
            }
            // Whatever is still kept by the minute is told to the minute.
            if start >= now - 48 * 60 {
                prop_assert_eq!((first.1.start, last.1.end), (start, start + length));
            }
        }
    }
}
