//! The weekly traffic report.

use std::collections::BTreeMap;

use super::judge::{by_robot, is_spoofed, is_violation, sort_by_count};
use robot_detection_layer::detect::Kind;
use robot_detection_store::store::TrafficSum;

/// Maximum number of robots in the report.
const TOP: usize = 10;

/// Returns the sentences of the weekly report, which compare the week with the week before.
///
/// The figures match the output of `traffic report`.
pub(super) fn report(week: &[TrafficSum], before: &[TrafficSum]) -> Vec<String> {
    let all = |sums: &[TrafficSum]| requests(sums, |_| true);
    let people = |sums: &[TrafficSum]| requests(sums, is_person);
    let robots = |sums: &[TrafficSum]| all(sums).saturating_sub(people(sums));
    let mut lines = vec![
        format!(
            "Robots sent {} requests{}, and people sent {}{}.",
            robots(week),
            change(robots(week), robots(before)),
            people(week),
            change(people(week), people(before)),
        ),
        format!(
            "{} requests from impostors{}, {} violations of robots.txt{}.",
            requests(week, is_spoofed),
            change(requests(week, is_spoofed), requests(before, is_spoofed)),
            requests(week, is_violation),
            change(requests(week, is_violation), requests(before, is_violation)),
        ),
    ];
    let (now, then) = (by_robot(week, has_name), by_robot(before, has_name));
    let row = |(robot, number): (&str, u64)| told(robot, number, &then);
    lines.extend(sort_by_count(&now).into_iter().take(TOP).map(row));
    lines
}

fn told(robot: &str, number: u64, before: &BTreeMap<&str, u64>) -> String {
    let before = before.get(robot).copied().unwrap_or_default();
    format!("{robot}: {number}{}", change(number, before))
}

fn requests(sums: &[TrafficSum], counts: impl Fn(&TrafficSum) -> bool) -> u64 {
    let sums = sums.iter().filter(|sum| counts(sum));
    sums.map(|sum| sum.count.requests).sum()
}

fn is_person(sum: &TrafficSum) -> bool {
    [Kind::Person, Kind::Shared]
        .iter()
        .any(|kind| sum.key.kind == kind.as_str())
}

fn has_name(sum: &TrafficSum) -> bool {
    !is_person(sum) && !sum.key.robot.is_empty()
}

/// Returns the change from a previous number, in brackets; empty if the previous number is zero.
fn change(now: u64, before: u64) -> String {
    if before == 0 {
        return String::new();
    }
    let percent = u128::from(now.abs_diff(before)) * 100 / u128::from(before);
    let sign = if now < before { "−" } else { "+" };
    format!(" ({sign}{percent} %)")
}
