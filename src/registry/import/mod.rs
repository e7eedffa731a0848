//! Registries that other projects publish.

#[cfg(feature = "formats")]
pub(super) mod ai_robots_txt;
#[cfg(feature = "formats")]
pub(super) mod crawler_user_agents;
pub(super) mod list;
#[cfg(feature = "formats")]
pub(super) mod matomo;
#[cfg(feature = "formats")]
mod urls;
#[cfg(feature = "formats")]
mod value;
