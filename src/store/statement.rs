//! Statements and their parameters.

use std::{borrow::Cow, fmt::Write as _};

use sqlx::{Arguments, AssertSqlSafe, Encode, Type};

/// SQL with `$1` parameters, and what it does, as errors say it after "cannot".
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) what: &'static str,
    pub(super) sql: Cow<'static, str>,
}

/// Statement that is carried out with others, and its values.
pub(super) type Step<'v> = (&'v Statement, Vec<Value<'v>>);

/// Statements that do the same, each with another number of rows; put together once.
#[derive(Debug)]
pub(super) struct ByRows {
    /// The most rows first, one row last.
    statements: Vec<(usize, Statement)>,
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

/// Returns the SQL of statements one behind the other; each finds its parameters behind
/// those of the statements before.
pub(super) fn joined(all: &[Step<'_>]) -> String {
    let mut sql = String::with_capacity(all.iter().map(|(one, _)| one.sql.len() + 64).sum());
    let mut before = 0;
    for (statement, values) in all {
        let mut parts = statement.sql.split('$');
        sql.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = part.split_at(digits);
            let number = number.parse::<usize>().unwrap_or_default();
            let _ = write!(sql, "${}{rest}", number + before);
        }
        sql.push_str("; ");
        before += values.len();
    }
    sql
}

impl ByRows {
    /// Puts statements of these numbers of rows together, which stay for ever.
    pub(super) fn new(sizes: &[usize], make: impl Fn(usize) -> Statement) -> Self {
        let lasting = |size: &usize| {
            let Statement { what, sql } = make(*size);
            (*size, Statement::new(what, sql.into_owned().leak()))
        };
        Self {
            statements: sizes.iter().map(lasting).collect(),
        }
    }

    /// Splits a list into pieces for which there is a statement.
    pub(super) fn pieces<'l, T>(
        &self,
        mut list: &'l [T],
    ) -> impl Iterator<Item = (&Statement, &'l [T])> {
        std::iter::from_fn(move || {
            let mut statements = self.statements.iter();
            let (size, statement) = statements.find(|(size, _)| *size <= list.len())?;
            let (piece, rest) = list.split_at_checked(*size)?;
            list = rest;
            Some((statement, piece))
        })
    }

    /// Splits a list into pieces for which there is a statement; the last one may repeat.
    pub(super) fn padded<T: Copy>(&self, list: &[T]) -> impl Iterator<Item = (&Statement, Vec<T>)> {
        let most = self.statements.first().map_or(1, |(size, _)| *size);
        list.chunks(most).filter_map(|piece| {
            let mut fitting = self.statements.iter().rev();
            let (size, statement) = fitting.find(|(size, _)| *size >= piece.len())?;
            let mut list = piece.to_vec();
            list.resize(*size, *piece.last()?);
            Some((statement, list))
        })
    }

    /// Returns the statements.
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
pub(super) fn arguments<'v, A>(
    values: impl IntoIterator<Item = &'v Value<'v>>,
) -> Result<A, sqlx::Error>
where
    A: Arguments,
    for<'t> Option<i64>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> Option<String>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> &'t str: Encode<'t, A::Database> + Type<A::Database>,
{
    let mut arguments = A::default();
    let values = values.into_iter();
    arguments.reserve(values.size_hint().0, values.size_hint().0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_statements_find_their_parameters_behind_those_before() {
        let first = Statement::new("one", "SELECT $1 WHERE $2 IN ($3, $1)");
        let without = Statement::new("none", "SELECT changes()");
        let last = Statement::new("ten", "SELECT $10, $2 + $1");
        let three = vec![Value::from(1_i64); 3];
        let ten = vec![Value::from("x"); 10];
        let all = [(&first, three), (&without, Vec::new()), (&last, ten)];
        assert_eq!(
            joined(&all),
            "SELECT $1 WHERE $2 IN ($3, $1); SELECT changes(); SELECT $13, $5 + $4; "
        );
    }
}
