//! Statements and their parameters.

use std::borrow::Cow;

use sqlx::{Arguments, AssertSqlSafe, Encode, Type};

/// SQL with `$1` parameters, and what it does, as errors say it after "cannot".
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) what: &'static str,
    pub(super) sql: Cow<'static, str>,
}

/// Parameter of a statement; NUL bytes are left out, since PostgreSQL has none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Int(Option<i64>),
    Text(Option<&'a str>),
}

impl Statement {
    pub(super) const fn new(what: &'static str, sql: &'static str) -> Self {
        Self {
            what,
            sql: Cow::Borrowed(sql),
        }
    }

    /// Statement put together of literals; values go in as parameters only.
    pub(super) fn assembled(what: &'static str, sql: String) -> Self {
        Self {
            what,
            sql: Cow::Owned(sql),
        }
    }

    /// Returns the SQL, which is literals only.
    pub(super) fn safe(&self) -> AssertSqlSafe<Cow<'static, str>> {
        AssertSqlSafe(self.sql.clone())
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

/// Counts and limits: beyond 2^63 they are cut.
impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Int(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}

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

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(value: &'a Option<String>) -> Self {
        Self::Text(value.as_deref())
    }
}

/// Returns the text without NUL bytes, which PostgreSQL refuses.
pub(super) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the values as an engine's driver takes them.
pub(super) fn arguments<A>(values: &[Value<'_>]) -> Result<A, sqlx::Error>
where
    A: Arguments,
    for<'t> Option<i64>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> Option<String>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> &'t str: Encode<'t, A::Database> + Type<A::Database>,
{
    let mut arguments = A::default();
    arguments.reserve(values.len(), values.len());
    for value in values {
        match value {
            Value::Int(number) => arguments.add(*number),
            Value::Text(Some(text)) => arguments.add(&*without_nul(text)),
            Value::Text(None) => arguments.add(None::<String>),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}
