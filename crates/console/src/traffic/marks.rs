//! Marks for configuration changes on the time axis of a chart.

use crate::{page::encode, problem::Problem, rfc3339, state::AdminState};
use robot_detection_store::store::{AuditEntry, LastChanges};
use robot_detection_traffic::traffic::TimeSteps;

use super::{area::x_position, loaded::Traffic};

const MINUTE_MS: i64 = 60_000;

/// Maximum number of changes that are listed; the audit log contains all changes.
const MOST: u64 = 20;
/// Distance in SVG units below which nearby marks are combined into one.
const APART: u64 = 9;
/// Maximum number of changes described in a mark's tooltip.
const NAMED: usize = 3;

/// The configuration changes during the period of a chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeMarks {
    pub(crate) marks: Vec<MarkView>,
    /// Most recent changes, newest first.
    pub(crate) changes: Vec<MarkedChange>,
    /// Number of changes in the period.
    pub(crate) total: u64,
    /// Link to all changes in the period.
    pub(crate) link: String,
}

/// A mark on the time axis for one or more nearby changes.
#[derive(Clone, Debug)]
pub(crate) struct MarkView {
    pub(crate) x: u64,
    pub(crate) title: String,
}

/// A change in the list below the chart.
#[derive(Clone, Debug)]
pub(crate) struct MarkedChange {
    pub(crate) time: String,
    pub(crate) event: String,
    pub(crate) subject: String,
    pub(crate) by: String,
    pub(crate) link: String,
}

impl ChangeMarks {
    /// Loads the changes during the period of a page's traffic.
    pub(super) async fn load(state: &AdminState, traffic: &Traffic) -> Result<Self, Problem> {
        let [since_ms, until_ms] = [traffic.told.start, traffic.told.end].map(ms);
        let store = &state.operations().store;
        let changes = store
            .audit()
            .traffic_changes(since_ms..until_ms, MOST)
            .await?;
        Ok(Self::new(&changes, traffic))
    }

    fn new(changes: &LastChanges, traffic: &Traffic) -> Self {
        let time = |at_ms| traffic.zone.exact(at_ms);
        Self {
            marks: marks(&changes.entries, &traffic.time_steps(), time),
            changes: changes
                .entries
                .iter()
                .map(|entry| MarkedChange {
                    time: time(entry.at_ms),
                    event: entry.event.clone(),
                    subject: entry.subject.clone(),
                    by: entry.actor.clone(),
                    link: link(minute_of(entry), minute_of(entry) + 1),
                })
                .collect(),
            total: changes.total,
            link: link(traffic.told.start, traffic.told.end),
        }
    }

    /// Returns `true` if there are more changes than are listed.
    pub(crate) fn is_cut(&self) -> bool {
        self.total > self.changes.len() as u64
    }
}

fn ms(minute: i64) -> i64 {
    minute.saturating_mul(MINUTE_MS)
}

fn minute_of(entry: &AuditEntry) -> i64 {
    entry.at_ms.div_euclid(MINUTE_MS)
}

/// Returns the link to the changes between two times, given in minutes.
fn link(since: i64, until: i64) -> String {
    let [since, until] = [since, until].map(|minute| encode(&rfc3339(ms(minute))));
    format!("changes?since={since}&until={until}")
}

/// Returns the marks from left to right; nearby changes share a mark.
fn marks(
    newest_first: &[AuditEntry],
    course: &TimeSteps,
    time: impl Fn(i64) -> String,
) -> Vec<MarkView> {
    let mut groups: Vec<(u64, Vec<&AuditEntry>)> = Vec::new();
    for entry in newest_first.iter().rev() {
        let x = x_position(entry.at_ms, course);
        match groups.last_mut() {
            Some((of, entries)) if x < *of + APART => entries.push(entry),
            _ => groups.push((x, vec![entry])),
        }
    }
    let mark = |(x, entries): (u64, Vec<&AuditEntry>)| {
        let named = entries.iter().take(NAMED);
        let mut words: Vec<String> = named
            .map(|entry| {
                let at = time(entry.at_ms);
                format!(
                    "{at}: {} {}, by {}",
                    entry.event, entry.subject, entry.actor
                )
            })
            .collect();
        if let more @ 1.. = entries.len().saturating_sub(NAMED) {
            words.push(format!("and {more} more"));
        }
        let title = words.join("; ");
        MarkView { x, title }
    };
    groups.into_iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(times_ms: &[i64]) -> Vec<(u64, String)> {
        let entry = |at_ms: &i64| AuditEntry {
            at_ms: *at_ms,
            actor: "admin".to_owned(),
            event: "paused".to_owned(),
            subject: "enforcement".to_owned(),
            detail: String::new(),
        };
        let entries: Vec<_> = times_ms.iter().rev().map(entry).collect();
        let course = TimeSteps {
            began: 100,
            step: 10,
            steps: 11,
            begins_late: false,
            is_cut: false,
        };
        let minute = |at_ms| format!("{}", at_ms / MINUTE_MS);
        let marks = marks(&entries, &course, minute).into_iter();
        marks.map(|mark| (mark.x, mark.title)).collect()
    }

    #[test]
    fn mark_is_placed_at_its_time_between_steps() {
        let told = |minute: i64| titles(&[minute * MINUTE_MS])[0].0;
        assert_eq!(told(100), 6);
        assert_eq!(told(150), 6 + 748 / 2);
        assert_eq!(told(200), 6 + 748);
        // The last step is as long as the other steps, but is drawn as a point at its start.
        assert_eq!(told(209), 6 + 748);
        // With whole hours, the axis may start before the requested period.
        assert_eq!(told(99), 6);
    }

    #[test]
    fn overlapping_marks_are_combined() {
        let minutes = [120, 120, 121, 121, 180].map(|minute| minute * MINUTE_MS);
        let told = titles(&minutes);
        assert_eq!(told.len(), 2);
        assert_eq!(
            told[0].1,
            "120: paused enforcement, by admin; 120: paused enforcement, by admin; \
             121: paused enforcement, by admin; and 1 more"
        );
        assert_eq!(told[1].1, "180: paused enforcement, by admin");
    }
}
