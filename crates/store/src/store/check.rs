//! Compiles all SQL statements to detect a database whose tables do not match the program.

use super::{
    Store, StoreError, address_ranges, admin, alerts, audit, bans, canonicals, changes,
    descriptions, error::Engine, evidence, frontier, instances, leases, link, live_rules, logins,
    orders, pace, probes, process_lock, publications, refreshes, replace, robots, secrets,
    statement::Statement, suspects, traffic,
};

impl Store {
    /// Compiles all SQL statements without running them.
    ///
    /// A test uses this to check that the tables match the program.
    ///
    /// # Errors
    ///
    /// Returns an error that contains the first statement rejected by the database.
    pub async fn check_statements(&self) -> Result<(), StoreError> {
        for statement in every_statement(self.database.place.engine) {
            self.database.prepare(&statement).await?;
        }
        Ok(())
    }
}

/// Returns all SQL statements, including every variant of those assembled at run time.
fn every_statement(engine: Engine) -> Vec<Statement> {
    let fixed = [
        address_ranges::FIXED,
        admin::FIXED,
        alerts::FIXED,
        audit::FIXED,
        bans::FIXED,
        canonicals::FIXED,
        descriptions::sql::FIXED,
        evidence::sql::FIXED,
        frontier::sql::FIXED,
        instances::FIXED,
        leases::FIXED,
        link::FIXED,
        live_rules::FIXED,
        logins::FIXED,
        orders::FIXED,
        pace::FIXED,
        probes::FIXED,
        publications::parity::FIXED,
        publications::sql::FIXED,
        refreshes::FIXED,
        replace::FIXED,
        robots::FIXED,
        suspects::FIXED,
        traffic::parameters::FIXED,
        traffic::paths::sql::FIXED,
        traffic::sql::FIXED,
        secrets::FIXED,
    ];
    let mut all: Vec<Statement> = fixed.into_iter().flatten().copied().cloned().collect();
    if engine == Engine::Postgres {
        all.extend(process_lock::LOCKS.map(Statement::clone));
        all.push(changes::NOTIFY.clone());
    }
    all.extend(descriptions::sql::assembled_statements());
    all.extend(evidence::sql::assembled_statements());
    all.extend(frontier::sql::assembled_statements(engine));
    all.extend(pace::assembled_statements());
    all.extend(publications::sql::assembled_statements());
    all.extend(replace::assembled_statements(engine));
    all.extend(traffic::sql::assembled_statements(engine));
    all
}
