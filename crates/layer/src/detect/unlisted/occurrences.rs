//! The marks that occur in one User-Agent.

use std::ops::Range;

use super::{MARKS, Unlisted};

/// Occurrences that are looked at, each of which may take as long as the text is;
/// a text that has more of them needs no further look.
pub(super) const MAX_OCCURRENCES: usize = 16;

/// Occurrences of marks, without memory of their own.
pub(in crate::detect) struct Marks {
    /// Index of the mark and where it starts.
    occurrences: [(u16, u16); MAX_OCCURRENCES],
    count: usize,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            occurrences: [(0, 0); MAX_OCCURRENCES],
            count: 0,
        }
    }
}

impl Marks {
    /// Adds the occurrence of a mark, by its index, unless there are too many that say as much.
    ///
    /// The last place goes to who says more.
    pub(in crate::detect) fn push(&mut self, mark: u8, start: usize) {
        // Always so, as no more than 8 KiB are read.
        let Ok(start) = u16::try_from(start) else {
            return;
        };
        let occurrence = (mark.into(), start);
        let count = (self.count + 1).min(MAX_OCCURRENCES);
        let Some(free) = self.occurrences.get_mut(count - 1) else {
            return;
        };
        if count > self.count || occurrence.0 < free.0 {
            *free = occurrence;
        }
        self.count = count;
    }

    /// Returns those that begin outside of a range.
    pub(in crate::detect) fn outside(&self, range: &Range<usize>) -> Self {
        let mut outside = Self::default();
        let begins_outside = |(_, start): &(u16, u16)| !range.contains(&usize::from(*start));
        let left = self.occurrences().iter().copied().filter(begins_outside);
        for (free, occurrence) in outside.occurrences.iter_mut().zip(left) {
            *free = occurrence;
            outside.count += 1;
        }
        outside
    }

    /// Returns the first of the marks, in their order, that gives a robot away.
    pub(super) fn best(&self, text: &[u8]) -> Option<Unlisted> {
        let mut best: Option<(u16, Unlisted)> = None;
        for &occurrence in self.occurrences() {
            let (index, _) = occurrence;
            if best.as_ref().is_some_and(|(known, _)| *known <= index) {
                continue;
            }
            if let Some(unlisted) = unlisted(occurrence, text) {
                best = Some((index, unlisted));
            }
        }
        best.map(|(_, unlisted)| unlisted)
    }

    fn occurrences(&self) -> &[(u16, u16)] {
        self.occurrences.get(..self.count).unwrap_or_default()
    }
}

/// Returns what the occurrence of a mark gives away, if its rule holds.
fn unlisted((index, start): (u16, u16), text: &[u8]) -> Option<Unlisted> {
    let mark = MARKS.get(usize::from(index))?;
    let start = usize::from(start);
    let range = start..start + mark.literal.len();
    let holds = range.end <= text.len() && mark.holds(text, &range);
    holds.then_some(Unlisted {
        sign: mark.sign,
        range,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_marks_the_one_that_says_most_is_kept() {
        let text = format!("{} examplebot", " .com".repeat(40));
        let at = text.find("bot").unwrap();
        let index = |literal| MARKS.iter().position(|mark| mark.literal == literal);
        let com = u8::try_from(index(".com").unwrap()).unwrap();
        let mut marks = Marks::default();
        for place in 0..40 {
            marks.push(com, 1 + 5 * place);
        }
        assert_eq!(marks.best(text.as_bytes()), None);
        marks.push(0, at);
        marks.push(com, 1);
        let found = marks.best(text.as_bytes()).unwrap();
        assert_eq!(found.range, at..at + 3);
    }
}
