//! Detection of robots that are not in the registry, by signs that such robots have in common.

mod contacts;
mod marks;
mod occurrences;
mod shape;
mod sign;
mod words_found;

pub(super) use marks::{MARKS, Mark};
pub(super) use occurrences::Marks;
pub use sign::{Sign, Unlisted};

/// Returns the sign of a robot in a User-Agent that matches no pattern, given its marks.
pub(super) fn find(text: &[u8], marks: &Marks) -> Option<Unlisted> {
    let marked = marks.best(text).or_else(|| marks::find_late(text));
    marked.or_else(|| shape::find(text))
}
