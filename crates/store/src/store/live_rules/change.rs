//! Changes the live rules, each change with its entry in the log of changes.

use super::LiveRules;
use std::time::Duration;

use super::{
    super::{
        AuditEntry, StoreError, audit, changes::Channel, database::Transaction, error::Engine,
        sql::NOTIFY,
    },
    read::RuleRow,
    sql,
};

/// Time for which a rule that was removed, or has ended, is kept.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// Who changes a live rule, when, and what the log of changes says of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LiveRuleChange<'c> {
    /// Who: `admin`, `token NAME` or `command line`.
    pub actor: &'c str,
    /// What else is known of it, for people to read.
    pub detail: &'c str,
    /// Time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// Live rule to add.
#[derive(Clone, Copy, Debug)]
pub struct NewLiveRule<'r> {
    /// What it does, and to whom: JSON.
    pub definition: &'r str,
    /// Name; no other rule in force has it.
    pub name: Option<&'r str>,
    /// Expiry; `None` for a rule that does not expire.
    pub ends_ms: Option<i64>,
    /// Replace the rule in force that has its name.
    pub replaces: bool,
}

/// Result of adding a live rule, with the ID of the rule in force.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AddedLiveRule {
    /// It is new.
    Added(i64),
    /// It replaced the rule of its name.
    Replaced(i64),
    /// The rule of its name is the same.
    Unchanged(i64),
    /// Another rule has its name.
    Taken(i64),
    /// There are as many rules as there may be.
    Full,
}

impl<'s> LiveRules<'s> {
    /// Adds a live rule; one of the same name is replaced or refused.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn add(
        self,
        rule: NewLiveRule<'_>,
        max: usize,
        change: LiveRuleChange<'_>,
    ) -> Result<AddedLiveRule, StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        let mut event = "rule-added";
        if let Some(name) = rule.name {
            let values = [name.into(), change.now_ms.into()];
            let named = transaction.rows::<RuleRow>(&sql::NAMED, &values).await?;
            if let Some(old) = named.into_iter().next() {
                if !rule.replaces {
                    return Ok(AddedLiveRule::Taken(old.rule_id));
                }
                if old.definition == rule.definition && old.ends_ms == rule.ends_ms {
                    return Ok(AddedLiveRule::Unchanged(old.rule_id));
                }
                let values = [old.rule_id.into(), change.now_ms.into()];
                transaction.execute(&sql::REMOVE, &values).await?;
                event = "rule-replaced";
            }
        }
        if count(&mut transaction, change.now_ms).await? >= max {
            return Ok(AddedLiveRule::Full);
        }
        let values = [
            rule.definition.into(),
            rule.name.into(),
            change.now_ms.into(),
            change.actor.into(),
            rule.ends_ms.into(),
        ];
        let (id,) = transaction.one::<(i64,)>(&sql::ADD, &values).await?;
        finish(transaction, event, &subject(id), change).await?;
        Ok(match event {
            "rule-added" => AddedLiveRule::Added(id),
            _ => AddedLiveRule::Replaced(id),
        })
    }

    /// Removes a live rule; returns its definition, or `None` where it is not in force.
    ///
    /// `detail_of` makes the detail of the change from the definition.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(
        self,
        id: i64,
        change: LiveRuleChange<'_>,
        detail_of: impl FnOnce(&str) -> String,
    ) -> Result<Option<String>, StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        let values = [id.into(), change.now_ms.into()];
        let rows = transaction.rows::<(String,)>(&sql::REMOVE, &values).await?;
        let Some((definition,)) = rows.into_iter().next() else {
            return Ok(None);
        };
        let detail = &detail_of(&definition);
        let change = LiveRuleChange { detail, ..change };
        finish(transaction, "rule-removed", &subject(id), change).await?;
        Ok(Some(definition))
    }

    /// Brings a live rule back that was removed; returns its definition.
    ///
    /// `None`: it was not removed, has ended since, or there are `max` rules already.
    /// `detail_of` makes the detail of the change from the definition.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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
        let rows = transaction
            .rows::<(String,)>(&sql::RESTORE, &values)
            .await?;
        let Some((definition,)) = rows.into_iter().next() else {
            return Ok(None);
        };
        let detail = &detail_of(&definition);
        let change = LiveRuleChange { detail, ..change };
        finish(transaction, "rule-restored", &subject(id), change).await?;
        Ok(Some(definition))
    }

    /// Pauses all enforcement until a time, in place of a pause that is under way.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn pause(self, ends_ms: i64, change: LiveRuleChange<'_>) -> Result<(), StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        let values = [ends_ms.into(), change.now_ms.into(), change.actor.into()];
        transaction.execute(&sql::PAUSE, &values).await?;
        finish(transaction, "paused", ENFORCEMENT, change).await
    }

    /// Ends the pause; returns `false` where there was none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn resume(self, change: LiveRuleChange<'_>) -> Result<bool, StoreError> {
        let mut transaction = self.change_live_rules(change.now_ms).await?;
        let values = [change.now_ms.into()];
        if transaction.execute(&sql::RESUME, &values).await? == 0 {
            return Ok(false);
        }
        finish(transaction, "resumed", ENFORCEMENT, change).await?;
        Ok(true)
    }

    /// Begins a change, which nobody sees before it is finished.
    async fn change_live_rules(self, now_ms: i64) -> Result<Transaction<'s>, StoreError> {
        let mut transaction = self.store.database.begin(sql::BUMP.what).await?;
        transaction.execute(&sql::BUMP, &[]).await?;
        let kept_ms = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let old_ms = now_ms.saturating_sub(kept_ms);
        transaction.execute(&sql::PRUNE, &[old_ms.into()]).await?;
        Ok(transaction)
    }
}

/// What a pause is of, as the log of changes says it.
const ENFORCEMENT: &str = "enforcement";

/// Returns what the log of changes calls a rule.
fn subject(id: i64) -> String {
    format!("live rule {id}")
}

async fn count(transaction: &mut Transaction<'_>, now_ms: i64) -> Result<usize, StoreError> {
    let (count,) = transaction
        .one::<(i64,)>(&sql::COUNT, &[now_ms.into()])
        .await?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Records the change, and tells the other instances as soon as it is there.
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
    if transaction.engine() == Engine::Postgres {
        let channel = [Channel::LiveRules.name().into()];
        transaction.execute(&NOTIFY, &channel).await?;
    }
    transaction.commit().await
}
