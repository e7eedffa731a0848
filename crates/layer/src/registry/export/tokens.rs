//! The tokens of robots, for formats that hold nothing else.

use std::{borrow::Borrow, collections::HashSet};

use crate::registry::{
    Pattern, PatternKind, Robot,
    import::list::{MAX_LINE_BYTES, without_comment},
    text::clean,
    useragent::token,
};

use super::exported::Exported;

/// Returns the tokens of the active robots, each once, that read back as tokens.
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
            exported.leave_out(robot, "with a pattern that is no token of four letters");
        }
        exported.robots += usize::from(!fit.is_empty());
        let new = fit
            .into_iter()
            .filter(|pattern| seen.insert(pattern.text.to_ascii_lowercase()));
        tokens.extend(new.map(|pattern| (robot, pattern.text.as_str())));
    }
    tokens
}

/// Returns `true` if a pattern's text alone says what it is.
fn is_token(pattern: &Pattern) -> bool {
    pattern.kind == PatternKind::Token && token_of_line(&pattern.text).as_ref() == Some(pattern)
}

/// Returns the token that a line of a list is read as, if it is one.
fn token_of_line(line: &str) -> Option<Pattern> {
    if line.len() > MAX_LINE_BYTES || line.contains(['\n', '\r']) {
        return None;
    }
    token(&clean(without_comment(line))).ok()
}

/// What the list is, for those who open it.
const HEADER: &str = "\
# Robots, one token a line. A User-Agent names the robot where the token stands in it
# in letters of either case, no letter or digit before it and no letter behind it.
";

/// Writes the tokens of the active robots, one a line.
///
/// Read back, a robot has the id `list:` and the token's slug, and the token;
/// the rest is lost, and so are patterns that are no tokens.
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
