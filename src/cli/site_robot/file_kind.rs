//! Recognises a configuration file by its name or its content.

use std::path::Path;

use crate::filter::Stage;
use crate::site_robot::RobotKey;

/// Kind of a configuration file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FileKind {
    Filter,
    Robot,
    FilterRules,
    Classification,
    MimeTypes,
}

impl FileKind {
    const ALL: [Self; 5] = [
        Self::Filter,
        Self::Robot,
        Self::FilterRules,
        Self::Classification,
        Self::MimeTypes,
    ];

    /// Returns the name of such a file.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter.conf",
            Self::Robot => "robot.conf",
            Self::FilterRules => "filterrules.conf",
            Self::Classification => "classification.conf",
            Self::MimeTypes => "mime.types",
        }
    }

    /// Recognises a file by its name, else by the first line that only such a file has.
    pub(super) fn of(file: &Path, text: &str) -> Option<Self> {
        let name = file.file_name().map(|name| name.to_string_lossy());
        let by_name = |kind: &Self| name.as_deref() == Some(kind.as_str());
        let by_line = || text.lines().find_map(|line| of_line(line.trim()));
        Self::ALL.into_iter().find(by_name).or_else(by_line)
    }
}

fn of_line(line: &str) -> Option<FileKind> {
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c.is_whitespace() || c == '=' || c == '>');
    let (word, rest) = line.split_at(end.unwrap_or(line.len()));
    let is = |known: &str| word.eq_ignore_ascii_case(known);
    if is("<filter") || Stage::named(word).is_some() {
        Some(FileKind::Filter)
    } else if ["<site", "<newsites", "<rules"].into_iter().any(is) {
        Some(FileKind::FilterRules)
    } else if is("class") || is("<classes") {
        Some(FileKind::Classification)
    // mime.types has `text/html html` in Apache's form and `type=text/html` in Sun's.
    } else if is("type") || (!rest.starts_with('=') && word.split('/').count() == 2) {
        Some(FileKind::MimeTypes)
    } else if rest.trim_start().starts_with('=') && (is("seed") || RobotKey::find(word).is_some()) {
        Some(FileKind::Robot)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_name_or_by_its_content() {
        for (name, text, kind) in [
            ("config/filter.conf", "", Some(FileKind::Filter)),
            ("mime.types", "", Some(FileKind::MimeTypes)),
            ("a", "# x\n\n<Filter name=a>", Some(FileKind::Filter)),
            ("a", "metadata fn=x", Some(FileKind::Filter)),
            ("a", "what=1\ndepth = 10", Some(FileKind::Robot)),
            ("a", "<NewSites>", Some(FileKind::FilterRules)),
            ("a", "Class name=x", Some(FileKind::Classification)),
            ("a", "text/html html", Some(FileKind::MimeTypes)),
            ("a", "type=text/html exts=htm", Some(FileKind::MimeTypes)),
            ("a", "", None),
            ("a", "User-agent: *", None),
        ] {
            assert_eq!(FileKind::of(Path::new(name), text), kind, "{name} {text}");
        }
    }
}
