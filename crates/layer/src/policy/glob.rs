//! Filter patterns, which are simple globs that match whole paths.

use std::str::Chars;

use super::path::{PathReading, decode, has_odd_segments, hex_digit};

/// Maximum number of patterns in a list.
const MAX_PATTERNS: usize = 256;
/// Maximum length of a pattern in bytes.
const MAX_PATTERN_BYTES: usize = 512;

/// A filter pattern, which is a glob that matches a whole normalized path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FilterPattern {
    spelled: Box<str>,
    tokens: Box<[Token]>,
}

impl FilterPattern {
    /// Parses a pattern. Errors contain the reason and a correction.
    pub(super) fn parse(pattern: &str) -> Result<Self, String> {
        check(pattern)?;
        let tokens = Parser::default().parse(pattern)?;
        Ok(Self {
            spelled: pattern.into(),
            tokens: tokens.into(),
        })
    }

    /// Adjusts the pattern to the way in which the site's server interprets paths.
    pub(super) fn read_as(&mut self, reading: PathReading) {
        for token in &mut self.tokens {
            match token {
                Token::Literal(text) => *text = reading.folded(text).into(),
                Token::Set { ranges, .. } if reading.ignore_case => {
                    let lower = |&(first, last): &(char, char)| {
                        let (first, last) = (first.max('A'), last.min('Z'));
                        let folded = (first.to_ascii_lowercase(), last.to_ascii_lowercase());
                        (first <= last).then_some(folded)
                    };
                    *ranges = ranges
                        .iter()
                        .copied()
                        .chain(ranges.iter().filter_map(lower))
                        .collect();
                }
                Token::AnyChar | Token::AnyRun | Token::Set { .. } => {}
            }
        }
    }

    /// Returns the pattern as written in the settings.
    pub(super) fn as_str(&self) -> &str {
        &self.spelled
    }

    /// Returns the literal prefix that all matching paths have.
    pub(super) fn literal_start(&self) -> &[u8] {
        match self.tokens.first() {
            Some(Token::Literal(text)) => text,
            _ => b"",
        }
    }

    /// Returns the only path that the pattern matches, or `None` if the pattern has a wildcard.
    pub(super) fn only_path(&self) -> Option<&[u8]> {
        match &*self.tokens {
            [Token::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns `true` if the pattern matches the whole path.
    ///
    /// Only the last `*` is retried, so the run time is at most proportional to the length of the
    /// path times the length of the pattern.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let mut tokens: &[Token] = &self.tokens;
        let mut rest = path;
        let mut retry: Option<(&[Token], &[u8])> = None;
        loop {
            match tokens {
                [] if rest.is_empty() => return true,
                [Token::AnyRun] => return true,
                [Token::AnyRun, after @ ..] => {
                    retry = Some((after, rest));
                    tokens = after;
                    continue;
                }
                [token, after @ ..] => {
                    if let Some(behind) = token.strip(rest) {
                        tokens = after;
                        rest = behind;
                        continue;
                    }
                }
                [] => {}
            }
            let Some((after, from)) = retry else {
                return false;
            };
            // The match of a star grows by whole characters, so that a following `?` never matches
            // half a character.
            let Some((_, behind)) = split_char(from) else {
                return false;
            };
            retry = Some((after, behind));
            tokens = after;
            rest = behind;
        }
    }
}

/// Parses lists of patterns. Errors contain the invalid pattern and the reason.
pub(super) fn parse_patterns(items: &[String]) -> Result<Vec<FilterPattern>, (String, String)> {
    let mut patterns = Vec::new();
    for spelled in items.iter().flat_map(|item| split_csv(item)) {
        let pattern = if patterns.len() < MAX_PATTERNS {
            FilterPattern::parse(spelled)
        } else {
            Err(format!(
                "there are more than {MAX_PATTERNS} patterns; combine some of them with *"
            ))
        };
        patterns.push(pattern.map_err(|reason| (spelled.to_owned(), reason))?);
    }
    Ok(patterns)
}

/// Splits a list at commas, trims the items and skips empty items.
///
/// A comma can be escaped with a backslash.
fn split_csv(list: &str) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    list.split(move |c| {
        let splits = c == ',' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        splits
    })
    .map(str::trim)
    .filter(|item| !item.is_empty())
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Token {
    /// Bytes that must match literally.
    Literal(Box<[u8]>),
    /// `?`, which matches one character, or one byte of invalid UTF-8.
    AnyChar,
    /// `*`, which matches any run of bytes, including slashes.
    AnyRun,
    /// `[…]`, which matches one character in the ranges or, with `!` or `^`, one character outside
    /// the ranges.
    Set {
        ranges: Box<[(char, char)]>,
        is_negated: bool,
    },
}

impl Token {
    /// Removes the match of a token from the start of `path` and returns the rest, or `None` if
    /// there is no match.
    fn strip<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        match self {
            Self::Literal(text) => path.strip_prefix(&**text),
            Self::AnyRun => Some(path),
            Self::AnyChar => split_char(path).map(|(_, behind)| behind),
            Self::Set { ranges, is_negated } => {
                let (found, behind) = split_char(path)?;
                let is_inside = found.is_some_and(|found| {
                    ranges
                        .iter()
                        .any(|&(first, last)| (first..=last).contains(&found))
                });
                (is_inside != *is_negated).then_some(behind)
            }
        }
    }
}

/// Splits off the first character, which is `None` for a byte of invalid UTF-8.
fn split_char(bytes: &[u8]) -> Option<(Option<char>, &[u8])> {
    let (&first, behind) = bytes.split_first()?;
    if first.is_ascii() {
        return Some((Some(char::from(first)), behind));
    }
    // No character is longer than four bytes (RFC 3629 §3).
    let head = bytes.get(..bytes.len().min(4))?;
    let found = head.utf8_chunks().next()?.valid().chars().next();
    let length = found.map_or(1, char::len_utf8);
    Some((found, bytes.get(length..)?))
}

fn check(pattern: &str) -> Result<(), String> {
    let problem = if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!("the pattern exceeds {MAX_PATTERN_BYTES} bytes"));
    } else if pattern.starts_with("http://") || pattern.starts_with("https://") {
        "the pattern is a URL; write only the path, such as /members-only-stuff/*"
    } else if !pattern.starts_with(['/', '*']) {
        "the pattern starts with neither / nor * and would match no path; write the full path"
    } else if pattern.chars().any(char::is_control) {
        "the pattern contains a control character"
    } else if names_query(pattern) {
        "the pattern contains a query, but patterns are compared only with paths; remove ? and the text after it and add a condition such as query = [\"page\"] to the rule, or write \\? for a question mark"
    } else {
        return Ok(());
    };
    Err(problem.to_owned())
}

/// Returns `true` if the pattern ends with `?`, or has a `?` before a parameter name and `=`.
fn names_query(pattern: &str) -> bool {
    let mut is_escaped = false;
    pattern.char_indices().any(|(at, c)| {
        let is_mark = c == '?' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        let behind = pattern.get(at + 1..).filter(|_| is_mark);
        behind.is_some_and(|behind| {
            let is_of_name = |c: char| c.is_alphanumeric() || "-_.~%".contains(c);
            let value = behind.trim_start_matches(is_of_name);
            behind.is_empty() || value.starts_with('=') && value.len() < behind.len()
        })
    })
}

#[derive(Default)]
struct Parser {
    tokens: Vec<Token>,
    literal: Vec<u8>,
}

impl Parser {
    fn parse(mut self, pattern: &str) -> Result<Vec<Token>, String> {
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            match c {
                '*' => self.token(Token::AnyRun),
                '?' => self.token(Token::AnyChar),
                '[' => {
                    let set = parse_set(&mut rest)?;
                    self.token(set);
                }
                '\\' => {
                    let kept = rest.next().ok_or(
                        "the pattern ends with a single backslash; write \\\\ for a backslash in the path",
                    )?;
                    self.literal_char(kept);
                }
                '%' => self.escape(&mut rest),
                _ => self.literal_char(c),
            }
        }
        self.end_literal();
        self.check_segments()?;
        Ok(self.tokens)
    }

    /// Adds a token that is not a literal; consecutive stars are merged.
    fn token(&mut self, token: Token) {
        self.end_literal();
        if token != Token::AnyRun || self.tokens.last() != Some(&Token::AnyRun) {
            self.tokens.push(token);
        }
    }

    fn literal_char(&mut self, c: char) {
        self.literal
            .extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Decodes an escape, so that paths copied from a browser are valid patterns.
    fn escape(&mut self, rest: &mut Chars<'_>) {
        let behind = rest.as_str().as_bytes();
        if let [high, low, ..] = behind
            && hex_digit(*high).is_some()
            && hex_digit(*low).is_some()
        {
            self.literal.extend(decode(&[b'%', *high, *low]));
            rest.next();
            rest.next();
        } else {
            self.literal.push(b'%');
        }
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            let literal = std::mem::take(&mut self.literal);
            self.tokens.push(Token::Literal(literal.into()));
        }
    }

    fn check_segments(&self) -> Result<(), String> {
        for (at, token) in self.tokens.iter().enumerate() {
            let Token::Literal(text) = token else {
                continue;
            };
            let is_last = at + 1 == self.tokens.len();
            // The text after the last slash may continue in the next token.
            let whole = match text.iter().rposition(|&byte| byte == b'/') {
                Some(slash) if !is_last => text.get(..=slash).unwrap_or_default(),
                _ => text,
            };
            if has_odd_segments(whole) {
                return Err(
                    "the pattern contains //, /./ or /../, which paths no longer contain when they are compared; omit these parts"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }
}

/// Parses the rest of a set after the `[`. A leading `]` is literal.
fn parse_set(rest: &mut Chars<'_>) -> Result<Token, String> {
    const UNCLOSED: &str =
        "the [ has no matching ]; write \\[ for a bracket in a path, and \\, for a comma in [ ]";
    let is_negated = rest.as_str().starts_with(['!', '^']);
    if is_negated {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next().ok_or(UNCLOSED)? {
            ']' if !ranges.is_empty() => break,
            '\\' => rest.next().ok_or(UNCLOSED)?,
            c => c,
        };
        let mut last = first;
        // Use a copy, because a `-` that does not begin a range is parsed again.
        let mut ahead = rest.clone();
        if ahead.next() == Some('-')
            && !ahead.as_str().is_empty()
            // A `-` at the end is literal, as in POSIX.
            && ahead.clone().next() != Some(']')
        {
            last = match ahead.next().ok_or(UNCLOSED)? {
                '\\' => ahead.next().ok_or(UNCLOSED)?,
                c => c,
            };
            *rest = ahead;
        }
        if first > last {
            return Err(format!(
                "the range {first}-{last} is reversed; write {last}-{first}"
            ));
        }
        ranges.push((first, last));
    }
    Ok(Token::Set {
        ranges: ranges.into(),
        is_negated,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// Parses a pattern. Unlike in settings, the pattern may end with a question mark.
    fn glob(pattern: &str) -> FilterPattern {
        FilterPattern {
            spelled: pattern.into(),
            tokens: Parser::default().parse(pattern).unwrap().into(),
        }
    }

    macro_rules! cases {
        ($($name:ident: $pattern:expr, $path:expr => $matches:expr;)*) => {
            $(#[test] fn $name() {
                let pattern = glob($pattern);
                let path: &[u8] = $path.as_ref();
                assert_eq!(pattern.matches(path), $matches);
            })*
        };
    }

    cases! {
        star_is_any_run: "/m/*", "/m/a" => true;
        star_is_nothing_too: "/m/*", "/m/" => true;
        star_crosses_slashes: "/m/*", "/m/a/b/c" => true;
        slash_before_a_star_is_required: "/m/*", "/m" => false;
        star_without_slash_takes_the_directory_and_more: "/m*", "/m" => true;
        star_without_slash_takes_longer_names: "/m*", "/more" => true;
        pattern_is_anchored_at_the_start: "/m/*", "/a/m/b" => false;
        pattern_is_anchored_at_the_end: "/m", "/m/a" => false;
        star_at_the_start: "*.pdf", "/a/b.pdf" => true;
        star_at_the_start_needs_the_end: "*.pdf", "/a/b.pdf.html" => false;
        star_in_the_middle: "/a/*/c", "/a/x/y/c" => true;
        later_star_is_retried: "/*ab*ab", "/ababxab" => true;
        star_that_must_give_back: "/*aab", "/aaaaab" => true;
        stars_in_a_row_are_one: "/**/*", "/a/b" => true;
        star_alone_is_everything: "*", "/" => true;
        question_mark_is_one_character: "/a?c", "/abc" => true;
        question_mark_is_not_nothing: "/ac?", "/ac" => false;
        question_mark_is_a_whole_character: "/caf?", "/café" => true;
        question_mark_is_a_stray_byte: "/a?", b"/a\xff" => true;
        question_marks_count_characters: "/*??", "/é" => false;
        set: "/[abc]x", "/bx" => true;
        set_without: "/[abc]x", "/dx" => false;
        set_range: "/v[0-9]/*", "/v7/a" => true;
        set_range_ends: "/[b-d]", "/e" => false;
        set_negated_with_exclamation_mark: "/[!a-z]", "/A" => true;
        set_negated_with_caret: "/[^a-z]", "/b" => false;
        set_negated_takes_a_stray_byte: "/[!a]", b"/\xc3" => true;
        set_takes_no_stray_byte: "/[\u{20}-\u{10ffff}]", b"/\xc3" => false;
        set_behind_a_star_keeps_characters_whole: "/*[!é]", "/é" => false;
        set_with_closing_bracket_first: "/[]x]", "/]" => true;
        set_with_dash_last: "/[a-]", "/-" => true;
        set_with_dash_first: "/[-a]", "/-" => true;
        set_with_escape: "/[\\]\\-]", "/-" => true;
        set_of_letters_beyond_ascii: "/[à-ü]", "/é" => true;
        backslash_escapes: "/a\\*b", "/a*b" => true;
        backslash_escapes_only_that: "/a\\*b", "/axb" => false;
        case_matters: "/Members/*", "/members/a" => false;
        escape_in_the_pattern_is_decoded: "/caf%C3%A9/*", "/café/a" => true;
        escaped_star_is_a_star: "/a%2A", "/a*" => true;
        percent_alone_is_itself: "/100%", "/100%" => true;
        comma_is_kept_by_a_backslash: "/a\\,b", "/a,b" => true;
        dots_behind_a_wildcard_are_a_name: "/a*./b", "/ax./b" => true;
        nothing_matches_the_empty_path: "/", "" => false;
    }

    #[test]
    fn invalid_patterns_are_rejected_with_a_hint() {
        for (pattern, hint) in [
            ("members/*", "write the full path"),
            ("?a", "write the full path"),
            ("http://example.com/a", "write only the path"),
            ("/[abc", "write \\["),
            ("/[", "write \\["),
            ("/[]", "write \\["),
            ("/[a-", "write \\["),
            ("/[a\\", "write \\["),
            ("/[z-a]", "write a-z"),
            ("/a\\", "write \\\\"),
            ("/a\u{7}", "control"),
            ("/*?add-to-cart=*", "compared only with paths"),
            ("/shop?", "compared only with paths"),
            ("/shop/??a%5B%5D=1", "compared only with paths"),
            ("//a/*", "omit these parts"),
            ("/a/../b", "omit these parts"),
            ("/a/./*", "omit these parts"),
            ("/a/..", "omit these parts"),
            ("/%2e%2e/a", "omit these parts"),
        ] {
            let reason = FilterPattern::parse(pattern).unwrap_err();
            assert!(reason.contains(hint), "{pattern:?}: {reason}");
        }
        let long = format!("/{}", "a".repeat(MAX_PATTERN_BYTES));
        assert!(FilterPattern::parse(&long).is_err());
    }

    #[test]
    fn a_question_mark_inside_a_pattern_matches_one_character() {
        for pattern in [
            "/a?b", "/?/a", "/a?b/c=d", "/a?*", "/a\\?b=c", "/a?=b", "/a?b?c",
        ] {
            assert!(FilterPattern::parse(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn list_is_split_at_commas() {
        let items: Vec<_> = split_csv(" /a/* ,, /b\\,c,\t/d\\\\,/e ,").collect();
        assert_eq!(items, ["/a/*", "/b\\,c", "/d\\\\", "/e"]);
    }

    #[test]
    fn hostile_path_takes_no_exponential_time() {
        let pattern = FilterPattern::parse(&format!("/{}b", "*a".repeat(100))).unwrap();
        let path = format!("/{}", "a".repeat(4000));
        #[expect(clippy::disallowed_methods, reason = "the test measures real time")]
        let start = std::time::Instant::now();
        assert!(!pattern.matches(path.as_bytes()));
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    /// A reference implementation of the same rules: obviously correct, but slow.
    fn matches_naively(pattern: &[char], path: &[char]) -> bool {
        match pattern {
            [] => path.is_empty(),
            ['*', after @ ..] => {
                (0..=path.len()).any(|skipped| matches_naively(after, &path[skipped..]))
            }
            ['?', after @ ..] => !path.is_empty() && matches_naively(after, &path[1..]),
            [c, after @ ..] => path.first() == Some(c) && matches_naively(after, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn matches_like_the_naive_matcher(
            pattern in "/[ab*?é]{0,8}",
            path in "/[abé]{0,10}",
        ) {
            let spelled: Vec<char> = pattern.chars().collect();
            let characters: Vec<char> = path.chars().collect();
            prop_assert_eq!(
                glob(&pattern).matches(path.as_bytes()),
                matches_naively(&spelled, &characters)
            );
        }

        #[test]
        fn any_pattern_is_parsed_or_rejected(pattern in ".{0,40}", path in any::<Vec<u8>>()) {
            if let Ok(pattern) = FilterPattern::parse(&pattern) {
                pattern.matches(&path);
            }
        }

        #[test]
        fn any_set_is_parsed_or_rejected(set in "[\\]\\[a^!\\\\é-]{0,8}", path in "/[a\\]\\[\\\\é-]{0,2}") {
            if let Ok(pattern) = FilterPattern::parse(&format!("/[{set}")) {
                pattern.matches(path.as_bytes());
            }
        }
    }
}
