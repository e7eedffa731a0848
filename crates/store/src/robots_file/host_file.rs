//! The file of one host, made by its entry in the plan.

use std::borrow::Borrow;

use bytes::Bytes;

use robot_detection_layer::registry::Robot;
use robot_detection_robots_txt::RobotsTxt;

use super::{
    RobotsTxtContent,
    closing::closing,
    merged_file::{MergedFile, closed, merged_file, parse, with_host},
    plan::Entry,
};

/// File of one host.
pub(super) struct HostFile {
    /// What this program serves.
    pub(super) body: HostBody,
    /// Rules in force; `None` where there is no file.
    pub(super) file: Option<RobotsTxt>,
}

pub(super) enum HostBody {
    Site,
    Unknown,
    Ours {
        text: Bytes,
        modified_ms: Option<i64>,
        remark: Option<&'static str>,
    },
}

/// Sources of the files, besides the plan.
pub(super) struct Sources<'s, R> {
    /// Returns the upstream's file, if there has been an answer.
    pub(super) theirs: &'s dyn Fn() -> Option<Vec<u8>>,
    pub(super) has_upstream: bool,
    /// Robots that may be refused by name.
    pub(super) robots: &'s [R],
    /// Paths that each group is to close.
    pub(super) closed: &'s [String],
}

impl HostFile {
    /// Makes the file of one host; `merged` is what was merged for it, before and after.
    pub(super) fn new<R: Borrow<Robot>>(
        entry: &Entry,
        sources: &Sources<'_, R>,
        merged: &mut Option<MergedFile>,
    ) -> Self {
        let made = Self::open(entry, sources, merged);
        match (made.body, made.file) {
            (
                HostBody::Ours {
                    text,
                    modified_ms,
                    remark,
                },
                _,
            ) if !sources.closed.is_empty() => {
                let text = Bytes::from(closing(&text, sources.closed));
                Self {
                    file: Some(parse(&text)),
                    body: HostBody::Ours {
                        text,
                        modified_ms,
                        remark,
                    },
                }
            }
            (body, file) => Self { body, file },
        }
    }

    /// Makes it without the paths that are closed in each group.
    fn open<R: Borrow<Robot>>(
        entry: &Entry,
        sources: &Sources<'_, R>,
        merged: &mut Option<MergedFile>,
    ) -> Self {
        let earlier = merged.take();
        let (content, main) = match entry {
            Entry::MirrorOf(main) => return Self::ours(closed(main), None),
            Entry::Content { content, main } => (content, main.as_ref()),
        };
        match content.as_ref() {
            RobotsTxtContent::Pass => Self {
                body: HostBody::Site,
                // We do not serve it, and hold robots to it all the same.
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
                        body: HostBody::Unknown,
                        // Our rules are in force until the upstream's are known.
                        file: Some(parse(ours.as_bytes())),
                    };
                }
                let merged_file = merged_file(&theirs.unwrap_or_default(), &ours, earlier.as_ref());
                Self::from(&*merged.insert(merged_file))
            }
        }
    }

    fn ours(text: impl Into<Bytes>, modified_ms: Option<i64>) -> Self {
        let text = text.into();
        Self {
            file: Some(parse(&text)),
            body: HostBody::Ours {
                text,
                modified_ms,
                remark: None,
            },
        }
    }
}

impl From<&MergedFile> for HostFile {
    fn from(merged_file: &MergedFile) -> Self {
        Self {
            file: Some(parse(&merged_file.text)),
            body: HostBody::Ours {
                text: merged_file.text.clone(),
                modified_ms: None,
                remark: merged_file.remark,
            },
        }
    }
}
