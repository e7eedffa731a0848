//! Messages to the receivers of alerts.

use super::Alert;
use crate::rfc3339;

/// Maximum number of sentences in a message; the limit keeps visitors from making messages
/// unreadable.
const MAX_LINES: usize = 20;

robot_detection_layer::words! {
    /// The reason for sending an alert message.
    pub enum Event {
        /// The alert has started.
        Begun = "firing",
        /// The alert is still active one day after its last message.
        Lasting = "reminder",
        /// The alert has ended.
        Ended = "resolved",
        /// A test checks whether messages arrive.
        Test = "test",
    }
}

/// A message about an alert.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// Name of the alert.
    pub name: String,
    /// Name of the watched condition.
    pub watch: &'static str,
    /// Reason for sending the message.
    pub event: Event,
    /// Title of the message.
    pub title: String,
    /// Findings, one sentence each.
    pub findings: Vec<String>,
    /// Creation time in milliseconds since 1970.
    pub at_ms: i64,
    /// Start or end of the alert, in milliseconds since 1970.
    pub since_ms: i64,
}

impl Message {
    /// Creates a message about an alert.
    pub fn new(alert: &Alert, event: Event, findings: &str, since_ms: i64, at_ms: i64) -> Self {
        let title = alert.watch.title();
        let title = match event {
            Event::Begun => title.to_owned(),
            Event::Lasting => format!("{title} (still)"),
            Event::Ended => format!("Over: {title}"),
            Event::Test => "Test alert from robot-detection".to_owned(),
        };
        let mut lines: Vec<String> = findings.lines().map(clean).collect();
        let more = lines.len().saturating_sub(MAX_LINES);
        lines.truncate(MAX_LINES);
        if more > 0 {
            lines.push(format!("And {more} more."));
        }
        Self {
            name: alert.name.clone(),
            watch: alert.watch.as_str(),
            event,
            title,
            findings: lines,
            at_ms,
            since_ms,
        }
    }

    /// Returns a test message.
    pub fn test(alert: &Alert, at_ms: i64) -> Self {
        let findings = "This is a test message. No action is needed.";
        Self::new(alert, Event::Test, findings, at_ms, at_ms)
    }

    /// Returns the findings as a single text.
    pub fn text(&self) -> String {
        self.findings.join("\n")
    }

    /// Returns the value of a placeholder, or `None` if the placeholder is unknown.
    pub(super) fn placeholder(&self, name: &str) -> Option<String> {
        Some(match name {
            "name" => self.name.clone(),
            "on" => self.watch.to_owned(),
            "event" => self.event.as_str().to_owned(),
            "title" => self.title.clone(),
            "text" => self.text(),
            "time" => rfc3339(self.at_ms),
            "since" => rfc3339(self.since_ms),
            _ => return None,
        })
    }
}

/// Returns a line with its control characters removed.
fn clean(line: &str) -> String {
    line.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
