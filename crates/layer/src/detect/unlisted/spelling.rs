//! Where words stand in names, and whose names these are.

use super::{
    marks::ends_with,
    words_found::{Words, has_any, words},
};

static TELEPHONES: Words = Words::new(|| {
    words([
        "android",
        "andr0id",
        "iphone",
        "ipad",
        "ipod",
        "ios/",
        "ios ",
        "darwin",
        "cfnetwork",
    ])
});

/// Returns `true` if a word is written as one: small, in capitals, or its first letter in one.
pub(super) fn is_spelled(word: &[u8]) -> bool {
    word.iter().skip(1).all(u8::is_ascii_lowercase) || word.iter().all(u8::is_ascii_uppercase)
}

/// Returns `true` if a word begins: with no letter before it, or a small one before its capital.
pub(super) fn starts_word(before: &[u8], literal: &[u8]) -> bool {
    before.last().is_none_or(|last| {
        !last.is_ascii_alphabetic()
            || last.is_ascii_lowercase() && literal.first().is_some_and(u8::is_ascii_uppercase)
    })
}

/// Returns `true` if a word is the end of the name of a firm that makes devices: `CUBOT`, `iRobot`.
pub(super) fn is_firm(before: &[u8], literal: &[u8]) -> bool {
    let is = |word: &[u8]| literal.eq_ignore_ascii_case(word);
    let is_alone = |start: &[u8]| {
        ends_with(before, start)
            && !before
                .get(..before.len() - start.len())
                .and_then(<[u8]>::last)
                .is_some_and(u8::is_ascii_alphabetic)
    };
    is(b"bot") && (ends_with(before, b"cu") || is_alone(b"iro")) || is(b"robot") && is_alone(b"i")
}

/// Returns `true` if a word belongs to the name of an app that people have on their telephones.
///
/// Such names are written as titles or in one: `CamScanner`, `QR Scanner`, `barcodescanner`.
pub(super) fn is_app(text: &[u8], before: &[u8], literal: &[u8]) -> bool {
    let is_title = literal.first().is_some_and(u8::is_ascii_uppercase);
    (is_title || before.last().is_some_and(u8::is_ascii_alphabetic)) && has_any(&TELEPHONES, text)
}

/// Returns `true` if a word ends: with no letter after it, or an `s` and no
/// letter, or a capital letter where it was written small.
pub(super) fn ends_word(literal: &[u8], after: &[u8]) -> bool {
    let was_small = literal.last().is_some_and(u8::is_ascii_lowercase);
    match after {
        [b's' | b'S', rest @ ..] => !rest.first().is_some_and(u8::is_ascii_alphabetic),
        [next, ..] if next.is_ascii_uppercase() => was_small,
        [next, ..] => !next.is_ascii_alphabetic(),
        [] => true,
    }
}

/// Returns `true` if a name ends with this part, and nothing but a version follows.
pub(super) fn is_user(before: &[u8], after: &[u8]) -> bool {
    is_agent(before, after) && matches!(after, [] | [b'/' | b';' | b')', ..])
}

/// Returns `true` if a name ends with this part, and is not that of the header or of
/// an add-on that hides the browser.
pub(super) fn is_agent(before: &[u8], after: &[u8]) -> bool {
    let name = before.strip_suffix(b"-").unwrap_or(before);
    name.last().is_some_and(u8::is_ascii_alphabetic)
        && !after.first().is_some_and(u8::is_ascii_alphabetic)
        && !ends_with(name, b"user")
        && !ends_with(name, b"masking")
}
