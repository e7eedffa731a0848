//! Writing of a parsed robots.txt file.

use std::fmt;

use super::{
    RobotsTxt,
    field::Field,
    written::{Path, Text},
};

/// A line of a robots.txt file that is being written.
struct Line<'f> {
    number: u32,
    field: &'static str,
    value: &'f [u8],
    is_path: bool,
    section: Section,
}

/// The section of a file to which a line belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Section {
    /// The line belongs to the group with this index.
    Group(usize),
    /// The line does not belong to any group.
    Outside,
}

/// Writes a robots.txt file with the same meaning in the same dialect.
///
/// Field names have their standard spelling, groups are separated by blank lines, and comments and
/// ignored lines are omitted. Invalid UTF-8 and control characters are percent-encoded.
///
/// ```
/// use robot_detection_robots_txt::{Dialect, RobotsTxt};
///
/// let text = b"useragent: a # who\nDISALLOW :/b\nuser-agent:*\rDisallow:";
/// let file = RobotsTxt::parse(text, Dialect::google());
/// assert_eq!(file.to_string(), "\
/// User-agent: a
/// Disallow: /b
///
/// User-agent: *
/// Disallow:
/// ");
/// ```
impl fmt::Display for RobotsTxt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.lines_read();
        lines.sort_by_key(|line| line.number);
        let mut before: Option<Section> = None;
        for line in &lines {
            if before
                .replace(line.section)
                .is_some_and(|before| before != line.section)
            {
                writeln!(formatter)?;
            }
            line.fmt(formatter)?;
        }
        Ok(())
    }
}

impl RobotsTxt {
    fn lines_read(&self) -> Vec<Line<'_>> {
        let parsed = &self.inner.parsed;
        let mut lines = Vec::new();
        for (at, group) in parsed.groups.iter().enumerate() {
            let section = Section::Group(at);
            lines.extend(parsed.agents_of(group).iter().map(|agent| Line {
                number: agent.line,
                field: name(Field::UserAgent),
                value: parsed.octets(agent.value),
                is_path: false,
                section,
            }));
            lines.extend(parsed.rules_of(group).iter().map(|rule| Line {
                number: rule.line,
                field: name(if rule.allow {
                    Field::Allow
                } else {
                    Field::Disallow
                }),
                value: parsed.octets(rule.path),
                is_path: true,
                section,
            }));
        }
        lines.extend(parsed.extras.iter().map(|extra| Line {
            number: extra.line,
            field: name(extra.field),
            value: parsed.octets(extra.value),
            is_path: matches!(extra.field, Field::Sitemap | Field::CleanParam),
            section: extra.group.map_or(Section::Outside, Section::Group),
        }));
        lines
    }
}

pub(super) const fn name(field: Field) -> &'static str {
    match field {
        Field::UserAgent => "User-agent",
        Field::Allow => "Allow",
        Field::Disallow => "Disallow",
        Field::CrawlDelay => "Crawl-delay",
        Field::RequestRate => "Request-rate",
        Field::Sitemap => "Sitemap",
        Field::Host => "Host",
        Field::CleanParam => "Clean-param",
        Field::ContentSignal => "Content-Signal",
        Field::ContentUsage => "Content-Usage",
        Field::License => "License",
        Field::VisitTime => "Visit-time",
        // The parser does not store lines with unknown fields; a `Comment` line would have no
        // effect.
        Field::Other => "Comment",
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_empty() {
            return writeln!(formatter, "{}:", self.field);
        }
        if self.is_path {
            return writeln!(formatter, "{}: {}", self.field, Path(self.value));
        }
        writeln!(formatter, "{}: {}", self.field, Text(self.value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Dialect;

    const URL: &str = "http://a.example/robots.txt";

    fn answers(file: &RobotsTxt) -> Vec<String> {
        let mut answers = Vec::new();
        for name in ["a", "b", "ab", "other"] {
            let robot = file.for_robot(name);
            answers.push(format!(
                "{:?} {:?}",
                robot.crawl_delay(),
                robot.request_rate()
            ));
            for path in [
                "/",
                "/a",
                "/b",
                "/aa",
                "/a/b?c",
                "/b%20c",
                "/b c",
                "/robots.txt",
            ] {
                answers.push(format!("{name} {path} {}", robot.check(path).allowed()));
            }
        }
        answers.push(format!("{:?}", file.sitemaps().collect::<Vec<_>>()));
        answers.push(format!("{:?}", file.host()));
        answers.push(file.clean_url("http://a.example/a?b=1&c=2").into_owned());
        answers.push(file.effective_url("http://a.example/a").into_owned());
        answers
    }

    fn written(dialect: &str, text: &str) -> String {
        let dialect = dialect.parse().expect("a preset");
        RobotsTxt::parse(text.as_bytes(), dialect).to_string()
    }

    #[test]
    fn ignored_lines_are_omitted() {
        let text = "# c\n Foo: bar\nDisallow: /orphan\nuser-agent : a\nContent-signal: ai-train=no\n\n\nDISALLOW:/a b\nSitemap:\n";
        assert_eq!(
            written("rfc9309", text),
            "User-agent: a\nContent-Signal: ai-train=no\nDisallow: /a b\nSitemap:\n"
        );
        assert_eq!(written("rfc9309", ""), "");
    }

    #[test]
    fn groups_remain_separate() {
        let text = "User-agent: a\nFoo: b\nUser-agent: b\nDisallow: /\n\nHost: c.example\n";
        assert_eq!(
            written("v1", text),
            "User-agent: a\n\nUser-agent: b\nDisallow: /\n\nHost: c.example\n"
        );
        let orphans = "Disallow: /a\n\nDisallow: /b\n\nUser-agent: a\nDisallow: /c\n";
        assert_eq!(written("v0", orphans), orphans);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn written_file_has_the_same_meaning(
            lines in proptest::collection::vec(
                prop_oneof![
                    "(User-agent|useragent)(: ?| )(a|b|ab|\\*|)( x|/1)?",
                    "(Allow|Disallow|dissalow)(: ?| )(/|/a|/b|/a\\*b|/a\\$|)( c|%20|\x01|\u{85})?",
                    "(Crawl-delay|Request-rate): (1|1/5|0\\.5|x|)",
                    "(Host|Sitemap|Clean-param): ?(b|https://b\\.example:81|b /a|)",
                    "(Content-Signal|Foo|Noindex)?(: b)?( #c)?",
                    Just(String::new()),
                ],
                0..16,
            ),
            end in proptest::sample::select(vec!["\n", "\r\n", "\r"]),
        ) {
            let text = lines.join(end);
            for name in Dialect::names() {
                let dialect: Dialect = name.parse().expect("a preset");
                let file = RobotsTxt::parse_from(URL, text.as_bytes(), dialect);
                let again = file.to_string();
                let file_again = RobotsTxt::parse_from(URL, again.as_bytes(), dialect);
                prop_assert_eq!(answers(&file), answers(&file_again), "{}: {:?}", name, again);
                prop_assert_eq!(&again, &file_again.to_string(), "{}", name);
            }
        }

        #[test]
        fn arbitrary_octets_are_written_as_text(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            let file = RobotsTxt::parse(&octets, Dialect::rfc9309());
            let again = RobotsTxt::parse(file.to_string().as_bytes(), Dialect::rfc9309());
            prop_assert_eq!(file.groups().count(), again.groups().count());
        }
    }
}
