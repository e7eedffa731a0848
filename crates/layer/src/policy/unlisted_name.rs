//! Names of unlisted robots, without the parts that may vary between requests.

use std::hash::{Hash, Hasher};

use crate::detect::{Claim, Sign};

/// Generic words for robots; the word before such a word belongs to the name.
const GENERAL: &[&[u8]] = &[
    b"agent",
    b"archiver",
    b"bot",
    b"checker",
    b"crawler",
    b"fetcher",
    b"indexer",
    b"monitor",
    b"robot",
    b"scanner",
    b"scraper",
    b"spider",
    b"validator",
];

/// Maximum number of letters of a robot's name that are considered.
const MAX_LETTERS: usize = 256;

/// The name of an unlisted robot, reduced to its letters in lower case.
///
/// Versions and other numbers are ignored: `OtherCrawler/1`, `othercrawler2/1.0` and
/// `OtherCrawler-3` are the same robot.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnlistedName<'n> {
    text: &'n [u8],
}

/// Returns the name of the unlisted robot in a User-Agent.
pub(super) fn unlisted_name<'n>(claim: &Claim<'_>, user_agent: &'n [u8]) -> UnlistedName<'n> {
    let unlisted = match claim {
        Claim::Unlisted(unlisted) => Some(unlisted),
        Claim::Signed(signed) => signed.unlisted.as_ref(),
        _ => None,
    };
    let name = unlisted.and_then(|unlisted| match unlisted.sign {
        Sign::Word | Sign::Library | Sign::Program => {
            Some(product(user_agent, unlisted.range.start))
        }
        Sign::Url | Sign::Address => Some(around(user_agent, unlisted.range.start, is_gap)),
        // The sign is not a name, and may be the only constant part of the User-Agent.
        _ => None,
    });
    let text = name.filter(|name| name.iter().any(|byte| is_letter(*byte)));
    // Without a name, the whole User-Agent identifies the robot.
    UnlistedName::of(text.unwrap_or(user_agent))
}

/// Returns the product name at a position, including the word before a generic word.
fn product(text: &[u8], at: usize) -> &[u8] {
    let name = around(text, at, |byte| is_gap(byte) || byte == b'/');
    let is_general = GENERAL.iter().any(|word| name.eq_ignore_ascii_case(word));
    let start = name.as_ptr().addr() - text.as_ptr().addr();
    let before = text.get(..start).unwrap_or_default();
    match before.strip_suffix(b" ") {
        Some(before) if is_general => {
            let first = before.iter().rposition(|&byte| is_gap(byte));
            let first = first.map_or(0, |gap| gap + 1);
            text.get(first..start + name.len()).unwrap_or(name)
        }
        _ => name,
    }
}

/// Returns the text around a position, up to the separators on both sides.
fn around(text: &[u8], at: usize, is_end: impl Fn(u8) -> bool) -> &[u8] {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, b""));
    let start = before.iter().rposition(|&byte| is_end(byte));
    let start = start.map_or(0, |end| end + 1);
    let end = behind.iter().position(|&byte| is_end(byte));
    let end = end.map_or(text.len(), |end| before.len() + end);
    text.get(start..end).unwrap_or_default()
}

fn is_gap(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b",;()[]{}<>\"'|".contains(&byte)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || !byte.is_ascii()
}

impl<'n> UnlistedName<'n> {
    /// Creates a name from a whole text.
    pub(super) fn of(text: &'n [u8]) -> Self {
        Self { text }
    }

    fn letters(&self) -> impl Iterator<Item = u8> {
        let letters = self.text.iter().filter(|byte| is_letter(**byte));
        // Numbers are removed first, so that they do not affect the truncation.
        letters.map(u8::to_ascii_lowercase).take(MAX_LETTERS)
    }
}

impl Hash for UnlistedName<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for letter in self.letters() {
            state.write_u8(letter);
        }
        // A slash is not a letter, so it terminates the hashed name.
        state.write_u8(b'/');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::Detector;

    fn name(user_agent: &str) -> String {
        let detector = Detector::new([]).unwrap().recognise_unlisted(true);
        let claim = detector.identify(user_agent.as_bytes()).unwrap();
        let name = unlisted_name(&claim, user_agent.as_bytes());
        String::from_utf8(name.letters().collect()).unwrap()
    }

    #[test]
    fn a_name_keeps_only_its_constant_part() {
        for (user_agent, expected) in [
            ("OtherCrawler/1", "othercrawler"),
            ("OtherCrawler/20.1-rc2", "othercrawler"),
            ("OtherCrawler17/1", "othercrawler"),
            ("17OtherCrawler", "othercrawler"),
            (
                "Mozilla/5.0 (compatible; OtherCrawler/1.0; +http://a.example/b)",
                "othercrawler",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) OtherCrawler-3",
                "othercrawler",
            ),
            ("Foo Crawler/1", "foocrawler"),
            ("Bar Crawler/1", "barcrawler"),
            ("crawler 7", "crawler"),
            ("\u{f6}crawler/1", "\u{f6}crawler"),
        ] {
            assert_eq!(name(user_agent), expected, "{user_agent}");
        }
        let named = name("Something (+http://a.example/page1)");
        assert_eq!(named, name("Anything/2 (+http://a.example/page2)"));
    }
}
