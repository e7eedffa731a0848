//! The registry: listing, adding and removing robots.

mod by_hand;
mod list;
mod view;

pub use by_hand::{NewRobot, PutRobot, add, put, remove};
pub use list::{ListRobots, RobotViews, Row, bundled, find, list, select, stored};
pub use view::{HitView, PatternView, RobotLinkView, RobotView, is_web_link, shown_name, title};
