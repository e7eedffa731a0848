//! Export of resource descriptions.

use std::io::{self, Write};

use super::entry::{directives, has_page};
use robot_detection_store::description::{ResourceDescription, name};

/// Format in which descriptions are exported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Export {
    Soif,
    JsonLines,
}

/// Attributes that are not exported: they are useless to others, or disclose pages that others must
/// not open.
///
/// Links may point to unpublished pages, and an IP address may belong to an internal server.
const KEPT_BACK: [&str; 4] = [name::LINKS, name::IP, name::ETAG, name::MARKS];

impl Export {
    pub(super) const ALL: [Self; 2] = [Self::Soif, Self::JsonLines];

    /// Returns the name of the export file.
    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Soif => "rd.soif",
            Self::JsonLines => "rd.jsonl",
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Soif => "text/plain; charset=utf-8",
            Self::JsonLines => "application/jsonl; charset=utf-8",
        }
    }

    /// Writes a description to the export if the description has a page.
    pub(super) fn write(
        self,
        description: &ResourceDescription,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if !has_page(description) {
            return Ok(());
        }
        self.write_public(&public(description), out)
    }

    /// Writes a description that [`public`] has returned.
    pub(super) fn write_public(
        self,
        public: &ResourceDescription,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match self {
            Self::Soif => robot_detection_store::description::write_soif(public, out),
            Self::JsonLines => robot_detection_store::description::write_json_line(public, out),
        }
    }
}

/// Returns the public part of a description that robots may index.
pub(super) fn public(description: &ResourceDescription) -> ResourceDescription {
    let mut public = description.clone();
    for name in KEPT_BACK {
        public.remove(name);
    }
    if !directives(description).archive() {
        for name in [name::FULL_TEXT, name::PARTIAL_TEXT, name::TABLE_OF_CONTENTS] {
            public.remove(name);
        }
    }
    public
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_attributes_are_not_exported() {
        let mut description = ResourceDescription::new("https://a.example/");
        for name in [
            name::TITLE,
            name::LINKS,
            name::IP,
            name::ETAG,
            name::FULL_TEXT,
        ] {
            description.set(name, "x");
        }
        let told = public(&description);
        let names: Vec<_> = told
            .attributes()
            .iter()
            .map(robot_detection_store::description::Attribute::name)
            .collect();
        assert_eq!(names, [name::TITLE, name::FULL_TEXT]);
        description.set(name::ROBOTS, "noarchive");
        assert_eq!(public(&description).value(name::FULL_TEXT), None);
        description.set(name::ROBOTS, "noindex");
        let mut out = Vec::new();
        Export::Soif.write(&description, &mut out).unwrap();
        assert!(out.is_empty());
    }
}
