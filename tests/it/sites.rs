//! Several sites in one process, over real HTTP and in a real browser.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin;
mod draining;
mod house;
mod reloading;
mod routing;
