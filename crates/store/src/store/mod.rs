//! The database: robots, refreshes, sources, address ranges, sessions, descriptions.
//!
//! `SQLite` is the embedded default; `PostgreSQL` can be shared by several instances. Both engines
//! run the same SQL statements. Times are in milliseconds since the Unix epoch.
//!
//! # Example
//!
//! ```
//! use robot_detection_layer::registry::{Robot, Source};
//! use robot_detection_store::store::Store;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), robot_detection_store::store::StoreError> {
//! let store = Store::connect("sqlite::memory:").await?;
//! let robot = Robot::new("examplebot", Source::manual());
//! store.robots().add(&robot, 1_800_000_000_000).await?;
//! assert!(store.robots().exists("examplebot").await?);
//! # Ok(())
//! # }
//! ```

/// Declares the handle type for a group of tables, and the [`Store`] method that returns the
/// handle.
macro_rules! handle {
    ($(#[$doc:meta])* $Handle:ident, $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Handle<'s> {
            pub(super) db: &'s std::sync::Arc<crate::store::database::Database>,
        }

        impl crate::store::Store {
            $(#[$doc])*
            pub fn $name(&self) -> $Handle<'_> {
                $Handle { db: &self.database }
            }
        }
    };
}

#[macro_use]
mod columns;
#[macro_use]
mod statement;
#[macro_use]
mod row;

mod address_ranges;
mod admin;
mod alerts;
mod audit;
mod backup;
mod bans;
mod canonicals;
mod changes;
mod check;
mod database;
mod descriptions;
mod error;
mod evidence;
mod frontier;
mod instances;
mod leases;
mod link;
mod live_rules;
mod logins;
mod migrations;
mod orders;
mod pace;
mod pools;
mod postgres;
mod probes;
mod process_lock;
mod publications;
mod recreate;
mod refreshes;
mod replace;
mod robots;
mod secrets;
mod sqlite;
mod sqlite_file;
#[expect(
    clippy::module_inception,
    reason = "the module is named after the type it defines"
)]
mod store;
mod suspects;
mod traffic;
mod transaction;

pub use address_ranges::{Ranges, StoredRanges};
pub use admin::{Access, AdminToken, StoredSession, TokenScope};
pub use alerts::{AlertAttempt, AlertState, Alerts};
pub use audit::{Audit, AuditEntry};
pub use bans::{Ban, Bans};
pub use canonicals::{Canonicals, LearnedCanonical, MAX_CANONICALS};
pub use descriptions::{
    DescriptionCursor, DescriptionEntry, DescriptionOrder, DescriptionQuery, Descriptions,
    SaveOutcome, StoredDescription,
};
pub use error::{DatabaseOutage, OutageLogger, StoreError, StoreErrorKind};
pub use evidence::{
    ANY_REASON, AddressNetwork, AddressRetention, BrokenRule, DeletedRows, DeletionFilter,
    EVIDENCE_EVENTS, Evidence, EvidenceBatch, EvidenceQuery, EvidenceRows, StoredEvidence,
    StoredViolation, ViolationDay,
};
pub use frontier::{
    AliasDescription, ClaimedUrl, DescriptionChange, DuplicateDescription, FoundUrl, Frontier,
    KnownUrl, NextVisit, OpenUrls, PageRecord, RecordSummary, RobotsTxtCopy, RunCommand, RunCounts,
    RunKey, RunState, StoredRun,
};
pub use instances::{Instances, StoredInstance};
pub use leases::{Lease, LeaseError, LeaseHolder, Leases};
pub use link::AvailabilityChange;
pub use live_rules::{
    AddRuleOutcome, LiveRuleChange, LiveRules, NewLiveRule, StoredLiveRule, StoredLiveRules,
    StoredPause,
};
pub use logins::LoginFailures;
pub use orders::{Orders, SiteRobotVersions, StoredOrder};
pub use pace::{Pace, RateLimitChanges, RateLimitDebt};
pub use pools::PoolState;
pub use probes::Probes;
pub use publications::{
    DIFFERS_FROM_ORIGINAL, DescriptionCounts, DifferingPage, Loss, LostDescription, ParityResult,
    ParityState, ParityTerms, Publication, Publications, StagedChange, StagedPages,
    StagedSelection, UnvisitedDescription, WITHDRAWN_BY_ADMIN,
};
pub use refreshes::{RefreshOutcome, RefreshRecord, Refreshes, SourceState};
pub use replace::RobotChanges;
pub use robots::{RobotCount, Robots};
pub use row::StoredRobot;
pub use secrets::ConfirmationKeys;
pub use store::Store;
pub use suspects::{StoredSuspects, Suspects};
pub use traffic::{
    CountedPaths, ImportProgress, LiveMinutes, MAX_PATH_BYTES, MinuteCounts, PackedParameters,
    ParameterKey, PathCount, PathKey, PathOmissions, PathSum, PathSums, TrafficBatch, TrafficCell,
    TrafficCount, TrafficImport, TrafficKey, TrafficRange, TrafficSeries, TrafficSpan, TrafficStep,
    TrafficSum, TrafficSums, parent_pattern, path_pattern, stored_path,
};
