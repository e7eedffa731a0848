//! Rows with names for their columns, read alike from either engine.

use sqlx::{FromRow, error::BoxDynError, postgres::PgRow, sqlite::SqliteRow};

/// Row that either engine can return.
pub(super) trait EngineRow:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<T> EngineRow for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

/// Type of a field of a row: that of a column, or a row of its own whose columns stand beside it.
pub(super) trait Column: Sized {
    fn read<'r, R: sqlx::Row>(row: &'r R, name: &'static str) -> Result<Self, sqlx::Error>
    where
        &'static str: sqlx::ColumnIndex<R>,
        i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        String: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>;
}

/// Implements [`Column`] by an expression of `row` and `name`.
macro_rules! column {
    ($type:ty, $row:ident, $name:ident, $read:expr) => {
        impl crate::store::columns::Column for $type {
            fn read<'r, R: sqlx::Row>($row: &'r R, $name: &'static str) -> Result<Self, sqlx::Error>
            where
                &'static str: sqlx::ColumnIndex<R>,
                i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
                String: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
            {
                $read
            }
        }
    };
    // A type that is made of what another one reads, which may fail.
    ($type:ty, $stored:ty, $make:expr) => {
        column!($type, row, name, {
            let stored = <$stored as crate::store::columns::Column>::read(row, name)?;
            let make: fn($stored) -> Result<Self, sqlx::error::BoxDynError> = $make;
            make(stored).map_err(|error| crate::store::columns::unreadable(name, error))
        });
    };
}

column!(i64, row, name, row.try_get(name));
column!(String, row, name, row.try_get(name));
column!(Option<i64>, row, name, row.try_get(name));
column!(Option<String>, row, name, row.try_get(name));

column!(u64, i64, |stored| Ok(from_sql(stored)));
column!(u32, i64, |stored| Ok(u32::try_from(stored).unwrap_or(0)));
column!(u16, i64, |stored| Ok(u16::try_from(stored).unwrap_or(0)));
column!(
    u8,
    i64,
    |stored| Ok(u8::try_from(stored).unwrap_or(u8::MAX))
);
column!(bool, i64, |stored| Ok(stored != 0));
column!(Option<u32>, Option<i64>, |stored| Ok(
    stored.and_then(|stored| u32::try_from(stored).ok())
));
column!(Option<u16>, Option<i64>, |stored| Ok(
    stored.and_then(|stored| u16::try_from(stored).ok())
));

/// Declares a row whose columns have the names of its fields.
///
/// What sqlx derives does the same, for a second build of the drivers and of TLS on behalf
/// of the compiler: a tenth of the time that the program takes to build.
macro_rules! columns {
    ($(#[$attribute:meta])* $visibility:vis struct $row:ident {
        $($(#[$of_column:meta])* $of_field:vis $column:ident: $type:ty,)*
    }) => {
        $(#[$attribute])*
        $visibility struct $row {
            $($(#[$of_column])* $of_field $column: $type,)*
        }

        impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for $row
        where
            &'static str: sqlx::ColumnIndex<R>,
            i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
            String: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        {
            fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
                Ok(Self {
                    $($column: <$type as crate::store::columns::Column>::read(
                        row,
                        stringify!($column),
                    )?,)*
                })
            }
        }

        column!($row, row, _name, sqlx::FromRow::from_row(row));
    };
}

/// Returns the error for a column whose value is none of its type.
pub(super) fn unreadable(column: &str, error: BoxDynError) -> sqlx::Error {
    sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: error,
    }
}

/// Returns a count that the database has; a negative one is none.
pub(super) fn from_sql(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
