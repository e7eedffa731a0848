//! Parsers for JSON and YAML lists, enabled by the feature `formats`.

pub(in crate::registry) mod ai_robots_txt;
pub(in crate::registry) mod crawler_user_agents;
pub(in crate::registry) mod matomo;
mod value;
