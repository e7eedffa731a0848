//! Orders: runs of the site robot that a command hands over to a running server.

use std::time::Duration;

use super::{StoreError, changes::Channel, columns::columns, error::Engine, sql, statement::Step};

/// Longest that an order waits for a server.
///
/// The command does the work itself long before; this clears orders of one that was killed.
const WAITS: Duration = Duration::from_mins(1);

/// Time for which the outcome of an order is kept for the command that placed it.
const KEPT: Duration = Duration::from_hours(24);

/// Longest that a server counts as running without a heartbeat.
const SERVER_SEEN: Duration = Duration::from_mins(1);

/// Order to a running server.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StoredOrder {
    /// Its name, which no other order has.
    pub order_id: String,
    /// Name of the site.
    pub site: String,
    /// What is to be done.
    pub work: String,
    /// Whether it is to be broken off.
    pub is_stopped: bool,
    /// Who has taken it.
    pub holder: Option<String>,
    /// When they were last at work on it.
    pub seen_ms: Option<i64>,
    /// Progress.
    pub progress: Option<String>,
    /// Outcome, once it is done.
    pub outcome: Option<String>,
}

/// Versions of what servers that run site robots and serve robot heaven watch.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct SiteRobotVersions {
    /// Grows with each order.
    pub orders: i64,
    /// Grows when robot heaven may have changed.
    pub heavens: i64,
}

handle! {
    /// Orders for running site robots.
    Orders, orders
}

impl Orders<'_> {
    /// Hands work over to whichever server takes it.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn place(
        self,
        order_id: &str,
        site: &str,
        work: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = [order_id.into(), site.into(), work.into(), now_ms.into()];
        let order = (&sql::PLACE_ORDER, values.to_vec());
        self.tell([order, (&sql::BUMP_ORDERS, Vec::new())]).await
    }

    /// Takes over the order that has waited longest, if there is one.
    ///
    /// Of several servers one gets it.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn take(self, holder: &str, now_ms: i64) -> Result<Option<StoredOrder>, StoreError> {
        let since_ms = now_ms.saturating_sub(milliseconds(WAITS));
        let since = [since_ms.into()];
        let waiting = self.store.database.rows(&sql::WAITING_ORDERS, &since);
        let waiting: Vec<OrderRow> = waiting.await?;
        for order in waiting {
            // Another server may have taken it since it was read: the update tells.
            let values = [(&order.order_id).into(), holder.into(), now_ms.into()];
            if self
                .store
                .database
                .execute(&sql::TAKE_ORDER, &values)
                .await?
                > 0
            {
                return Ok(Some(order.into()));
            }
        }
        Ok(None)
    }

    /// Returns an order, unless it is gone.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn find(self, order_id: &str) -> Result<Option<StoredOrder>, StoreError> {
        let row: Option<OrderRow> = self
            .store
            .database
            .first(&sql::ORDER, &[order_id.into()])
            .await?;
        Ok(row.map(StoredOrder::from))
    }

    /// Withdraws an order that no server has taken; returns `true` if it did.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn withdraw(self, order_id: &str) -> Result<bool, StoreError> {
        let values = [order_id.into()];
        let withdrawn = self.store.database.execute(&sql::WITHDRAW_ORDER, &values);
        Ok(withdrawn.await? > 0)
    }

    /// Asks the server that has taken an order to break it off.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn stop(self, order_id: &str) -> Result<(), StoreError> {
        let values = [order_id.into()];
        let stopped = self.store.database.execute(&sql::STOP_ORDER, &values);
        stopped.await.map(|_| ())
    }

    /// Updates the progress of an order; returns `true` if it is to go on.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn update(
        self,
        order_id: &str,
        progress: &str,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let values = [order_id.into(), progress.into(), now_ms.into()];
        self.store
            .database
            .execute(&sql::SHOW_ORDER, &values)
            .await?;
        let order = self.find(order_id).await?;
        Ok(order.is_none_or(|order| !order.is_stopped))
    }

    /// Records the outcome of an order.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn finish(
        self,
        order_id: &str,
        outcome: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = [order_id.into(), outcome.into(), now_ms.into()];
        let ended = self.store.database.execute(&sql::END_ORDER, &values);
        ended.await.map(|_| ())
    }

    /// Forgets an order.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(self, order_id: &str) -> Result<(), StoreError> {
        let values = [order_id.into()];
        let removed = self.store.database.execute(&sql::REMOVE_ORDER, &values);
        removed.await.map(|_| ())
    }

    /// Records that a server runs that takes orders, and removes old orders and servers.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn server_heartbeat(self, holder: &str, now_ms: i64) -> Result<(), StoreError> {
        let values = [holder.into(), now_ms.into()];
        self.store
            .database
            .execute(&sql::SHOW_SERVER, &values)
            .await?;
        let old_ms = now_ms.saturating_sub(milliseconds(KEPT));
        for prune in [&sql::PRUNE_SERVERS, &sql::PRUNE_ORDERS] {
            self.store.database.execute(prune, &[old_ms.into()]).await?;
        }
        Ok(())
    }

    /// Records that a server takes no more orders.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove_server(self, holder: &str) -> Result<(), StoreError> {
        let values = [holder.into()];
        let removed = self.store.database.execute(&sql::REMOVE_SERVER, &values);
        removed.await.map(|_| ())
    }

    /// Returns the servers that take orders, as far as is known.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn servers(self, now_ms: i64) -> Result<Vec<String>, StoreError> {
        let since_ms = now_ms.saturating_sub(milliseconds(SERVER_SEEN));
        let rows: Vec<(String,)> = self
            .store
            .database
            .rows(&sql::SERVERS, &[since_ms.into()])
            .await?;
        Ok(rows.into_iter().map(|(holder,)| holder).collect())
    }

    /// Announces to all servers that robot heaven may have changed.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn announce_heaven(self) -> Result<(), StoreError> {
        self.tell([(&sql::BUMP_HEAVENS, Vec::new())]).await
    }

    /// Returns the current versions.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn site_robot_versions(self) -> Result<SiteRobotVersions, StoreError> {
        let row = self
            .store
            .database
            .first::<(i64, i64)>(&sql::SITE_ROBOT_NEWS, &[]);
        let (orders, heavens) = row.await?.ok_or_else(|| {
            let missing = sqlx::Error::Decode("no row".into());
            self.store.database.error(&sql::SITE_ROBOT_NEWS, &missing)
        })?;
        Ok(SiteRobotVersions { orders, heavens })
    }

    /// Waits until the versions are not `seen`, and returns them.
    ///
    /// It is notified as [`Store::registry_changed`](crate::store::Store::registry_changed) is.
    ///
    /// # Errors
    ///
    /// Fails when the store was closed, or for a cause that does not pass.
    pub async fn site_robot_changed(
        self,
        seen: SiteRobotVersions,
    ) -> Result<SiteRobotVersions, StoreError> {
        let look = || self.site_robot_versions();
        self.store.changed(Channel::SiteRobot, &seen, look).await
    }

    /// Carries out statements that change the versions, and notifies the other instances.
    async fn tell<const N: usize>(self, steps: [Step<'_>; N]) -> Result<(), StoreError> {
        let mut transaction = self.store.database.begin(sql::SITE_ROBOT_NEWS.what).await?;
        for (statement, values) in &steps {
            transaction.execute(statement, values).await?;
        }
        if transaction.engine() == Engine::Postgres {
            let channel = [Channel::SiteRobot.name().into()];
            transaction.execute(&sql::NOTIFY, &channel).await?;
        }
        transaction.commit().await
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

columns! {
    /// Row of an order.
    #[derive(Debug)]
    struct OrderRow {
        order_id: String,
        site: String,
        work: String,
        wanted: String,
        holder: Option<String>,
        seen_ms: Option<i64>,
        progress: Option<String>,
        outcome: Option<String>,
    }
}

impl From<OrderRow> for StoredOrder {
    fn from(row: OrderRow) -> Self {
        Self {
            order_id: row.order_id,
            site: row.site,
            work: row.work,
            is_stopped: row.wanted == "stop",
            holder: row.holder,
            seen_ms: row.seen_ms,
            progress: row.progress,
            outcome: row.outcome,
        }
    }
}
