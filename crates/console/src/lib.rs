//! Internal crate of `robot-detection`: the administrator's console and its JSON API.
//!
//! [`router`] returns an axum router that can be nested at any path, because its links are
//! relative. With [`Access::Login`], the console requires a password; with [`Access::Open`], the
//! application protects the console with its own login. Requests that another site caused are
//! always refused.
//!
//! Pages and JSON use the same views: for example, `robots` and `api/v1/robots` show the same data.
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
mod assets;
mod bans;
mod changes;
mod credentials;
mod evidence;
mod fields;
mod filtering;
mod guard;
mod handlers;
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
mod routes;
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
    heavens_needing_attention, rfc3339, verify_password, without_port,
};

pub use robot_detection_operations::{InvalidTimeZone, TimeZone};
pub use routes::router;
pub use settings::{Access, Admin, ClientAddress};

/// The navigation entries in the order in which they are displayed.
const NAVIGATION: &[page::NavigationEntry] = &[
    page::NavigationEntry::new("overview", "Now"),
    page::NavigationEntry::new("evidence", "Evidence"),
    page::NavigationEntry::new("robots", "Robots"),
    page::NavigationEntry::new("paths", "Paths"),
    page::NavigationEntry::new("sites", "Sites"),
    page::NavigationEntry::new("rules", "Rules"),
    page::NavigationEntry::new("robots-txt", "robots.txt"),
    page::NavigationEntry::new("verification", "Verification"),
    page::NavigationEntry::new("suspects", "Suspects"),
    page::NavigationEntry::new("site-robot", "Site robot"),
    page::NavigationEntry::sub_entry("identify", "Identify"),
    page::NavigationEntry::sub_entry("sources", "Sources"),
    page::NavigationEntry::sub_entry("bans", "Bans"),
    page::NavigationEntry::sub_entry("alerts", "Alerts"),
    page::NavigationEntry::sub_entry("changes", "Changes"),
    page::NavigationEntry::sub_entry("settings", "Settings"),
];
