//! Regular expressions of imported lists.

use ::regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use super::InvalidPattern;

/// Bytes of memory that one compiled expression may take.
// Lists come from outside: counted repetitions alone could take all the memory there is.
const SIZE_LIMIT: usize = 1 << 20;
/// Depth of groups in groups.
const NEST_LIMIT: u32 = 50;
/// Bytes of a User-Agent that an expression must match at least.
const MIN_MATCH: usize = 2;
/// What an expression may not match: it would match everybody.
const EVERYBODY: &[&str] = &[
    "Mozilla/5.0",
    "a",
    "Word/1.0 (word; word) word",
    " ",
    "0",
    "/",
];

/// Compiles a regular expression as detection does: over bytes, without Unicode.
///
/// # Errors
///
/// Fails for syntax that the `regex` crate lacks (look-around,
/// backreferences), for expressions that take more than 1 MiB, and for those
/// that match everybody.
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

/// Returns the least number of bytes that an expression matches.
fn minimum_match(text: &str) -> Result<usize, InvalidPattern> {
    let hir = ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .nest_limit(NEST_LIMIT)
        .build()
        .parse(text)
        .map_err(|error| InvalidPattern::Regex(last_line(&error.to_string())))?;
    // Without a length it matches nothing at all, and harms nobody.
    Ok(hir.properties().minimum_len().unwrap_or(usize::MAX))
}

/// Returns the line of a many-lined message that says what is wrong.
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
    fn expressions_that_match_everybody_are_refused() {
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
    fn syntax_that_is_not_there_is_refused_with_its_reason() {
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
