//! The robots.txt in force: its text, a tester, and the violations.

mod check;
mod days;
mod file;
mod page;
mod violations;

pub(super) use check::CheckResult;
pub(super) use page::{RobotsTxtState, check_json, json, show};
