//! Sets of reasons.

use std::fmt;

use super::{Reason, SUSPECT_WEIGHT};

/// Set of reasons, and the mark that they make.
///
/// # Example
///
/// ```
/// use robot_detection_layer::suspect::{Reason, Reasons};
///
/// let weak = Reasons::from(Reason::LanguageMissing);
/// assert!(!weak.are_suspect());
/// let all = weak.with(Reason::HeaderOrder).with(Reason::RequestBare);
/// assert!(all.are_suspect());
/// assert_eq!(all.to_string(), "accept-language-missing,header-order,request-bare");
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Reasons(u32);

impl Reasons {
    /// Returns the set with one more.
    #[must_use]
    pub fn with(self, reason: Reason) -> Self {
        Self(self.0 | bit(reason))
    }

    /// Returns the set, with one more if that holds.
    #[must_use]
    pub(super) fn with_if(self, holds: bool, reason: Reason) -> Self {
        Self(self.0 | (bit(reason) * u32::from(holds)))
    }

    /// Returns all of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns those that whoever says by a click that he is a person is still suspect by.
    ///
    /// What looks odd may be a rare browser, and what a fleet does others do; what somebody has done
    /// himself no click undoes.
    #[must_use]
    pub fn left_by_a_click(self) -> Self {
        let of_deeds = [Reason::Conduct, Reason::UpstreamWord, Reason::Trap];
        self.intersection(of_deeds.into_iter().collect())
    }

    fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns `true` if there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns `true` if a reason is among them.
    #[must_use]
    pub fn contains(self, reason: Reason) -> bool {
        self.0 & bit(reason) != 0
    }

    /// Returns `true` if both have a reason in common.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns what all together weigh.
    #[must_use]
    pub fn weight(self) -> u32 {
        self.iter().map(Reason::weight).sum()
    }

    /// Returns `true` if they make a suspect.
    #[must_use]
    pub fn are_suspect(self) -> bool {
        !self.is_empty() && self.weight() >= SUSPECT_WEIGHT
    }

    /// Returns them if they make a suspect, and none otherwise.
    #[must_use]
    pub(crate) fn if_suspect(self) -> Self {
        if self.are_suspect() { self } else { Self(0) }
    }

    /// Returns each of them.
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        let all = Reason::ALL.iter().copied();
        all.filter(move |reason| self.contains(*reason))
    }
}

impl From<Reason> for Reasons {
    fn from(reason: Reason) -> Self {
        Self(bit(reason))
    }
}

impl FromIterator<Reason> for Reasons {
    fn from_iter<I: IntoIterator<Item = Reason>>(reasons: I) -> Self {
        reasons.into_iter().fold(Self::default(), Self::with)
    }
}

/// Shows the codes, with commas between them.
impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, reason) in self.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            f.write_str(reason.code())?;
        }
        Ok(())
    }
}

const fn bit(reason: Reason) -> u32 {
    1 << reason as u32
}

const _: () = assert!(Reason::ALL.len() <= 32, "each reason has its bit");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart_and_read_again() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.code()), Some(*reason));
            assert!((1..=SUSPECT_WEIGHT).contains(&reason.weight()), "{reason}");
        }
        let all: Reasons = Reason::ALL.iter().copied().collect();
        assert_eq!(all.iter().count(), Reason::ALL.len());
        assert_eq!(Reason::from_code("person"), None);
    }

    #[test]
    fn what_a_proxy_takes_off_makes_no_suspect() {
        let of_corporate_proxies = [
            Reason::ClientHintsMissing,
            Reason::FetchMetadataMissing,
            Reason::EncodingPoor,
        ];
        let of_extensions = [Reason::LanguageMissing, Reason::ClientHintsMissing];
        assert!(
            !of_corporate_proxies
                .into_iter()
                .collect::<Reasons>()
                .are_suspect()
        );
        assert!(!of_extensions.into_iter().collect::<Reasons>().are_suspect());
        assert!(!Reasons::default().are_suspect());
    }
}
