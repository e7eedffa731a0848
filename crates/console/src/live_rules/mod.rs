//! The pages, forms and JSON API for live rules and for the pause of all enforcement.

mod form;
mod json;
mod page;

pub(super) use json::{
    add_json, list_json, pause_json, pause_state_json, put_json, remove_json, restore_json,
    resume_json,
};
pub(super) use page::{add, confirm, form, list, pause, remove, restore, resume};
