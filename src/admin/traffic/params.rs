//! Parameters of the pages of traffic.

use serde::Deserialize;

/// Parameters of a page or of its JSON; what is empty is not asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::admin) struct TrafficParams {
    pub(in crate::admin) time: String,
    pub(in crate::admin) since: String,
    pub(in crate::admin) until: String,
    pub(in crate::admin) site: String,
    pub(in crate::admin) robot: String,
    pub(in crate::admin) operator: String,
    pub(in crate::admin) purpose: String,
    pub(in crate::admin) verdict: String,
    pub(in crate::admin) decision: String,
    pub(in crate::admin) visitors: String,
    pub(in crate::admin) cause: String,
    pub(in crate::admin) status: String,
    pub(in crate::admin) by: String,
    pub(in crate::admin) sort: String,
    pub(in crate::admin) dir: String,
}

/// Declares the names of the parameters of pages: those that all have, and their own.
macro_rules! lists {
    ($($(#[$doc:meta])* $LIST:ident = $($own:literal),*;)*) => {
        $($(#[$doc])*
        pub(in crate::admin) const $LIST: &[&str] = &[
            "time", "since", "until", "site", "robot", "operator", "purpose", "verdict", "decision",
            "visitors", "cause", "status", $($own),*
        ];)*
    };
}

lists! {
    /// Of the first page, of requests, and of figures as JSON and CSV.
    FIGURES = "by";
    /// Of the robots that came.
    ROBOTS = "by", "sort", "dir";
    /// Of a robot.
    ROBOT = "by", "id", "note";
    /// Of the sites.
    SITES =;
}
