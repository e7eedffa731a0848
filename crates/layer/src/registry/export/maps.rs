//! Writes maps from User-Agents to robots for nginx and `HAProxy`.

use std::{borrow::Borrow, collections::HashSet};

use super::{
    exported::{Exported, plain_id},
    expression::Expression,
};
use crate::registry::Robot;

/// Bytes of the longest parameter; nginx refuses those of 4,096.
const MAX_NGINX_BYTES: usize = 4000;

/// Bytes of the longest line; `HAProxy` reads one into a buffer, 16 KiB by default.
const MAX_HAPROXY_BYTES: usize = 8000;

const NGINX_HEAD: &str = "\
# Robots by User-Agent, for nginx: $robot is the robot's id, and empty for people.
# Include this file in http { }. Then, in a server or location:
#   if ($robot) { return 302 /robot-heaven/; }
# nginx takes the first expression that matches: the most specific stand first.
map $http_user_agent $robot {
    default \"\";
";

const HAPROXY_HEAD: &str = "\
# Robots by User-Agent, for HAProxy built with PCRE: an expression and the robot's id a line.
# For the method reg, as a map (-M) or for the converter map_reg; case is said in the file,
# so no -i. The header is read with req.fhdr: User-Agents hold commas.
#   acl is_robot req.fhdr(user-agent) -m reg -M -f /etc/haproxy/robots.map
#   http-request set-header X-Robot %[req.fhdr(user-agent),map_reg(/etc/haproxy/robots.map)]
# HAProxy takes the first expression that matches: the most specific stand first.
";

/// Writes a map from the User-Agent to the robot's id.
///
/// `robots` come in the order of detection, the most specific first: nginx
/// takes the first expression that matches.
#[must_use]
pub fn write_nginx<R: Borrow<Robot>>(robots: &[(R, Expression)]) -> Exported {
    let mut exported = write_map(robots, NGINX_HEAD, |expression, id| {
        let mark = if expression.is_caseless() { "~*" } else { "~" };
        // Between quotation marks `\\` and `"` are all that counts.
        let text = expression.as_str().replace('\\', "\\\\");
        let key = format!("\"{mark}{}\"", text.replace('"', "\\\""));
        let fits = key.len() <= MAX_NGINX_BYTES;
        fits.then(|| format!("    {key} \"{id}\";\n"))
            .ok_or("with an expression too long for nginx")
    });
    exported.text.push_str("}\n");
    exported
}

/// Writes a map from expressions for the User-Agent to the robot's id.
///
/// `robots` come in the order of detection, the most specific first: `HAProxy`
/// takes the first expression that matches.
#[must_use]
pub fn write_haproxy<R: Borrow<Robot>>(robots: &[(R, Expression)]) -> Exported {
    write_map(robots, HAPROXY_HEAD, |expression, id| {
        let flag = if expression.is_caseless() { "(?i)" } else { "" };
        // A blank would end the expression.
        let key = expression.as_str().replace(' ', r"\x20");
        let fits = key.len() <= MAX_HAPROXY_BYTES;
        fits.then(|| format!("{flag}{key} {id}\n"))
            .ok_or("with an expression too long for HAProxy")
    })
}

/// Writes a line for each expression; `line` fails with the reason why one is left out.
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
            Err(reason) => exported.leave_out(robot, reason),
        }
    }
    exported.robots = written.len();
    exported
}
