//! A registry as text for other programs: lists, proxies, robots.txt.

mod ai_robots_txt;
mod crawler_user_agents;
mod exported;
mod expression;
mod format;
mod haproxy;
mod list;
mod matomo;
mod nginx;
mod robots_txt;
mod text;
mod tokens;

pub use ai_robots_txt::write_ai_robots_txt;
pub use crawler_user_agents::write_crawler_user_agents;
pub use exported::{Exported, OmittedRobot};
pub use expression::Expression;
pub use format::ExportFormat;
pub use haproxy::write_haproxy;
pub use list::write_list;
pub use matomo::write_matomo;
pub use nginx::write_nginx;
pub use robots_txt::write_robots_txt;
