//! The file of one host, made from what the plan says of it.

use std::borrow::Borrow;

use bytes::Bytes;

use crate::registry::Robot;
use crate::robots_txt::RobotsTxt;

use super::{
    RobotsTxtContent,
    file::{Both, both, closed, parse, with_host},
    plan::Entry,
};

/// File of a host, made.
pub(super) struct Made {
    /// What is served by us.
    pub(super) body: Body,
    /// What is in force; nothing where nobody has said anything.
    pub(super) file: Option<RobotsTxt>,
}

pub(super) enum Body {
    Site,
    Unknown,
    Ours {
        text: Bytes,
        modified_ms: Option<i64>,
        remark: Option<&'static str>,
    },
}

/// What files are made from, besides the plan.
pub(super) struct Sources<'s, R> {
    /// Returns the upstream's file, if there has been an answer.
    pub(super) theirs: &'s dyn Fn() -> Option<Vec<u8>>,
    pub(super) has_upstream: bool,
    /// Robots that may be refused by name.
    pub(super) robots: &'s [R],
}

impl Made {
    /// Makes the file of one host; `merged` is what was merged for it, before and after.
    pub(super) fn new<R: Borrow<Robot>>(
        entry: &Entry,
        sources: &Sources<'_, R>,
        merged: &mut Option<Both>,
    ) -> Self {
        let earlier = merged.take();
        let (content, main) = match entry {
            Entry::MirrorOf(main) => return Self::ours(closed(main), None),
            Entry::Content { content, main } => (content, main.as_ref()),
        };
        match content.as_ref() {
            RobotsTxtContent::Pass => Self {
                body: Body::Site,
                file: (sources.theirs)().map(|text| parse(&text)),
            },
            RobotsTxtContent::File { text, modified_ms } => {
                Self::ours(with_host(text.clone(), main), *modified_ms)
            }
            RobotsTxtContent::Settings(rules) => Self::ours(rules.text(sources.robots, main), None),
            RobotsTxtContent::Merge(rules) => {
                let ours = rules.text(sources.robots, main);
                let theirs = (sources.theirs)();
                if theirs.is_none() && sources.has_upstream {
                    return Self {
                        body: Body::Unknown,
                        // Until then ours hold at least.
                        file: Some(parse(ours.as_bytes())),
                    };
                }
                let both = both(&theirs.unwrap_or_default(), &ours, earlier.as_ref());
                Self::from(&*merged.insert(both))
            }
        }
    }

    fn ours(text: impl Into<Bytes>, modified_ms: Option<i64>) -> Self {
        let text = text.into();
        Self {
            file: Some(parse(&text)),
            body: Body::Ours {
                text,
                modified_ms,
                remark: None,
            },
        }
    }
}

impl From<&Both> for Made {
    fn from(both: &Both) -> Self {
        Self {
            file: Some(parse(&both.text)),
            body: Body::Ours {
                text: both.text.clone(),
                modified_ms: None,
                remark: both.remark,
            },
        }
    }
}
