//! SQL statements and their parameters.

use std::{borrow::Cow, time::Duration};

use log::LevelFilter;
use sqlx::{Arguments, AssertSqlSafe, Encode, Type};

use super::error::Engine;

/// The log level for slow statements. The level is low because the complete text of the statement
/// is logged, which may be a megabyte.
pub(super) const SLOW_LOGGED: LevelFilter = LevelFilter::Debug;
pub(super) const SLOW_AFTER: Duration = Duration::from_secs(1);

/// The placeholder in SQL for the database's current time, in milliseconds since the Unix epoch.
const NOW: &str = "{now}";

/// Declares a file's statements as `static`s and lists all of them in `FIXED`.
macro_rules! statements {
    ($($name:ident = $what:literal, $sql:expr;)*) => {
        $(pub(super) static $name: crate::store::statement::Statement =
            crate::store::statement::Statement::new($what, $sql);)*

        /// All SQL statements in this file that have a fixed text.
        pub(in crate::store) static FIXED: &[&crate::store::statement::Statement] = &[$(&$name),*];
    };
}

/// Lists the field values of a struct, followed by other values.
macro_rules! values {
    ($of:expr; $($field:ident),* $(; $($more:expr),*)?) => {
        [
            $(crate::store::statement::Value::from(&$of.$field),)*
            $($(crate::store::statement::Value::from($more),)*)?
        ]
    };
}

/// An SQL statement with parameters such as `$1`, and a description that follows "cannot" in error
/// messages.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) what: &'static str,
    pub(super) sql: Cow<'static, str>,
}

/// A statement with its parameter values, to be run together with other statements.
pub(super) type Step<'v> = (&'v Statement, Vec<Value<'v>>);

/// Variants of a statement for different numbers of rows, each assembled once.
#[derive(Debug)]
pub(super) struct ByRows {
    /// The variants of the statement, in decreasing order of their number of rows; the last variant
    /// is for one row.
    statements: Vec<(usize, Statement)>,
}

/// A parameter of a statement. NUL bytes are removed from texts, because `PostgreSQL` rejects them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Int(Option<i64>),
    Text(Option<&'a str>),
    Bytes(&'a [u8]),
}

impl Statement {
    pub(super) const fn new(what: &'static str, sql: &'static str) -> Self {
        Self {
            what,
            sql: Cow::Borrowed(sql),
        }
    }

    /// Creates a statement from SQL that consists of literals; values are passed only as
    /// parameters.
    pub(super) fn assembled(what: &'static str, sql: String) -> Self {
        Self {
            what,
            sql: Cow::Owned(sql),
        }
    }

    /// Creates a statement like [`Self::assembled`], but with a text that lives as long as the
    /// program.
    pub(super) fn lasting(what: &'static str, sql: String) -> Self {
        Self::new(what, sql.leak())
    }

    /// Returns the statement's SQL for an engine; the SQL consists only of literals.
    pub(super) fn safe(&self, engine: Engine) -> AssertSqlSafe<Cow<'static, str>> {
        AssertSqlSafe(if self.sql.contains(NOW) {
            timed(&self.sql, engine).into()
        } else {
            self.sql.clone()
        })
    }
}

fn timed(sql: &str, engine: Engine) -> String {
    let now = match engine {
        Engine::Sqlite => "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)",
        // `now()` would return the start time of the transaction.
        Engine::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    };
    sql.replace(NOW, now)
}

impl ByRows {
    /// Creates the variants of a statement for the given numbers of rows; the variants exist as
    /// long as the program runs.
    pub(super) fn new(sizes: &[usize], make: impl Fn(usize) -> Statement) -> Self {
        let lasting = |size: &usize| {
            let Statement { what, sql } = make(*size);
            (*size, Statement::lasting(what, sql.into_owned()))
        };
        Self {
            statements: sizes.iter().map(lasting).collect(),
        }
    }

    /// Splits a list into pieces, each with the statement for the piece's number of rows.
    pub(super) fn pieces<'l, T>(
        &self,
        mut list: &'l [T],
    ) -> impl Iterator<Item = (&Statement, &'l [T])> {
        std::iter::from_fn(move || {
            let mut statements = self.statements.iter();
            // The last statement is for one row, so that every list can be split completely.
            let (size, statement) = statements.find(|(size, _)| *size <= list.len())?;
            let (piece, rest) = list.split_at_checked(*size)?;
            list = rest;
            Some((statement, piece))
        })
    }

    /// Returns the steps that write rows. Steps are created lazily, since the values of many rows
    /// would otherwise be in memory twice.
    pub(super) fn steps<'v, T, const COLUMNS: usize>(
        &'v self,
        mut rows: impl ExactSizeIterator<Item = T>,
        values: impl Fn(&T) -> [Value<'v>; COLUMNS],
    ) -> impl Iterator<Item = Step<'v>> {
        std::iter::from_fn(move || {
            let mut statements = self.statements.iter();
            let (size, statement) = statements.find(|(size, _)| *size <= rows.len())?;
            let piece = rows.by_ref().take(*size);
            Some((statement, piece.flat_map(|row| values(&row)).collect()))
        })
    }

    /// Splits a list into pieces, each with a statement; a piece is padded by repeating its last
    /// value.
    pub(super) fn padded<T: Copy>(&self, list: &[T]) -> impl Iterator<Item = (&Statement, Vec<T>)> {
        let most = self.statements.first().map_or(1, |(size, _)| *size);
        list.chunks(most).filter_map(|piece| {
            let mut fitting = self.statements.iter().rev();
            let (size, statement) = fitting.find(|(size, _)| *size >= piece.len())?;
            let mut list = piece.to_vec();
            // A repeated value in `IN (…)` does not repeat its row.
            list.resize(*size, *piece.last()?);
            Some((statement, list))
        })
    }

    /// Returns the variants of the statement for all numbers of rows.
    pub(super) fn all(&self) -> impl Iterator<Item = &Statement> {
        self.statements.iter().map(|(_, statement)| statement)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

/// Converts counts and limits; values above `i64::MAX` are clamped.
impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Int(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        i64::from(value).into()
    }
}

impl From<u16> for Value<'_> {
    fn from(value: u16) -> Self {
        i64::from(value).into()
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        i64::from(value).into()
    }
}

/// Implements the conversion from a reference by copying the value.
macro_rules! copied {
    ($($type:ty),*) => {$(
        impl From<&$type> for Value<'_> {
            fn from(value: &$type) -> Self {
                (*value).into()
            }
        }
    )*};
}

copied!(i64, Option<i64>, u64, u32, u16, bool);

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(value: &'a Option<String>) -> Self {
        Self::Text(value.as_deref())
    }
}

/// Returns the text without NUL bytes, which `PostgreSQL` rejects.
pub(super) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Converts the values to arguments for the driver of an engine.
pub(super) fn arguments<'v, A>(
    values: impl IntoIterator<Item = &'v Value<'v>>,
) -> Result<A, sqlx::Error>
where
    A: Arguments,
    for<'t> Option<i64>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> Option<String>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> &'t str: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> &'t [u8]: Encode<'t, A::Database> + Type<A::Database>,
{
    let mut arguments = A::default();
    let values = values.into_iter();
    arguments.reserve(values.size_hint().0, values.size_hint().0);
    for value in values {
        match value {
            Value::Int(number) => arguments.add(*number),
            Value::Text(Some(text)) => arguments.add(&*without_nul(text)),
            Value::Text(None) => arguments.add(None::<String>),
            Value::Bytes(bytes) => arguments.add(*bytes),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}
