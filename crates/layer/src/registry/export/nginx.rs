//! Writes a `map` of nginx.

use std::{borrow::Borrow, collections::HashSet, fmt::Write as _};

use super::{exported::Exported, expression::Expression, text::plain_id};
use crate::registry::Robot;

/// Bytes of the longest parameter; nginx refuses those of 4,096.
const MAX_PARAMETER_BYTES: usize = 4000;

const HEAD: &str = "\
# Robots by User-Agent, for nginx: $robot is the robot's id, and empty for people.
# Include this file in http { }. Then, in a server or location:
#   if ($robot) { return 302 /robot-heaven/; }
# nginx takes the first expression that matches: the most specific stand first.
map $http_user_agent $robot {
    default \"\";
";

/// Writes a map from the User-Agent to the robot's id.
///
/// `robots` come in the order of detection, the most specific first: nginx
/// takes the first expression that matches.
#[must_use]
pub fn write_nginx<R: Borrow<Robot>>(robots: &[(R, Expression)]) -> Exported {
    let mut exported = Exported::default();
    let mut text = HEAD.to_owned();
    let mut written = HashSet::new();
    for (robot, expression) in robots {
        let robot = robot.borrow();
        let key = key(expression);
        if key.len() > MAX_PARAMETER_BYTES {
            exported.leave_out(robot, "with an expression too long for nginx");
            continue;
        }
        written.insert((&robot.source, &robot.id));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {key} \"{}\";", plain_id(&robot.id));
    }
    text.push_str("}\n");
    exported.robots = written.len();
    exported.text = text;
    exported
}

/// Returns an expression between quotation marks; `\` and `"` are all that counts there.
fn key(expression: &Expression) -> String {
    let mark = if expression.is_caseless() { "~*" } else { "~" };
    let text = expression.as_str().replace('\\', "\\\\");
    format!("\"{mark}{}\"", text.replace('"', "\\\""))
}
