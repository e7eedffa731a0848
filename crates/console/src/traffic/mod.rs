//! The traffic pages, which show visitors, their requests and the decisions on these requests.
//!
//! Each page loads the [`Traffic`] that the query selects, and shows its figures; JSON and CSV
//! contain the same figures.

mod area;
mod bar;
mod change;
mod explore;
mod history;
mod json;
mod loaded;
mod missing;
mod now;
mod number;
mod paths_page;
mod paths_table;
mod question;
mod robot_part;
mod robots_page;
mod sentences;
mod site_rows;

pub(super) use explore::{download, show as explore};
pub(super) use history::History;
pub(super) use json::{TrafficSeries, figures as figures_json, series as series_json};
pub(super) use loaded::{NamesAnswer, names};
pub(super) use now::{show as now, top};
pub(super) use number::group_digits;
pub(super) use paths_page::{
    PATHS, PathsAnswer, download as paths_csv, json as paths_json, show as paths,
};
pub(super) use question::{FIGURES, ROBOT, ROBOTS, SITES, TrafficParams, words};
pub(super) use robot_part::RobotTraffic;
pub(super) use robots_page::list as robots;
pub(super) use site_rows::SiteTraffic;
