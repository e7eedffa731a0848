//! The live rules of one moment.

use crate::policy::Overlay;
use crate::store::{StoredLiveRule, StoredLiveRules, StoredPause};

use super::{LiveRule, RuleFields};

/// Live rules in force, and the pause.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveRuleSet {
    /// Version that the database gave it; negative: it came from nowhere yet.
    pub(crate) version: i64,
    /// The oldest first.
    pub(crate) rules: Vec<KeptRule>,
    /// Rules that this program cannot read, by their numbers, each with the reason.
    pub(crate) unreadable: Vec<(i64, String)>,
    pub(crate) pause: Option<StoredPause>,
}

/// Live rule as it is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct KeptRule {
    pub(crate) id: i64,
    pub(crate) rule: LiveRule,
    pub(crate) created_ms: i64,
    pub(crate) created_by: String,
    pub(crate) ends_ms: Option<i64>,
}

impl LiveRuleSet {
    /// Reads what is stored; a rule that cannot be read is left out.
    pub(crate) fn read(stored: StoredLiveRules) -> Self {
        let mut set = Self {
            version: stored.version,
            pause: stored.pause,
            ..Self::default()
        };
        for stored in stored.rules {
            let id = stored.id;
            match KeptRule::read(stored) {
                Ok(rule) => set.rules.push(rule),
                Err(reason) => set.unreadable.push((id, reason)),
            }
        }
        set
    }

    /// Takes out what is over at a time; returns `true` if anything was.
    pub(super) fn end(&mut self, now_ms: i64) -> bool {
        let rules = self.rules.len();
        self.rules.retain(|rule| !rule.is_over(now_ms));
        let is_over = |pause: &StoredPause| pause.ends_ms <= now_ms;
        let ended = self.pause.take_if(|pause| is_over(pause)).is_some();
        ended || self.rules.len() < rules
    }

    /// Returns when the next of them ends.
    pub(super) fn next_end_ms(&self) -> Option<i64> {
        let pause = self.pause.as_ref().map(|pause| pause.ends_ms);
        let rules = self.rules.iter().filter_map(|rule| rule.ends_ms);
        rules.chain(pause).min()
    }

    /// Returns what is laid over the policy of a site.
    pub(crate) fn overlay(&self, site: &str) -> Overlay {
        let rules = self.rules.iter().filter(|kept| kept.rule.is_of_site(site));
        let overlay = Overlay::new().paused(self.pause.is_some());
        rules.fold(overlay, |overlay, kept| {
            let rule = kept.rule.builder().label(kept.label());
            overlay.rule(rule.origin(kept.origin()))
        })
    }
}

impl KeptRule {
    fn read(stored: StoredLiveRule) -> Result<Self, String> {
        let fields: RuleFields = serde_json::from_str(&stored.definition)
            .map_err(|error| format!("it cannot be read: {error}"))?;
        let rule = fields
            .rule()
            .map_err(|problem| format!("{}: {}", problem.field, problem.reason))?;
        Ok(Self {
            id: stored.id,
            rule,
            created_ms: stored.created_ms,
            created_by: stored.created_by,
            ends_ms: stored.ends_ms,
        })
    }

    /// Returns what reasons, logs and counts call it.
    pub(crate) fn label(&self) -> String {
        format!("live rule {}", self.id)
    }

    /// Returns who made it, and when.
    pub(crate) fn origin(&self) -> String {
        let made = day(self.created_ms);
        match &*self.created_by {
            "command line" => format!("made on the command line on {made}"),
            by => format!("made by {by} on {made}"),
        }
    }

    fn is_over(&self, now_ms: i64) -> bool {
        self.ends_ms.is_some_and(|ends_ms| ends_ms <= now_ms)
    }
}

/// Returns the day of a time, in UTC.
fn day(at_ms: i64) -> String {
    let at = time::OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1_000));
    at.map_or_else(|_| String::new(), |at| at.date().to_string())
}
