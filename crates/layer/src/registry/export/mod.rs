//! Export of a registry for other programs: as lists, proxy maps, and robots.txt.

mod exported;
mod expression;
mod format;
mod maps;
mod robots_txt;
mod tokens;

pub use exported::{Exported, OmittedRobot};
pub use expression::Expression;
pub use format::ExportFormat;
pub use maps::{write_haproxy, write_nginx};
pub use tokens::write_list;

pub use robots_txt::write_robots_txt;
