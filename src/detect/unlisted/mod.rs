//! Robots that no registry lists, by what they have in common.

mod contacts;
mod marks;
mod occurrences;
mod platform;
mod said;
mod shape;
mod sign;
mod spelling;
mod words;

use std::ops::Range;

pub(super) use marks::{MARKS, Mark, is_mozilla};
pub(super) use occurrences::Marks;
pub use sign::{Sign, Unlisted};

use super::{
    blocks::{PAIRS, has_signs},
    names,
    words::Word,
};

/// Returns the sign in a User-Agent that no pattern matches, of which the marks are known.
///
/// Outside of the range `left` it is surely a browser's.
pub(super) fn find(text: &[u8], left: Range<usize>, marks: &mut Marks) -> Option<Unlisted> {
    let mut late = None;
    if may_have_signs(text, left.clone()) {
        marks::push_signs(text, marks);
        late = marks::find_late(text);
    }
    if late.is_none() && marks.is_empty() {
        return shape::find(text, left.start);
    }
    marks
        .best(text)
        .or(late)
        .or_else(|| shape::find(text, left.start))
        .or_else(|| find_name(text))
}

/// Returns the first word where it ends as robots' names do, for its mark may not be kept
/// where there are very many.
fn find_name(text: &[u8]) -> Option<Unlisted> {
    let word = names::first_word(text).filter(is_bot)?;
    let (sign, range) = (Sign::Word, word.run);
    Some(Unlisted { sign, range })
}

/// Tells whether a word, said where most robots say their names, ends as robots' names do.
#[inline]
pub(super) fn is_bot(word: &Word) -> bool {
    let is_irobot = word.ends_with(b"irobot") && word.run.len() == b"irobot".len();
    word.ends_with(b"bot") && !word.ends_with(b"cubot") && !is_irobot
}

/// What is known of a User-Agent before it is scanned for names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Glance {
    /// There is a sign of an unlisted robot.
    Sign,
    /// There may be one.
    Perhaps,
    /// There is none but those of letters alone.
    Letters,
}

impl Glance {
    /// Looks for the signs that most robots have behind what browsers say first.
    pub(super) fn at(text: &[u8], left: Range<usize>) -> Self {
        if !may_have_signs(text, left) {
            Self::Letters
        } else if marks::find_late(text).is_some() {
            Self::Sign
        } else {
            Self::Perhaps
        }
    }

    /// Tells whether [`find`] finds a sign.
    pub(super) fn is_found(self, text: &[u8], left: usize, marks: &mut Marks) -> bool {
        match self {
            Self::Sign => return true,
            Self::Letters => {}
            Self::Perhaps => marks::push_signs(text, marks),
        }
        marks.any(text) || shape::find(text, left).is_some()
    }
}

/// Tells whether a text may have any of the signs that browsers have not: no mark
/// without letters stands in one that has none, and no late mark holds there.
///
/// Looks around a short rest too, so that it is looked at as a block.
fn may_have_signs(text: &[u8], left: Range<usize>) -> bool {
    let start = left.start.min(text.len().saturating_sub(PAIRS + 1));
    let end = left.end.max(start + PAIRS + 1).min(text.len());
    has_signs(text.get(start..end).unwrap_or_default())
}
