//! Rows with named columns, which are read in the same way from both engines.

use sqlx::{FromRow, error::BoxDynError, postgres::PgRow, sqlite::SqliteRow};

/// A database row that can be read from either engine.
pub(super) trait EngineRow:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<T> EngineRow for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

/// The type of a field in a row: a column, or a nested row whose columns belong to the same result.
pub(super) trait Column: Sized {
    fn read<'r, R: sqlx::Row>(row: &'r R, name: &'static str) -> Result<Self, sqlx::Error>
    where
        &'static str: sqlx::ColumnIndex<R>,
        i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        String: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>;
}

/// Implements [`Column`] by an expression that uses `row` and `name`.
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
    // A type converted from another column type; the conversion may fail.
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

/// Declares a row type whose column names are the same as its field names.
///
/// sqlx's derive macro does the same, but requires a second build of the database drivers and TLS
/// for the compiler, which takes a tenth of the build time.
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

/// Returns an error for a column value that does not have the expected type.
pub(super) fn unreadable(column: &str, error: BoxDynError) -> sqlx::Error {
    sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: error,
    }
}

/// Converts a count from the database; negative values become 0.
pub(super) fn from_sql(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
