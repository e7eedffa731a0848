//! A page's META tags and `X-Robots-Tag`, on the same bytes.
//!
//! `cargo +nightly fuzz run meta fuzz/corpus`: new inputs are written to the directory.

use std::mem::discriminant;

use robot_detection::robots_txt::meta::{PageMeta, RobotsDirectives, RobotsMeta, XRobotsTag};

/// Text that may follow a page.
const TAG: &[u8] = b"--></script></style></title></textarea><meta name=robots content=none>";

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let mut page = PageMeta::read(bytes);
    assert!(page.robots.statements().count() <= bytes.len());
    page.robots.add_header(bytes);
    for robot in ["", "Googlebot-News", "bingbot"] {
        let answer = page.robots.for_robot(robot);
        assert_eq!(answer.directives.iter().count(), answer.because.len());
        let written = answer.directives.to_string();
        assert_eq!(
            RobotsDirectives::parse(&written),
            answer.directives,
            "{written}"
        );
        let mut again = RobotsMeta::default();
        again.add_header(written.as_bytes());
        assert_eq!(
            again.for_all_robots().directives,
            answer.directives,
            "{written}"
        );
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = page.robots.for_robot(&text);
    if let Ok(tag) = text.parse::<XRobotsTag>() {
        let written = tag.to_string();
        assert_eq!(written.parse(), Ok(tag), "{written}");
    }
    // More of a page never removes a directive.
    let shorter = PageMeta::read(bytes);
    let longer = PageMeta::read(&[bytes, TAG].concat());
    for statement in shorter.robots.statements() {
        let kind = discriminant(&statement.directive);
        let mut others = longer.robots.statements();
        assert!(others.any(|other| discriminant(&other.directive) == kind));
    }
}
