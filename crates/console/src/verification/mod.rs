//! The verdicts on robots' claims, recent impostors, and address lists.
//!
//! The page and `api/v1/verification` show the same data. `?robot=ID` limits the chart to one
//! robot; `sort` (`robot`, `requests`, `verified`, `unverifiable`, `spoofed`) and `dir` (`asc`,
//! `desc`) specify the order of the robots. Counts cover all instances and the last 24 hours.

mod fetches;
mod lists;
mod page;
mod robots;
mod totals;
mod view;

pub(super) use fetches::{FetchView, ListFetches};
pub(super) use page::{FetchBody, fetch, fetch_json, json, progress, show};
pub(super) use robots::sort_words;
pub(super) use totals::{TotalsView, Verdicts};
pub(super) use view::View;
