//! Writes a plain list.

use std::borrow::Borrow;

use super::{exported::Exported, tokens::tokens};
use crate::registry::Robot;

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
