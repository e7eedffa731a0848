//! Reads the live rules, and waits for others.

use super::LiveRules;
use std::collections::BTreeSet;

use super::{
    super::{StoreError, changes::Channel, columns::columns},
    sql,
};

/// Rules that are read at most; more were never let in.
const MAX_READ: i64 = 10_000;

/// Live rules in force, and whether enforcement is paused.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct StoredLiveRules {
    /// Grows with each change.
    pub version: i64,
    /// Rules that have neither ended nor been removed, the oldest first.
    pub rules: Vec<StoredLiveRule>,
    /// The pause under way.
    pub pause: Option<StoredPause>,
}

/// Rule that was made while servers ran.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StoredLiveRule {
    /// Its number, which no other rule ever gets.
    pub id: i64,
    /// What it does, and to whom: JSON.
    pub definition: String,
    /// Name that no other rule in force has.
    pub name: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// Creator.
    pub created_by: String,
    /// When it ends; `None`: it lasts.
    pub ends_ms: Option<i64>,
}

/// Time in which nothing is enforced.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StoredPause {
    /// When it ends, in milliseconds since 1970.
    pub ends_ms: i64,
    /// When it began.
    pub begun_ms: i64,
    /// Who began it.
    pub begun_by: String,
}

columns! {
    #[derive(Debug)]
    pub(super) struct RuleRow {
        pub(super) rule_id: i64,
        pub(super) definition: String,
        name: Option<String>,
        created_ms: i64,
        created_by: String,
        pub(super) ends_ms: Option<i64>,
    }
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

impl LiveRules<'_> {
    /// Returns the live rules in force at a time, and the pause if there is one.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(self, now_ms: i64) -> Result<StoredLiveRules, StoreError> {
        // The version first: what changes in between is then seen as a change.
        let state = self.live_rules_state().await?;
        let values = [now_ms.into(), MAX_READ.into()];
        let rows = self
            .store
            .database
            .rows::<RuleRow>(&sql::RULES, &values)
            .await?;
        let pause = state.pause_ends_ms.filter(|ends_ms| *ends_ms > now_ms);
        Ok(StoredLiveRules {
            version: state.version,
            rules: rows.into_iter().map(StoredLiveRule::from).collect(),
            pause: pause.map(|ends_ms| StoredPause {
                ends_ms,
                begun_ms: state.paused_ms.unwrap_or_default(),
                begun_by: state.paused_by.unwrap_or_default(),
            }),
        })
    }

    /// Returns the numbers of rules that were removed and can be brought back.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn removed(self, now_ms: i64) -> Result<BTreeSet<i64>, StoreError> {
        let values = [now_ms.into()];
        let rows = self.store.database.rows::<(i64,)>(&sql::REMOVED, &values);
        Ok(rows.await?.into_iter().map(|(id,)| id).collect())
    }

    /// Waits until the version of the live rules is not `seen`, and returns it.
    ///
    /// It is notified as [`Store::registry_changed`](crate::store::Store::registry_changed) is.
    ///
    /// # Errors
    ///
    /// Fails when the store was closed, or for a cause that does not pass.
    pub async fn changed(self, seen: i64) -> Result<i64, StoreError> {
        let look = async || Ok(self.live_rules_state().await?.version);
        self.store.changed(Channel::LiveRules, &seen, look).await
    }

    async fn live_rules_state(self) -> Result<StateRow, StoreError> {
        let row = self.store.database.first::<StateRow>(&sql::STATE, &[]);
        row.await?.ok_or_else(|| {
            let missing = sqlx::Error::Decode("no row".into());
            self.store.database.error(&sql::STATE, &missing)
        })
    }
}

impl From<RuleRow> for StoredLiveRule {
    fn from(row: RuleRow) -> Self {
        Self {
            id: row.rule_id,
            definition: row.definition,
            name: row.name,
            created_ms: row.created_ms,
            created_by: row.created_by,
            ends_ms: row.ends_ms,
        }
    }
}
