//! Every statement, the same for both engines.
//!
//! A statement's first text completes the sentence "cannot …". Integers are
//! `BIGINT`; columns are named, never `*`.

use std::fmt::Write as _;

use super::{
    canonicals, descriptions, error::Engine, evidence, frontier, index_now, instances, live_rules,
    pace, probes, publications, statement::Statement, traffic, way_out,
};

/// Rows in one statement that inserts robots.
pub(super) const INSERT_ROWS: usize = 50;

/// Columns of a robot.
macro_rules! robot_columns {
    () => {
        "source, robot_id, robot_name, robot_details_url, robot_useragent, patterns, purpose, \
         operator, product_token, status, status_detail, facts, insertion_date, modified_date"
    };
}

macro_rules! refresh_columns {
    () => {
        "refresh_id, source, url, triggered_by, started_ms, finished_ms, outcome, error, records, \
         added, changed, removed, skipped, quarantined, unusable, problems, held_sha256"
    };
}

macro_rules! order_columns {
    () => {
        "order_id, site, work, wanted, holder, seen_ms, progress, outcome"
    };
}

macro_rules! token_columns {
    () => {
        "name, scope, created_ms, used_ms, ends_ms"
    };
}

macro_rules! audit_columns {
    () => {
        "at_ms, actor, event, subject, detail, COUNT(*) OVER () AS total"
    };
}

macro_rules! statements {
    ($($name:ident = $what:literal, $sql:expr;)*) => {
        $(pub(super) static $name: Statement = Statement::new($what, $sql);)*
        static FIXED: &[&Statement] = &[$(&$name),*];
    };
}

pub(super) use statements;

statements! {
    ROBOTS = "read the robots",
        concat!("SELECT ", robot_columns!(), " FROM robots ORDER BY source, robot_id");
    ROBOTS_OF_SOURCE = "read the robots of a source",
        concat!("SELECT ", robot_columns!(), " FROM robots WHERE source = $1");
    ROBOTS_BY_ID = "read a robot",
        concat!("SELECT ", robot_columns!(), " FROM robots WHERE robot_id = $1 ORDER BY source");
    ROBOT_EXISTS = "look for a robot",
        "SELECT source FROM robots WHERE robot_id = $1 LIMIT 1";
    ROBOT_COUNTS = "count the robots",
        "SELECT source, status, COUNT(*) FROM robots GROUP BY source, status ORDER BY source";
    DELETE_ROBOTS_OF_SOURCE = "remove the robots of a source",
        "DELETE FROM robots WHERE source = $1";
    DELETE_ROBOT = "remove a robot",
        "DELETE FROM robots WHERE source = $1 AND robot_id = $2";

    REGISTRY_VERSION = "read the registry's version",
        "SELECT version FROM registry_version WHERE id = 1";
    // An update that changes nothing locks the row until the transaction ends, on both engines.
    LOCK_REGISTRY = "lock the registry",
        "UPDATE registry_version SET version = version WHERE id = 1";
    BUMP_REGISTRY_VERSION = "change the registry's version",
        "UPDATE registry_version SET version = version + 1 WHERE id = 1";

    SOURCE_STATE = "read what is known of a source",
        "SELECT url, etag, last_modified, content_sha256, succeeded_ms FROM sources \
         WHERE source = $1";
    SAVE_SOURCE_STATE = "save what is known of a source",
        "INSERT INTO sources (source, url, etag, last_modified, content_sha256, succeeded_ms) \
         VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (source) DO UPDATE SET url = excluded.url, etag = excluded.etag, \
         last_modified = excluded.last_modified, content_sha256 = excluded.content_sha256, \
         succeeded_ms = excluded.succeeded_ms";
    DELETE_SOURCE_STATE = "forget a source",
        "DELETE FROM sources WHERE source = $1";

    ADD_REFRESH = "record a refresh",
        "INSERT INTO refreshes (source, url, triggered_by, started_ms, finished_ms, outcome, \
         error, records, added, changed, removed, skipped, quarantined, unusable, problems, \
         held_sha256) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         RETURNING refresh_id";
    PRUNE_REFRESHES = "remove old refreshes",
        "DELETE FROM refreshes WHERE source = $1 AND refresh_id NOT IN \
         (SELECT refresh_id FROM refreshes WHERE source = $1 ORDER BY refresh_id DESC LIMIT $2)";
    REFRESHES = "read the refreshes",
        concat!("SELECT ", refresh_columns!(), " FROM refreshes ORDER BY refresh_id DESC LIMIT $1");
    LAST_REFRESH = "read the last refresh",
        concat!("SELECT ", refresh_columns!(),
            " FROM refreshes WHERE source = $1 ORDER BY refresh_id DESC LIMIT 1");

    LEASE_HOLDER = "read who has a lease",
        "SELECT holder, until_ms FROM leases WHERE name = $1";
    RELEASE_LEASE = "give a lease back",
        "DELETE FROM leases WHERE name = $1 AND holder = $2";

    SAVE_ADDRESS_RANGES = "save a list of address ranges",
        "INSERT INTO address_ranges (url, prefixes, created, unreadable, etag, last_modified, \
         rules, fetched_ms, checked_ms, tried_ms, failures, error) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (url) DO UPDATE SET \
         prefixes = COALESCE(excluded.prefixes, address_ranges.prefixes), \
         created = excluded.created, unreadable = excluded.unreadable, etag = excluded.etag, \
         last_modified = excluded.last_modified, rules = excluded.rules, \
         fetched_ms = excluded.fetched_ms, checked_ms = excluded.checked_ms, \
         tried_ms = excluded.tried_ms, failures = excluded.failures, error = excluded.error";
    ADDRESS_RANGES = "read a list of address ranges",
        "SELECT url, prefixes, created, unreadable, etag, last_modified, rules, fetched_ms, \
         checked_ms, tried_ms, failures, error FROM address_ranges WHERE url = $1";
    ADDRESS_RANGE_STATES = "read what is known of the lists of address ranges",
        "SELECT url, CAST(NULL AS TEXT) AS prefixes, created, unreadable, etag, last_modified, \
         rules, fetched_ms, checked_ms, tried_ms, failures, error FROM address_ranges \
         ORDER BY url";
    REMOVE_ADDRESS_RANGES = "forget a list of address ranges",
        "DELETE FROM address_ranges WHERE url = $1";

    ADMIN_PASSWORD = "read the administrator's password hash",
        "SELECT password_hash FROM admin_credentials WHERE id = 1";
    SET_ADMIN_PASSWORD = "set the administrator's password",
        "INSERT INTO admin_credentials (id, password_hash, changed_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO UPDATE SET password_hash = excluded.password_hash, \
         changed_ms = excluded.changed_ms";
    INIT_ADMIN_PASSWORD = "set the administrator's first password",
        "INSERT INTO admin_credentials (id, password_hash, changed_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO NOTHING";
    ADD_ADMIN_TOKEN = "add a token",
        "INSERT INTO admin_tokens (name, sha256, created_ms, scope, ends_ms) \
         VALUES ($1, $2, $3, $4, $5)";
    // Looked up by its hash, so that the time of the comparison tells nothing of the token.
    ADMIN_TOKEN = "look for a token",
        concat!("SELECT ", token_columns!(), " FROM admin_tokens WHERE sha256 = $1");
    ADMIN_TOKENS = "list the tokens",
        concat!("SELECT ", token_columns!(), " FROM admin_tokens ORDER BY name");
    USE_ADMIN_TOKEN = "note the use of a token",
        "UPDATE admin_tokens SET used_ms = $2 WHERE name = $1";
    CHANGE_ADMIN_TOKEN = "change a token",
        "UPDATE admin_tokens SET scope = $2, ends_ms = $3 WHERE name = $1";
    DELETE_ADMIN_TOKEN = "remove a token",
        "DELETE FROM admin_tokens WHERE name = $1";

    ADD_AUDIT = "record a change",
        "INSERT INTO audit_log (at_ms, actor, event, subject, detail) VALUES ($1, $2, $3, $4, $5) \
         RETURNING entry_id";
    PRUNE_AUDIT = "forget old changes",
        "DELETE FROM audit_log WHERE entry_id <= $1";
    AUDIT = "read the changes",
        concat!("SELECT ", audit_columns!(), " FROM audit_log \
         WHERE at_ms >= $1 AND at_ms < $2 ORDER BY entry_id DESC LIMIT $3");
    // Logins and tokens change nothing of what visitors get.
    TRAFFIC_CHANGES = "read the changes that traffic may show",
        concat!("SELECT ", audit_columns!(), " FROM audit_log \
         WHERE at_ms >= $1 AND at_ms < $2 AND event IN ('rule-added', 'rule-removed', \
         'rule-restored', 'paused', 'resumed', 'reloaded', 'refresh-started', 'refresh-accepted', \
         'robot-added', 'robot-removed') ORDER BY at_ms DESC, entry_id DESC LIMIT $3");

    SAVE_ALERT = "save the state of an alert",
        "INSERT INTO alerts (name, watch, receiver, is_firing, since_ms, seen_ms, findings, \
         is_told, told_ms, failures, tried_ms, error) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (name) DO UPDATE SET watch = excluded.watch, receiver = excluded.receiver, \
         is_firing = excluded.is_firing, since_ms = excluded.since_ms, \
         seen_ms = excluded.seen_ms, findings = excluded.findings, is_told = excluded.is_told, \
         told_ms = excluded.told_ms, failures = excluded.failures, \
         tried_ms = excluded.tried_ms, error = excluded.error";
    ALERTS = "read the alerts",
        "SELECT name, watch, receiver, is_firing, since_ms, seen_ms, findings, is_told, told_ms, \
         failures, tried_ms, error FROM alerts ORDER BY name";
    DELETE_ALERT = "forget an alert",
        "DELETE FROM alerts WHERE name = $1";
    ADD_ALERT_ATTEMPT = "record the sending of an alert",
        "INSERT INTO alert_attempts (at_ms, name, event, error) VALUES ($1, $2, $3, $4) \
         RETURNING attempt_id";
    PRUNE_ALERT_ATTEMPTS = "forget old sendings of alerts",
        "DELETE FROM alert_attempts WHERE attempt_id <= $1";
    ALERT_ATTEMPTS = "read the sendings of alerts",
        "SELECT at_ms, name, event, error FROM alert_attempts ORDER BY attempt_id DESC LIMIT $1";

    ADD_BAN = "save a ban",
        "INSERT INTO bans (network, cause, since_ms, until_ms) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (network) DO UPDATE SET cause = excluded.cause, \
         until_ms = CASE WHEN bans.until_ms > excluded.until_ms THEN bans.until_ms \
         ELSE excluded.until_ms END";
    BANS = "read the bans",
        "SELECT network, cause, since_ms, until_ms FROM bans WHERE until_ms > $1 \
         ORDER BY since_ms, network";
    END_OF_BAN_TOO_MANY = "count the bans",
        "SELECT until_ms FROM bans ORDER BY until_ms DESC LIMIT 1 OFFSET $1";
    PRUNE_BANS = "forget bans that have ended",
        "DELETE FROM bans WHERE until_ms <= $1";
    REMOVE_BAN = "end a ban",
        "DELETE FROM bans WHERE network = $1";

    SAVE_SUSPECTS = "save who is flagged",
        "INSERT INTO suspects (instance, at_ms, flags, sketch) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (instance) DO UPDATE SET at_ms = excluded.at_ms, flags = excluded.flags, \
         sketch = excluded.sketch";
    PRUNE_SUSPECTS = "forget who was flagged",
        "DELETE FROM suspects WHERE at_ms < $1";
    SUSPECTS = "read who is flagged",
        "SELECT instance, at_ms, flags, sketch FROM suspects WHERE at_ms >= $1 ORDER BY instance";
    FORGET_SUSPECTS = "forget who was flagged on an instance",
        "DELETE FROM suspects WHERE instance = $1";

    FORGET_LOGIN_FAILURES = "forget the failed logins of a client",
        "DELETE FROM login_failures WHERE client = $1";
    FORGET_ALL_LOGIN_FAILURES = "forget all failed logins",
        "DELETE FROM login_failures";
    OWN_ROBOT_KEY = "read the key of our own site robot",
        "SELECT secret FROM own_robot_key WHERE id = 1";
    INIT_OWN_ROBOT_KEY = "save the key of our own site robot",
        "INSERT INTO own_robot_key (id, secret, created_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO NOTHING";

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

    SAVE_SESSION = "save a session",
        "INSERT INTO admin_sessions (id_sha256, data, expires_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (id_sha256) DO UPDATE SET data = excluded.data, \
         expires_ms = excluded.expires_ms";
    LOAD_SESSION = "load a session",
        "SELECT data, seen_ms FROM admin_sessions WHERE id_sha256 = $1 AND expires_ms > $2";
    SEE_SESSION = "note the use of a session",
        "UPDATE admin_sessions SET seen_ms = $2 WHERE id_sha256 = $1";
    SESSIONS = "list the sessions",
        "SELECT id_sha256, data, seen_ms, expires_ms FROM admin_sessions WHERE expires_ms > $1 \
         ORDER BY seen_ms DESC, id_sha256";
    // Half a digest names a session as surely, and is shorter to show.
    END_SESSION = "end a session",
        "DELETE FROM admin_sessions WHERE SUBSTR(id_sha256, 1, 16) = $1 AND expires_ms > $2";
    END_OTHER_SESSIONS = "end the other sessions",
        "DELETE FROM admin_sessions WHERE id_sha256 <> $1";
    DELETE_SESSION = "end a session",
        "DELETE FROM admin_sessions WHERE id_sha256 = $1";
    DELETE_SESSIONS = "end all sessions",
        "DELETE FROM admin_sessions";
    PRUNE_SESSIONS = "remove ended sessions",
        "DELETE FROM admin_sessions WHERE expires_ms <= $1";
}

/// Notifies the other instances; `PostgreSQL` only, delivered when the transaction commits.
pub(super) static NOTIFY: Statement = Statement::new(
    "tell the other instances",
    "SELECT CAST(pg_notify($1, '') AS TEXT)",
);

/// Holds an advisory lock as long as the session lasts; `PostgreSQL` only, as the next two.
pub(super) static LOCK_LEASE: Statement =
    Statement::new("lock a lease", "SELECT CAST(pg_advisory_lock($1) AS TEXT)");

pub(super) static UNLOCK_LEASE: Statement = Statement::new(
    "unlock a lease",
    "SELECT CAST(pg_advisory_unlock($1) AS TEXT)",
);

/// Shared, and for the moment of the statement: those who look do not see each other.
pub(super) static IS_LEASE_UNLOCKED: Statement = Statement::new(
    "look whether a lease is locked",
    "SELECT CAST(CASE WHEN pg_try_advisory_xact_lock_shared($1) THEN 1 ELSE 0 END AS BIGINT)",
);

/// Returns the statement that takes a lease: name, holder, life.
pub(super) fn acquire_lease(engine: Engine) -> Statement {
    // One statement: of those who find a lease that has expired, the row lets one have it.
    timed(
        engine,
        "take a lease",
        "INSERT INTO leases (name, holder, until_ms) VALUES ($1, $2, {now} + $3) \
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms \
         WHERE leases.until_ms <= {now}",
    )
}

/// Returns the statement that renews the lease of its holder: name, holder, life.
pub(super) fn renew_lease(engine: Engine) -> Statement {
    timed(
        engine,
        "renew a lease",
        "UPDATE leases SET until_ms = {now} + $3 WHERE name = $1 AND holder = $2",
    )
}

/// Returns the statement that reads who has a lease whose time is not over: name.
pub(super) fn live_lease_holder(engine: Engine) -> Statement {
    timed(
        engine,
        "read who has a lease now",
        "SELECT holder, until_ms FROM leases WHERE name = $1 AND until_ms > {now}",
    )
}

/// Returns the statement that shows that a holder is alive: name, holder, life.
pub(super) fn mark_alive(engine: Engine) -> Statement {
    timed(
        engine,
        "show that a holder is alive",
        "INSERT INTO leases (name, holder, until_ms) VALUES ($1, $2, {now} + $3) \
         ON CONFLICT (name) DO UPDATE SET until_ms = excluded.until_ms",
    )
}

/// Returns the statement that counts a failed login: client, time of a failure, longest time.
pub(super) fn count_login_failure(engine: Engine) -> Statement {
    timed(
        engine,
        "count a failed login",
        "INSERT INTO login_failures (client, forgotten_ms) VALUES ($1, {now} + $2) \
         ON CONFLICT (client) DO UPDATE SET forgotten_ms = CASE \
         WHEN login_failures.forgotten_ms <= {now} THEN {now} + $2 \
         WHEN login_failures.forgotten_ms + $2 > {now} + $3 THEN {now} + $3 \
         ELSE login_failures.forgotten_ms + $2 END",
    )
}

/// Returns the statement that reads when failed logins will be forgotten: two clients.
pub(super) fn login_failures(engine: Engine) -> Statement {
    timed(
        engine,
        "read failed logins",
        "SELECT client, forgotten_ms - {now} FROM login_failures WHERE client IN ($1, $2)",
    )
}

/// Returns the statement that forgets failed logins: a client that stays, and how many others.
pub(super) fn prune_login_failures(engine: Engine) -> Statement {
    timed(
        engine,
        "forget failed logins",
        "DELETE FROM login_failures WHERE forgotten_ms <= {now} OR (client <> $1 \
         AND forgotten_ms <= (SELECT MAX(late.forgotten_ms) FROM (SELECT forgotten_ms \
         FROM login_failures ORDER BY forgotten_ms DESC LIMIT 1 OFFSET $2) AS late))",
    )
}

/// Replaces `{now}` by the database's own time, in milliseconds since 1970.
///
/// The clocks of a fleet's instances may differ by hours.
pub(super) fn timed(engine: Engine, what: &'static str, sql: &str) -> Statement {
    let now = match engine {
        Engine::Sqlite => "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)",
        // `now()` would be the time at which the transaction began.
        Engine::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    };
    Statement::assembled(what, sql.replace("{now}", now))
}

/// Returns the statement that inserts so many robots.
pub(super) fn insert_robots(rows: usize, engine: Engine) -> Statement {
    const COLUMNS: usize = 14;
    let mut sql = String::from(concat!(
        "INSERT INTO robots (",
        robot_columns!(),
        ") VALUES "
    ));
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=COLUMNS {
            sql.push_str(if column == 1 { "" } else { ", " });
            let _ = match engine {
                // It looks each number up in a list of all: one by one they take no time.
                Engine::Sqlite => sql.write_char('?'),
                Engine::Postgres => write!(sql, "${}", row * COLUMNS + column),
            };
        }
        sql.push(')');
    }
    Statement::assembled("write the robots", sql)
}

/// Returns every statement that can be asked for, those put together in each form.
pub(super) fn every_statement(engine: Engine) -> Vec<Statement> {
    let mut all: Vec<Statement> = FIXED.iter().copied().cloned().collect();
    all.extend([1, INSERT_ROWS].map(|rows| insert_robots(rows, engine)));
    all.extend([
        acquire_lease(engine),
        renew_lease(engine),
        live_lease_holder(engine),
        mark_alive(engine),
    ]);
    all.extend([
        count_login_failure(engine),
        login_failures(engine),
        prune_login_failures(engine),
    ]);
    if engine == Engine::Postgres {
        all.extend([&LOCK_LEASE, &UNLOCK_LEASE, &IS_LEASE_UNLOCKED].map(Statement::clone));
    }
    all.extend(descriptions::sql::every_statement());
    all.extend(frontier::sql::every_statement(engine));
    all.extend(live_rules::sql::every_statement());
    all.extend(instances::every_statement(engine));
    all.extend(pace::every_statement(engine));
    all.extend(publications::sql::every_statement());
    all.extend(traffic::sql::every_statement(engine));
    all.extend(evidence::sql::every_statement());
    all.extend(canonicals::every_statement());
    all.extend(way_out::every_statement());
    all.extend(index_now::every_statement());
    all.extend(probes::every_statement());
    all
}
