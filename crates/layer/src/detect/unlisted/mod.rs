//! Detection of robots that no registry lists, by common signs.

mod contacts;
mod marks;
mod occurrences;
mod shape;
mod sign;
mod words_found;

pub(super) use marks::{MARKS, Mark};
pub(super) use occurrences::Marks;
pub use sign::{Sign, Unlisted};

/// Returns the sign in a User-Agent that no pattern matches, given its marks.
pub(super) fn find(text: &[u8], marks: &Marks) -> Option<Unlisted> {
    let marked = marks.best(text).or_else(|| marks::find_late(text));
    marked.or_else(|| shape::find(text))
}
