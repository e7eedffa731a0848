//! Live rules, which administrators add at run time, and the pause of all enforcement.

use std::{collections::BTreeSet, time::Duration};

use super::{
    AuditEntry, StoreError, audit, changes::notify, link::Channel, transaction::Transaction,
};

/// The time for which removed and expired live rules remain stored.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// The originator, time and details of a change to the live rules, for the audit log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LiveRuleChange<'c> {
    /// The originator of the change: `admin`, `token NAME` or `command line`.
    pub actor: &'c str,
    /// Further details about the change, for display only.
    pub detail: &'c str,
    /// The time of the change, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// The maximum number of live rules to read; it is not possible to add more rules.
const MAX_READ: i64 = 10_000;

/// The active live rules, and the current pause of enforcement.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct StoredLiveRules {
    /// The version of the live rules, which increases with each change.
    pub version: i64,
    /// The live rules that have neither expired nor been removed, oldest first.
    pub rules: Vec<StoredLiveRule>,
    /// The current pause of enforcement, if any.
    pub pause: Option<StoredPause>,
}

columns! {
    /// A live rule, that is, a rule that was added at run time.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct StoredLiveRule {
        /// The ID of the live rule; IDs are never reused.
        pub id: i64,
        /// The definition of the live rule, as JSON.
        pub definition: String,
        /// The name of the live rule, which is unique among active rules.
        pub name: Option<String>,
        /// The creation time, in milliseconds since the Unix epoch.
        pub created_ms: i64,
        /// The originator of the live rule.
        pub created_by: String,
        /// The expiry time of the rule; `None` if the rule does not expire.
        pub ends_ms: Option<i64>,
    }
}

/// A period in which no rules are enforced.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StoredPause {
    /// The end time of the pause, in milliseconds since the Unix epoch.
    pub ends_ms: i64,
    /// The start time of the pause, in milliseconds since the Unix epoch.
    pub begun_ms: i64,
    /// The originator of the pause.
    pub begun_by: String,
}

columns! {
    #[derive(Debug)]
    struct StateRow {
        version: i64,
        pause_ends_ms: Option<i64>,
        paused_ms: Option<i64>,
        paused_by: Option<String>,
    }
}

statements! {
    STATE = "read the state of the live rules",
        "SELECT version, pause_ends_ms, paused_ms, paused_by FROM live_rules_state WHERE id = 1";
    // Runs first in each transaction: the row lock serialises concurrent changes.
    BUMP = "change the live rules",
        "UPDATE live_rules_state SET version = version + 1 WHERE id = 1";
    RULES = "read the live rules",
        "SELECT rule_id AS id, definition, name, created_ms, created_by, ends_ms FROM live_rules \
         WHERE removed_ms IS NULL AND (ends_ms IS NULL OR ends_ms > $1) ORDER BY rule_id LIMIT $2";
    NAMED = "read a live rule by its name",
        "SELECT rule_id AS id, definition, name, created_ms, created_by, ends_ms FROM live_rules \
         WHERE name = $1 AND removed_ms IS NULL AND (ends_ms IS NULL OR ends_ms > $2)";
    REMOVED = "read the live rules that can be restored",
        "SELECT rule_id FROM live_rules WHERE removed_ms IS NOT NULL \
         AND (ends_ms IS NULL OR ends_ms > $1) ORDER BY rule_id";
    COUNT = "count the live rules",
        "SELECT COUNT(*) FROM live_rules \
         WHERE removed_ms IS NULL AND (ends_ms IS NULL OR ends_ms > $1)";
    ADD = "add a live rule",
        "INSERT INTO live_rules (definition, name, created_ms, created_by, ends_ms) \
         VALUES ($1, $2, $3, $4, $5) RETURNING rule_id";
    REMOVE = "remove a live rule",
        "UPDATE live_rules SET removed_ms = $2 WHERE rule_id = $1 AND removed_ms IS NULL \
         AND (ends_ms IS NULL OR ends_ms > $2) RETURNING definition";
    RESTORE = "restore a live rule",
        "UPDATE live_rules SET removed_ms = NULL WHERE rule_id = $1 AND removed_ms IS NOT NULL \
         AND (ends_ms IS NULL OR ends_ms > $2) AND NOT EXISTS (SELECT 1 FROM live_rules other \
         WHERE other.name = live_rules.name AND other.removed_ms IS NULL \
         AND (other.ends_ms IS NULL OR other.ends_ms > $2)) RETURNING definition";
    PRUNE = "remove expired live rules",
        "DELETE FROM live_rules WHERE ends_ms < $1 OR removed_ms < $1";
    PAUSE = "pause all enforcement",
        "UPDATE live_rules_state SET pause_ends_ms = $1, paused_ms = $2, paused_by = $3 \
         WHERE id = 1";
    RESUME = "resume enforcement",
        "UPDATE live_rules_state SET pause_ends_ms = NULL WHERE id = 1 AND pause_ends_ms > $1";
}

handle! {
    /// Access to the live rules and the pause of enforcement.
    LiveRules, live_rules
}

/// A live rule to add.
#[derive(Clone, Copy, Debug)]
pub struct NewLiveRule<'r> {
    /// The definition of the new rule, as JSON.
    pub definition: &'r str,
    /// The name of the rule; must be unique among active rules unless `replaces` is set.
    pub name: Option<&'r str>,
    /// The expiry time of the rule; `None` if the rule does not expire.
    pub ends_ms: Option<i64>,
    /// Whether to replace the active rule with the same name.
    pub replaces: bool,
}

/// The result of adding a live rule, with the ID of the rule that is now active.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AddRuleOutcome {
    /// The rule was added.
    Added(i64),
    /// The rule replaced the active rule with the same name.
    Replaced(i64),
    /// An identical rule with the same name already exists.
    Unchanged(i64),
    /// Another rule already has the same name.
    Taken(i64),
    /// The maximum number of rules has been reached.
    Full,
}

impl<'s> LiveRules<'s> {
    /// Adds a live rule. An active rule with the same name is replaced, or prevents the new rule
    /// from being added.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn add(
        self,
        rule: NewLiveRule<'_>,
        max: usize,
        change: LiveRuleChange<'_>,
    ) -> Result<AddRuleOutcome, StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        let mut event = "rule-added";
        if let Some(name) = rule.name {
            let values = [name.into(), change.now_ms.into()];
            let named = transaction.rows::<StoredLiveRule>(&NAMED, &values).await?;
            if let Some(old) = named.into_iter().next() {
                if !rule.replaces {
                    return Ok(AddRuleOutcome::Taken(old.id));
                }
                if old.definition == rule.definition && old.ends_ms == rule.ends_ms {
                    return Ok(AddRuleOutcome::Unchanged(old.id));
                }
                let values = [old.id.into(), change.now_ms.into()];
                transaction.execute(&REMOVE, &values).await?;
                event = "rule-replaced";
            }
        }
        if count(&mut transaction, change.now_ms).await? >= max {
            return Ok(AddRuleOutcome::Full);
        }
        let values = [
            rule.definition.into(),
            rule.name.into(),
            change.now_ms.into(),
            change.actor.into(),
            rule.ends_ms.into(),
        ];
        let (id,) = transaction.one::<(i64,)>(&ADD, &values).await?;
        finish(transaction, event, &subject(id), change).await?;
        Ok(match event {
            "rule-added" => AddRuleOutcome::Added(id),
            _ => AddRuleOutcome::Replaced(id),
        })
    }

    /// Removes a live rule. Returns the rule's definition, or `None` if the rule is not active.
    ///
    /// `detail_of` creates the details for the audit log from the rule's definition.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove(
        self,
        id: i64,
        change: LiveRuleChange<'_>,
        detail_of: impl FnOnce(&str) -> String,
    ) -> Result<Option<String>, StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        let values = [id.into(), change.now_ms.into()];
        let rows = transaction.rows::<(String,)>(&REMOVE, &values).await?;
        let Some((definition,)) = rows.into_iter().next() else {
            return Ok(None);
        };
        let detail = &detail_of(&definition);
        let change = LiveRuleChange { detail, ..change };
        finish(transaction, "rule-removed", &subject(id), change).await?;
        Ok(Some(definition))
    }

    /// Restores a removed live rule. Returns the rule's definition.
    ///
    /// Returns `None` if the rule was not removed or has expired, or if there are already `max`
    /// rules. `detail_of` creates the details for the audit log from the rule's definition.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn restore(
        self,
        id: i64,
        max: usize,
        change: LiveRuleChange<'_>,
        detail_of: impl FnOnce(&str) -> String,
    ) -> Result<Option<String>, StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        if count(&mut transaction, change.now_ms).await? >= max {
            return Ok(None);
        }
        let values = [id.into(), change.now_ms.into()];
        let rows = transaction.rows::<(String,)>(&RESTORE, &values).await?;
        let Some((definition,)) = rows.into_iter().next() else {
            return Ok(None);
        };
        let detail = &detail_of(&definition);
        let change = LiveRuleChange { detail, ..change };
        finish(transaction, "rule-restored", &subject(id), change).await?;
        Ok(Some(definition))
    }

    /// Pauses all enforcement until the given time; replaces the current pause, if any.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn pause(self, ends_ms: i64, change: LiveRuleChange<'_>) -> Result<(), StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        let values = [ends_ms.into(), change.now_ms.into(), change.actor.into()];
        transaction.execute(&PAUSE, &values).await?;
        finish(transaction, "paused", ENFORCEMENT, change).await
    }

    /// Resumes enforcement. Returns `false` if enforcement was not paused.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn resume(self, change: LiveRuleChange<'_>) -> Result<bool, StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        let values = [change.now_ms.into()];
        if transaction.execute(&RESUME, &values).await? == 0 {
            return Ok(false);
        }
        finish(transaction, "resumed", ENFORCEMENT, change).await?;
        Ok(true)
    }

    /// Begins a change to the live rules; the change becomes visible when it is finished.
    async fn change_live_rules(self, now_ms: i64) -> Result<Transaction<'s>, StoreError> {
        let mut transaction = self.db.begin(BUMP.what).await?;
        transaction.execute(&BUMP, &[]).await?;
        let kept_ms = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let old_ms = now_ms.saturating_sub(kept_ms);
        transaction.execute(&PRUNE, &[old_ms.into()]).await?;
        Ok(transaction)
    }
}

/// The subject in audit log entries about pauses.
const ENFORCEMENT: &str = "enforcement";

/// Returns the name by which the audit log refers to a live rule.
fn subject(id: i64) -> String {
    format!("live rule {id}")
}

async fn count(transaction: &mut Transaction<'_>, now_ms: i64) -> Result<usize, StoreError> {
    let (count,) = transaction.one::<(i64,)>(&COUNT, &[now_ms.into()]).await?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Commits a change to the live rules along with its audit log entry, and notifies the other
/// instances.
async fn finish(
    mut transaction: Transaction<'_>,
    event: &str,
    subject: &str,
    change: LiveRuleChange<'_>,
) -> Result<(), StoreError> {
    let entry = AuditEntry {
        at_ms: change.now_ms,
        actor: change.actor.to_owned(),
        event: event.to_owned(),
        subject: subject.to_owned(),
        detail: change.detail.to_owned(),
    };
    audit::add_to(&mut transaction, &entry).await?;
    notify(&mut transaction, Channel::LiveRules).await?;
    transaction.commit().await
}

impl LiveRules<'_> {
    /// Returns the live rules that are active at `now_ms`, and the current pause, if any.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn list(self, now_ms: i64) -> Result<StoredLiveRules, StoreError> {
        // Version first: a concurrent change is then detected as a change later.
        let state = self.live_rules_state().await?;
        let values = [now_ms.into(), MAX_READ.into()];
        let rows = self.db.rows(&RULES, &values).await?;
        let pause = state.pause_ends_ms.filter(|ends_ms| *ends_ms > now_ms);
        Ok(StoredLiveRules {
            version: state.version,
            rules: rows,
            pause: pause.map(|ends_ms| StoredPause {
                ends_ms,
                begun_ms: state.paused_ms.unwrap_or_default(),
                begun_by: state.paused_by.unwrap_or_default(),
            }),
        })
    }

    /// Returns the IDs of the removed rules that can be restored.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn restorable_ids(self, now_ms: i64) -> Result<BTreeSet<i64>, StoreError> {
        let values = [now_ms.into()];
        Ok(BTreeSet::from_iter(
            self.db.column(&REMOVED, &values).await?,
        ))
    }

    /// Waits until the version of the live rules differs from `seen`. Returns the new version.
    ///
    /// Changes are detected in the same way as by
    /// [`Store::registry_changed`](crate::store::Store::registry_changed).
    ///
    /// # Errors
    ///
    /// Returns an error if the store was closed, or if a permanent failure occurs.
    pub async fn changed(self, seen: i64) -> Result<i64, StoreError> {
        let look = async || Ok(self.live_rules_state().await?.version);
        self.db.changed(Channel::LiveRules, &seen, look).await
    }

    async fn live_rules_state(self) -> Result<StateRow, StoreError> {
        self.db.one(&STATE, &[]).await
    }
}
