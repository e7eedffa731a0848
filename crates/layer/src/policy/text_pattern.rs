//! Globs over texts such as headers, in upper or lower case.

/// Bytes of one pattern, at most.
const MAX_BYTES: usize = 512;

/// Pattern of a whole text: `*` is any run of bytes, `?` one byte, `\` takes the next as it is.
///
/// Nothing else means more than itself, as texts of this kind hold brackets and percent signs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TextPattern {
    tokens: Box<[Token]>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token {
    /// In lower case.
    Byte(u8),
    AnyByte,
    AnyRun,
}

impl TextPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it.
    pub(super) fn parse(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_BYTES {
            return Err(format!("it is longer than {MAX_BYTES} bytes"));
        }
        if pattern.chars().any(char::is_control) {
            return Err("it holds a control character".to_owned());
        }
        let mut tokens = Vec::new();
        let mut bytes = pattern.bytes();
        while let Some(byte) = bytes.next() {
            let token = match byte {
                // Stars in a row are one.
                b'*' if tokens.last() == Some(&Token::AnyRun) => continue,
                b'*' => Token::AnyRun,
                b'?' => Token::AnyByte,
                b'\\' => {
                    let kept = bytes.next().ok_or("it ends in a lone backslash")?;
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
    ///
    /// Only the last `*` is ever retried, so the time is at most the length of the text times that
    /// of the pattern.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let (mut tokens, mut rest): (&[Token], &[u8]) = (&self.tokens, text);
        let mut retry: Option<(&[Token], &[u8])> = None;
        loop {
            match (tokens, rest) {
                ([], []) | ([Token::AnyRun], _) => return true,
                ([Token::AnyRun, after @ ..], _) => {
                    retry = Some((after, rest));
                    tokens = after;
                    continue;
                }
                ([token, after @ ..], [byte, behind @ ..]) if token.is(*byte) => {
                    (tokens, rest) = (after, behind);
                    continue;
                }
                _ => {}
            }
            let Some((after, [_, behind @ ..])) = retry else {
                return false;
            };
            retry = Some((after, behind));
            (tokens, rest) = (after, behind);
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
    fn stars_and_question_marks_stand_for_bytes_and_nothing_else_for_more_than_itself() {
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
        fn it_is_the_same_as_a_regular_expression(pattern in "[ab*?]{0,8}", text in "[abAB]{0,12}") {
            let expression = pattern.replace('?', "(?s:.)").replace('*', "(?s:.*)");
            let expression = regex::Regex::new(&format!("^(?i:{expression})$")).unwrap();
            prop_assert_eq!(matches(&pattern, &text), expression.is_match(&text));
        }
    }
}
