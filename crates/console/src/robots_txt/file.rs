//! The robots.txt files in force, and the lines in these files.

use schemars::JsonSchema;
use serde::Serialize;

use robot_detection_layer::detect::Detector;
use robot_detection_layer::policy::RobotsFiles;
use robot_detection_robots_txt::{RobotsTxt, Warning};
use robot_detection_store::robots_file::lint;

/// Maximum number of lines shown on a page; a robots.txt may have tens of thousands of lines.
const MAX_LINES: usize = 1_000;

/// Maximum number of characters of a line that are shown on a page.
const MAX_LINE_CHARS: usize = 300;

/// The robots.txt of one host, or of all hosts without a separate robots.txt.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotsTxtFile")]
pub(super) struct FileView {
    /// Host of the robots.txt; `None` for all hosts without a separate robots.txt.
    pub(super) host: Option<String>,
    pub(super) dialect: &'static str,
    pub(super) bytes: usize,
    pub(super) text: String,
    pub(super) warnings: Vec<WarningView>,
}

/// A warning about a line that robots may interpret in a way that was not intended.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotsTxtWarning")]
pub(super) struct WarningView {
    pub(super) line: usize,
    pub(super) text: String,
}

impl WarningView {
    /// Returns the warnings, except for warnings about names that registered robots use.
    pub(super) fn all(file: &RobotsTxt, detector: &Detector) -> Vec<Self> {
        let view = |warning: &Warning| Self {
            line: warning.line,
            text: warning.text.clone(),
        };
        lint(file, detector.robots()).iter().map(view).collect()
    }
}

/// An excerpt from the lines of a robots.txt.
#[derive(Clone, Debug)]
pub(super) struct Excerpt {
    pub(super) lines: Vec<LineView>,
    /// Number of lines in the robots.txt.
    pub(super) total: usize,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct LineView {
    pub(super) number: usize,
    pub(super) text: String,
    /// Whether this line of the robots.txt determined the result.
    pub(super) is_marked: bool,
}

impl FileView {
    pub(super) fn all(files: &RobotsFiles, detector: &Detector) -> Vec<Self> {
        let view = |(host, file): (Option<&str>, &RobotsTxt)| Self {
            host: host.map(str::to_owned),
            dialect: file.dialect().name,
            bytes: file.as_bytes().len(),
            text: String::from_utf8_lossy(file.as_bytes()).into_owned(),
            warnings: WarningView::all(file, detector),
        };
        sorted(files).into_iter().map(view).collect()
    }
}

/// Returns the files sorted by host; the file for all other hosts comes first.
pub(super) fn sorted(files: &RobotsFiles) -> Vec<(Option<&str>, &RobotsTxt)> {
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by_key(|(host, _)| *host);
    sorted
}

impl Excerpt {
    /// Returns the lines around the marked line or, if no line is marked, the first lines.
    pub(super) fn new(file: &RobotsTxt, marked: Option<usize>) -> Self {
        let total = lines(file.as_bytes()).count();
        let first = marked.map_or(0, |line| line.saturating_sub(MAX_LINES / 2));
        let first = first.min(total.saturating_sub(MAX_LINES));
        let shown = lines(file.as_bytes()).zip(1..).skip(first).take(MAX_LINES);
        let view = |(line, number): (&[u8], usize)| LineView {
            number,
            text: cut(&String::from_utf8_lossy(line)),
            is_marked: marked == Some(number),
        };
        Self {
            lines: shown.map(view).collect(),
            total,
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.lines.len() < self.total
    }

    pub(super) fn first(&self) -> usize {
        self.lines.first().map_or(0, |line| line.number)
    }

    pub(super) fn last(&self) -> usize {
        self.lines.last().map_or(0, |line| line.number)
    }
}

/// Splits a text at CR, LF and CRLF, in the same way as the lines of a robots.txt are counted.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest.filter(|bytes| !bytes.is_empty())?;
        let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let Some((line, behind)) = end.and_then(|end| bytes.split_at_checked(end)) else {
            rest = None;
            return Some(bytes);
        };
        rest = behind.strip_prefix(b"\r\n").or_else(|| behind.get(1..));
        Some(line)
    })
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_robots_txt::Dialect;

    fn file(text: &str) -> RobotsTxt {
        RobotsTxt::parse(text.as_bytes(), Dialect::default())
    }

    #[test]
    fn line_of_the_deciding_rule_is_marked() {
        for text in [
            "User-agent: *\nDisallow: /a\nDisallow: /b",
            "User-agent: *\r\nDisallow: /a\r\nDisallow: /b\r\n",
            "\r\rUser-agent: *\r\n\nDisallow: /a\rDisallow: /b\r",
            "\n\r\n\rUser-agent: *\n\rDisallow: /b\n\n",
        ] {
            let file = file(text);
            let robot = file.for_robot("x");
            let line = robot.check("/b").rule().unwrap().line();
            let marked = Excerpt::new(&file, Some(line)).lines;
            let marked: Vec<_> = marked.iter().filter(|line| line.is_marked).collect();
            assert_eq!(marked.len(), 1, "{text:?}");
            assert_eq!(marked[0].text, "Disallow: /b", "{text:?}");
        }
    }

    #[test]
    fn long_file_is_shown_around_the_marked_line() {
        let text = "Disallow: /a\n".repeat(5_000) + &"x".repeat(9_999);
        let empty = file("");
        assert!(Excerpt::new(&empty, None).lines.is_empty());
        let file = file(&text);
        let start = Excerpt::new(&file, None);
        assert_eq!(
            (start.first(), start.last(), start.total),
            (1, 1_000, 5_001)
        );
        let middle = Excerpt::new(&file, Some(3_000));
        assert_eq!((middle.first(), middle.last()), (2_501, 3_500));
        let end = Excerpt::new(&file, Some(5_001));
        assert_eq!((end.first(), end.last()), (4_002, 5_001));
        assert_eq!(end.lines[999].text.chars().count(), MAX_LINE_CHARS + 1);
    }
}
