//! Export of tokens, for formats that contain only tokens.

use std::{borrow::Borrow, collections::HashSet};

use crate::registry::{
    Pattern, PatternKind, Robot,
    import::list::{MAX_LINE_BYTES, without_comment},
    text::clean,
    useragent::token,
};

use super::exported::Exported;

/// Returns the tokens of the active robots without duplicates, omitting tokens that would not be
/// read back as tokens.
pub(super) fn tokens<'r, R: Borrow<Robot>>(
    exported: &mut Exported,
    robots: &'r [R],
) -> Vec<(&'r Robot, &'r str)> {
    let mut seen = HashSet::new();
    let mut tokens = Vec::new();
    for robot in exported.active(robots) {
        let robot = robot.borrow();
        let (fit, unfit): (Vec<&Pattern>, Vec<_>) =
            robot.patterns.iter().partition(|pattern| is_token(pattern));
        if !unfit.is_empty() {
            exported.omit(
                robot,
                "with a pattern that is not a token of at least four letters",
            );
        }
        exported.robots += usize::from(!fit.is_empty());
        let new = fit
            .into_iter()
            .filter(|pattern| seen.insert(pattern.text.to_ascii_lowercase()));
        tokens.extend(new.map(|pattern| (robot, pattern.text.as_str())));
    }
    tokens
}

/// Returns `true` if a list line with only the pattern's text is read back as the same pattern.
fn is_token(pattern: &Pattern) -> bool {
    pattern.kind == PatternKind::Token && token_of_line(&pattern.text).as_ref() == Some(pattern)
}

/// Returns the token pattern that results from parsing a line of a list, if any.
fn token_of_line(line: &str) -> Option<Pattern> {
    if line.len() > MAX_LINE_BYTES || line.contains(['\n', '\r']) {
        return None;
    }
    token(&clean(without_comment(line))).ok()
}

/// The comment at the start of an exported list.
const HEADER: &str = "\
# Robots, one token per line. A token matches anywhere in the User-Agent, ignoring case,
# unless it is preceded by a letter or digit, or followed by a letter.
";

/// Writes the tokens of the active robots, one per line.
///
/// When the list is read back, a robot has only the token, and its ID is `list:` followed by the
/// token's slug; patterns that are not tokens are lost.
#[must_use]
pub fn write_list<R: Borrow<Robot>>(robots: &[R]) -> Exported {
    let mut exported = Exported::default();
    let mut text = HEADER.to_owned();
    for (_, token) in tokens(&mut exported, robots) {
        text.push_str(token);
        text.push('\n');
    }
    exported.text = text;
    exported
}
