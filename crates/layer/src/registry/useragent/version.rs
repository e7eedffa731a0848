//! Recognition of versions and their placeholders, such as `1.0a`, `x.x`, `*.*` and `version#`.

/// Returns `true` if the text after the slash of a name is a version or a placeholder.
///
/// An empty text is accepted because `Foo/<version>` is truncated before the angle bracket.
pub(super) fn follows_slash(text: &str) -> bool {
    let bare = without_v(text.trim_matches(['"', '\'', ',', ';', ':', '+', '$']));
    bare.is_empty()
        || bare.starts_with(|c: char| c.is_ascii_digit())
        || is_placeholder(bare)
        || is_named(bare)
        || is_letters_then_digit(bare)
}

/// Returns `true` if a separate word after a name is a version.
pub(super) fn is_word(word: &str) -> bool {
    let bare = word.trim_matches(['"', '\'', ',', ';', ':']);
    let number = without_v(bare);
    is_number(number)
        || (number.len() >= 2
            && is_placeholder(number)
            && (number.len() < bare.len() || is_long(number)))
        || (number.len() < bare.len() && number.is_empty() && bare.len() > 1)
        || is_named(bare)
}

/// Returns `true` if the text after the `-` or `_` of a name is a version, such as `1.0`, `v2` or
/// `V2.x`.
pub(super) fn follows_hyphen(text: &str) -> bool {
    is_number(without_v(text))
        || (without_v(text).len() < text.len() && is_placeholder(without_v(text)))
}

/// Returns `true` if the text is a dotted number, possibly followed by letters.
fn is_number(text: &str) -> bool {
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    let dotted = text.contains('.');
    text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*' | '#'))
        && (letters <= 1 || (dotted && letters <= 8))
}

/// Returns `true` if the text consists of letters and symbols that stand for digits.
fn is_placeholder(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| matches!(c.to_ascii_lowercase(), 'x' | 'y' | 'z' | 'n') || is_sign(c))
        && (text.chars().count() == 1 || !text.chars().all(|c| matches!(c, '-' | '_')))
}

fn is_sign(c: char) -> bool {
    matches!(c, '.' | '*' | '#' | '?' | '_' | '-' | '%')
}

/// Returns `true` if a separate placeholder is unambiguous, because it contains dots or repeats a
/// letter.
fn is_long(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next();
    text.contains(['.', '*', '#']) || (text.len() >= 3 && chars.all(|c| Some(c) == first))
}

/// Returns `true` if the text is a word for "version", possibly surrounded by punctuation.
fn is_named(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    [
        "version",
        "ver",
        "versionnumber",
        "version-number",
        "release",
        "build",
    ]
    .iter()
    .any(|word| bare.eq_ignore_ascii_case(word))
}

/// Returns `true` if the text starts with one or two letters and a digit, such as `b97_01`.
fn is_letters_then_digit(text: &str) -> bool {
    let letters = text.chars().take_while(char::is_ascii_alphabetic).count();
    (1..=2).contains(&letters)
        && text
            .chars()
            .nth(letters)
            .is_some_and(|c| c.is_ascii_digit())
}

/// Returns the text without a leading `v`, `ver` or `version`.
fn without_v(text: &str) -> &str {
    for word in ["version", "ver.", "ver", "v.", "v"] {
        if let Some(rest) = text
            .get(..word.len())
            .filter(|head| head.eq_ignore_ascii_case(word))
            .and_then(|_| text.get(word.len()..))
        {
            let goes_on =
                rest.starts_with(|c: char| !c.is_ascii_alphabetic() || is_placeholder_letter(c));
            if rest.is_empty() || goes_on {
                return rest.trim_start_matches(' ');
            }
        }
    }
    text
}

fn is_placeholder_letter(c: char) -> bool {
    matches!(c, 'x' | 'X' | 'n' | 'N')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_their_placeholders_follow_a_slash() {
        for version in [
            "1.0",
            "0.100",
            "1.0a",
            "3.1.0b2",
            "0.1alpha",
            "2.X",
            "x.x",
            "X.X",
            "*.*",
            "x.xx",
            "xxxxxx",
            "n.n.n",
            "x.y",
            "version#",
            "b97_01",
            "v",
            "vX.X.X",
            "0.01a",
            "",
            "5.x",
            "#",
            "${version}",
            "3.0'",
            "V1.1.0",
            "X.xx",
        ] {
            assert!(follows_slash(version), "{version}");
        }
        for name in [
            "Teoma",
            "infoseek",
            "CGI",
            "Index",
            "cat",
            "si-emb",
            "xyzzy-plugh",
            "viewer",
        ] {
            assert!(!follows_slash(name), "{name}");
        }
    }

    #[test]
    fn a_separate_word_must_be_a_clear_version() {
        for version in [
            "1.0", "v2.0", "V1.1.0", "3.0.X", "0.151", "xxxxxxx", "2", "1.0a", "x.x", "Ver0.2",
            "v1.05",
        ] {
            assert!(is_word(version), "{version}");
        }
        for name in [
            "x",
            "X11",
            "1klik",
            "viewer",
            "Victoria",
            "nn",
            "Robot",
            "V",
            "v",
            "xyz",
            "Xavatoria",
        ] {
            assert!(!is_word(name), "{name}");
        }
    }

    #[test]
    fn a_version_after_a_hyphen_starts_with_a_digit() {
        for version in ["1.0", "v2", "V2.x", "5.41", "3"] {
            assert!(follows_hyphen(version), "{version}");
        }
        for name in ["bot", "x", "Google", "w3", "perl", "victor"] {
            assert!(!follows_hyphen(name), "{name}");
        }
    }
}
