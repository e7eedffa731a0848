//! Export of the registry for other programs, in order of detection precedence.

use std::{collections::HashSet, sync::Arc};

use super::{
    detector::{LIMITS, keep_best_sources},
    matcher::{Builder, Ranked},
    rules::{Edge, Plain},
};
use crate::registry::{
    ExportFormat, Exported, Expression, Robot, write_flat_file, write_haproxy, write_list,
    write_nginx, write_robots_txt,
};

/// Exports robots in a format that other programs can read.
///
/// The flat file contains all robots. The other formats contain only detectable robots, and list
/// the omitted robots in comments. nginx and `HAProxy` apply the first
/// matching expression, so expressions for these programs are sorted by the precedence of
/// [`Detector::identify`](super::Detector::identify). No format contains the generic rule for
/// unlisted robots.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use robot_detection_layer::{
///     detect::export,
///     registry::{ExportFormat, Pattern, PatternKind, Robot, Source},
/// };
///
/// let mut robot = Robot::new("example", Source::manual());
/// robot.patterns.push(Pattern::new(PatternKind::Prefix, "ExampleBot/"));
/// let exported = export(ExportFormat::Nginx, &[Arc::new(robot)]);
/// assert!(exported.text.contains(r#""~*^ExampleBot/" "example";"#));
/// ```
#[must_use]
pub fn export(format: ExportFormat, robots: &[Arc<Robot>]) -> Exported {
    let exported = match format {
        // The flat file contains all robots, including robots that do not take part in detection.
        ExportFormat::WebRobotsDb => Exported {
            text: write_flat_file(robots.iter().map(AsRef::as_ref)),
            robots: robots.len(),
            ..Exported::default()
        },
        ExportFormat::List => write_list(robots),
        ExportFormat::RobotsTxt => write_robots_txt(robots),
        ExportFormat::Nginx => in_order(robots, |ranked| write_nginx(ranked)),
        ExportFormat::HaProxy => in_order(robots, |ranked| write_haproxy(ranked)),
    };
    exported.with_comments()
}

/// Sorts the expressions of detectable robots by precedence and passes them to `write`.
fn in_order(
    robots: &[Arc<Robot>],
    write: impl FnOnce(&[(&Robot, Expression)]) -> Exported,
) -> Exported {
    let mut left_out = Exported::default();
    let active: Vec<Arc<Robot>> = left_out.active(robots).into_iter().cloned().collect();
    let best = keep_best_sources(active.iter().cloned());
    let kept: HashSet<_> = best.iter().map(Arc::as_ptr).collect();
    for robot in active
        .iter()
        .filter(|robot| !kept.contains(&Arc::as_ptr(robot)))
    {
        left_out.omit(robot, "with an ID that is also in a better source");
    }
    let mut builder = Builder::new(LIMITS);
    for (number, robot) in best.iter().enumerate() {
        if !builder.add(number, robot).is_empty() {
            left_out.omit(robot, "with a pattern that detection rejects");
        }
    }
    let mut expressions = Vec::new();
    for ranked in builder.ranked() {
        let Some(robot) = best.get(ranked.robot) else {
            continue;
        };
        match expression(robot, &ranked) {
            Some(expression) => expressions.push((robot.as_ref(), expression)),
            None => left_out.omit(robot, "with an expression that other programs cannot read"),
        }
    }
    let mut exported = write(&expressions);
    exported.left_out.extend(left_out.left_out);
    exported
}

fn expression(robot: &Robot, ranked: &Ranked) -> Option<Expression> {
    match &ranked.plain {
        Some((literal, plain)) => Some(plain_expression(literal, plain)),
        None => Expression::from_pattern(robot.patterns.get(ranked.pattern)?),
    }
}

/// Returns the expression for one of the literals that make up a pattern.
fn plain_expression(literal: &[u8], plain: &Plain) -> Expression {
    let mark = |edge, text| match edge {
        Edge::Free => "",
        Edge::Text => text,
        Edge::Word => r"\b",
    };
    let (before, after) = (mark(plain.before, "^"), mark(plain.after, "$"));
    match plain.spelled.as_deref() {
        Some(spelled) => Expression::literal(before, spelled, after, false),
        None => Expression::literal(before, literal, after, true),
    }
}
