//! Robots that no registry lists, by what they have in common.

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
}

impl Glance {
    /// Looks for the signs that most robots have behind what browsers say first.
    pub(super) fn at(text: &[u8], left: Range<usize>) -> Self {
        if !may_have_signs(text, left) {
            Self::Letters
        } else if marks::is_mozilla(text) && marks::find_late(text).is_some() {
            Self::Sign
        } else {
            Self::Perhaps
        }
    }

    /// Tells whether [`find`] finds a sign.
    pub(super) fn is_found(self, text: &[u8], marks: &mut Marks) -> bool {
        match self {
            Self::Sign => return true,
            Self::Letters => {}
            Self::Perhaps => {
                marks::push_signs(text, marks);
                if !marks::is_mozilla(text) && marks::find_late(text).is_some() {
                    return true;
                }
            }
        }
        marks.any(text) || shape::find(text).is_some()
    }
}

fn may_have_signs(text: &[u8], left: Range<usize>) -> bool {
    let end = left.end.min(text.len());
    let left = text.get(left.start..end).unwrap_or_default();
    marks::may_have_signs(left)
}
