//! Parsers for JSON and YAML lists, enabled by the feature `formats`.

pub(in crate::registry) mod ai_robots_txt;
pub(in crate::registry) mod crawler_user_agents;
pub(in crate::registry) mod matomo;
mod value;

pub(in crate::registry) use self::{
    ai_robots_txt::function as ai_function,
    crawler_user_agents::tag as cua_tag,
    matomo::{category as matomo_category, inner as matomo_inner},
};
