//! Robots that no registry lists, by what they have in common.

mod marks;
mod occurrences;
mod platform;
mod shape;
mod sign;
mod words;

pub(super) use marks::{MARKS, Mark};
pub(super) use occurrences::Marks;
pub use sign::{Sign, Unlisted};

/// Returns the sign in a User-Agent that no pattern matches, of which the marks are known.
pub(super) fn find(text: &[u8], marks: &mut Marks) -> Option<Unlisted> {
    let mut late = None;
    if marks::may_have_signs(text) {
        marks::push_signs(text, marks);
        late = marks::find_late(text);
    }
    if late.is_none() && marks.is_empty() {
        return shape::find(text);
    }
    marks.best(text).or(late).or_else(|| shape::find(text))
}
