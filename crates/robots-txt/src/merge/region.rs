//! Comparison, intersection and writing of the sets of paths that rules match.

/// The maximum number of patterns in an intersection. The intersection of two patterns that contain
/// many `*` may consist of exponentially many patterns.
const MAX_PATTERNS: usize = 64;

/// The maximum number of steps to compute an intersection, or to compare two patterns.
const MAX_STEPS: usize = 20_000;

/// A part of a path pattern.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token {
    Octet(u8),
    /// A `*`, which matches any sequence of octets, including the empty sequence.
    Any,
}

/// The set of paths that a rule's pattern matches (RFC 9309 §2.2.3).
///
/// Equal sets usually have equal tokens: escapes are normalised, and a `*` never follows another
/// `*`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Region {
    /// The tokens that match the whole path; the last token is usually `Any`.
    tokens: Vec<Token>,
}

impl Region {
    /// Parses a pattern. Also returns the pattern's length as written, including each `*`; this
    /// length determines the longest match (RFC 9309 §2.2.2).
    pub(super) fn read(written: &[u8]) -> (Self, usize) {
        let (text, ends) = match written {
            [text @ .., b'$'] => (text, true),
            text => (text, false),
        };
        let mut tokens = Vec::with_capacity(text.len() + 1);
        let mut unwritten = usize::from(ends);
        let mut rest = text;
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            match (*first, escaped(rest)) {
                (b'%', Some(octet)) => {
                    rest = rest.get(2..).unwrap_or_default();
                    // This is one token, but counts as three octets in
                    // `escapes::normalised_length`.
                    unwritten += 2 * usize::from(matches!(octet, b'*' | b'$'));
                    push_escaped(&mut tokens, octet);
                }
                (b'*', _) => unwritten += usize::from(!push_any(&mut tokens)),
                (octet, _) if octet.is_ascii() => tokens.push(Token::Octet(octet)),
                (octet, _) => push_triple(&mut tokens, octet),
            }
        }
        let length = tokens.len() + unwritten;
        if !ends {
            push_any(&mut tokens);
        }
        (Self { tokens }, length)
    }

    /// Returns `true` only if this set contains the other set; a result of `false` may be wrong.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self.covers(other) == Some(true)
    }

    /// Checks whether this set contains the other set; returns `None` if the check takes too long.
    fn covers(&self, other: &Self) -> Option<bool> {
        // A `*` of the other set can match octets that occur in no text of ours, so only a `*`
        // covers it. It is sufficient to retry our last `*`, which can match whatever an earlier
        // `*` could match.
        let (mut at, mut place) = (0, 0);
        let (mut retry, mut steps) = (None, 0);
        while let Some(token) = other.tokens.get(place) {
            steps += 1;
            if steps > MAX_STEPS {
                return None;
            }
            match self.tokens.get(at) {
                Some(Token::Any) => {
                    retry = Some((at, place));
                    at += 1;
                }
                Some(same) if same == token => {
                    at += 1;
                    place += 1;
                }
                _ => {
                    let Some((any, from)) = retry else {
                        return Some(false);
                    };
                    at = any + 1;
                    place = from + 1;
                    retry = Some((any, from + 1));
                }
            }
        }
        let rest = self.tokens.get(at..).unwrap_or_default();
        Some(rest.iter().all(|token| *token == Token::Any))
    }

    /// Returns `false` only if the sets are disjoint; a result of `true` may be wrong.
    pub(super) fn may_meet(&self, other: &Self) -> bool {
        // Without a `*`, the set is a single path, which is in any set that covers it.
        if !self.has_any() {
            return other.covers(self) != Some(false);
        }
        if !other.has_any() {
            return self.covers(other) != Some(false);
        }
        // The parts of two patterns between the first and the last `*` can follow one another, so
        // only the beginnings and ends can conflict.
        let ours = self.tokens.iter();
        let theirs = other.tokens.iter();
        agree(ours.clone().zip(theirs.clone())) && agree(ours.rev().zip(theirs.rev()))
    }

    /// Returns the intersection of both sets as a list of sets.
    ///
    /// Returns `None` if there are too many sets, or if more than `steps` steps are needed; the
    /// number of steps taken is subtracted from `steps`.
    pub(super) fn common(&self, other: &Self, steps: &mut usize) -> Option<Vec<Self>> {
        // Most sets are disjoint or contain each other, so search only if they overlap.
        if self.contains(other) {
            return Some(vec![other.clone()]);
        }
        if other.contains(self) {
            return Some(vec![self.clone()]);
        }
        if !self.may_meet(other) {
            return Some(Vec::new());
        }
        let mut search = Search::new(&self.tokens, &other.tokens);
        let is_done = search.run((*steps).min(MAX_STEPS));
        *steps = steps.saturating_sub(search.steps);
        is_done?;
        Some(search.largest())
    }

    /// Truncates the pattern to the given number of tokens, so that the pattern matches more paths.
    pub(super) fn widen(&mut self, tokens: usize) {
        if self.tokens.len() > tokens {
            self.tokens.truncate(tokens);
            push_any(&mut self.tokens);
        }
    }

    /// Returns the length of the pattern in octets when it is written in the shortest way.
    pub(super) fn length(&self) -> usize {
        let pattern = self.pattern();
        // Literal `*` and `$` are written as escapes of three octets.
        let escaped = pattern.iter().filter(|token| **token == Token::Octet(b'*'));
        let escaped = escaped.count() + usize::from(pattern.last() == Some(&Token::Octet(b'$')));
        pattern.len() + 2 * escaped + usize::from(self.ends())
    }

    /// Returns the pattern, extended to `length` octets without changing the set of matching paths.
    ///
    /// Returns `None` if the pattern contains no `*` that could be repeated.
    pub(super) fn written(&self, length: usize) -> Option<Vec<u8>> {
        let mut missing = length.saturating_sub(self.length());
        let mut text = Vec::with_capacity(length);
        for (at, token) in self.pattern().iter().enumerate() {
            match token {
                Token::Any if self.ends() => {
                    // For readability, patterns without a `$` are extended at the end.
                    let stars = 1 + std::mem::take(&mut missing);
                    text.extend(std::iter::repeat_n(b'*', stars));
                }
                Token::Any => text.push(b'*'),
                // Without escapes, literal `*` and `$` would be wildcards (RFC 9309 §2.2.3).
                Token::Octet(b'*') => text.extend(b"%2A"),
                Token::Octet(b'$') if at + 1 == self.pattern().len() => text.extend(b"%24"),
                Token::Octet(octet) => text.push(*octet),
            }
        }
        if self.ends() {
            text.push(b'$');
            return (missing == 0).then_some(text);
        }
        text.extend(std::iter::repeat_n(b'*', missing));
        Some(text)
    }

    fn has_any(&self) -> bool {
        self.tokens.contains(&Token::Any)
    }

    fn ends(&self) -> bool {
        self.tokens.last() != Some(&Token::Any)
    }

    /// Returns the tokens to write; a final `*` is implied and omitted, unless the pattern would be
    /// empty.
    fn pattern(&self) -> &[Token] {
        let tokens = self.tokens.as_slice();
        match tokens.strip_suffix(&[Token::Any]) {
            Some([]) => &[Token::Octet(b'/')],
            Some(pattern) => pattern,
            None => tokens,
        }
    }
}

/// Returns `true` if both lists of tokens have the same octets before the first `*`.
fn agree<'t>(pairs: impl Iterator<Item = (&'t Token, &'t Token)>) -> bool {
    let mut octets = pairs.map_while(|(one, other)| match (one, other) {
        (Token::Octet(one), Token::Octet(other)) => Some(one == other),
        _ => None,
    });
    octets.all(|agree| agree)
}

/// Adds a `*` to the tokens, or returns `false` if the last token is already a `*`.
fn push_any(tokens: &mut Vec<Token>) -> bool {
    let is_new = tokens.last() != Some(&Token::Any);
    if is_new {
        tokens.push(Token::Any);
    }
    is_new
}

/// Adds an escaped octet, which is decoded if RFC 9309 §2.2.2 requires decoding or if the octet is
/// `*` or `$`.
fn push_escaped(tokens: &mut Vec<Token>, octet: u8) {
    let is_literal = octet.is_ascii_alphanumeric() || b"-._~*$".contains(&octet);
    if is_literal {
        tokens.push(Token::Octet(octet));
    } else {
        push_triple(tokens, octet);
    }
}

fn push_triple(tokens: &mut Vec<Token>, octet: u8) {
    let triple = format!("%{octet:02X}");
    tokens.extend(triple.bytes().map(Token::Octet));
}

/// Returns the octet that is encoded by the two digits after a `%`.
fn escaped(rest: &[u8]) -> Option<u8> {
    let digit = |at| {
        let octet: u8 = *rest.get(at)?;
        char::from(octet).to_digit(16)
    };
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// A search for the patterns of the paths that two lists of tokens both match.
///
/// Pending branches are stored in a list instead of on the call stack, because there may be as many
/// branches as octets.
struct Search<'t> {
    found: Vec<Region>,
    steps: usize,
    so_far: Vec<Token>,
    branches: Vec<Branch<'t>>,
}

/// A branch of a search, with the remaining tokens of both lists and the common tokens found so
/// far.
struct Branch<'t> {
    one: &'t [Token],
    other: &'t [Token],
    /// The number of common tokens found before this branch.
    behind: usize,
    /// The next token of the common pattern, if any.
    next: Option<Token>,
}

impl<'t> Search<'t> {
    fn new(one: &'t [Token], other: &'t [Token]) -> Self {
        let mut search = Self {
            found: Vec::new(),
            steps: 0,
            so_far: Vec::new(),
            branches: Vec::new(),
        };
        search.push(one, other, None);
        search
    }

    /// Stores a branch of the search; the branch stored last is followed first.
    fn push(&mut self, one: &'t [Token], other: &'t [Token], next: Option<Token>) {
        self.branches.push(Branch {
            one,
            other,
            behind: self.so_far.len(),
            next,
        });
    }

    /// Follows all branches of the search; returns `None` if there are too many.
    fn run(&mut self, most: usize) -> Option<()> {
        while let Some(branch) = self.branches.pop() {
            self.steps += 1;
            if self.steps > most || self.found.len() > MAX_PATTERNS {
                return None;
            }
            self.so_far.truncate(branch.behind);
            self.so_far.extend(branch.next);
            self.step(branch.one, branch.other);
        }
        Some(())
    }

    fn step(&mut self, one: &'t [Token], other: &'t [Token]) {
        match (one, other) {
            ([], rest) | (rest, []) => {
                if rest.iter().all(|token| *token == Token::Any) {
                    let tokens = self.so_far.clone();
                    self.found.push(Region { tokens });
                }
            }
            ([Token::Octet(a), one @ ..], [Token::Octet(b), other @ ..]) => {
                if a == b {
                    self.push(one, other, Some(Token::Octet(*a)));
                }
            }
            ([Token::Any, behind_one @ ..], [Token::Any, behind_other @ ..]) => {
                push_any(&mut self.so_far);
                self.push(one, behind_other, None);
                self.push(behind_one, other, None);
            }
            ([Token::Any, behind @ ..], [octet, rest @ ..]) => {
                self.push(one, rest, Some(*octet));
                self.push(behind, other, None);
            }
            ([octet, rest @ ..], [Token::Any, behind @ ..]) => {
                self.push(rest, other, Some(*octet));
                self.push(one, behind, None);
            }
        }
    }

    /// Returns the sets that are not contained in any other set.
    fn largest(self) -> Vec<Region> {
        let mut largest: Vec<Region> = Vec::new();
        for region in self.found {
            if !largest.iter().any(|other| other.contains(&region)) {
                largest.retain(|other| !region.contains(other));
                largest.push(region);
            }
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escapes::normalised_length;

    fn region(pattern: &str) -> Region {
        Region::read(pattern.as_bytes()).0
    }

    fn text(region: &Region, length: usize) -> Option<String> {
        region
            .written(length)
            .map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn region_contains_paths_that_start_with_its_pattern() {
        for (large, small, contains) in [
            ("/a", "/ab", true),
            ("/ab", "/a", false),
            ("/a", "/a", true),
            ("/a$", "/a", false),
            ("/a", "/a$", true),
            ("/*.php", "/x/y.php", true),
            ("/*.php$", "/x/y.php", false),
            ("/*.php$", "/x/*y.php$", true),
            ("/x*", "/x", true),
            ("/*a*b", "/a*b*c", true),
            ("/*a*b", "/b*a", false),
            ("*", "/", true),
            ("/%61", "/a", true),
            ("/a%2ab", "/a*b", false),
            ("/a*b", "/a%2Ab", true),
        ] {
            assert_eq!(
                region(large).contains(&region(small)),
                contains,
                "{large} {small}"
            );
        }
    }

    #[test]
    fn intersection_is_written_as_patterns() {
        for (one, other, common) in [
            ("/a", "/b", ""),
            ("/a", "/ab", "/ab"),
            ("/*.php", "/private/", "/private/*.php"),
            ("/*a", "/*b", "/*b*a /*a*b"),
            ("/*.php$", "/*.html$", ""),
            ("/a$", "/*a", "/a$"),
        ] {
            let found = region(one).common(&region(other), &mut 1_000).unwrap();
            let mut found: Vec<_> = found.iter().filter_map(|found| text(found, 0)).collect();
            found.sort();
            let mut common: Vec<_> = common.split_whitespace().collect();
            common.sort_unstable();
            assert_eq!(found, common, "{one} {other}");
        }
    }

    #[test]
    fn length_is_that_of_the_written_pattern() {
        for (pattern, length) in [
            ("/a", 2),
            ("/a**", 4),
            ("/**$", 4),
            ("/%61", 2),
            // As robots compare patterns: an escaped `*` or `$` counts as three octets.
            ("/%2a", 4),
            ("/%24a", 5),
            ("/%2A%24", 7),
            ("/$$", 3),
            ("/%2f", 4),
            ("/é", 7),
            ("***", 3),
        ] {
            assert_eq!(normalised_length(pattern.as_bytes()), length, "{pattern}");
            let (region, read) = Region::read(pattern.as_bytes());
            assert_eq!(read, length, "{pattern}");
            let shortest = region.written(0).unwrap();
            assert_eq!(
                region.length(),
                normalised_length(&shortest),
                "{pattern} {shortest:?}"
            );
        }
    }

    #[test]
    fn too_many_common_patterns_return_none() {
        let one = region(&"/*a*b*c".repeat(8));
        let other = region(&"/*d*e*f".repeat(8));
        assert_eq!(one.common(&other, &mut 1_000_000), None);
    }

    #[test]
    fn pattern_of_many_octets_needs_no_stack() {
        let long = "a".repeat(MAX_STEPS / 4);
        let found = region(&format!("/{long}*b")).common(&region("/*zq"), &mut 1_000_000);
        let found = found.unwrap();
        let mut ends: Vec<_> = found
            .iter()
            .filter_map(|found| {
                text(found, 0)?
                    .strip_prefix(&format!("/{long}"))
                    .map(str::to_owned)
            })
            .collect();
        ends.sort();
        assert_eq!(ends, ["*b*zq", "*zq*b"]);
    }

    #[test]
    fn pattern_is_widened_at_its_end() {
        for (pattern, tokens, widened) in [
            ("/abc$", 3, "/ab"),
            ("/abc", 5, "/abc"),
            ("/a*c$", 3, "/a"),
            ("/abc$", 4, "/abc$"),
        ] {
            let mut region = region(pattern);
            region.widen(tokens);
            assert_eq!(text(&region, 0).as_deref(), Some(widened), "{pattern}");
        }
    }

    #[test]
    fn pattern_is_extended_without_changing_its_meaning() {
        for (pattern, length, written) in [
            ("/a", 2, Some("/a")),
            ("/a", 4, Some("/a**")),
            ("/a***", 0, Some("/a")),
            ("/*.php$", 9, Some("/***.php$")),
            ("/a$", 3, Some("/a$")),
            ("/a$", 4, None),
            ("*", 1, Some("/")),
            ("*", 3, Some("/**")),
            ("/a%2A", 0, Some("/a%2A")),
            ("/a%24", 0, Some("/a%24")),
            ("/é", 0, Some("/%C3%A9")),
        ] {
            assert_eq!(
                text(&region(pattern), length).as_deref(),
                written,
                "{pattern}"
            );
        }
    }

    #[test]
    fn patterns_that_are_slow_to_compare_may_overlap() {
        let long = "a".repeat(2_000);
        let (one, other) = (
            region(&format!("/*{long}b$")),
            region(&format!("/{long}{long}b$")),
        );
        assert!(!one.contains(&other), "the comparison takes too long");
        assert!(one.may_meet(&other) && other.may_meet(&one));
    }
}
