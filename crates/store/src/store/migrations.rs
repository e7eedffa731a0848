//! Database migrations for both engines, embedded at build time.

use std::borrow::Cow;

use sqlx::{
    SqlStr,
    migrate::{Migration, MigrationType, Migrator},
};

/// The table that records applied migrations, separate from an application's own sqlx migrations.
pub(super) const TABLE: &str = "robot_detection_migrations";

/// The names and contents of the migration files, ordered by version.
type Files = &'static [(&'static str, &'static str)];

const SQLITE: Files = &[
    (
        "20261207100000_schema",
        include_str!("../../migrations/sqlite/20261207100000_schema.sql"),
    ),
    (
        "20261208100000_index_now",
        include_str!("../../migrations/sqlite/20261208100000_index_now.sql"),
    ),
    (
        "20261208110000_traffic_parameters",
        include_str!("../../migrations/sqlite/20261208110000_traffic_parameters.sql"),
    ),
];
const POSTGRES: Files = &[
    (
        "20261207100000_schema",
        include_str!("../../migrations/postgres/20261207100000_schema.sql"),
    ),
    (
        "20261208100000_index_now",
        include_str!("../../migrations/postgres/20261208100000_index_now.sql"),
    ),
    (
        "20261208110000_traffic_parameters",
        include_str!("../../migrations/postgres/20261208110000_traffic_parameters.sql"),
    ),
];

pub(super) fn sqlite() -> Migrator {
    migrator(SQLITE)
}

pub(super) fn postgres() -> Migrator {
    migrator(POSTGRES)
}

fn migrator(files: Files) -> Migrator {
    let migrations = files.iter().filter_map(|(name, sql)| migration(name, sql));
    let mut migrator = Migrator::with_migrations(migrations.collect());
    migrator.dangerous_set_table_name(TABLE);
    migrator
}

/// Returns the migration in a file whose name consists of a version and a subject.
fn migration(name: &'static str, sql: &'static str) -> Option<Migration> {
    let (version, about) = name.split_once('_')?;
    Some(Migration::new(
        version.parse().ok()?,
        Cow::Owned(about.replace('_', " ")),
        MigrationType::Simple,
        SqlStr::from_static(sql),
        false,
    ))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn every_file_is_a_migration() {
        for (engine, files, migrator) in [
            ("sqlite", SQLITE, sqlite()),
            ("postgres", POSTGRES, postgres()),
        ] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
            let found = fs::read_dir(folder.join(engine)).unwrap();
            let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
            let mut found: Vec<_> = found.map(|entry| name(entry.unwrap())).collect();
            found.sort();
            let listed: Vec<_> = files
                .iter()
                .map(|(name, _)| format!("{name}.sql"))
                .collect();
            assert_eq!(listed, found, "{engine}");
            let versions: Vec<_> = migrator.iter().map(|migration| migration.version).collect();
            assert_eq!(versions.len(), found.len(), "{engine}");
            assert!(versions.is_sorted(), "{engine}");
        }
    }
}
