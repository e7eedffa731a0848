//! Live rules, and the pause of all enforcement: pages, forms and JSON.

mod form;
mod json;
mod page;
mod pause;
mod view;

pub(super) use json::{
    AddedRule, NewRule, RulesInForce, add_json, list_json, remove_json, restore_json,
};
pub(super) use page::{add, confirm, form, list, remove, restore};
pub(super) use pause::{
    Pause, PauseBody, PauseView, pause, pause_json, pause_state_json, resume, resume_json,
};
pub(super) use view::LiveRuleView;
