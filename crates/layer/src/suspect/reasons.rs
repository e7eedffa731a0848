//! Sets of reasons to suspect a visitor.

use std::fmt;

use super::{Reason, SUSPECT_WEIGHT};

/// A set of reasons to suspect a visitor, with a total weight.
///
/// # Example
///
/// ```
/// use robot_detection_layer::suspect::{Reason, Reasons};
///
/// let weak = Reasons::from(Reason::LanguageMissing);
/// assert!(!weak.is_suspect());
/// let all = weak.with(Reason::HeaderOrder).with(Reason::RequestBare);
/// assert!(all.is_suspect());
/// assert_eq!(all.to_string(), "accept-language-missing,header-order,request-bare");
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Reasons(u32);

impl Reasons {
    /// Returns the set with the given reason added.
    #[must_use]
    pub fn with(self, reason: Reason) -> Self {
        Self(self.0 | bit(reason))
    }

    /// Returns the set, with the given reason added if `holds` is true.
    #[must_use]
    pub(super) fn with_if(self, holds: bool, reason: Reason) -> Self {
        Self(self.0 | (bit(reason) * u32::from(holds)))
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the reasons that remain after the visitor has confirmed that it is human.
    ///
    /// Unusual headers may come from a rare browser, and other clients may have caused the
    /// suspicion of a fleet; reasons based on the visitor's own actions remain.
    #[must_use]
    pub fn after_confirmation(self) -> Self {
        let of_deeds = [Reason::Conduct, Reason::UpstreamWord, Reason::Trap];
        self.intersection(of_deeds.into_iter().collect())
    }

    fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns `true` if there are no reasons in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns `true` if the set contains the given reason.
    #[must_use]
    pub fn contains(self, reason: Reason) -> bool {
        self.0 & bit(reason) != 0
    }

    /// Returns `true` if the two sets have a reason in common.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the total weight of the reasons in the set.
    #[must_use]
    pub fn weight(self) -> u32 {
        self.iter().map(Reason::weight).sum()
    }

    /// Returns `true` if the total weight of the reasons makes a visitor suspect.
    #[must_use]
    pub fn is_suspect(self) -> bool {
        !self.is_empty() && self.weight() >= SUSPECT_WEIGHT
    }

    /// Returns the set if its weight makes a visitor suspect, and an empty set otherwise.
    #[must_use]
    pub(crate) fn if_suspect(self) -> Self {
        if self.is_suspect() { self } else { Self(0) }
    }

    /// Returns an iterator over the reasons in the set.
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

/// Displays the codes of the reasons, separated by commas.
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

const _: () = assert!(Reason::ALL.len() <= 32, "each reason needs a bit");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_can_be_parsed() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.code()), Some(*reason));
            assert!((1..=SUSPECT_WEIGHT).contains(&reason.weight()), "{reason}");
        }
        let all: Reasons = Reason::ALL.iter().copied().collect();
        assert_eq!(all.iter().count(), Reason::ALL.len());
        assert_eq!(Reason::from_code("person"), None);
    }

    #[test]
    fn headers_removed_by_proxies_or_extensions_do_not_make_a_suspect() {
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
                .is_suspect()
        );
        assert!(!of_extensions.into_iter().collect::<Reasons>().is_suspect());
        assert!(!Reasons::default().is_suspect());
    }
}
