//! The robots.txt file of one host, generated from the host's plan entry.

use std::borrow::Borrow;

use bytes::Bytes;

use robot_detection_layer::registry::Robot;
use robot_detection_robots_txt::RobotsTxt;

use super::{
    RobotsTxtContent,
    disallowed_paths::disallow_paths,
    merged_file::{MergedFile, merged_file, mirror_file, parse, with_host},
    plan::Entry,
};

/// The robots.txt file of one host.
pub(super) struct HostFile {
    /// The content of the robots.txt file, if this program serves the file.
    pub(super) body: HostBody,
    /// The robots.txt rules to enforce; `None` if there is no file.
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

/// The inputs for generating robots.txt files, in addition to the plan.
pub(super) struct Sources<'s, R> {
    /// A function that returns the upstream's robots.txt, if it has been fetched.
    pub(super) theirs: &'s dyn Fn() -> Option<Vec<u8>>,
    pub(super) has_upstream: bool,
    /// The robots that may be disallowed by name.
    pub(super) robots: &'s [R],
    /// The paths to disallow in each group of the robots.txt file.
    pub(super) closed: &'s [String],
}

impl HostFile {
    /// Generates the robots.txt file of one host. A merged file is stored in `merged` for reuse.
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
                let text = Bytes::from(disallow_paths(&text, sources.closed));
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

    /// Generates a robots.txt file, without the paths to disallow in each group.
    fn open<R: Borrow<Robot>>(
        entry: &Entry,
        sources: &Sources<'_, R>,
        merged: &mut Option<MergedFile>,
    ) -> Self {
        let earlier = merged.take();
        let (content, main) = match entry {
            Entry::MirrorOf(main) => return Self::ours(mirror_file(main), None),
            Entry::Content { content, main } => (content, main.as_ref()),
        };
        match content.as_ref() {
            RobotsTxtContent::Pass => Self {
                body: HostBody::Site,
                // This program does not serve the file, but still enforces it.
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
                        // Our rules are enforced until the upstream's rules are known.
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
