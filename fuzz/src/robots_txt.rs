//! A robots.txt in every dialect, queried about the path that follows it.
//!
//! `cargo +nightly fuzz run robots_txt fuzz/corpus tests/data/robots_txt`: new inputs are written
//! to the first directory.

use robot_detection::robots_txt::{Dialect, RobotRules, RobotsTxt};

/// Queries a path until an index is built, which must not change the result.
fn ask(me: &RobotRules, url: &str) {
    let first = me.check(url);
    for _ in 0..4 {
        assert_eq!(me.check(url), first, "{url}");
    }
    let implied = first.rule().is_some_and(|rule| rule.is_implied());
    assert!(first.allowed() || first.rule().is_some());
    assert!(implied || first.rule().is_none_or(|rule| rule.line() > 0));
    let _ = (me.crawl_delay(), me.request_rate(), first.is_fallback());
}

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    // The first byte selects the dialect, the last line is the queried path.
    let Some((choice, bytes)) = bytes.split_first() else {
        return;
    };
    let names = Dialect::names();
    let name = names[usize::from(*choice) % names.len()];
    let dialect: Dialect = name.parse().expect("a preset");
    let asked = bytes
        .rsplit(|octet| *octet == b'\n')
        .next()
        .unwrap_or_default();
    let asked = String::from_utf8_lossy(asked);
    let (robot, url) = asked.split_once(' ').unwrap_or(("a", &asked));
    let file = RobotsTxt::parse_from("http://host.example/robots.txt", bytes, dialect);
    ask(&file.for_robot(robot), url);
    ask(&file.for_header(robot), url);
    assert!(file.groups().map(|group| group.rules.len()).sum::<usize>() <= bytes.len());
    let _ = (
        file.host(),
        file.clean_url(url),
        file.effective_url(url),
        file.covers(url),
    );
    assert!(file.sitemaps().all(|sitemap| !sitemap.is_empty()));
    assert!(
        file.warnings()
            .iter()
            .all(|it| !it.text.contains(char::is_control))
    );
    let again = RobotsTxt::parse(file.to_string().as_bytes(), dialect);
    assert_eq!(again.groups().count(), file.groups().count());
}
