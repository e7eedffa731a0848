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

#[cfg(feature = "formats")]
pub(super) use self::{
    ai_robots_txt::function as ai_function,
    crawler_user_agents::tag as cua_tag,
    list::token_of_line as list_token,
    matomo::{category as matomo_category, inner as matomo_inner},
};
