//! The audit log entries for the page, JSON and CSV.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Moment, problem::Problem, state::AdminState};
use robot_detection_store::store::AuditEntry;

/// Maximum number of audit log entries that are read; the database stores no more entries.
const LIMIT: u64 = 10_000;

/// An entry of the audit log.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Change")]
pub(super) struct ChangeView {
    pub(super) at: Moment,
    pub(super) by: String,
    pub(super) event: String,
    pub(super) subject: String,
    pub(super) detail: String,
    #[serde(skip)]
    pub(super) undo: Option<Undo>,
}

/// The action that undoes a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Undo {
    /// Remove the rule that was added.
    Remove(i64),
    /// Restore the rule that was removed.
    Restore(i64),
    Resume,
}

/// A filter for audit log entries.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeQuery {
    /// Event to show; if empty, all events are shown.
    pub(super) event: String,
    pub(super) since_ms: Option<i64>,
    pub(super) until_ms: Option<i64>,
}

/// The state that determines which changes can currently be undone.
struct Undoable {
    in_force: BTreeSet<i64>,
    removed: BTreeSet<i64>,
    is_paused: bool,
}

impl ChangeQuery {
    /// Returns the matching entries, newest first, and the names of the events in the period.
    pub(super) async fn load(
        &self,
        state: &AdminState,
    ) -> Result<(Vec<ChangeView>, BTreeSet<String>), Problem> {
        let since_ms = self.since_ms.unwrap_or(i64::MIN);
        let until_ms = self.until_ms.unwrap_or(i64::MAX);
        let store = &state.operations().store;
        let entries = store.audit().list(since_ms..until_ms, LIMIT).await?;
        let events = entries.iter().map(|entry| entry.event.clone()).collect();
        let undoable = Undoable::of(state).await?;
        let now_ms = state.now_ms();
        let asked = entries
            .into_iter()
            .filter(|entry| self.event.is_empty() || entry.event == self.event);
        let views = asked.map(|entry| ChangeView::new(entry, &undoable, now_ms));
        let mut views: Vec<_> = views.collect();
        keep_newest_undo(&mut views);
        Ok((views, events))
    }
}

impl Undoable {
    async fn of(state: &AdminState) -> Result<Self, Problem> {
        let operations = state.operations();
        let set = operations.live_rules.load();
        let removed = if operations.live_rules.is_enabled() {
            operations
                .store
                .live_rules()
                .restorable_ids(state.now_ms())
                .await?
        } else {
            BTreeSet::new()
        };
        Ok(Self {
            in_force: set.rules.iter().map(|rule| rule.id).collect(),
            removed,
            is_paused: set.pause.is_some(),
        })
    }
}

impl ChangeView {
    fn new(entry: AuditEntry, undoable: &Undoable, now_ms: i64) -> Self {
        Self {
            at: Moment::new(entry.at_ms, now_ms),
            undo: Undo::of(&entry, undoable),
            by: entry.actor,
            event: entry.event,
            subject: entry.subject,
            detail: entry.detail,
        }
    }
}

impl Undo {
    fn of(entry: &AuditEntry, undoable: &Undoable) -> Option<Self> {
        let id = || entry.subject.strip_prefix("live rule ")?.parse().ok();
        match &*entry.event {
            "rule-added" | "rule-replaced" | "rule-restored" => id()
                .filter(|id| undoable.in_force.contains(id))
                .map(Self::Remove),
            "rule-removed" => id()
                .filter(|id| undoable.removed.contains(id))
                .map(Self::Restore),
            "paused" if undoable.is_paused => Some(Self::Resume),
            _ => None,
        }
    }

    /// Returns the path to which the undo form is submitted.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Remove(_) => "rules/remove",
            Self::Restore(_) => "rules/restore",
            Self::Resume => "rules/resume",
        }
    }

    /// Returns the ID of the rule to remove or restore, if the action is about a rule.
    pub(super) fn id(self) -> Option<i64> {
        match self {
            Self::Remove(id) | Self::Restore(id) => Some(id),
            Self::Resume => None,
        }
    }
}

/// Removes duplicate undo buttons, so that only the newest entry about a change has a button.
fn keep_newest_undo(views: &mut [ChangeView]) {
    let mut offered = Vec::new();
    for view in views {
        if let Some(undo) = view.undo {
            if offered.contains(&undo) {
                view.undo = None;
            }
            offered.push(undo);
        }
    }
}
