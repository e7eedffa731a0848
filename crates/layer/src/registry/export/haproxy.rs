//! Writes a map of `HAProxy`.

use std::{borrow::Borrow, collections::HashSet, fmt::Write as _};

use super::{exported::Exported, expression::Expression, text::plain_id};
use crate::registry::Robot;

/// Bytes of the longest line; `HAProxy` reads one into a buffer, 16 KiB by default.
const MAX_LINE_BYTES: usize = 8000;

const HEAD: &str = "\
# Robots by User-Agent, for HAProxy built with PCRE: an expression and the robot's id a line.
# For the method reg, as a map (-M) or for the converter map_reg; case is said in the file,
# so no -i. The header is read with req.fhdr: User-Agents hold commas.
#   acl is_robot req.fhdr(user-agent) -m reg -M -f /etc/haproxy/robots.map
#   http-request set-header X-Robot %[req.fhdr(user-agent),map_reg(/etc/haproxy/robots.map)]
# HAProxy takes the first expression that matches: the most specific stand first.
";

/// Writes a map from expressions for the User-Agent to the robot's id.
///
/// `robots` come in the order of detection, the most specific first: `HAProxy`
/// takes the first expression that matches.
#[must_use]
pub fn write_haproxy<R: Borrow<Robot>>(robots: &[(R, Expression)]) -> Exported {
    let mut exported = Exported::default();
    let mut text = HEAD.to_owned();
    let mut written = HashSet::new();
    for (robot, expression) in robots {
        let robot = robot.borrow();
        let flag = if expression.is_caseless() { "(?i)" } else { "" };
        // A blank would end the expression.
        let key = expression.as_str().replace(' ', r"\x20");
        if key.len() > MAX_LINE_BYTES {
            exported.leave_out(robot, "with an expression too long for HAProxy");
            continue;
        }
        written.insert((&robot.source, &robot.id));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{flag}{key} {}", plain_id(&robot.id));
    }
    exported.robots = written.len();
    exported.text = text;
    exported
}
