//! Robots that no registry lists, by what they have in common.

mod contacts;
mod marks;
mod occurrences;
mod platform;
mod shape;
mod sign;
mod words;

use std::ops::Range;

pub(super) use marks::{MARKS, Mark};
pub(super) use occurrences::Marks;
pub use sign::{Sign, Unlisted};

/// Returns the sign in a User-Agent that no pattern matches, of which the marks are known.
///
/// Outside of the range `left` it is surely a browser's.
pub(super) fn find(text: &[u8], left: Range<usize>, marks: &mut Marks) -> Option<Unlisted> {
    let mut late = None;
    if may_have_signs(text, left) {
        marks::push_signs(text, marks);
        late = marks::find_late(text);
    }
    if late.is_none() && marks.is_empty() {
        return shape::find(text);
    }
    marks.best(text).or(late).or_else(|| shape::find(text))
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
    /// Nothing: most that begin otherwise than browsers begin with a name.
    Nothing,
}

impl Glance {
    /// Looks for the signs that most robots have behind what browsers say first.
    pub(super) fn at(text: &[u8], left: Range<usize>) -> Self {
        if !marks::is_mozilla(text) {
            Self::Nothing
        } else if !may_have_signs(text, left) {
            Self::Letters
        } else if marks::find_late(text).is_some() {
            Self::Sign
        } else {
            Self::Perhaps
        }
    }

    /// Tells whether [`find`] finds a sign.
    pub(super) fn is_found(self, text: &[u8], left: Range<usize>, marks: &mut Marks) -> bool {
        match self {
            Self::Sign => return true,
            Self::Perhaps => marks::push_signs(text, marks),
            Self::Letters => {}
            Self::Nothing => return find(text, left, marks).is_some(),
        }
        marks.any(text) || shape::find(text).is_some()
    }
}

/// Looks around a short rest too, so that it is looked at as a block.
fn may_have_signs(text: &[u8], left: Range<usize>) -> bool {
    let start = left.start.min(text.len().saturating_sub(marks::BLOCK));
    let end = left.end.max(start + marks::BLOCK).min(text.len());
    marks::may_have_signs(text.get(start..end).unwrap_or_default())
}
