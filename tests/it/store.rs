//! The database: the same tests on each engine.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests and their helpers may panic"
)]

mod address_ranges;
mod administrator;
mod audit;
mod bans;
mod canonicals;
mod changes;
mod descriptions;
mod evidence;
mod frontier;
mod history;
mod instances;
mod live_rules;
mod opening;
mod orders;
mod pace;
mod parity;
mod publications;
mod robots;
mod suspects;
mod traffic;
mod traffic_packed;
mod traffic_paths;
mod trouble;

use robot_detection::{
    registry::{Pattern, PatternKind, Robot, Source},
    store::{SourceState, Store},
};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, PgConnection, SqliteConnection,
    postgres::PgConnectOptions, sqlite::SqliteConnectOptions,
};
use tempfile::TempDir;

use crate::support::postgres;

/// Declares tests that run on a file, in memory and on PostgreSQL.
macro_rules! on_each_engine {
    ($($name:ident),+ $(,)?) => {
        on_shared_engines!($($name),+);
        mod in_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::store::TestDatabase::in_memory()).await;
            })+
        }
    };
}

/// Declares tests that open the database twice: on a file and on PostgreSQL.
macro_rules! on_shared_engines {
    ($($name:ident),+ $(,)?) => {
        mod on_a_file {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::store::TestDatabase::on_a_file()).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::store::TestDatabase::on_postgres().await).await;
            })+
        }
    };
}

use {on_each_engine, on_shared_engines};

/// Empty database of one test.
#[derive(Debug)]
struct TestDatabase {
    url: String,
    _directory: Option<TempDir>,
}

/// A connection that bypasses the store, for inspecting or locking the database.
enum Raw {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl TestDatabase {
    fn on_a_file() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            url: format!("sqlite://{}", directory.path().join("robots.db").display()),
            _directory: Some(directory),
        }
    }

    fn in_memory() -> Self {
        Self {
            url: "sqlite::memory:".to_owned(),
            _directory: None,
        }
    }

    async fn on_postgres() -> Self {
        Self {
            url: postgres::database_url().await,
            _directory: None,
        }
    }

    async fn store(&self) -> Store {
        Store::connect(&self.url).await.unwrap()
    }

    async fn raw(&self) -> Raw {
        if self.url.starts_with("sqlite:") {
            let options: SqliteConnectOptions = self.url.parse().unwrap();
            Raw::Sqlite(options.connect().await.unwrap())
        } else {
            let options: PgConnectOptions = self.url.parse().unwrap();
            Raw::Postgres(options.connect().await.unwrap())
        }
    }
}

impl Raw {
    async fn execute(&mut self, sql: &str) {
        match self {
            Self::Sqlite(connection) => {
                let sql = sqlx::raw_sql(AssertSqlSafe(sql));
                sql.execute(connection).await.map(|_| ()).unwrap();
            }
            Self::Postgres(connection) => {
                let sql = sqlx::raw_sql(AssertSqlSafe(sql));
                sql.execute(connection).await.map(|_| ()).unwrap();
            }
        }
    }

    async fn text(&mut self, sql: &str) -> String {
        let sql = AssertSqlSafe(sql);
        match self {
            Self::Sqlite(connection) => sqlx::query_scalar(sql).fetch_one(connection).await,
            Self::Postgres(connection) => sqlx::query_scalar(sql).fetch_one(connection).await,
        }
        .unwrap()
    }

    /// Begins a write, so that other writers must wait until the connection is closed.
    async fn take_write_lock(&mut self) {
        let begin = match self {
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            Self::Postgres(_) => "BEGIN",
        };
        self.execute(begin).await;
        self.execute("UPDATE registry_version SET version = version")
            .await;
    }

    async fn close(self) {
        match self {
            Self::Sqlite(connection) => connection.close().await,
            Self::Postgres(connection) => connection.close().await,
        }
        .unwrap();
    }
}

fn web_robots() -> Source {
    Source::web_robots_db()
}

fn robot(id: &str) -> Robot {
    let mut robot = Robot::new(id, web_robots());
    robot.useragent = format!("{id}/1.0");
    robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
    robot
}

fn named(id: &str, name: &str) -> Robot {
    let mut robot = robot(id);
    name.clone_into(&mut robot.name);
    robot
}

fn state() -> SourceState {
    SourceState {
        url: "http://www.example.org/all.txt".to_owned(),
        ..SourceState::default()
    }
}

async fn ids(store: &Store) -> Vec<String> {
    let robots = store.robots().list().await.unwrap();
    robots.into_iter().map(|stored| stored.robot.id).collect()
}
