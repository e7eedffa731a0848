//! Backup of our tables on `PostgreSQL`, by its own programs.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use url::{Url, form_urlencoded};

use super::{
    StoreError, StoreErrorKind,
    backup::{check_unserved, is_occupied, not_a_backup},
    error::{DatabaseLocation, Engine},
    instances, migrations, postgres,
};

/// Parameters of a URL that `libpq` has too; it refuses those that it does not know.
const LIBPQ: [&str; 10] = [
    "host",
    "port",
    "user",
    "dbname",
    "options",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "application_name",
];

/// Where a server is, as its programs are told.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Login {
    /// URL without the password, which everybody could read in the list of processes.
    url: String,
    password: Option<String>,
}

/// Writes our tables into a file.
pub(super) async fn dump(
    url: &str,
    place: &DatabaseLocation,
    file: &Path,
) -> Result<(), StoreError> {
    let mut connection = postgres::connect(url, place).await?;
    let looked = look(&mut connection, place).await;
    drop(connection.close().await);
    let (schema, occupied) = looked?;
    if !occupied {
        return Err(StoreError::new(
            StoreErrorKind::NotFound,
            format!("the database {place} has no tables of robot-detection: nothing to back up"),
        ));
    }
    let mut command = Login::new(url).command("pg_dump");
    command.args(["--format=custom", "--no-owner", "--no-privileges"]);
    command.arg("--file").arg(file);
    let tables = tables().into_iter();
    command.args(tables.map(|table| format!("--table={}.{}", quoted(&schema), quoted(&table))));
    on_a_thread(move || run("pg_dump", &mut command).map(drop)).await
}

/// Replaces our tables by those of a file, all or none.
pub(super) async fn restore(
    url: &str,
    place: &DatabaseLocation,
    file: &Path,
    force: bool,
) -> Result<(), StoreError> {
    let mut connection = postgres::connect(url, place).await?;
    let looked = look(&mut connection, place).await;
    let statement = instances::serving(Engine::Postgres).sql;
    let serving = sqlx::query_scalar(AssertSqlSafe(statement.into_owned()));
    let serving = serving.fetch_one(&mut connection).await;
    drop(connection.close().await);
    let (schema, occupied) = looked?;
    if occupied && !force {
        return Err(is_occupied(place, "back it up before"));
    }
    check_unserved(place, &serving)?;
    let (login, file) = (Login::new(url), file.to_owned());
    on_a_thread(move || {
        let mut list = Command::new("pg_restore");
        let listed = run("pg_restore", list.arg("--list").arg(&file))
            .map_err(|error| not_a_backup(&file, &error.to_string()))?;
        let of = schema_of(&String::from_utf8_lossy(&listed.stdout))
            .ok_or_else(|| not_a_backup(&file, "it holds no tables of robot-detection"))?;
        if of != schema {
            let why = format!("its tables are of the schema {of:?}, those here of {schema:?}");
            return Err(not_a_backup(&file, &why));
        }
        replay(&login, &schema, &file)
    })
    .await
}

/// Returns the schema of our tables, and whether some are there.
async fn look(
    connection: &mut PgConnection,
    place: &DatabaseLocation,
) -> Result<(String, bool), StoreError> {
    let row = sqlx::query_as::<_, (String, i64)>(
        "SELECT CAST(COALESCE(current_schema(), 'public') AS TEXT), COUNT(*) FROM pg_tables \
         WHERE schemaname = current_schema() AND tablename = ANY($1)",
    );
    let tables: Vec<_> = tables().into_iter().collect();
    let row = row.bind(tables).fetch_one(connection).await;
    let (schema, count) =
        row.map_err(|error| StoreError::of_statement("look for our tables", place, &error))?;
    Ok((schema, count > 0))
}

/// Has `psql` carry out what `pg_restore` writes, in one transaction.
fn replay(login: &Login, schema: &str, file: &Path) -> Result<(), StoreError> {
    let mut reader = Command::new("pg_restore");
    reader
        .args(["--no-owner", "--no-privileges", "--file=-"])
        .arg(file);
    reader.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut writer = login.command("psql");
    writer.args([
        "--no-psqlrc",
        "--quiet",
        "--set=ON_ERROR_STOP=1",
        "--file=-",
    ]);
    writer.stdin(Stdio::piped()).stdout(Stdio::null());
    writer.stderr(Stdio::piped());
    let mut written = writer.spawn().map_err(|error| cannot_run("psql", &error))?;
    let mut input = written.stdin.take();
    let read = begin(&mut input, schema).and_then(|()| {
        let mut read = reader.spawn()?;
        if let (Some(from), Some(to)) = (&mut read.stdout, &mut input) {
            io::copy(from, to)?;
        }
        read.wait_with_output()
    });
    // Without the last line nothing is changed: the file may have ended early.
    let ended = match (&read, &mut input) {
        (Ok(read), Some(input)) if read.status.success() => input.write_all(end(schema).as_bytes()),
        _ => Ok(()),
    };
    drop(input);
    let output = written.wait_with_output();
    let output = output.map_err(|error| cannot_run("psql", &error))?;
    checked("psql", output)?;
    let read = read.map_err(|error| cannot_run("pg_restore", &error))?;
    checked("pg_restore", read)?;
    ended.map_err(|error| cannot_run("psql", &error))
}

fn begin(input: &mut Option<impl io::Write>, schema: &str) -> io::Result<()> {
    let tables = tables().into_iter();
    let tables: Vec<_> = tables
        .map(|table| format!("{}.{}", quoted(schema), quoted(&table)))
        .collect();
    let text = format!(
        "SET client_min_messages = warning;\nBEGIN;\nSET LOCAL lock_timeout = '60s';\n\
         DROP TABLE IF EXISTS {} CASCADE;\n",
        tables.join(", ")
    );
    match input {
        Some(input) => input.write_all(text.as_bytes()),
        None => Ok(()),
    }
}

/// Returns what ends the transaction; tables of a newer program fail it.
fn end(schema: &str) -> String {
    let newest = migrations::postgres()
        .iter()
        .map(|known| known.version)
        .max();
    format!(
        "\nDO $robot_detection$ BEGIN IF (SELECT MAX(version) FROM {}.{}) > {} THEN \
         RAISE EXCEPTION 'a newer program made it: upgrade this one before'; END IF; \
         END $robot_detection$;\nCOMMIT;\n",
        quoted(schema),
        migrations::TABLE,
        newest.unwrap_or_default(),
    )
}

/// Returns the names of our tables, those of former versions among them.
fn tables() -> BTreeSet<String> {
    let migrations = migrations::postgres();
    let names = migrations.iter().flat_map(|migration| {
        // Of tables that are not logged, too.
        let sql = migration.sql.as_str().replace(" UNLOGGED ", " ");
        let after = sql.split("CREATE TABLE ").skip(1);
        let name = |text: &str| text.split(|c: char| !is_plain(c)).next().map(str::to_owned);
        after.filter_map(name).collect::<Vec<_>>()
    });
    let own = [migrations::TABLE.to_owned()];
    names.filter(|name| !name.is_empty()).chain(own).collect()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the schema of our tables in what `pg_restore --list` prints.
fn schema_of(list: &str) -> Option<String> {
    list.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.get(3..6) {
            Some(["TABLE", schema, table]) if *table == migrations::TABLE => {
                Some((*schema).to_owned())
            }
            _ => None,
        }
    })
}

impl Login {
    fn new(text: &str) -> Self {
        let Ok(mut url) = Url::parse(text) else {
            // sqlx has read it before: then libpq can.
            return Self {
                url: text.to_owned(),
                password: None,
            };
        };
        let mut password = url.password().map(decoded);
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in url.query_pairs() {
            match &*name {
                "password" => password = Some(value.into_owned()),
                name if LIBPQ.contains(&name) => drop(query.append_pair(name, &value)),
                _ => {}
            }
        }
        // A space is %20 in URLs of libpq; of a plus sign this is %2B.
        let query = query.finish().replace('+', "%20");
        url.set_query((!query.is_empty()).then_some(&*query));
        // It fails where there is no host, and so no password.
        let _ = url.set_password(None);
        Self {
            url: url.into(),
            password,
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("--no-password").arg("--dbname").arg(&self.url);
        if let Some(password) = &self.password {
            command.env("PGPASSWORD", password);
        }
        command
    }
}

fn decoded(text: &str) -> String {
    let pair = format!("p={}", text.replace('+', "%2B"));
    let decoded = form_urlencoded::parse(pair.as_bytes()).next();
    decoded.map_or_else(String::new, |(_, value)| value.into_owned())
}

async fn on_a_thread(
    work: impl FnOnce() -> Result<(), StoreError> + Send + 'static,
) -> Result<(), StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(StoreError::new(
            StoreErrorKind::Other,
            format!("the backup was broken off: {error}"),
        ))
    })
}

fn run(program: &str, command: &mut Command) -> Result<Output, StoreError> {
    let output = command.stdin(Stdio::null()).output();
    checked(
        program,
        output.map_err(|error| cannot_run(program, &error))?,
    )
}

fn checked(program: &str, output: Output) -> Result<Output, StoreError> {
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.lines().take(5).collect::<Vec<_>>().join("; ");
    Err(StoreError::new(
        StoreErrorKind::Other,
        format!("{program} failed, and nothing was changed: {text}"),
    ))
}

fn cannot_run(program: &str, error: &io::Error) -> StoreError {
    StoreError::new(
        StoreErrorKind::CannotOpen,
        format!(
            "cannot run {program}: {error}; install PostgreSQL's client programs, of Debian \
             postgresql-client"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_not_on_the_command_line() {
        let login = |url: &str| {
            let Login { url, password } = Login::new(url);
            (url, password.unwrap_or_default())
        };
        for (url, shown, password) in [
            (
                "postgres://u:a%40b+c@db:5433/robots?statement-cache-capacity=9",
                "postgres://u@db:5433/robots",
                "a@b+c",
            ),
            (
                "postgres:///robots?host=/run/pg&user=u&password=p&options=-c%20search_path=x",
                "postgres:///robots?host=%2Frun%2Fpg&user=u&options=-c%20search_path%3Dx",
                "p",
            ),
        ] {
            assert_eq!(login(url), (shown.to_owned(), password.to_owned()));
        }
    }

    #[test]
    fn our_tables_are_those_of_the_migrations() {
        let tables = tables();
        for name in ["robots", "leases", "bans", "pace", migrations::TABLE] {
            assert!(tables.contains(name), "{name}");
        }
    }

    #[test]
    fn the_schema_is_read_from_the_list() {
        let list = ";\n215; 1259 16386 TABLE x robots u\n\
                    9; 0 1 TABLE DATA x robot_detection_migrations u\n\
                    216; 1259 9 TABLE x robot_detection_migrations u\n";
        assert_eq!(schema_of(list).as_deref(), Some("x"));
        assert_eq!(schema_of("215; 1259 16386 TABLE x robots u"), None);
    }
}
