//! The administrator's pages and JSON, over real HTTP and in a real browser.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod application;
mod browser;
mod changes;
mod charts;
mod evidence_page;
mod export;
mod guard;
mod guessing;
mod history;
mod json;
mod live_rules;
mod login;
mod looks;
mod missing;
mod needs;
mod nesting;
mod openapi;
mod pages;
mod queries;
mod site;
mod site_robot;
mod traffic;
mod traffic_looks;
mod verification;
pub(crate) mod visits;
mod weight;
