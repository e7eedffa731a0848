//! A PostgreSQL server for tests, on a Unix socket in a separate directory.
//!
//! Each test process starts one server, and each test gets its own database. A watchdog holds the
//! other end of a pipe: when the process ends, however it ends, the watchdog stops the server and
//! removes its files.

use std::{
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, PgConnection, Row as _, postgres::PgConnectOptions,
};
use tempfile::TempDir;

/// Numbers the databases, so that no two tests share one.
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// Server that runs until the value is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Cluster {
    directory: PathBuf,
    programs: PathBuf,
    user: Option<User>,
    watchdog: Child,
}

#[derive(Clone, Copy, Debug)]
struct User {
    uid: u32,
    gid: u32,
}

/// Creates an empty database on the server of this process; returns its URL.
pub(crate) async fn database_url() -> String {
    static SHARED: LazyLock<Cluster> = LazyLock::new(Cluster::start);
    let cluster = tokio::task::spawn_blocking(|| &*SHARED)
        .await
        .expect("PostgreSQL must start");
    cluster.create_database().await
}

impl Cluster {
    /// Starts a separate server, for a test that stops it.
    pub(crate) fn start() -> Self {
        let programs = find_programs();
        let user = postgres_user();
        // A socket's path has at most 107 bytes, so a long TMPDIR cannot be used.
        let directory = TempDir::with_prefix_in("rd-pg-", "/tmp")
            .expect("/tmp must be writable")
            .keep();
        if let Some(user) = user {
            chown(&directory, Some(user.uid), Some(user.gid)).expect("root may change owners");
        }
        let watchdog = start_watchdog(&directory, &programs, user);
        let cluster = Self {
            directory,
            programs,
            user,
            watchdog,
        };
        let data = cluster.data();
        cluster.run(
            "initdb",
            &["-D", &data, "-A", "trust", "-U", "postgres", "-E", "UTF8"],
            &["--no-sync", "--locale=C"],
        );
        cluster.resume();
        cluster
    }

    /// Starts the server again after [`Cluster::stop`].
    pub(crate) fn resume(&self) {
        let options = format!(
            "-k {} -c listen_addresses= -c fsync=off -c max_connections=300 \
             -c unix_socket_permissions=0777",
            self.directory.display()
        );
        let log = self.directory.join("log").display().to_string();
        self.run(
            "pg_ctl",
            &["-D", &self.data(), "-w", "-t", "60", "-l", &log],
            &["-o", &options, "start"],
        );
    }

    /// Stops the server as a crash would: connections break.
    pub(crate) fn stop(&self) {
        self.run(
            "pg_ctl",
            &["-D", &self.data(), "-w", "-m", "immediate"],
            &["stop"],
        );
    }

    /// Creates an empty database that sorts like a dictionary; returns its URL.
    pub(crate) async fn create_database(&self) -> String {
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        // Not in byte order, so that tests detect code that relies on byte order.
        let sql = format!(
            "CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
        );
        let mut connection = self.admin_connection().await;
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await
            .expect("failed to create a database");
        connection.close().await.expect("cannot close");
        self.url(&name)
    }

    /// Runs statements as an administrator; returns the number in the last row, if there is one.
    pub(crate) async fn execute(&self, sql: &str) -> i64 {
        let mut connection = self.admin_connection().await;
        let rows = sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_all(&mut connection)
            .await;
        let rows = rows.expect("the statements failed");
        rows.last().map_or(0, |row| row.get(0))
    }

    fn url(&self, database: &str) -> String {
        let directory = self.directory.display();
        format!("postgres:///{database}?host={directory}&user=postgres")
    }

    async fn admin_connection(&self) -> PgConnection {
        let options: PgConnectOptions = self.url("postgres").parse().expect("our URL is valid");
        options.connect().await.expect("cannot connect")
    }

    fn data(&self) -> String {
        self.directory.join("data").display().to_string()
    }

    fn run(&self, program: &str, options: &[&str], more: &[&str]) {
        let mut command = command(&self.programs.join(program), self.user);
        command
            .args(options)
            .args(more)
            .current_dir(&self.directory);
        // Not a pipe: the server inherits it and would keep it open.
        let output = self.directory.join(format!("{program}.out"));
        let file = std::fs::File::create(&output).expect("failed to create a file");
        let status = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("failed to duplicate the handle"))
            .stderr(file)
            .status()
            .unwrap_or_else(|error| panic!("{program} failed to start: {error}"));
        assert!(
            status.success(),
            "{program} failed: {}{}",
            std::fs::read_to_string(&output).unwrap_or_default(),
            std::fs::read_to_string(self.directory.join("log")).unwrap_or_default()
        );
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

/// Starts the shell that cleans up when its standard input ends.
fn start_watchdog(directory: &Path, programs: &Path, user: Option<User>) -> Child {
    let script = r#"cat >/dev/null
        "$1" -D "$2/data" -m immediate -w stop
        cd / && rm -rf "$2""#;
    let mut command = command(Path::new("/bin/sh"), user);
    command
        .args(["-c", script, "sh"])
        .arg(programs.join("pg_ctl"))
        .arg(directory)
        .current_dir("/")
        .process_group(0) // Control-C stops the tests, but not their watchdog.
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell")
}

fn command(program: &Path, user: Option<User>) -> Command {
    let mut command = Command::new(program);
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command
}

/// Returns the user that runs the server, which refuses to run as root.
fn postgres_user() -> Option<User> {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("failed to read the list of users");
    let user = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == "postgres").then_some(())?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(User { uid, gid })
    });
    assert!(
        user.is_some(),
        "there is no user `postgres` to run PostgreSQL as; `tests/run` installs PostgreSQL"
    );
    user
}

/// Returns the program directory of the newest installed server.
fn find_programs() -> PathBuf {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, programs)| programs.join("initdb").exists())
        .collect();
    found.sort();
    let newest = found.pop().map(|(_, programs)| programs);
    newest.or_else(programs_on_path).expect(
        "PostgreSQL was found neither in /usr/lib/postgresql nor on PATH; `tests/run` installs it",
    )
}

fn programs_on_path() -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .find(|directory| directory.join("initdb").exists() && directory.join("pg_ctl").exists())
}
