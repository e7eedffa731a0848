//! Export of a registry for other programs: as lists, proxy maps, and robots.txt.

mod ai_robots_txt;
mod crawler_user_agents;
mod exported;
mod expression;
mod format;
mod maps;
mod matomo;
mod robots_txt;
mod tokens;

pub use ai_robots_txt::write_ai_robots_txt;
pub use crawler_user_agents::write_crawler_user_agents;
pub use exported::{Exported, OmittedRobot};
pub use expression::Expression;
pub use format::ExportFormat;
pub use maps::{write_haproxy, write_nginx};
pub use matomo::write_matomo;
pub use tokens::write_list;

pub use robots_txt::write_robots_txt;
