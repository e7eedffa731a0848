//! What browsers begin and end with, and say in between, in which no robot is looked for.

use std::ops::Range;

use super::cases::each;

/// What nearly all browsers begin with.
const START: &[u8] = b"Mozilla/5.0 (";

/// What most robots begin with that begin as browsers do.
const COMPATIBLE: &[u8] = b"Mozilla/5.0 (compatible; ";

/// What old Internet Explorers begin with.
const OLD_START: &[u8] = b"Mozilla/4.0 (compatible; MSIE ";

/// What follows for each system, found by its first letters. None ends within a word.
const SYSTEMS: [(&[u8; 8], &[u8]); 5] = [
    (b"Windows ", b"Windows NT 10.0; Win64; x64"),
    (b"Linux; A", b"Linux; Android "),
    (b"iPhone; ", b"iPhone; CPU iPhone OS "),
    (b"Macintos", b"Macintosh; Intel Mac OS X "),
    (b"compatib", b"compatible; MSIE "),
];

// What they end with, but for versions.
const ENGINE: &[u8] = b" AppleWebKit/";
const CHROME: &[u8] = b" (KHTML, like Gecko) Chrome/";
const VERSION: &[u8] = b" (KHTML, like Gecko) Version/";
const SAFARI: &[u8] = b" Safari/";
const MOBILE: &[u8] = b" Mobile";
const IPHONE: &[u8] = b" Mobile/15E148";

// What stands in between, but for versions. None ends within a word.
const LIKE_MAC: &[u8] = b"like Mac OS X) ";
const WEBKIT: &[u8] = b"AppleWebKit/";
const LIKE_GECKO: &[u8] = b" (KHTML, like Gecko)";
const GECKO: &[u8] = b"Gecko/";
const RUNTIME: &[u8] = b"; .NET CLR ";

/// Products that follow, of which the first letters tell all but the rest.
const PRODUCTS: [(&[u8; 8], &[u8]); 6] = [
    (b" Chrome/", b""),
    (b" Safari/", b""),
    (b" Mobile ", b"Safari/"),
    (b" Mobile/", b"15E148"),
    (b" Version", b"/"),
    (b" Firefox", b"/"),
];

/// Returns all pieces that are skipped.
pub(super) fn pieces() -> impl Iterator<Item = Vec<u8>> {
    let systems = SYSTEMS.into_iter().map(|(_, system)| system);
    let starts = [START, OLD_START].into_iter().chain(systems);
    let endings = [ENGINE, CHROME, VERSION, SAFARI, MOBILE, IPHONE];
    let phrases = [LIKE_MAC, WEBKIT, LIKE_GECKO, GECKO, RUNTIME];
    let products = PRODUCTS.map(|(first, rest)| [first.as_slice(), rest].concat());
    let pieces = starts.chain(endings).chain(phrases).map(<[u8]>::to_vec);
    pieces.chain(products)
}

/// Words that a phrase may begin with: see [`phrase_end`].
pub(super) const FIRST_WORDS: [&[u8]; 4] = [b"applewebkit", b"gecko", b"like", b"net"];

/// Returns where a phrase of browsers ends that begins at `start`, if one does.
pub(super) fn phrase_end(text: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    if let Some(before @ b"; .") = text.get(..start)?.last_chunk() {
        return runtimes_end(text, start - before.len());
    }
    let engine = rest.strip_prefix(LIKE_MAC).unwrap_or(rest);
    let mut rest = match engine.strip_prefix(WEBKIT) {
        Some(version) => behind_version(version).strip_prefix(LIKE_GECKO)?,
        None => behind_version(rest.strip_prefix(GECKO)?),
    };
    while let Some(version) = behind_product(rest) {
        rest = behind_version(version);
    }
    Some(text.len() - rest.len())
}

/// Returns where versions of a runtime end that are told one behind the other.
fn runtimes_end(text: &[u8], start: usize) -> Option<usize> {
    let mut rest = text.get(start..)?.strip_prefix(RUNTIME)?;
    rest = behind_version(rest);
    while let Some(version) = rest.strip_prefix(RUNTIME) {
        rest = behind_version(version);
    }
    Some(text.len() - rest.len())
}

#[inline]
fn behind_product(text: &[u8]) -> Option<&[u8]> {
    let (first, rest) = text.split_first_chunk()?;
    let (_, product) = PRODUCTS.iter().find(|(own, _)| *own == first)?;
    if product.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix(*product)
}

/// Returns what is left of a User-Agent between a beginning and an ending of browsers.
///
/// Nothing that is left out has a sign of an unlisted robot, and no word goes on there.
pub(super) fn between(text: &[u8]) -> Range<usize> {
    let start = start(text);
    start..end(text).max(start)
}

/// Returns where a beginning of browsers ends that a literal in lower case has.
pub(super) fn beginning(literal: &[u8]) -> usize {
    let is_begun = |start: &&[u8]| {
        let own = literal.get(..start.len());
        own.is_some_and(|own| own.eq_ignore_ascii_case(start))
    };
    let start = [START, OLD_START].into_iter().find(is_begun);
    start.map_or(0, <[u8]>::len)
}

/// Returns where most robots say their names, and where no browser begins so.
#[inline]
pub(super) fn name_start(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"Mozilla/") {
        text.starts_with(COMPATIBLE).then_some(COMPATIBLE.len())
    } else {
        Some(0)
    }
}

#[inline]
fn start(text: &[u8]) -> usize {
    let Some(rest) = text.strip_prefix(START) else {
        let is_old = text.starts_with(OLD_START);
        return if is_old { OLD_START.len() } else { 0 };
    };
    let first = rest.first_chunk();
    match SYSTEMS.iter().find(|(own, _)| first == Some(*own)) {
        Some((_, system)) if rest.starts_with(system) => START.len() + system.len(),
        _ => START.len(),
    }
}

/// Returns where an ending begins that may have any version.
#[inline]
fn end(text: &[u8]) -> usize {
    if !text.last().is_some_and(u8::is_ascii_digit) {
        return text.len();
    }
    let Some(before) = without_version(text).strip_suffix(SAFARI) else {
        return text.len();
    };
    let iphone = before.strip_suffix(IPHONE);
    let product = iphone.or_else(|| before.strip_suffix(MOBILE));
    let product = without_version(product.unwrap_or(before));
    let engine = product
        .strip_suffix(CHROME)
        .or_else(|| product.strip_suffix(VERSION));
    let Some(engine) = engine.map(without_version) else {
        return before.len();
    };
    engine.strip_suffix(ENGINE).unwrap_or(before).len()
}

/// Leaves out the digits and points at the end, where at least eight bytes stand.
#[inline]
fn without_version(mut text: &[u8]) -> &[u8] {
    while let Some((rest, last)) = text.split_last_chunk() {
        let others = not_of_version(*last);
        if others != 0 {
            let count = others.leading_zeros() as usize / 8;
            return text.get(..text.len() - count).unwrap_or_default();
        }
        text = rest;
    }
    text
}

/// Leaves out the digits and points at the start, but for some near the end of the text.
#[inline]
fn behind_version(mut text: &[u8]) -> &[u8] {
    while let Some((first, rest)) = text.split_first_chunk() {
        let others = not_of_version(*first);
        if others != 0 {
            let count = others.trailing_zeros() as usize / 8;
            return text.get(count..).unwrap_or_default();
        }
        text = rest;
    }
    text
}

/// Returns the highest bit of each byte that is neither a digit nor a point, the last byte first.
#[inline]
fn not_of_version(bytes: [u8; 8]) -> u64 {
    let bytes = u64::from_le_bytes(bytes);
    let low = bytes & each(0x7f);
    // Without its highest bit no byte carries into the next.
    let from_point = low + each(0x80 - b'.');
    let behind_nine = low + each(0x80 - b'9' - 1);
    let is_no_slash = (low ^ each(b'/')) + each(0x7f);
    !(from_point & !behind_nine & is_no_slash & !bytes) & each(0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str) -> &str {
        text.get(between(text.as_bytes())).unwrap()
    }

    #[test]
    fn beginnings_and_endings_of_browsers_are_left_out() {
        for (text, expected) in [
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36",
                ")",
            ),
            (
                "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.1.2 Mobile Safari/537.36",
                "14; Pixel 8)",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/604.1",
                "18_4 like Mac OS X)",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            ),
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; examplebot/1.0) Chrome/140.0 Safari/537.36",
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; examplebot/1.0) Chrome/140.0",
            ),
            (
                "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1)",
                "8.0; Windows NT 6.1)",
            ),
            (
                "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1)",
                "9.0; Windows NT 6.1)",
            ),
            (
                "Mozilla/5.0 (compatible; examplebot/1.0)",
                "compatible; examplebot/1.0)",
            ),
            ("examplebot/1.0", "examplebot/1.0"),
            (" Safari/", " Safari/"),
            (" Safari/1", ""),
            ("1.2.3", "1.2.3"),
            ("", ""),
        ] {
            assert_eq!(left(text), expected, "{text}");
        }
    }

    #[test]
    fn phrases_of_browsers_are_passed_over_to_their_last_version() {
        for (text, expected) in [
            (
                "AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/146.0.1.2 Mobile Safari/537.36 GSA/15.4",
                " GSA/15.4",
            ),
            (
                "like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS]",
                " [FBAN/FBIOS]",
            ),
            ("Gecko/20100101 Firefox/140.0 Ex/1.0", " Ex/1.0"),
            (
                "AppleWebKit/537 (KHTML, like Gecko) Mobile Ex",
                " Mobile Ex",
            ),
            ("AppleWebKit/1 (KHTML, like Gecko) Version ", " Version "),
            ("Gecko/1x", "1x"),
            ("Gecko/", ""),
        ] {
            let end = phrase_end(text.as_bytes(), 0);
            let left = end.and_then(|end| text.get(end..));
            assert_eq!(left, Some(expected), "{text}");
        }
        for text in [
            "AppleWebKit/537.36 (KHTML, like Gecko; examplebot)",
            "AppleWebKit",
            "like Mac OS X) ",
            "like Mac OS X) Gecko/1",
            "like Gecko",
            "",
        ] {
            assert_eq!(phrase_end(text.as_bytes(), 0), None, "{text}");
        }
    }

    #[test]
    fn runtimes_are_passed_over_together() {
        let end = |text: &str| phrase_end(text.as_bytes(), text.find("NET").unwrap());
        for (text, expected) in [
            (
                "x; .NET CLR 2.0.50727; .NET CLR 3.5; Example)",
                "; Example)",
            ),
            ("; .NET CLR 2.0.50727) Example", ") Example"),
            ("; .NET CLR 2.0)", "2.0)"),
            ("; .NET CLR ", ""),
        ] {
            assert_eq!(end(text).and_then(|end| text.get(end..)), Some(expected));
        }
        for text in ["x.NET CLR 2.0", "; .NET4.0C", "NET CLR 2.0"] {
            assert_eq!(end(text), None, "{text}");
        }
    }

    #[test]
    fn no_word_goes_on_into_what_is_left_out() {
        let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
        let pieces: Vec<_> = pieces().collect();
        let (starts, rest) = pieces.split_at(2 + SYSTEMS.len());
        let (endings, phrases) = rest.split_at(6);
        assert!(endings.iter().all(|end| !is_letter(end.first())));
        let mut lasts = starts.iter().chain(phrases);
        assert!(lasts.all(|piece| !is_letter(piece.last())));
        assert!(PRODUCTS.iter().all(|(first, _)| !is_letter(first.first())));
        assert!(
            SYSTEMS
                .iter()
                .all(|(first, system)| system.starts_with(*first))
        );
    }

    #[test]
    fn phrases_begin_with_the_words_that_are_told() {
        for piece in [LIKE_MAC, WEBKIT, GECKO, RUNTIME] {
            let lower = piece.to_ascii_lowercase();
            let lower = lower.strip_prefix(b"; .").unwrap_or(&lower);
            assert!(FIRST_WORDS.iter().any(|word| lower.starts_with(word)));
        }
    }

    #[test]
    fn versions_are_digits_and_points() {
        for byte in 0..=u8::MAX {
            let is_version = byte.is_ascii_digit() || byte == b'.';
            let text = [b"12345678 ".as_slice(), &[byte], b".0"].concat();
            let expected = if is_version { 9 } else { 10 };
            assert_eq!(without_version(&text).len(), expected, "{byte}");
        }
        assert_eq!(without_version(b"a1234567812345678"), b"a");
    }
}
