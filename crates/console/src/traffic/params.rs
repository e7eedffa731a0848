//! Parameters of the pages of traffic.

use serde::Deserialize;

/// Parameters of a page or of its JSON; what is empty is not asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TrafficParams {
    pub(crate) time: String,
    pub(crate) since: String,
    pub(crate) until: String,
    pub(crate) site: String,
    pub(crate) robot: String,
    pub(crate) operator: String,
    pub(crate) purpose: String,
    pub(crate) verdict: String,
    pub(crate) decision: String,
    pub(crate) visitors: String,
    pub(crate) cause: String,
    pub(crate) status: String,
    pub(crate) by: String,
    pub(crate) sort: String,
    pub(crate) dir: String,
}

/// Declares the names of the parameters of pages: those that all have, and their own.
macro_rules! lists {
    ($($(#[$doc:meta])* $LIST:ident = $($own:literal),*;)*) => {
        $($(#[$doc])*
        pub(crate) const $LIST: &[&str] = &[
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
