//! The pages about the site robot: its current run, its earlier runs and its descriptions.

mod actions;
mod description_search;
mod descriptions;
mod explain;
mod page;
mod robot_site;
mod status;

pub(super) use actions::{
    ChangedPages, Cleared, QueuedPages, accept, accept_json, changed_json, clear, clear_json,
    confirm, pause, pause_json, resume, resume_json, run, run_json, stop, stop_json,
};
pub(super) use descriptions::{
    DescriptionList, OneDescription, list, list_json, show_description, show_description_json,
};
pub(super) use explain::{Explained, explain, explain_json};
pub(super) use page::{Runs, json, runs_json, show};
pub(super) use status::StatusView;
