//! Rows with names for their columns, read alike from either engine.

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
                    $($column: row.try_get(stringify!($column))?,)*
                })
            }
        }
    };
}

pub(super) use columns;
