//! Who gets which part of a page.

use axum::http::{HeaderMap, header};

use super::content::Content;
use robot_detection_store::description::{ResourceDescription, name};

/// Cookie of whoever was sent to an original.
const SENT: &str = "robot-heaven-sent";

/// Part of a page that a visitor gets.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PageAccess {
    /// All of it.
    #[default]
    Full,
    /// Its title and lead, and where the original is.
    Lead,
    /// Nothing: he is sent to the original, once in a minute, and gets the lead if he comes back.
    Original,
}

impl PageAccess {
    /// Returns what is served at the original's own URL, where nobody can be sent.
    pub(super) fn in_place(self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Lead | Self::Original => Self::Lead,
        }
    }
}

/// Returns a page without its text; what it is about is its lead.
pub(super) fn lead_of(mut description: ResourceDescription) -> ResourceDescription {
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

/// Returns `true` if a visitor was sent to an original a moment ago.
pub(super) fn was_sent(headers: &HeaderMap) -> bool {
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|line| line.to_str().ok());
    let mut names = cookies.flat_map(|line| line.split(';'));
    names.any(|cookie| cookie.trim().split('=').next() == Some(SENT))
}

/// Returns the cookie by which he is known who was sent, below a path.
pub(super) fn cookie(path: &str) -> String {
    format!("{SENT}=1; Path={path}; Max-Age=60; HttpOnly; SameSite=Lax")
}
