//! Regular expressions from imported lists.

use ::regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use super::InvalidPattern;

/// Maximum memory in bytes that a compiled expression may use.
// Without a limit, external lists could use up all memory, for example by counted repetitions.
const SIZE_LIMIT: usize = 1 << 20;
/// Maximum nesting depth of groups in an expression.
const NEST_LIMIT: u32 = 50;
/// Minimum number of bytes that any match of an expression must have.
const MIN_MATCH: usize = 2;
/// Sample texts. An expression that matches any of these texts is too general.
const EVERYBODY: &[&str] = &[
    "Mozilla/5.0",
    "a",
    "Word/1.0 (word; word) word",
    " ",
    "0",
    "/",
];

/// Compiles a regular expression as detection does: for bytes, without Unicode support.
///
/// # Errors
///
/// Returns an error for syntax that the `regex` crate does not support (look-around,
/// backreferences), for expressions that need more than 1 MiB, and for expressions that are too
/// general.
pub fn compile_regex(text: &str) -> Result<Regex, InvalidPattern> {
    if text.contains(char::is_control) {
        return Err(InvalidPattern::Control);
    }
    if minimum_match(text)? < MIN_MATCH {
        return Err(InvalidPattern::TooLoose);
    }
    let regex = RegexBuilder::new(text)
        .unicode(false)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .nest_limit(NEST_LIMIT)
        .build()
        .map_err(|error| InvalidPattern::Regex(last_line(&error.to_string())))?;
    if EVERYBODY
        .iter()
        .any(|agent| regex.is_match(agent.as_bytes()))
    {
        return Err(InvalidPattern::TooLoose);
    }
    Ok(regex)
}

/// Returns the minimum length in bytes of the texts that an expression matches.
fn minimum_match(text: &str) -> Result<usize, InvalidPattern> {
    let hir = ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .nest_limit(NEST_LIMIT)
        .build()
        .parse(text)
        .map_err(|error| InvalidPattern::Regex(last_line(&error.to_string())))?;
    // An expression without a minimum length never matches, and is harmless.
    Ok(hir.properties().minimum_len().unwrap_or(usize::MAX))
}

/// Returns the line of a multi-line message that contains the reason.
fn last_line(message: &str) -> String {
    message
        .lines()
        .last()
        .unwrap_or(message)
        .trim_start_matches("error: ")
        .trim_end_matches('.')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_general_expressions_are_rejected() {
        for loose in [
            "", ".*", "a?", "(|x)", "Mozilla", "^", "\\w", ".", "\\w+/\\d", "^.{2,}$",
        ] {
            assert_eq!(
                compile_regex(loose).err(),
                Some(InvalidPattern::TooLoose),
                "{loose}"
            );
        }
    }

    #[test]
    fn unsupported_syntax_is_rejected_with_a_reason() {
        let error = compile_regex("Foo(?!bar)").unwrap_err().to_string();
        assert!(error.contains("look-around"), "{error}");
        let error = compile_regex("(a)\\1foo").unwrap_err().to_string();
        assert!(error.contains("backreferences"), "{error}");
        assert!(compile_regex("(unclosed").is_err());
        assert!(compile_regex(&"(".repeat(1000)).is_err());
        assert!(compile_regex("(acme){1000}{1000}").is_err());
        assert!(compile_regex("acme\u{1}").is_err());
    }

    #[test]
    fn anchors_and_case_are_kept() {
        let regex = compile_regex("^Acme\\/[0-9]").unwrap();
        assert!(regex.is_match(b"Acme/1"));
        assert!(!regex.is_match(b"xAcme/1"));
        assert!(!regex.is_match(b"acme/1"));
    }
}
