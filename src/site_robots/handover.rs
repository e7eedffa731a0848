//! Hands a run from a command over to a running server, and reports the run's progress.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{RunResult, SiteRobotChanges};
use crate::assembly::open_to_question;
use crate::clock::Clock;
use crate::config::Loaded;
use crate::operations::own_robot;
use crate::site_robot::{Progress, has_ended, holder_name};
use crate::store::{Store, StoredOrder};

/// The time within which a server must accept a run that was handed over.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);

/// The longest time without a progress report from a server that has accepted a run.
// A server stores its progress twice a second, so a minute without progress means a restart or a
// failure.
const SILENT: Duration = Duration::from_mins(1);

/// A run handed over by a command, which any running server may accept.
#[derive(Debug)]
pub struct Handover {
    store: Store,
    clock: Clock,
    order_id: String,
    placed_ms: i64,
    /// The server's last heartbeat, and the time when it was read.
    seen: (Option<i64>, i64),
}

/// The state of a run that was handed over to a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HandoverState {
    /// No server has accepted the run yet.
    Waiting,
    /// A server is executing the run.
    Going(Box<Progress>),
    /// The run has ended.
    Ran(Box<RunResult>),
    /// The run failed; contains the reason.
    Failed(String),
    /// No server executes the run: either no server responded, or a server declined the run for the
    /// contained reason.
    Declined(Option<String>),
}

impl Handover {
    /// Hands a run over to a server; returns `None` if no running server could accept it.
    ///
    /// If `reload` is set, a server with different settings reloads its configuration first.
    ///
    /// # Errors
    ///
    /// Returns an error if a database operation fails.
    pub async fn place(
        loaded: &Loaded,
        store: &Store,
        site: &str,
        changes: &SiteRobotChanges,
        reload: bool,
    ) -> anyhow::Result<Option<Self>> {
        let clock = Clock::system();
        let now_ms = clock.now_ms();
        let servers = store.orders().servers(now_ms).await?;
        // A file specified by a command may not exist on the server's machine, and a path from the
        // database must not make a server read or write a file.
        if changes.names_files() || servers.iter().all(|server| has_ended(server)) {
            return Ok(None);
        }
        let key = own_robot::load_or_create_key(store, &clock).await?;
        let order = Order {
            settings: settings_digest(loaded, site, &key),
            changes: changes.clone(),
            reload,
        };
        let order_id = holder_name();
        let work = serde_json::to_string(&order)?;
        store.orders().place(&order_id, site, &work, now_ms).await?;
        Ok(Some(Self {
            store: store.clone(),
            clock,
            order_id,
            placed_ms: now_ms,
            seen: (None, now_ms),
        }))
    }

    /// Returns the run's state; call this method a few times per second until the run has ended.
    ///
    /// # Errors
    ///
    /// Returns an error if a database operation fails, or if the server that accepted the run has
    /// ended.
    pub async fn look(&mut self) -> anyhow::Result<HandoverState> {
        let Some(order) = self.store.orders().find(&self.order_id).await? else {
            anyhow::bail!("the run that was handed over no longer exists; repeat the command");
        };
        if let Some(outcome) = &order.outcome {
            self.store.orders().remove(&self.order_id).await?;
            return Ok(match serde_json::from_str(outcome)? {
                OrderOutcome::Ran(ran) => HandoverState::Ran(ran),
                OrderOutcome::Failed(reason) => HandoverState::Failed(reason),
                OrderOutcome::Declined(reason) => HandoverState::Declined(Some(reason)),
            });
        }
        let now_ms = self.clock.now_ms();
        let Some(holder) = &order.holder else {
            let is_over = now_ms.saturating_sub(self.placed_ms) > milliseconds(TAKEN_WITHIN);
            // A server may accept the run at the last moment.
            let is_ours = is_over && self.take_back().await?;
            return Ok(if is_ours {
                HandoverState::Declined(None)
            } else {
                HandoverState::Waiting
            });
        };
        self.check_alive(&order, holder, now_ms).await?;
        let progress = order.progress.as_deref().unwrap_or_default();
        let progress = serde_json::from_str(progress).unwrap_or_default();
        Ok(HandoverState::Going(Box::new(progress)))
    }

    /// Requests that the server stop the run; the next run resumes it.
    ///
    /// # Errors
    ///
    /// Returns an error if a database operation fails.
    pub async fn stop(&self) -> anyhow::Result<()> {
        Ok(self.store.orders().stop(&self.order_id).await?)
    }

    /// Withdraws the run unless a server has accepted it; returns `true` if the run was withdrawn.
    ///
    /// # Errors
    ///
    /// Returns an error if a database operation fails.
    pub async fn take_back(&self) -> anyhow::Result<bool> {
        Ok(self.store.orders().withdraw(&self.order_id).await?)
    }

    async fn check_alive(
        &mut self,
        order: &StoredOrder,
        holder: &str,
        now_ms: i64,
    ) -> anyhow::Result<()> {
        // The server's clock may differ from ours, so only changes to the heartbeat's time are
        // evaluated.
        if order.seen_ms != self.seen.0 {
            self.seen = (order.seen_ms, now_ms);
        }
        let is_silent = now_ms.saturating_sub(self.seen.1) > milliseconds(SILENT);
        if is_silent || has_ended(holder) {
            self.store.orders().remove(&self.order_id).await?;
            anyhow::bail!(
                "the server that executed the run has ended; repeat the command to resume the run"
            );
        }
        Ok(())
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Prefixes of the settings that affect a run.
const TABLES: [&str; 2] = ["site_robot.", "heaven."];

/// A run to hand over to a server.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    /// The digest of the settings that the command uses.
    pub(super) settings: String,
    pub(super) changes: SiteRobotChanges,
    /// Whether a server with different settings reloads its configuration before the run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) reload: bool,
}

/// The outcome of a run that was handed over.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OrderOutcome {
    /// The run finished or was stopped.
    Ran(Box<RunResult>),
    /// The run failed; contains the reason.
    Failed(String),
    /// The server declined the run; contains the reason.
    Declined(String),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Returns a digest of the settings for a site's site robot.
///
/// `key` is a secret stored in the database, which prevents passwords from being guessed from the
/// digest.
pub(super) fn settings_digest(loaded: &Loaded, site: &str, key: &str) -> String {
    let loaded = loaded.for_site_named(site);
    let mut digest = Sha256::new();
    digest.update(key);
    for (key, found) in loaded.effective_values() {
        if TABLES.iter().any(|table| key.name.starts_with(table)) {
            digest.update(format!("\n{} = {:?}", key.name, found.value));
        }
    }
    // Whether the default was chosen explicitly makes a difference, although the value is the same.
    if let Some(question) = open_to_question(&loaded, loaded.settings()) {
        digest.update(question);
    }
    hex::encode(digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    #[test]
    fn digest_changes_with_the_settings_of_the_robot() {
        let digest = |text: &str, key: &str| {
            let loaded = Loader::new().file("c.toml", text).load().unwrap();
            settings_digest(&loaded, "default", key)
        };
        let start = "site_robot.starting_points = 'http://h/'\n";
        assert_ne!(digest("", "k"), digest(start, "k"));
        assert_ne!(digest(start, "k"), digest(start, "l"));
        let elsewhere = format!("{start}server.upstream = 'http://a'");
        assert_eq!(digest(start, "k"), digest(&elsewhere, "k"));
    }

    #[test]
    fn order_with_unknown_fields_is_rejected() {
        let order = Order {
            settings: "a".to_owned(),
            changes: SiteRobotChanges {
                urls: vec!["http://h/".to_owned()],
                depth: Some(None),
                ..SiteRobotChanges::default()
            },
            reload: false,
        };
        let text = serde_json::to_string(&order).unwrap();
        let read: Order = serde_json::from_str(&text).unwrap();
        assert_eq!(read.changes.urls, order.changes.urls);
        let newer = text.replace("\"urls\"", "\"else\":1,\"urls\"");
        assert!(serde_json::from_str::<Order>(&newer).is_err());
    }
}
