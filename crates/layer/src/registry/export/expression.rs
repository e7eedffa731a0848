//! Regular expressions that have the same meaning in other programs.

use std::fmt::Write as _;

use regex_syntax::{
    ParserBuilder,
    hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind, Look, Repetition},
};

use crate::registry::{Pattern, PatternKind};

/// Maximum nesting depth of groups in an expression.
const NEST_LIMIT: u32 = 50;
/// The expression for the text before a token: the start of the text, or a character other than a
/// letter or a digit.
const BEFORE_TOKEN: &str = "(?:^|[^0-9A-Za-z])";
/// The expression for the text after a token: the end of the text, or a character other than a
/// letter.
const BEHIND_TOKEN: &str = "(?:[^A-Za-z]|$)";
/// The expression for the text after a product name.
const BEHIND_PRODUCT: &str = "(?:$|[/_0-9]| [(0-9])";

/// A regular expression with the same meaning in PCRE and in the `regex` crate.
///
/// The text consists of ASCII letters, digits, punctuation and spaces; other bytes are escaped. The
/// expression uses only constructs that both engines support: anchors and word boundaries, but no
/// other look-around, flags or names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Expression {
    text: String,
    is_caseless: bool,
}

impl Expression {
    /// Returns an expression that matches the same User-Agents as the pattern.
    ///
    /// Returns `None` if the pattern is an invalid regular expression, or one that PCRE cannot
    /// express, such as an expression with Unicode classes or half boundaries.
    #[must_use]
    pub fn from_pattern(pattern: &Pattern) -> Option<Self> {
        let (before, behind) = match pattern.kind {
            PatternKind::Token => (BEFORE_TOKEN, BEHIND_TOKEN),
            PatternKind::Prefix => ("^", ""),
            PatternKind::Product => ("^", BEHIND_PRODUCT),
            PatternKind::Exact => ("^", "$"),
            PatternKind::Regex => return Self::of_regex(&pattern.text),
        };
        Some(Self::literal(before, pattern.text.as_bytes(), behind, true))
    }

    /// Returns the expression for a literal, preceded and followed by the given expressions.
    pub(crate) fn literal(before: &str, literal: &[u8], behind: &str, is_caseless: bool) -> Self {
        let mut text = before.to_owned();
        for &byte in literal {
            push_byte(&mut text, byte);
        }
        text.push_str(behind);
        Self { text, is_caseless }
    }

    /// Returns the text of the expression, without the flag for case-insensitivity.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns `true` if the expression must be used with a flag for case-insensitivity.
    #[must_use]
    pub fn is_caseless(&self) -> bool {
        self.is_caseless
    }

    fn of_regex(text: &str) -> Option<Self> {
        let hir = parse(text)?;
        let is_caseless = is_caseless(&hir);
        let mut printer = Printer {
            text: String::with_capacity(text.len()),
            is_caseless,
        };
        printer.print(&hir)?;
        Some(Self {
            text: printer.text,
            is_caseless,
        })
    }
}

fn parse(text: &str) -> Option<Hir> {
    ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .nest_limit(NEST_LIMIT)
        .build()
        .parse(text)
        .ok()
}

/// Returns `true` if all letters of an expression match in both cases.
fn is_caseless(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => !literal.0.iter().any(u8::is_ascii_alphabetic),
        HirKind::Class(class) => bytes_of(class).is_some_and(|class| {
            (b'a'..=b'z').all(|b| has(&class, b) == has(&class, b.to_ascii_uppercase()))
        }),
        HirKind::Repetition(repetition) => is_caseless(&repetition.sub),
        HirKind::Capture(capture) => is_caseless(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_caseless),
    }
}

/// A printer that converts a parsed expression to text, or fails if this is not possible.
struct Printer {
    text: String,
    is_caseless: bool,
}

impl Printer {
    fn print(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                for &byte in &literal.0 {
                    push_byte(&mut self.text, byte);
                }
            }
            HirKind::Class(class) => self.class(&bytes_of(class)?),
            HirKind::Look(look) => self.text.push_str(anchor(*look)?),
            HirKind::Repetition(repetition) => self.repetition(repetition)?,
            HirKind::Capture(capture) => self.group(&capture.sub)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    if matches!(part.kind(), HirKind::Alternation(_)) {
                        self.group(part)?;
                    } else {
                        self.print(part)?;
                    }
                }
            }
            HirKind::Alternation(branches) => {
                for (number, branch) in branches.iter().enumerate() {
                    if number > 0 {
                        self.text.push('|');
                    }
                    self.print(branch)?;
                }
            }
        }
        Some(())
    }

    fn group(&mut self, hir: &Hir) -> Option<()> {
        self.text.push_str("(?:");
        self.print(hir)?;
        self.text.push(')');
        Some(())
    }

    fn repetition(&mut self, repetition: &Repetition) -> Option<()> {
        let is_one = match repetition.sub.kind() {
            HirKind::Literal(literal) => literal.0.len() == 1,
            HirKind::Class(_) | HirKind::Capture(_) => true,
            _ => false,
        };
        if is_one {
            self.print(&repetition.sub)?;
        } else {
            self.group(&repetition.sub)?;
        }
        match (repetition.min, repetition.max) {
            (0, Some(1)) => self.text.push('?'),
            (0, None) => self.text.push('*'),
            (1, None) => self.text.push('+'),
            (min, None) => {
                let _ = write!(self.text, "{{{min},}}");
            }
            (min, Some(max)) if min == max => {
                let _ = write!(self.text, "{{{min}}}");
            }
            (min, Some(max)) => {
                let _ = write!(self.text, "{{{min},{max}}}");
            }
        }
        if !repetition.greedy {
            self.text.push('?');
        }
        Some(())
    }

    fn class(&mut self, class: &ClassBytes) {
        let members: Vec<u8> = (0..=u8::MAX).filter(|&byte| has(class, byte)).collect();
        match members.as_slice() {
            &[byte] => return push_byte(&mut self.text, byte),
            &[upper, lower] if self.is_caseless && upper.eq_ignore_ascii_case(&lower) => {
                return push_byte(&mut self.text, lower);
            }
            // In both engines, a dot matches everything except a line feed.
            all if all.len() == 255 && !has(class, b'\n') => return self.text.push('.'),
            _ => {}
        }
        let mut class = class.clone();
        self.text.push('[');
        // Both engines reject an empty class, but accept its negation.
        if members.len() > 128 && members.len() < 256 || members.is_empty() {
            self.text.push('^');
            class.negate();
        }
        for range in class.ranges() {
            push_member(&mut self.text, range.start());
            if range.end() > range.start() {
                if range.end() - range.start() > 1 {
                    self.text.push('-');
                }
                push_member(&mut self.text, range.end());
            }
        }
        self.text.push(']');
    }
}

/// Returns the bytes of a class, or `None` if the class contains non-ASCII characters.
fn bytes_of(class: &Class) -> Option<ClassBytes> {
    match class {
        Class::Bytes(class) => Some(class.clone()),
        Class::Unicode(class) => {
            let ranges = class.ranges().iter().map(|range| {
                let end = u8::try_from(range.end()).ok().filter(u8::is_ascii)?;
                Some(ClassBytesRange::new(u8::try_from(range.start()).ok()?, end))
            });
            Some(ClassBytes::new(ranges.collect::<Option<Vec<_>>>()?))
        }
    }
}

fn has(class: &ClassBytes, byte: u8) -> bool {
    let mut ranges = class.ranges().iter();
    ranges.any(|range| (range.start()..=range.end()).contains(&byte))
}

/// Returns the spelling of an anchor. A header is a single line, so line anchors become text
/// anchors.
fn anchor(look: Look) -> Option<&'static str> {
    match look {
        Look::Start | Look::StartLF | Look::StartCRLF => Some("^"),
        Look::End | Look::EndLF | Look::EndCRLF => Some("$"),
        Look::WordAscii => Some(r"\b"),
        Look::WordAsciiNegate => Some(r"\B"),
        _ => None,
    }
}

/// Writes a byte as a literal.
fn push_byte(text: &mut String, byte: u8) {
    if !(b' '..=b'~').contains(&byte) {
        let _ = write!(text, r"\x{byte:02x}");
        return;
    }
    if br"\.+*?()|[]{}^$#".contains(&byte) {
        text.push('\\');
    }
    text.push(char::from(byte));
}

/// Writes a byte as a member of a class or as the end of a range.
fn push_member(text: &mut String, byte: u8) {
    if !(b' '..=b'~').contains(&byte) {
        let _ = write!(text, r"\x{byte:02x}");
        return;
    }
    if br"\[]^-&~#".contains(&byte) {
        text.push('\\');
    }
    text.push(char::from(byte));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: PatternKind, text: &str) -> (String, bool) {
        let expression = Expression::from_pattern(&Pattern::new(kind, text)).unwrap();
        (expression.text, expression.is_caseless)
    }

    #[test]
    fn every_kind_of_literal_has_its_bounds() {
        for (kind, text, expected) in [
            (
                PatternKind::Token,
                "Acme.Bot",
                r"(?:^|[^0-9A-Za-z])Acme\.Bot(?:[^A-Za-z]|$)",
            ),
            (PatternKind::Prefix, "got (", r"^got \("),
            (PatternKind::Product, "acme", "^acme(?:$|[/_0-9]| [(0-9])"),
            (
                PatternKind::Exact,
                "a$#\"\u{e4}\n",
                r#"^a\$\#"\xc3\xa4\x0a$"#,
            ),
        ] {
            assert_eq!(of(kind, text), (expected.to_owned(), true));
        }
    }

    #[test]
    fn a_regex_is_rewritten_without_constructs_that_one_engine_lacks() {
        for (text, expected, is_caseless) in [
            (r"^Acme\/[0-9]", "^Acme/[0-9]", false),
            ("(?i)^Acme[a-z]+x", "^acme[A-Za-z]+x", true),
            ("(?i)foo|bar(baz|q)", "foo|bar(?:baz|q)", true),
            ("[wW]get", "[Ww]get", false),
            ("(?P<name>ab)+?c{2,3}", "(?:ab)+?c{2,3}", false),
            ("(?x) a b # say\n", "ab", false),
            (r"[[:alpha:]&&[^x]]bc", "[A-Za-wyz]bc", false),
            (r"\bacme\d\z", r"\bacme[0-9]$", false),
            (
                "(?i)(?:^|[^A-Z0-9_-]|sprd-)(?:Acme|Q.x)",
                r"(?:^|[^\-0-9A-Z_a-z]|sprd\-)(?:acme|q.x)",
                true,
            ),
            ("(?:ab){2}", "(?:ab){2}", false),
            ("(?s).a\u{e4}", r"[\x00-\xff]a\xc3\xa4", false),
        ] {
            let expected = expected.replace(r"sprd\-", "sprd-");
            assert_eq!(
                of(PatternKind::Regex, text),
                (expected, is_caseless),
                "{text}"
            );
        }
    }

    #[test]
    fn inexpressible_patterns_are_not_converted() {
        for text in [r"(?u:\b)acme", r"\b{start}acme", "(unclosed", "(?=a)"] {
            assert_eq!(
                Expression::from_pattern(&Pattern::new(PatternKind::Regex, text)),
                None,
                "{text}"
            );
        }
    }
}
