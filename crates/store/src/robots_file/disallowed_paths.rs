//! Disallows paths in every group of a robots.txt file.

use robot_detection_robots_txt::RobotsTxt;

use super::merged_file::{merged, parse};

/// Disallows paths in each group of a robots.txt file, since a robot obeys only its own group.
pub(super) fn disallow_paths(text: &[u8], paths: &[String]) -> Vec<u8> {
    let closed = |path: &String| format!("Disallow: {path}\n");
    let closed: String = paths.iter().map(closed).collect();
    let file = parse(text);
    if !is_by_lines(text) {
        // The parser also ends lines at a lone CR (RFC 9309 §2.2): its line numbers are unusable.
        let ours = parse(format!("User-agent: *\n{closed}").as_bytes());
        return merged(&file, &ours).0;
    }
    let first_rules = file
        .groups()
        .filter_map(|group| Some(group.rules.first()?.line()));
    let mut places: Vec<_> = first_rules.collect();
    places.sort_unstable();
    let mut lines: Vec<&[u8]> = text.split_inclusive(|octet| *octet == b'\n').collect();
    // In each group, as some programs only read the first matching group.
    for place in places.into_iter().rev() {
        lines.insert(place.saturating_sub(1).min(lines.len()), closed.as_bytes());
    }
    let mut text = lines.concat();
    let agents = without_rules(&file);
    if !agents.is_empty() {
        if !text.is_empty() {
            text.extend_from_slice(if text.ends_with(b"\n") {
                b"\n"
            } else {
                b"\n\n"
            });
        }
        let agents = agents.iter().map(|agent| format!("User-agent: {agent}\n"));
        text.extend(agents.collect::<String>().as_bytes());
        text.extend(closed.as_bytes());
    }
    text
}

/// Returns the user agents of robots.txt groups without rules, and `*` if no group applies to all
/// robots.
fn without_rules(file: &RobotsTxt) -> Vec<String> {
    let bare = file.groups().filter(|group| group.rules.is_empty());
    let mut agents: Vec<_> = bare
        .flat_map(|group| group.agents)
        .map(std::borrow::Cow::into_owned)
        .collect();
    let mut groups = file.groups();
    if !groups.any(|group| group.agents.iter().any(|agent| agent == "*")) {
        agents.push("*".to_owned());
    }
    agents
}

fn is_by_lines(text: &[u8]) -> bool {
    let mut lines = text.split_inclusive(|octet| *octet == b'\n');
    !text.contains(&b'\r')
        || lines.all(|line| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            !line.contains(&b'\r')
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn closed(text: &str) -> String {
        let paths = ["/a/trap.html".to_owned(), "/b/trap.html".to_owned()];
        String::from_utf8(disallow_paths(text.as_bytes(), &paths)).unwrap()
    }

    const TRAPS: &str = "Disallow: /a/trap.html\nDisallow: /b/trap.html\n";

    #[test]
    fn each_group_disallows_the_paths_and_keeps_its_rules() {
        for (text, expected) in [
            ("", "User-agent: *\nTRAPS"),
            (
                "User-agent: *\nDisallow:\n",
                "User-agent: *\nTRAPSDisallow:\n",
            ),
            (
                "# Ours\nUser-agent: *\nCrawl-delay: 5\nAllow: /\n\nUser-agent: a\nUser-agent: b\n# both\nDisallow: /x\nSitemap: https://a.example/s.xml",
                "# Ours\nUser-agent: *\nCrawl-delay: 5\nTRAPSAllow: /\n\nUser-agent: a\nUser-agent: b\n# both\nTRAPSDisallow: /x\nSitemap: https://a.example/s.xml",
            ),
            (
                "User-agent: a\r\nDisallow: /x",
                "User-agent: a\r\nTRAPSDisallow: /x\n\nUser-agent: *\nTRAPS",
            ),
            (
                "User-agent: *\nDisallow: /x\n\nUser-agent: a\nCrawl-delay: 9\n",
                "User-agent: *\nTRAPSDisallow: /x\n\nUser-agent: a\nCrawl-delay: 9\n\nUser-agent: a\nTRAPS",
            ),
        ] {
            assert_eq!(closed(text), expected.replace("TRAPS", TRAPS), "{text}");
        }
    }

    proptest! {
        #[test]
        fn paths_are_disallowed_for_all_robots_in_any_file(
            lines in proptest::collection::vec(
                ("(User-agent|user-agent|Allow|Disallow|Crawl-delay|Sitemap|x)", "(\\*|a|b|/|/a|/a/b|5|)", "(\n|\r\n|\r|\n\n)"),
                0..12,
            ),
        ) {
            let lines = lines.iter().map(|(field, value, end)| format!("{field}: {value}{end}"));
            let text = lines.collect::<Vec<_>>().concat();
            let (before, after) = (parse(text.as_bytes()), parse(closed(&text).as_bytes()));
            for robot in ["a", "b", "c"] {
                let (before, after) = (before.for_robot(robot), after.for_robot(robot));
                prop_assert!(!after.check("/a/trap.html").allowed(), "{robot} {text:?}");
                for path in ["/", "/a", "/a/b", "/c"] {
                    prop_assert_eq!(before.check(path).allowed(), after.check(path).allowed());
                }
            }
        }
    }
}
