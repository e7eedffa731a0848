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

use super::agent::{Place, Places, may_have_contact, without_contacts};

/// Returns the sign of a robot in a User-Agent that matches no pattern, given its marks.
///
/// The words of a contact are neither names nor devices, except that a word of robots in a host
/// counts if there is no other sign.
pub(super) fn find(text: &[u8], marks: &Marks) -> Option<Unlisted> {
    if !may_have_contact(text) && !marks.may_include("www.") {
        let agent = Agent { text, words: text };
        return marks.best(&agent, |_| true).or_else(|| shape::find(text));
    }
    let mut places = Places::new(text);
    let words = without_contacts(text);
    let agent = Agent {
        text,
        words: &words,
    };
    marks
        .best(&agent, |at| places.at(at) == Place::Name)
        .or_else(|| marks::find_late(&agent))
        .or_else(|| marks.best(&agent, |at| places.at(at) == Place::Contact))
        .or_else(|| shape::find(&words))
}

/// A User-Agent with and without the text of its contacts.
struct Agent<'t> {
    text: &'t [u8],
    /// The User-Agent with a space for each byte of a contact.
    words: &'t [u8],
}

impl Agent<'_> {
    /// Returns the start of the text without its contacts.
    fn words_before(&self, before: &[u8]) -> &[u8] {
        self.words.get(..before.len()).unwrap_or_default()
    }
}
