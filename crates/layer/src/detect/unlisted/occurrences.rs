//! Occurrences of robot marks in one User-Agent.

use std::ops::Range;

use super::{Agent, MARKS, Unlisted};

/// Maximum number of occurrences that are examined. Each may need a scan of the whole text, and
/// more occurrences would not change the result.
pub(super) const MAX_OCCURRENCES: usize = 16;

/// A fixed-size list of mark occurrences.
pub(in crate::detect) struct Marks {
    /// The index of each mark, and its start in the text.
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
    /// Adds an occurrence of the mark with the given index, if there is space.
    ///
    /// If the list is full, a more significant mark replaces the last one.
    pub(in crate::detect) fn push(&mut self, mark: u8, start: usize) {
        // This never fails, because only 8 KiB are scanned.
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

    /// Returns the occurrences that start outside a range.
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

    /// Returns the most significant mark that reveals a robot, of those in the right place.
    pub(super) fn best(
        &self,
        agent: &Agent<'_>,
        mut is_place: impl FnMut(usize) -> bool,
    ) -> Option<Unlisted> {
        let mut best: Option<(u16, Unlisted)> = None;
        for &occurrence in self.occurrences() {
            let (index, start) = occurrence;
            if best.as_ref().is_some_and(|(known, _)| *known <= index) || !is_place(start.into()) {
                continue;
            }
            if let Some(unlisted) = unlisted(occurrence, agent) {
                best = Some((index, unlisted));
            }
        }
        best.map(|(_, unlisted)| unlisted)
    }

    /// Returns `false` if a mark does not occur.
    pub(super) fn may_include(&self, literal: &str) -> bool {
        let is = |(mark, _): &(u16, u16)| {
            let mark = MARKS.get(usize::from(*mark));
            mark.is_some_and(|mark| mark.literal == literal)
        };
        self.count == MAX_OCCURRENCES || self.occurrences().iter().any(is)
    }

    fn occurrences(&self) -> &[(u16, u16)] {
        self.occurrences.get(..self.count).unwrap_or_default()
    }
}

/// Returns the unlisted robot that an occurrence reveals, if the rule of the mark is satisfied.
fn unlisted((index, start): (u16, u16), agent: &Agent<'_>) -> Option<Unlisted> {
    let mark = MARKS.get(usize::from(index))?;
    let start = usize::from(start);
    let range = start..start + mark.literal.len();
    let holds = range.end <= agent.text.len() && mark.matches(agent, &range);
    holds.then_some(Unlisted {
        sign: mark.sign,
        range,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_significant_of_too_many_marks_is_kept() {
        let text = format!("{} examplebot", " .com".repeat(40));
        let at = text.find("bot").unwrap();
        let index = |literal| MARKS.iter().position(|mark| mark.literal == literal);
        let com = u8::try_from(index(".com").unwrap()).unwrap();
        let mut marks = Marks::default();
        for place in 0..40 {
            marks.push(com, 1 + 5 * place);
        }
        let text = text.as_bytes();
        let agent = Agent { text, words: text };
        assert_eq!(marks.best(&agent, |_| true), None);
        marks.push(0, at);
        marks.push(com, 1);
        let found = marks.best(&agent, |_| true).unwrap();
        assert_eq!(found.range, at..at + 3);
    }
}
