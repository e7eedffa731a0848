//! Internal crate of `robot-detection`: the administrator's console and its JSON API.
//!
//! [`router`] returns an axum router that can be nested at any path: its links are relative. With
//! [`Access::Login`] it asks for a password; with [`Access::Open`] the application protects it with
//! its own login. In both cases it refuses requests that another site caused.
//!
//! Pages and JSON share their views: `robots` and `api/v1/robots` show the same data.
//!
//! # Example
//!
//! ```no_run
//! # fn example(admin: robot_detection_console::Admin) -> axum::Router {
//! axum::Router::new().nest_service("/robot-detection/admin", robot_detection_console::router(admin))
//! # }
//! ```

mod access;
mod account;
mod alerts;
mod api;
mod api_routes;
mod assets;
mod bans;
mod changes;
mod credentials;
mod evidence;
mod fields;
mod filtering;
mod guard;
mod identify;
mod jobs;
mod listing;
mod live_rules;
mod login;
mod login_client;
mod login_limiter;
mod manual;
mod openapi;
mod page;
mod parameters;
mod problem;
mod refresh_job;
mod refreshes;
mod robot_links;
mod robots;
mod robots_txt;
mod router;
mod session;
mod settings;
mod settings_page;
mod site_robot;
mod sites;
mod sorting;
mod sources;
mod state;
mod suspects;
mod traffic;
mod verification;

use robot_detection_operations::{
    AdminSite, CERTIFICATE_DAYS, DEFAULT_SITE, MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS, Moment,
    ReloadOutcome, Reloads, UpstreamRow, certificate_sentences, duration_text, hash_password,
    heavens_in_need, rfc3339, verify_password, without_port,
};

pub use robot_detection_operations::{InvalidTimeZone, TimeZone};
pub use router::router;
pub use settings::{Access, Admin, ClientAddress};
