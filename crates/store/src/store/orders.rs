//! Orders: runs of the site robot that a command hands over to a running server.

use std::time::Duration;

use super::{StoreError, changes::notify, link::Channel, statement::Step};

/// Longest that an order waits for a server.
///
/// The command does the work itself long before; this clears orders of one that was killed.
const WAITS: Duration = Duration::from_mins(1);

/// Time for which the outcome of an order is kept for the command that placed it.
const KEPT: Duration = Duration::from_hours(24);

/// Longest that a server counts as running without a heartbeat.
const SERVER_SEEN: Duration = Duration::from_mins(1);

columns! {
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
}

columns! {
    /// Versions of what servers that run site robots and serve robot heaven watch.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct SiteRobotVersions {
        /// Grows with each order.
        pub orders: i64,
        /// Grows when robot heaven may have changed.
        pub heavens: i64,
    }
}

macro_rules! order_columns {
    () => {
        "order_id, site, work, CAST(CASE WHEN wanted = 'stop' THEN 1 ELSE 0 END AS BIGINT) \
        AS is_stopped, holder, seen_ms, progress, outcome"
    };
}

statements! {
    PLACE_ORDER = "hand a run over",
        "INSERT INTO site_robot_orders (order_id, site, work, placed_ms, wanted) \
         VALUES ($1, $2, $3, $4, 'run')";
    WAITING_ORDERS = "look for orders",
        concat!("SELECT ", order_columns!(), " FROM site_robot_orders \
            WHERE holder IS NULL AND placed_ms > $1 ORDER BY placed_ms, order_id");
    TAKE_ORDER = "take an order",
        "UPDATE site_robot_orders SET holder = $2, seen_ms = $3 \
         WHERE order_id = $1 AND holder IS NULL";
    PRUNE_ORDERS = "remove old orders",
        "DELETE FROM site_robot_orders WHERE COALESCE(seen_ms, placed_ms) <= $1";
    ORDER = "read an order",
        concat!("SELECT ", order_columns!(), " FROM site_robot_orders WHERE order_id = $1");
    WITHDRAW_ORDER = "take an order back",
        "DELETE FROM site_robot_orders WHERE order_id = $1 AND holder IS NULL";
    STOP_ORDER = "stop an order",
        "UPDATE site_robot_orders SET wanted = 'stop' WHERE order_id = $1";
    SHOW_ORDER = "tell how an order goes",
        "UPDATE site_robot_orders SET progress = $2, seen_ms = $3 WHERE order_id = $1";
    END_ORDER = "tell what came of an order",
        "UPDATE site_robot_orders SET outcome = $2, seen_ms = $3 WHERE order_id = $1";
    REMOVE_ORDER = "remove an order",
        "DELETE FROM site_robot_orders WHERE order_id = $1";
    SHOW_SERVER = "show that a server runs",
        "INSERT INTO site_robot_servers (holder, seen_ms) VALUES ($1, $2) \
         ON CONFLICT (holder) DO UPDATE SET seen_ms = excluded.seen_ms";
    PRUNE_SERVERS = "forget servers that do not run",
        "DELETE FROM site_robot_servers WHERE seen_ms <= $1";
    REMOVE_SERVER = "show that a server has ended",
        "DELETE FROM site_robot_servers WHERE holder = $1";
    SERVERS = "look for running servers",
        "SELECT holder FROM site_robot_servers WHERE seen_ms > $1 ORDER BY seen_ms DESC, holder";
    SITE_ROBOT_NEWS = "read the news of the site robot",
        "SELECT orders, heavens FROM site_robot_news WHERE id = 1";
    BUMP_ORDERS = "tell of an order",
        "UPDATE site_robot_news SET orders = orders + 1 WHERE id = 1";
    BUMP_HEAVENS = "tell of a change in robot heaven",
        "UPDATE site_robot_news SET heavens = heavens + 1 WHERE id = 1";
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
        let order = (&PLACE_ORDER, values.to_vec());
        self.tell([order, (&BUMP_ORDERS, Vec::new())]).await
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
        let waiting = self.db.rows(&WAITING_ORDERS, &since);
        let waiting: Vec<StoredOrder> = waiting.await?;
        for order in waiting {
            // Another server may have taken it since it was read: the update tells.
            let values = [(&order.order_id).into(), holder.into(), now_ms.into()];
            if self.db.execute(&TAKE_ORDER, &values).await? > 0 {
                return Ok(Some(order));
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
        self.db.first(&ORDER, &[order_id.into()]).await
    }

    /// Withdraws an order that no server has taken; returns `true` if it did.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn withdraw(self, order_id: &str) -> Result<bool, StoreError> {
        let values = [order_id.into()];
        let withdrawn = self.db.execute(&WITHDRAW_ORDER, &values);
        Ok(withdrawn.await? > 0)
    }

    /// Asks the server that has taken an order to break it off.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn stop(self, order_id: &str) -> Result<(), StoreError> {
        let values = [order_id.into()];
        self.db.run(&STOP_ORDER, &values).await
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
        self.db.execute(&SHOW_ORDER, &values).await?;
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
        self.db.run(&END_ORDER, &values).await
    }

    /// Forgets an order.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(self, order_id: &str) -> Result<(), StoreError> {
        let values = [order_id.into()];
        self.db.run(&REMOVE_ORDER, &values).await
    }

    /// Records that a server runs that takes orders, and removes old orders and servers.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn server_heartbeat(self, holder: &str, now_ms: i64) -> Result<(), StoreError> {
        let values = [holder.into(), now_ms.into()];
        self.db.execute(&SHOW_SERVER, &values).await?;
        let old_ms = now_ms.saturating_sub(milliseconds(KEPT));
        for prune in [&PRUNE_SERVERS, &PRUNE_ORDERS] {
            self.db.execute(prune, &[old_ms.into()]).await?;
        }
        Ok(())
    }

    /// Records that a server takes no more orders.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove_server(self, holder: &str) -> Result<(), StoreError> {
        self.db.run(&REMOVE_SERVER, &[holder.into()]).await
    }

    /// Returns the servers that take orders, as far as is known.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn servers(self, now_ms: i64) -> Result<Vec<String>, StoreError> {
        let since_ms = now_ms.saturating_sub(milliseconds(SERVER_SEEN));
        self.db.column(&SERVERS, &[since_ms.into()]).await
    }

    /// Announces to all servers that robot heaven may have changed.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn announce_heaven(self) -> Result<(), StoreError> {
        self.tell([(&BUMP_HEAVENS, Vec::new())]).await
    }

    /// Returns the current versions.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn site_robot_versions(self) -> Result<SiteRobotVersions, StoreError> {
        self.db.one(&SITE_ROBOT_NEWS, &[]).await
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
        self.db.changed(Channel::SiteRobot, &seen, look).await
    }

    /// Carries out statements that change the versions, and notifies the other instances.
    async fn tell<const N: usize>(self, steps: [Step<'_>; N]) -> Result<(), StoreError> {
        let mut transaction = self.db.begin(SITE_ROBOT_NEWS.what).await?;
        for (statement, values) in &steps {
            transaction.execute(statement, values).await?;
        }
        notify(&mut transaction, Channel::SiteRobot).await?;
        transaction.commit().await
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
