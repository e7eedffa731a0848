//! The migrations of both engines, as they were when the program was built.

use std::borrow::Cow;

use sqlx::{
    SqlStr,
    migrate::{Migration, MigrationType, Migrator},
};

/// Table that says which have been applied; an application may have sqlx's own beside it.
pub(super) const TABLE: &str = "robot_detection_migrations";

/// Reads the files of an engine, each with its name.
macro_rules! files {
    ($engine:literal) => {
        files! { $engine:
            "20261121100000_robots",
            "20261121100100_refreshes",
            "20261121100200_administrator",
            "20261122100000_resource_descriptions",
            "20261122100100_site_robot",
            "20261122110000_address_ranges",
            "20261122120000_texts_of_descriptions",
            "20261122130000_fewer_indexes",
            "20261122140000_links_of_urls",
            "20261123100000_robots_txt_copies",
            "20261123110000_own_robot_key",
            "20261123110100_site_robot_orders",
            "20261123120000_heaven_publications",
            "20261123130000_login_failures",
            "20261124100000_held_refreshes",
            "20261124110000_traffic",
            "20261124120000_audit_log",
            "20261124130000_evidence",
            "20261124140000_live_rules",
            "20261124150000_token_scopes",
            "20261124160000_alerts",
            "20261124170000_traffic_paths",
            "20261126120000_bans",
            "20261126130000_pace",
            "20261126150000_suspects",
            "20261126160000_way_out_keys",
            "20261126180000_traffic_packed",
            "20261126190000_evidence_suspect",
            "20261126200000_marks_of_texts",
            "20261127100000_aliases",
            "20261128100000_canonicals",
            "20261128200000_next_visits",
            "20261129100000_heaven_parity",
            "20261129110000_index_now",
            "20261201100000_instances",
            "20261202100000_instance_clocks",
            "20261203100000_read_pages_again",
            "20261204100000_probes",
            "20261205100000_traffic_import_sums",
            "20261206110000_heaven_addresses",
        }
    };
    ($engine:literal: $($name:literal,)*) => {
        &[$((
            $name,
            include_str!(concat!("../../migrations/", $engine, "/", $name, ".sql")),
        ),)*]
    };
}

/// Files with their names, in the order of their versions.
type Files = &'static [(&'static str, &'static str)];

const SQLITE: Files = files!("sqlite");
const POSTGRES: Files = files!("postgres");

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

/// Returns the migration of a file; its name is its version and what it is about.
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
