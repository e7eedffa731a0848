//! Internal crate of `robot-detection`: operations for administrators.
//!
//! Each operation is a function with a typed request and a typed response. The console's pages, the
//! JSON API and the commands call these functions and render the responses.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod alerts;
pub mod bans;
mod caller;
mod certificates;
pub mod decisions;
mod ends;
mod heaven_state;
mod heaven_use;
pub mod instances;
pub mod live_rules;
mod moment;
mod operations;
pub mod own_robot;
mod paging;
mod password;
pub mod preferences;
mod reloads;
mod robot_runs;
pub mod robots;
pub mod sessions;
mod settings;
mod sites;
mod time_zone;
pub mod tokens;
pub mod traffic;

pub use caller::{Caller, Invalid, Refusal};
pub use certificates::{
    CERTIFICATE_DAYS, Certificates, Notices, Report, ServedCertificate, certificate_sentences,
};
pub use ends::{length_ms, past_ms};
pub use heaven_state::{RunTimes, differing_sentence, heavens_needing_attention, held_sentence};
pub use heaven_use::HeavenUse;
pub use live_rules::LiveRules;
pub use moment::{Moment, duration_text, rfc3339};
pub use operations::Operations;
pub use paging::{MAX_LIMIT, Paging, cursor, filled};
pub use password::{
    MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS, PasswordError, generate_password, hash_password,
    verify_password,
};
pub use reloads::{ReloadFailure, ReloadOutcome, Reloads};
pub use robot_runs::RobotRuns;
pub use settings::{Setting, SharedSettings};
pub use sites::{
    AdminSite, DEFAULT_SITE, FindOwnPage, FindResponder, Provider, RefuseCopy, SharedSites,
    SiteCounts, UpstreamRow, without_port,
};
pub use time_zone::{InvalidTimeZone, TimeZone};
