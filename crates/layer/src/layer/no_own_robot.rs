//! Stands in for the site robot's signature in builds without the feature `verify`.

use http::{HeaderMap, Request};

/// Key of a site robot of our own: without `verify` there is none.
#[derive(Clone, Debug)]
pub(super) enum OwnRobot {}

impl OwnRobot {
    /// No header is taken for its signature.
    pub(super) const NAME: &'static str = "";

    /// Returns `true` for no request, as there is no value to ask.
    pub(super) fn has_sent<B>(&self, _: &Request<B>, _: impl Fn() -> i64) -> bool {
        match *self {}
    }

    pub(super) fn take_off(_: &mut HeaderMap) {}
}
