//! Where links within texts lead to.

use std::borrow::Cow;

use super::{Catalogue, HeavenSettings};

/// Returns where a link of a page leads from its page in heaven; none where it is told as text.
///
/// What is described leads to its own page here. What else lies in the members' area is not
/// named: robots would not get it, and its URL is nobody's business.
pub(super) fn target<'u>(
    url: &'u str,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
) -> Option<Cow<'u, str>> {
    if catalogue.contains(url) {
        return Some(settings.link(url).into());
    }
    (!url.is_empty() && !settings.is_members_only(url)).then(|| url.into())
}
