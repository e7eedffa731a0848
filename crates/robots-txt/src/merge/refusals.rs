//! Merging of two robots.txt files without their `Allow` rules.

use super::{
    super::RobotsTxt,
    groups::{MAX_BYTES, before, distinct_contents, reread, write_end, write_group},
    side::Side,
    union::RuleLine,
};

/// Combines the `Disallow` rules of two robots.txt files of any size, and omits their `Allow`
/// rules.
///
/// This function is used for files that cannot be [merged](super::merge). The result disallows at
/// least everything that either file disallows. Robots whose rules do not fit into 8 MiB may not
/// fetch anything.
#[must_use]
pub fn refusals(theirs: &RobotsTxt, ours: &RobotsTxt) -> Vec<u8> {
    let (theirs, ours) = (reread(theirs), reread(ours));
    let (theirs, ours) = (Side::new(&theirs), Side::new(&ours));
    let mut text = before(&theirs, &ours);
    let contents = distinct_contents(&theirs, &ours);
    let mut closed = contents.too_many;
    let mut everybody = Vec::new();
    for (content, names) in contents.groups {
        let mut rules: Vec<RuleLine> = content.ours.into_iter().chain(content.theirs).collect();
        // Without `Allow` rules, no rule overrides another rule, so the lists can be concatenated.
        rules.retain(|rule| !rule.allow);
        let mut group = Vec::new();
        write_group(&mut group, &names, &content.fields, &rules);
        if names == ["*"] {
            everybody = group;
        } else if text.len() + group.len() <= MAX_BYTES {
            text.extend(group);
        } else {
            closed.extend(names);
        }
    }
    if !closed.is_empty() {
        let all = RuleLine {
            allow: false,
            path: b"/".to_vec(),
        };
        write_group(&mut text, &closed, &[], &[all]);
    }
    text.extend(everybody);
    write_end(&mut text, &theirs, &ours);
    text
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::Dialect;

    fn parse(text: &str) -> RobotsTxt {
        RobotsTxt::parse(text.as_bytes(), Dialect::rfc9309())
    }

    #[test]
    fn each_robot_is_disallowed_what_either_file_disallows() {
        let theirs = "Host: old.example\nUser-agent: A\nDisallow: /a\nAllow: /a/b\n\n\
            User-agent: *\nDisallow: /all\nSitemap: https://www.example.com/s.xml\n";
        let ours = "User-agent: B\nDisallow: /\n\nUser-agent: *\nAllow: /x\nDisallow: /ours\nHost: www.example.com\n";
        let text = refusals(&parse(theirs), &parse(ours));
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "User-agent: A\nHost: www.example.com\nDisallow: /ours\nDisallow: /a\n\n\
             User-agent: B\nDisallow: /\nDisallow: /all\n\n\
             User-agent: *\nHost: www.example.com\nDisallow: /ours\nDisallow: /all\n\n\
             Sitemap: https://www.example.com/s.xml\n"
        );
    }

    #[test]
    fn robots_with_rules_that_do_not_fit_are_disallowed_everything() {
        let (mut theirs, mut ours) = (String::new(), "User-agent: *\n".to_owned());
        for n in 0..20_000 {
            let _ = writeln!(theirs, "User-agent: r{n}\nDisallow: /{n}");
        }
        for n in 0..500 {
            let _ = writeln!(ours, "Disallow: /a/rather/long/path/to/refuse/{n}");
        }
        let text = refusals(&parse(&theirs), &parse(&ours));
        assert!(text.len() < MAX_BYTES + (1 << 20), "{}", text.len());
        let file = RobotsTxt::parse(&text, Dialect::rfc9309());
        let allows = |robot: &str, path: &str| file.for_robot(robot).check(path).allowed();
        assert!(!allows("r0", "/0") && !allows("r0", "/a/rather/long/path/to/refuse/7"));
        assert!(allows("r0", "/b"));
        assert!(!allows("r19999", "/b"), "rules of this robot do not fit");
        assert!(allows("other", "/b") && !allows("other", "/a/rather/long/path/to/refuse/7"));
    }
}
