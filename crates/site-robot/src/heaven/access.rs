//! Determines which part of a page a visitor may read.

use axum::http::{HeaderMap, header};

use super::content::Content;
use robot_detection_store::description::{ResourceDescription, name};

/// Name of the cookie that is set for visitors who are redirected to an original page.
const SENT: &str = "robot-heaven-sent";

/// Part of a page that a visitor may read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PageAccess {
    /// The complete page is shown.
    #[default]
    Full,
    /// The title and lead of the page are shown, with a link to the original.
    Lead,
    /// The visitor is redirected to the original, at most once a minute; otherwise, the title and
    /// lead are shown.
    Original,
}

impl PageAccess {
    /// Returns the access to pages that are served at the original's URL, where no redirect is
    /// possible.
    pub(super) fn in_place(self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Lead | Self::Original => Self::Lead,
        }
    }
}

/// Removes the text from a page description; if there is no description text, a summary of the text
/// is stored as the description first.
pub(super) fn reduce_to_lead(mut description: ResourceDescription) -> ResourceDescription {
    let has_lead = description
        .value(name::DESCRIPTION)
        .is_some_and(|lead| !lead.is_empty());
    if !has_lead {
        let lead = Content::new(&description).summary();
        description.set(name::DESCRIPTION, lead);
    }
    for text in [
        name::FULL_TEXT,
        name::PARTIAL_TEXT,
        name::MARKS,
        name::TABLE_OF_CONTENTS,
    ] {
        description.remove(text);
    }
    description
}

/// Returns `true` if a visitor was redirected to an original within the last minute.
pub(super) fn was_redirected(headers: &HeaderMap) -> bool {
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|line| line.to_str().ok());
    let mut names = cookies.flat_map(|line| line.split(';'));
    names.any(|cookie| cookie.trim().split('=').next() == Some(SENT))
}

/// Returns the cookie that marks a visitor as redirected to an original, valid below a path.
pub(super) fn cookie(path: &str) -> String {
    format!("{SENT}=1; Path={path}; Max-Age=60; HttpOnly; SameSite=Lax")
}
