//! Case-insensitive globs that match texts such as headers.

/// Maximum number of bytes of a pattern.
const MAX_BYTES: usize = 512;

/// A glob for a whole text: `*` matches any bytes, `?` matches one byte, `\` escapes the next byte.
///
/// All other characters are literal, because header values contain brackets and percent signs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TextPattern {
    tokens: Box<[Token]>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token {
    /// A literal byte, in lower case.
    Byte(u8),
    AnyByte,
    AnyRun,
}

impl TextPattern {
    /// Parses a glob for texts.
    ///
    /// # Errors
    ///
    /// If the pattern is invalid, returns the reason.
    pub(super) fn parse(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_BYTES {
            return Err(format!("the pattern is longer than {MAX_BYTES} bytes"));
        }
        if pattern.chars().any(char::is_control) {
            return Err("the pattern contains a control character".to_owned());
        }
        let mut tokens = Vec::new();
        let mut bytes = pattern.bytes();
        while let Some(byte) = bytes.next() {
            let token = match byte {
                // Consecutive stars become one.
                b'*' if tokens.last() == Some(&Token::AnyRun) => continue,
                b'*' => Token::AnyRun,
                b'?' => Token::AnyByte,
                b'\\' => {
                    let kept = bytes.next().ok_or("the pattern ends in a backslash")?;
                    Token::Byte(kept.to_ascii_lowercase())
                }
                byte => Token::Byte(byte.to_ascii_lowercase()),
            };
            tokens.push(token);
        }
        Ok(Self {
            tokens: tokens.into(),
        })
    }

    /// Returns `true` if the pattern matches the whole text.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        self.match_bytes(text.iter().copied())
    }

    /// Returns `true` if the pattern matches all bytes.
    ///
    /// Only the last `*` is retried, so the run time is at most proportional to the length of the
    /// text times the length of the pattern.
    pub(super) fn match_bytes(&self, mut text: impl Iterator<Item = u8> + Clone) -> bool {
        let mut tokens: &[Token] = &self.tokens;
        let mut retry = None;
        loop {
            if let [Token::AnyRun, after @ ..] = tokens {
                if after.is_empty() {
                    return true;
                }
                retry = Some((after, text.clone()));
                tokens = after;
            }
            let mut rest = text.clone();
            match (tokens, rest.next()) {
                ([], None) => return true,
                ([token, after @ ..], Some(byte)) if token.is(byte) => {
                    (tokens, text) = (after, rest);
                    continue;
                }
                _ => {}
            }
            let Some((after, from)) = &mut retry else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            (tokens, text) = (after, from.clone());
        }
    }
}

impl Token {
    fn is(self, byte: u8) -> bool {
        match self {
            Self::Byte(ours) => ours == byte.to_ascii_lowercase(),
            Self::AnyByte => true,
            Self::AnyRun => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        TextPattern::parse(pattern)
            .unwrap()
            .matches(text.as_bytes())
    }

    #[test]
    fn only_stars_and_question_marks_are_wildcards() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("**", "anything", true),
            ("Mozilla/5.0*", "mozilla/5.0 (x)", true),
            ("*bot*", "Googlebot/2.1", true),
            ("*bot", "Googlebot/2.1", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a]%41", "[A]%41", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-", false),
            ("É", "É", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert!(TextPattern::parse("a\\").is_err());
        assert!(TextPattern::parse("a\nb").is_err());
        assert!(TextPattern::parse(&"a".repeat(513)).is_err());
    }

    proptest! {
        #[test]
        fn a_pattern_matches_like_the_equivalent_regular_expression(pattern in "[ab*?]{0,8}", text in "[abAB]{0,12}") {
            let expression = pattern.replace('?', "(?s:.)").replace('*', "(?s:.*)");
            let expression = regex::Regex::new(&format!("^(?i:{expression})$")).unwrap();
            prop_assert_eq!(matches(&pattern, &text), expression.is_match(&text));
        }
    }
}
