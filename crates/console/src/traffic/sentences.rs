//! What is worth saying first, each sentence by a rule.

use std::collections::BTreeMap;

use robot_detection_layer::detect::Verdict;
use robot_detection_layer::policy::Action;
use robot_detection_traffic::traffic::Figures;

use super::number::grouped;

/// A robot that asks less than this in either time is no news.
const MIN_REQUESTS: u64 = 100;
/// Tenths of the time before from which on more is told.
const MUCH_MORE: u64 = 20;
/// Sentences of one kind.
const MOST: usize = 3;

/// Sentence, and what it leads to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Sentence {
    pub(crate) text: String,
    /// Robot that it is about; empty: none.
    pub(crate) robot: String,
    /// Verdict of the requests that it is about; empty: any.
    pub(crate) verdict: &'static str,
    /// Somebody has to look at it.
    pub(crate) is_alarm: bool,
}

/// Requests of a robot now and before.
#[derive(Clone, Debug, Default)]
struct Compared {
    name: String,
    now: u64,
    before: u64,
    spoofed: u64,
    /// Impostors that got the page.
    let_through: u64,
}

/// Returns what there is to say; `needs` is how many notices stand on the page.
pub(super) fn sentences(
    now: &Figures<'_>,
    before: Option<&Figures<'_>>,
    before_words: &str,
    needs: usize,
) -> Vec<Sentence> {
    let compared = compared(now, before);
    let mut all = impostors(&compared);
    if before.is_some() {
        all.extend(more(&compared, before_words));
        all.extend(silent(&compared, before_words));
    }
    let has_alarm = all.iter().any(|sentence| sentence.is_alarm);
    if needs == 0 && !has_alarm {
        all.push(said("Nothing needs you.".to_owned(), ""));
    }
    all
}

fn compared(now: &Figures<'_>, before: Option<&Figures<'_>>) -> BTreeMap<String, Compared> {
    let mut robots = BTreeMap::<String, Compared>::new();
    let named = |robots: &mut BTreeMap<String, Compared>, id: &str| {
        let name = now.robots().by_id(id).map_or(id, |robot| &*robot.name);
        let name = if name.trim().is_empty() { id } else { name };
        let entry = robots.entry(id.to_owned());
        name.clone_into(&mut entry.or_default().name);
    };
    for (key, count) in now.sums().filter(|(key, _)| !key.robot.is_empty()) {
        named(&mut robots, &key.robot);
        if let Some(robot) = robots.get_mut(&key.robot) {
            robot.now += count.hits;
            if key.verdict == Verdict::Spoofed.as_str() {
                robot.spoofed += count.hits;
                if key.decision == Action::Pass.as_str() {
                    robot.let_through += count.hits;
                }
            }
        }
    }
    let then = before.into_iter().flat_map(Figures::sums);
    for (key, count) in then.filter(|(key, _)| !key.robot.is_empty()) {
        named(&mut robots, &key.robot);
        if let Some(robot) = robots.get_mut(&key.robot) {
            robot.before += count.hits;
        }
    }
    robots
}

fn impostors(robots: &BTreeMap<String, Compared>) -> Vec<Sentence> {
    let mut found: Vec<_> = robots
        .iter()
        .filter(|(_, robot)| robot.spoofed > 0)
        .collect();
    found.sort_by_key(|(_, robot)| std::cmp::Reverse(robot.spoofed));
    let sentence = |(id, robot): &(&String, &Compared)| {
        let requests = match robot.spoofed {
            1 => "1 request of an impostor".to_owned(),
            many => format!("{} requests of impostors", grouped(many)),
        };
        let were = if robot.spoofed == 1 { "was" } else { "were" };
        let passed = match robot.let_through {
            0 => String::new(),
            passed => format!(", and {} got the page", grouped(passed)),
        };
        Sentence {
            text: format!("{requests} of {} {were} seen{passed}.", robot.name),
            robot: (*id).clone(),
            verdict: Verdict::Spoofed.as_str(),
            is_alarm: robot.let_through > 0,
        }
    };
    found.iter().take(MOST).map(sentence).collect()
}

fn more(robots: &BTreeMap<String, Compared>, before_words: &str) -> Vec<Sentence> {
    let tenths = |robot: &Compared| robot.now.saturating_mul(10) / robot.before.max(1);
    let mut found: Vec<_> = robots
        .iter()
        .filter(|(_, robot)| robot.now >= MIN_REQUESTS && tenths(robot) >= MUCH_MORE)
        .collect();
    found.sort_by_key(|(_, robot)| std::cmp::Reverse(robot.now - robot.before));
    let sentence = |(id, robot): &(&String, &Compared)| {
        let (name, now) = (&robot.name, grouped(robot.now));
        let text = match (robot.before, tenths(robot)) {
            (0, _) => format!("{name} asked {now} times, and not once {before_words}."),
            (_, tenths @ 100..) => {
                format!(
                    "{name} asks {} times as much as {before_words}.",
                    grouped(tenths / 10)
                )
            }
            (_, tenths) => {
                let (whole, tenth) = (tenths / 10, tenths % 10);
                format!("{name} asks {whole}.{tenth} times as much as {before_words}.")
            }
        };
        said(text, id)
    };
    found.iter().take(MOST).map(sentence).collect()
}

fn silent(robots: &BTreeMap<String, Compared>, before_words: &str) -> Vec<Sentence> {
    let is_gone = |robot: &Compared| robot.now == 0 && robot.before >= MIN_REQUESTS;
    let mut found: Vec<_> = robots.iter().filter(|(_, robot)| is_gone(robot)).collect();
    found.sort_by_key(|(_, robot)| std::cmp::Reverse(robot.before));
    let sentence = |(id, robot): &(&String, &Compared)| {
        let before = grouped(robot.before);
        let text = format!(
            "{} has not come; it asked {before} times {before_words}.",
            robot.name
        );
        said(text, id)
    };
    found.iter().take(MOST).map(sentence).collect()
}

fn said(text: String, robot: &str) -> Sentence {
    Sentence {
        text,
        robot: robot.to_owned(),
        verdict: "",
        is_alarm: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_layer::detect::Detector;
    use robot_detection_store::store::{TrafficCount, TrafficKey, TrafficSum};
    use robot_detection_traffic::traffic::{KnownRobots, TrafficFilter};

    fn said(now: &[(&str, &str, &str, u64)], before: &[(&str, u64)], needs: usize) -> Vec<String> {
        let detector = Detector::new([]).unwrap();
        let figures = |counted: Vec<(&str, &str, &str, u64)>| {
            let sums = counted
                .into_iter()
                .map(|(robot, verdict, decision, requests)| {
                    let key = TrafficKey {
                        kind: "listed".to_owned(),
                        robot: robot.to_owned(),
                        verdict: verdict.to_owned(),
                        decision: decision.to_owned(),
                        ..TrafficKey::default()
                    };
                    let count = TrafficCount {
                        requests,
                        ..TrafficCount::default()
                    };
                    TrafficSum::new(key, count)
                });
            let robots = KnownRobots::new(&detector);
            Figures::new(sums.collect(), &TrafficFilter::default(), robots)
        };
        let then: Vec<_> = before
            .iter()
            .map(|(robot, hits)| (*robot, "none", "pass", *hits))
            .collect();
        let before = (!then.is_empty()).then(|| figures(then));
        let words = "in the 24 hours before";
        sentences(&figures(now.to_vec()), before.as_ref(), words, needs)
            .into_iter()
            .map(|sentence| sentence.text.replace('\u{202f}', " "))
            .collect()
    }

    #[test]
    fn a_robot_that_asks_much_more_is_told() {
        let now = [("ClaudeBot", "verified", "pass", 240)];
        assert_eq!(
            said(&now, &[("ClaudeBot", 100)], 0),
            [
                "ClaudeBot asks 2.4 times as much as in the 24 hours before.",
                "Nothing needs you."
            ]
        );
        assert_eq!(said(&now, &[("ClaudeBot", 130)], 0), ["Nothing needs you."]);
        assert_eq!(
            said(&[("a", "none", "pass", 5_000)], &[("a", 5), ("b", 3)], 1),
            ["a asks 1 000 times as much as in the 24 hours before."]
        );
        assert_eq!(
            said(&now, &[("other", 1)], 1),
            ["ClaudeBot asked 240 times, and not once in the 24 hours before."]
        );
        let few = [("ClaudeBot", "verified", "pass", 99)];
        assert_eq!(said(&few, &[("ClaudeBot", 1)], 0), ["Nothing needs you."]);
    }

    #[test]
    fn without_a_time_before_nothing_is_compared() {
        let now = [("ClaudeBot", "verified", "pass", 240)];
        assert_eq!(said(&now, &[], 0), ["Nothing needs you."]);
    }

    #[test]
    fn impostors_are_told_and_are_an_alarm_where_they_got_the_page() {
        let now = [("Googlebot", "spoofed", "refuse", 14)];
        assert_eq!(
            said(&now, &[], 0),
            [
                "14 requests of impostors of Googlebot were seen.",
                "Nothing needs you."
            ]
        );
        let now = [("Googlebot", "spoofed", "pass", 1)];
        assert_eq!(
            said(&now, &[], 0),
            ["1 request of an impostor of Googlebot was seen, and 1 got the page."]
        );
    }

    #[test]
    fn a_robot_that_stays_away_is_told() {
        assert_eq!(
            said(&[], &[("Googlebot", 500), ("rare", 99)], 1),
            ["Googlebot has not come; it asked 500 times in the 24 hours before."]
        );
    }
}
