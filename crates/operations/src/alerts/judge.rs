//! Evaluation of alert conditions against traffic figures and other data.

use std::collections::BTreeMap;

use super::Watch;
use crate::{ServedCertificate, certificate_sentences, differing_sentence, held_sentence};
use robot_detection_layer::detect::{Kind, Verdict};
use robot_detection_store::store::{RefreshOutcome, RefreshRecord, TrafficSum};

/// Minimum number of hours with traffic data that are needed to compute the usual level.
const MIN_USUAL_HOURS: u64 = 24;
/// The cause recorded for decisions based on robots.txt.
const ROBOTS_TXT: &str = "robots.txt";

/// The data against which alert conditions are evaluated.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Figures {
    /// Current time in milliseconds since 1970.
    pub now_ms: i64,
    /// Traffic of the last hour.
    pub hour: Vec<TrafficSum>,
    /// Traffic of the 7 days before the last hour.
    pub week: Vec<TrafficSum>,
    /// Number of hours of `week` that have traffic data.
    pub week_hours: u64,
    /// The last refresh of each source.
    pub refreshes: Vec<RefreshRecord>,
    /// Certificates of the listeners.
    pub certificates: Vec<ServedCertificate>,
    /// Sites whose robot heaven is held for review, each with the reason.
    pub held: Vec<(String, String)>,
    /// Sites whose heaven pages differ from the originals, each with the number of such pages and
    /// the first page.
    pub differing: Vec<(String, u64, String)>,
}

/// Returns one sentence for each finding; empty if there are no findings.
pub fn judge(watch: Watch, figures: &Figures) -> Vec<String> {
    match watch {
        Watch::Impostor { above } => impostors(figures, above),
        Watch::CrawlSpike { times, above } => spikes(figures, times, above),
        Watch::RobotsTxt { above } => violations(figures, above),
        Watch::Refresh => figures.refreshes.iter().filter_map(refresh).collect(),
        Watch::Certificate { days } => {
            certificate_sentences(&figures.certificates, days, figures.now_ms)
        }
        Watch::Heaven => {
            let held = figures.held.iter();
            held.map(|(site, why)| held_sentence(site, why)).collect()
        }
        Watch::Parity => {
            let differing = figures.differing.iter();
            let sentence = |(site, pages, first): &(String, u64, String)| {
                differing_sentence(site, *pages, first)
            };
            differing.map(sentence).collect()
        }
        // An unavailable database provides no figures.
        Watch::Database => Vec::new(),
    }
}

fn impostors(figures: &Figures, above: u64) -> Vec<String> {
    let spoofed = by_robot(&figures.hour, is_spoofed);
    findings_above(&spoofed, above, |robot, requests| {
        format!("{requests} requests pretending to be {robot} in the last hour.")
    })
}

fn violations(figures: &Figures, above: u64) -> Vec<String> {
    let against = by_robot(&figures.hour, is_violation);
    findings_above(&against, above, |robot, requests| {
        format!("{requests} requests from {robot} violated robots.txt in the last hour.")
    })
}

/// Returns one sentence for each robot if the total number of requests exceeds a threshold.
fn findings_above(
    robots: &BTreeMap<&str, u64>,
    above: u64,
    tell: impl Fn(&str, u64) -> String,
) -> Vec<String> {
    if robots.values().sum::<u64>() <= above {
        return Vec::new();
    }
    sort_by_count(robots)
        .into_iter()
        .map(|(robot, requests)| tell(robot, requests))
        .collect()
}

fn spikes(figures: &Figures, times: u64, above: u64) -> Vec<String> {
    // On the first day after installation, every robot would appear to be new.
    if figures.week_hours < MIN_USUAL_HOURS {
        return Vec::new();
    }
    let hour = by_robot(&figures.hour, names_robot);
    let week = by_robot(&figures.week, names_robot);
    let spike = |(robot, requests): (&str, u64)| {
        let of_week = week.get(robot).copied().unwrap_or_default();
        // Multiplied instead of divided: a robot with two visits a week would otherwise average 0
        // per hour.
        let is_spike = requests > above
            && requests.saturating_mul(figures.week_hours) > of_week.saturating_mul(times);
        let usual = of_week.div_ceil(figures.week_hours);
        is_spike.then(|| match usual {
            0 => format!(
                "{robot} sent {requests} requests in the last hour and none in the week before."
            ),
            usual => {
                format!("{robot} sent {requests} requests in the last hour; the usual number is {usual}.")
            }
        })
    };
    sort_by_count(&hour).into_iter().filter_map(spike).collect()
}

fn refresh(record: &RefreshRecord) -> Option<String> {
    let (source, why) = (record.source.as_str(), &record.error);
    match record.outcome {
        RefreshOutcome::Failed => Some(format!("could not refresh {source}: {why}")),
        RefreshOutcome::Held => Some(format!(
            "{source} is held for review until you accept it: {why}"
        )),
        RefreshOutcome::Replaced | RefreshOutcome::NotModified => None,
    }
}

fn is_spoofed(sum: &TrafficSum) -> bool {
    sum.key.verdict == Verdict::Spoofed.as_str()
}

fn is_violation(sum: &TrafficSum) -> bool {
    sum.key.cause == ROBOTS_TXT && sum.key.decision != "pass"
}

/// Returns `true` for a listed robot, whose name stays the same from week to week.
fn names_robot(sum: &TrafficSum) -> bool {
    sum.key.kind == Kind::Listed.as_str()
}

/// Returns the number of requests from each robot.
fn by_robot(sums: &[TrafficSum], counts: impl Fn(&TrafficSum) -> bool) -> BTreeMap<&str, u64> {
    let mut robots = BTreeMap::<&str, u64>::new();
    for sum in sums.iter().filter(|sum| counts(sum)) {
        let requests = robots.entry(&sum.key.robot).or_default();
        *requests = requests.saturating_add(sum.count.requests);
    }
    robots
}

/// Returns the robots sorted by number of requests in descending order.
fn sort_by_count<'r>(robots: &BTreeMap<&'r str, u64>) -> Vec<(&'r str, u64)> {
    let mut rows: Vec<_> = robots
        .iter()
        .map(|(robot, number)| (*robot, *number))
        .collect();
    rows.sort_by_key(|(_, requests)| std::cmp::Reverse(*requests));
    rows
}
