//! Orders: requests to run the site robot, passed from a command to a running server.

use std::time::Duration;

use super::{StoreError, changes::notify, link::Channel, statement::Step};

/// The maximum time for which an order to run the site robot waits for a server.
///
/// The command runs the site robot itself long before this time has passed; the limit serves to
/// remove the orders of killed commands.
const WAITS: Duration = Duration::from_mins(1);

/// The time for which the outcome of an order remains stored for the command that placed the order.
const KEPT: Duration = Duration::from_hours(24);

/// The maximum time since the last heartbeat of a server that is considered running.
const SERVER_SEEN: Duration = Duration::from_mins(1);

columns! {
    /// An order to run the site robot, passed from a command to a running server.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredOrder {
        /// The unique ID of the order.
        pub order_id: String,
        /// The name of the site.
        pub site: String,
        /// A description of the work to be done.
        pub work: String,
        /// Whether the server has been asked to stop working on the order.
        pub is_stopped: bool,
        /// The server that accepted the order; `None` while the order is waiting.
        pub holder: Option<String>,
        /// The time of the server's last progress report.
        pub seen_ms: Option<i64>,
        /// The progress of the work, as reported by the server.
        pub progress: Option<String>,
        /// The result of the work; `None` until the work is finished.
        pub outcome: Option<String>,
    }
}

columns! {
    /// The version numbers that are watched by servers that run site robots and serve robot heaven.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct SiteRobotVersions {
        /// A number that increases with each new order.
        pub orders: i64,
        /// A number that increases whenever robot heaven may have changed.
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
    PLACE_ORDER = "place an order for the site robot",
        "INSERT INTO site_robot_orders (order_id, site, work, placed_ms, wanted) \
         VALUES ($1, $2, $3, $4, 'run')";
    WAITING_ORDERS = "find waiting orders",
        concat!("SELECT ", order_columns!(), " FROM site_robot_orders \
            WHERE holder IS NULL AND placed_ms > $1 ORDER BY placed_ms, order_id");
    TAKE_ORDER = "accept an order",
        "UPDATE site_robot_orders SET holder = $2, seen_ms = $3 \
         WHERE order_id = $1 AND holder IS NULL";
    PRUNE_ORDERS = "remove old orders",
        "DELETE FROM site_robot_orders WHERE COALESCE(seen_ms, placed_ms) <= $1";
    ORDER = "read an order",
        concat!("SELECT ", order_columns!(), " FROM site_robot_orders WHERE order_id = $1");
    WITHDRAW_ORDER = "withdraw an order",
        "DELETE FROM site_robot_orders WHERE order_id = $1 AND holder IS NULL";
    STOP_ORDER = "stop an order",
        "UPDATE site_robot_orders SET wanted = 'stop' WHERE order_id = $1";
    SHOW_ORDER = "update the progress of an order",
        "UPDATE site_robot_orders SET progress = $2, seen_ms = $3 WHERE order_id = $1";
    END_ORDER = "record the outcome of an order",
        "UPDATE site_robot_orders SET outcome = $2, seen_ms = $3 WHERE order_id = $1";
    REMOVE_ORDER = "remove an order",
        "DELETE FROM site_robot_orders WHERE order_id = $1";
    SHOW_SERVER = "record that a server is running",
        "INSERT INTO site_robot_servers (holder, seen_ms) VALUES ($1, $2) \
         ON CONFLICT (holder) DO UPDATE SET seen_ms = excluded.seen_ms";
    PRUNE_SERVERS = "remove stopped servers",
        "DELETE FROM site_robot_servers WHERE seen_ms <= $1";
    REMOVE_SERVER = "remove a server",
        "DELETE FROM site_robot_servers WHERE holder = $1";
    SERVERS = "find running servers",
        "SELECT holder FROM site_robot_servers WHERE seen_ms > $1 ORDER BY seen_ms DESC, holder";
    SITE_ROBOT_NEWS = "read the site robot versions",
        "SELECT orders, heavens FROM site_robot_news WHERE id = 1";
    BUMP_ORDERS = "announce an order",
        "UPDATE site_robot_news SET orders = orders + 1 WHERE id = 1";
    BUMP_HEAVENS = "announce a change of robot heaven",
        "UPDATE site_robot_news SET heavens = heavens + 1 WHERE id = 1";
}

handle! {
    /// Access to the orders for running servers.
    Orders, orders
}

impl Orders<'_> {
    /// Places an order to run the site robot, which any running server may accept.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Accepts the order that has waited longest, if any.
    ///
    /// If several servers try at the same time, only one of them gets the order.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn take(self, holder: &str, now_ms: i64) -> Result<Option<StoredOrder>, StoreError> {
        let since_ms = now_ms.saturating_sub(milliseconds(WAITS));
        let since = [since_ms.into()];
        let waiting = self.db.rows(&WAITING_ORDERS, &since);
        let waiting: Vec<StoredOrder> = waiting.await?;
        for order in waiting {
            // Another server may have accepted the order in the meantime, which the update detects.
            let values = [(&order.order_id).into(), holder.into(), now_ms.into()];
            if self.db.execute(&TAKE_ORDER, &values).await? > 0 {
                return Ok(Some(order));
            }
        }
        Ok(None)
    }

    /// Returns an order, or `None` if the order no longer exists.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn find(self, order_id: &str) -> Result<Option<StoredOrder>, StoreError> {
        self.db.first(&ORDER, &[order_id.into()]).await
    }

    /// Withdraws an order that no server has accepted. Returns `true` on success.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn withdraw(self, order_id: &str) -> Result<bool, StoreError> {
        let values = [order_id.into()];
        let withdrawn = self.db.execute(&WITHDRAW_ORDER, &values);
        Ok(withdrawn.await? > 0)
    }

    /// Requests that the server working on an order stop its work.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn stop(self, order_id: &str) -> Result<(), StoreError> {
        let values = [order_id.into()];
        self.db.run(&STOP_ORDER, &values).await
    }

    /// Updates the progress of an order. Returns `false` if the work must stop.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Records the result of an order.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn finish(
        self,
        order_id: &str,
        outcome: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = [order_id.into(), outcome.into(), now_ms.into()];
        self.db.run(&END_ORDER, &values).await
    }

    /// Removes an order for the site robot.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove(self, order_id: &str) -> Result<(), StoreError> {
        let values = [order_id.into()];
        self.db.run(&REMOVE_ORDER, &values).await
    }

    /// Records that a server accepts orders. Removes old orders and stopped servers.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn server_heartbeat(self, holder: &str, now_ms: i64) -> Result<(), StoreError> {
        let values = [holder.into(), now_ms.into()];
        self.db.execute(&SHOW_SERVER, &values).await?;
        let old_ms = now_ms.saturating_sub(milliseconds(KEPT));
        for prune in [&PRUNE_SERVERS, &PRUNE_ORDERS] {
            self.db.execute(prune, &[old_ms.into()]).await?;
        }
        Ok(())
    }

    /// Records that a server no longer accepts orders.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove_server(self, holder: &str) -> Result<(), StoreError> {
        self.db.run(&REMOVE_SERVER, &[holder.into()]).await
    }

    /// Returns the servers that are currently accepting orders.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn servers(self, now_ms: i64) -> Result<Vec<String>, StoreError> {
        let since_ms = now_ms.saturating_sub(milliseconds(SERVER_SEEN));
        self.db.column(&SERVERS, &[since_ms.into()]).await
    }

    /// Announces to all servers that robot heaven may have changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn announce_heaven(self) -> Result<(), StoreError> {
        self.tell([(&BUMP_HEAVENS, Vec::new())]).await
    }

    /// Returns the current version numbers that servers watch.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn site_robot_versions(self) -> Result<SiteRobotVersions, StoreError> {
        self.db.one(&SITE_ROBOT_NEWS, &[]).await
    }

    /// Waits until the version numbers differ from `seen`. Returns the new version numbers.
    ///
    /// Changes are detected in the same way as by
    /// [`Store::registry_changed`](crate::store::Store::registry_changed).
    ///
    /// # Errors
    ///
    /// Returns an error if the store was closed, or if a permanent failure occurs.
    pub async fn site_robot_changed(
        self,
        seen: SiteRobotVersions,
    ) -> Result<SiteRobotVersions, StoreError> {
        let look = || self.site_robot_versions();
        self.db.changed(Channel::SiteRobot, &seen, look).await
    }

    /// Runs statements that increase the version numbers, and notifies the other instances.
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
