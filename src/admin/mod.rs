//! The administrator's pages and their JSON.
//!
//! [`router`] gives an axum router that can be nested anywhere: its links are
//! relative. With [`Access::Login`] it asks for a password, with
//! [`Access::Open`] an application has put it behind a login of its own.
//! Either way it refuses requests that another site set in motion.
//!
//! Pages and JSON share their views: what `robots` shows, `api/robots` tells.
//!
//! # Example
//!
//! ```no_run
//! # fn example(admin: robot_detection::admin::Admin) -> axum::Router {
//! use robot_detection::admin;
//!
//! axum::Router::new().nest_service("/robot-detection/admin", admin::router(admin))
//! # }
//! ```

mod access;
mod account;
mod alerts;
mod api;
mod api_routes;
mod assets;
mod bans;
mod certificates;
mod changes;
mod credentials;
mod decision_view;
mod evidence;
mod export;
mod fields;
mod filtering;
mod fleet;
mod guard;
mod heaven_state;
mod heaven_use;
mod identify;
mod jobs;
mod listing;
mod live_rules;
mod login;
mod login_client;
mod login_limiter;
mod manual;
mod moment;
mod navigation;
mod needs;
mod openapi;
mod page;
mod parameters;
mod password;
mod problem;
mod refresh_job;
mod refreshes;
mod reloads;
mod robot_runs;
mod robot_view;
mod robots;
mod robots_txt;
mod router;
mod rules;
mod session;
mod settings;
mod settings_page;
mod site_list;
mod site_robot;
mod sites;
mod sorting;
mod sources;
mod sources_page;
mod state;
mod suspects;
mod time_zone;
mod traffic;
mod verification;

#[cfg(feature = "server")]
pub(crate) use alerts::AlertView;
#[cfg(feature = "server")]
pub(crate) use certificates::certificate_sentences;
pub use certificates::{Certificates, Notices, Report, ServedCertificate};
#[cfg(feature = "server")]
pub(crate) use credentials::{SessionView, TokenView, check_name, digest, parse_end};
#[cfg(feature = "server")]
pub(crate) use fleet::{clock_text, fleet_value, silent_seconds};
#[cfg(feature = "server")]
pub(crate) use heaven_state::{differing_sentence, held_sentence};
pub use heaven_use::HeavenUse;
#[cfg(feature = "server")]
pub(crate) use moment::rfc3339;
pub(crate) use password::{MIN_PASSWORD_CHARS, verify_password};
pub use password::{PasswordError, generate_password, hash_password};
pub use reloads::{ReloadFailure, ReloadOutcome, Reloads};
pub use robot_runs::RobotRuns;
pub use router::router;
pub use settings::{Access, Admin, ClientAddress, Setting, SharedSettings};
pub(crate) use site_list::DEFAULT_SITE;
pub use site_list::{AdminSite, SharedSites, SiteCounts, UpstreamRow};
pub use time_zone::{InvalidTimeZone, TimeZone};
