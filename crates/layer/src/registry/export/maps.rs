//! Export of maps from User-Agents to robot IDs, for nginx and `HAProxy`.

use std::{borrow::Borrow, collections::HashSet};

use super::{
    exported::{Exported, plain_id},
    expression::Expression,
};
use crate::registry::Robot;

/// Maximum number of bytes in a parameter; nginx rejects parameters of 4,096 bytes.
const MAX_NGINX_BYTES: usize = 4000;

/// Maximum number of bytes in a line; `HAProxy` reads a line into a buffer of 16 KiB by default.
const MAX_HAPROXY_BYTES: usize = 8000;

const NGINX_HEAD: &str = "\
# Robots by User-Agent, for nginx: $robot is the robot's id, or empty for other visitors.
# Include this file in http { }. Then, in a server or location:
#   if ($robot) { return 302 /robot-heaven/; }
# nginx uses the first matching expression, so the most specific ones come first.
map $http_user_agent $robot {
    default \"\";
";

const HAPROXY_HEAD: &str = "\
# Robots by User-Agent, for HAProxy built with PCRE: an expression and the robot's id on each line.
# Use with the method reg as a map (-M), or with the converter map_reg. The expressions define
# the case, so omit -i. Read the header with req.fhdr, because User-Agents contain commas.
#   acl is_robot req.fhdr(user-agent) -m reg -M -f /etc/haproxy/robots.map
#   http-request set-header X-Robot %[req.fhdr(user-agent),map_reg(/etc/haproxy/robots.map)]
# HAProxy uses the first matching expression, so the most specific ones come first.
";

/// Writes a map from User-Agents to robot IDs for nginx.
///
/// `robots` must be in order of detection, the most specific first, because nginx uses the first
/// matching expression.
#[must_use]
pub fn write_nginx<R: Borrow<Robot>>(robots: &[(R, Expression)]) -> Exported {
    let mut exported = write_map(robots, NGINX_HEAD, |expression, id| {
        let mark = if expression.is_caseless() { "~*" } else { "~" };
        // In quotation marks, only `\` and `"` must be escaped.
        let text = expression.as_str().replace('\\', "\\\\");
        let key = format!("\"{mark}{}\"", text.replace('"', "\\\""));
        let fits = key.len() <= MAX_NGINX_BYTES;
        fits.then(|| format!("    {key} \"{id}\";\n"))
            .ok_or("with an expression too long for nginx")
    });
    exported.text.push_str("}\n");
    exported
}

/// Writes a map from expressions for User-Agents to robot IDs for `HAProxy`.
///
/// `robots` must be in order of detection, the most specific first, because `HAProxy` uses the
/// first matching expression.
#[must_use]
pub fn write_haproxy<R: Borrow<Robot>>(robots: &[(R, Expression)]) -> Exported {
    write_map(robots, HAPROXY_HEAD, |expression, id| {
        let flag = if expression.is_caseless() { "(?i)" } else { "" };
        // A space would end the expression.
        let key = expression.as_str().replace(' ', r"\x20");
        let fits = key.len() <= MAX_HAPROXY_BYTES;
        fits.then(|| format!("{flag}{key} {id}\n"))
            .ok_or("with an expression too long for HAProxy")
    })
}

/// Writes a line for each expression. If `line` returns an error for an expression, its robot is
/// left out.
fn write_map<R: Borrow<Robot>>(
    robots: &[(R, Expression)],
    head: &str,
    line: impl Fn(&Expression, &str) -> Result<String, &'static str>,
) -> Exported {
    let mut exported = Exported::default();
    head.clone_into(&mut exported.text);
    let mut written = HashSet::new();
    for (robot, expression) in robots {
        let robot = robot.borrow();
        match line(expression, &plain_id(&robot.id)) {
            Ok(line) => {
                written.insert((&robot.source, &robot.id));
                exported.text.push_str(&line);
            }
            Err(reason) => exported.omit(robot, reason),
        }
    }
    exported.robots = written.len();
    exported
}
