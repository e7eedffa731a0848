//! Slips in the files of real sites, each with variants: rules that a named group loses, groups
//! without rules, and parameters that are matched in one position only.

use super::warnings;
use crate::{Dialect, RobotsTxt};

/// Returns the warnings of one kind, as `line text`; `|` ends a line of the file.
fn found(kind: &str, text: &str) -> Vec<String> {
    let all = warnings("rfc9309", text.replace('|', "\n")).into_iter();
    let all = all.filter(|it| it.kind.as_str() == kind);
    all.map(|it| format!("{} {}", it.line, it.text)).collect()
}

/// Checks the line and the quoted parts of the only warning of one kind.
fn assert_found(kind: &str, text: &str, line: usize, parts: &[&str]) {
    let found = found(kind, text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    assert!(
        found[0].starts_with(&format!("{line} ")),
        "{text}: {found:?}"
    );
    for part in parts {
        assert!(
            found[0].contains(&format!("{part:?}")),
            "{text}: {part}: {found:?}"
        );
    }
}

#[test]
fn rules_that_a_named_group_loses_are_reported_and_added() {
    const ALL: &str = "User-agent: *|Disallow: /checkout/|Disallow: /customer/||";
    let both = &["Disallow: /checkout/", "Disallow: /customer/"][..];
    let one = &["Disallow: /customer/"][..];
    // Each case is a group below `ALL`, the names in the warning and the lines to add.
    let groups: &[(&str, &[&str], &[&str])] = &[
        (
            "User-agent: GPTBot|User-agent: ClaudeBot|Disallow: /blog/|",
            &["GPTBot", "ClaudeBot"],
            both,
        ),
        ("User-agent: GPTBot|Disallow: /blog/|", &["GPTBot"], both),
        ("user-agent: gptbot|disallow: /blog/|", &["gptbot"], both),
        (
            "User-agent: GPTBot # OpenAI|Disallow: /blog/|",
            &["GPTBot"],
            both,
        ),
        ("User-agent: bingbot|Crawl-delay: 10|", &["bingbot"], both),
        ("User-agent: bingbot|Crawl-delay: 10", &["bingbot"], both),
        (
            "User-agent: GPTBot|Disallow:|Disallow: /a|",
            &["GPTBot"],
            both,
        ),
        (
            "User-agent: GPTBot|Allow: /|Disallow: /blog/|",
            &["GPTBot"],
            both,
        ),
        ("User-agent: GPTBot|Disallow: /checkout/|", &["GPTBot"], one),
        ("User-agent: GPTBot|Disallow: /checkout|", &["GPTBot"], one),
        ("User-agent: GPTBot|Disallow: /check*|", &["GPTBot"], one),
        (
            "User-agent: GPTBot|Disallow: /*/|Allow: /customer/a/|",
            &["GPTBot"],
            &[],
        ),
        (
            "User-agent: GPTBot|Disallow: /customer/$|Disallow: /checkout/|",
            &["GPTBot"],
            one,
        ),
        (
            "User-agent: GPTBot|Disallow: /customer/a|Disallow: /checkout/|",
            &["GPTBot"],
            one,
        ),
        (
            "User-agent: GPTBot|Disallow: /Customer/|Disallow: /checkout/|",
            &["GPTBot"],
            one,
        ),
        (
            "User-agent: Googlebot|Disallow: /*.pdf$|",
            &["Googlebot"],
            both,
        ),
        (
            "User-agent: GPTBot||User-agent: ClaudeBot|Disallow: /x|",
            &["GPTBot", "ClaudeBot"],
            both,
        ),
        (
            "User-agent: GPTBot|Disallow: /x|Content-Signal: ai-train=no|",
            &["GPTBot"],
            both,
        ),
        (
            "User-agent: GPTBot|Disallow: /x|Sitemap: https://a.example/s|",
            &["GPTBot"],
            both,
        ),
        (
            "User-agent: GPTBot|Disallow: /x|Disallow: /x|",
            &["GPTBot"],
            both,
        ),
    ];
    for (group, names, lines) in groups {
        let text = format!("{ALL}{group}");
        if lines.is_empty() {
            assert_eq!(found("lost-rules", &text), [""; 0], "{text}");
            continue;
        }
        assert_found("lost-rules", &text, 5, names);
        assert_found("lost-rules", &text, 5, lines);
        let file = RobotsTxt::parse(text.replace('|', "\n").as_bytes(), Dialect::default());
        let again = RobotsTxt::parse(&file.inherited(), Dialect::default());
        assert!(
            !again.for_robot(names[0]).check("/customer/1").allowed(),
            "{text}"
        );
        assert_eq!(again.inherited(), file.inherited(), "{text}");
        let inherited = String::from_utf8(file.inherited()).unwrap();
        let mut kept = inherited.lines();
        assert!(
            text.split('|')
                .filter(|line| !line.is_empty())
                .all(|line| kept.any(|other| other == line)),
            "{text}"
        );
    }
    for (text, line, parts) in [
        (
            "User-agent: GPTBot|Disallow: /b||User-agent: *|Disallow: /a|",
            1,
            &["Disallow: /a"][..],
        ),
        (
            "User-agent: GPTBot|Disallow: /b||User-agent: *|Disallow: /a|Disallow: /a|",
            1,
            &["Disallow: /a"],
        ),
        (
            "User-agent: *|Disallow: /a||User-agent: x|Disallow: /b||User-agent: *|Disallow: /b|",
            4,
            &["Disallow: /a"],
        ),
        (
            "User-agent: *|Disallow: /*?|User-agent: x|Disallow: /b|",
            3,
            &["Disallow: /*?"],
        ),
        (
            "User-agent: *|Disallow: /*.pdf$|User-agent: x|Disallow: /b|",
            3,
            &["Disallow: /*.pdf$"],
        ),
        (
            "User-agent: *|Allow: /a/b/|Disallow: /a/|User-agent: x|Disallow: /b|",
            4,
            &["Allow: /a/b/", "Disallow: /a/"],
        ),
        (
            "User-agent: *|Disallow: *a|User-agent: x|Disallow: /b|",
            3,
            &["Disallow: *a"],
        ),
        (
            "User-agent: *|Disallow: /ä|User-agent: x|Disallow: /b|",
            3,
            &["Disallow: /ä"],
        ),
        (
            "User-agent: *|Disallow: /a|User-agent: x|Disallow: /b|User-agent: y|Disallow: /a|",
            3,
            &["x"],
        ),
        (
            "User-agent: *|Disallow: /a|User-agent: x|Disallow: /b|User-agent: X|Disallow: /c|",
            3,
            &["x"],
        ),
    ] {
        assert_found("lost-rules", text, line, parts);
    }
    let usage = "User-agent: *|Content-Usage: train-ai=n|Content-Signal: ai-train=no|Disallow: /a|";
    for (group, parts) in [
        (
            "Disallow: /a|",
            &["Content-Usage: train-ai=n", "Content-Signal: ai-train=no"][..],
        ),
        (
            "Disallow: /a|Content-Usage: search=y|",
            &["Content-Signal: ai-train=no"],
        ),
        (
            "Disallow: /b|Content-Signal: search=yes|",
            &["Disallow: /a", "Content-Usage: train-ai=n"],
        ),
    ] {
        let text = format!("{usage}User-agent: x|{group}");
        assert_found("lost-rules", &text, 5, parts);
        let file = RobotsTxt::parse(text.replace('|', "\n").as_bytes(), Dialect::default());
        let again = RobotsTxt::parse(&file.inherited(), Dialect::default());
        assert_eq!(again.inherited(), file.inherited(), "{text}");
    }
    // A robot that may fetch nothing needs no preferences.
    let closed = format!("{usage}User-agent: x|Disallow: /|");
    assert_eq!(found("lost-rules", &closed), [""; 0]);
    // The names are as their owners mean them.
    for text in [
        "User-agent: *|Disallow: /||User-agent: Googlebot|Disallow: /b|",
        "User-agent: *|Disallow: /a||User-agent: Googlebot|Disallow:|",
        "User-agent: *|Disallow: /badges|Disallow: /user-api-key||User-agent: Googlebot|Disallow: /admin/|",
        "User-agent: *|Disallow: /a||User-agent: GPTBot|Allow: /|",
        "User-agent: *|Disallow: /a||User-agent: Googlebot-Image|Allow: /images/|",
        "User-agent: *|Disallow: /a||User-agent: Mediapartners-Google|Allow: /|",
        "User-agent: *|Disallow: /a||User-agent: Twitterbot|Allow: /|Disallow: /b|",
        "User-agent: *|Disallow: /a||User-agent: GPTBot|Allow: /a|Disallow: /b|",
        "User-agent: *|Disallow: /a||User-agent: GPTBot|Disallow: /|",
        "User-agent: *|Disallow: /a||User-agent: GPTBot|Disallow: /b|Disallow: /a|",
        "User-agent: *|Disallow:||User-agent: GPTBot|Disallow: /b|",
        "User-agent: *|User-agent: GPTBot|Disallow: /b|",
    ] {
        assert_eq!(found("lost-rules", text), [""; 0], "{text}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn groups_without_rules_that_the_next_group_closes_are_reported() {
    let rest = [
        "User-agent: GPTBot|Disallow: /",
        "User-agent: a|User-agent: b|Disallow: /x|",
        "User-agent: a||Disallow: /x|Allow: /",
    ];
    for before in [
        "User-agent: *||",
        "User-agent: *|||",
        "User-agent: *| |",
        "User-agent: *|# AI|",
        "User-agent: *|Crawl-delay: 9|",
        "user-agent:*|Sitemap: https://a.example/s||",
        "User-agent: *|Request-rate: 1/5||",
        "User-agent: *|# a||",
    ] {
        for rest in rest {
            assert_found("empty-group", &format!("{before}{rest}"), 1, &["*"]);
        }
    }
    for (text, line, parts) in [
        (
            "User-agent: Googlebot||User-agent: GPTBot|Disallow: /",
            1,
            &["Googlebot".to_lowercase()][..],
        ),
        (
            "User-agent: bingbot|Crawl-delay: 5||User-agent: GPTBot|Disallow: /",
            1,
            &["bingbot".to_owned()],
        ),
        (
            "Sitemap: https://a.example/s|User-agent: a|User-agent: *||User-agent: b|Disallow: /",
            3,
            &["a".to_owned(), "*".to_owned()],
        ),
        (
            "User-agent: x|Crawl-delay: 5|User-agent: y|Disallow: /",
            1,
            &["x".to_owned()],
        ),
        (
            "User-agent: a|Disallow: /a||User-agent: *||User-agent: b|Disallow: /",
            4,
            &["*".to_owned()],
        ),
        (
            "User-agent: *||User-agent: a|Allow: /b|Disallow: /",
            1,
            &["/".to_owned()],
        ),
    ] {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_found("empty-group", text, line, &parts);
    }
    for text in [
        "User-agent: GPTBot||User-agent: CCBot||Disallow: /",
        "User-agent: *|User-agent: GPTBot|Disallow: /",
        "User-agent: GPTBot||User-agent: *|Disallow: /a",
        "User-agent: *||User-agent: GPTBot|Disallow:",
        "User-agent: *|Disallow:||User-agent: GPTBot|Disallow: /",
        "User-agent: *||Disallow: /a",
        "User-agent: Googlebot|# and|User-agent: GPTBot|Disallow: /",
        "User-agent: Googlebot||User-agent: bingbot|Disallow: /",
    ] {
        assert_eq!(found("empty-group", text), [""; 0], "{text}");
    }
}

#[test]
fn parameters_matched_in_one_position_are_reported() {
    for name in ["diff", "add-to-cart", "SID", "filter[]", "a_b"] {
        for (path, other) in [
            ("/*&NAME=", "/*?NAME="),
            ("/*?NAME=", "/*&NAME="),
            ("/*?NAME", "/*&NAME"),
            ("/shop/*?NAME=1", "/shop/*&NAME=1"),
            ("/*?NAME=*", "/*&NAME=*"),
            ("/*?*&NAME=", "/*?NAME="),
            ("*&NAME=x$", "*?NAME=x$"),
        ] {
            let (path, other) = (path.replace("NAME", name), other.replace("NAME", name));
            let (line, other) = (format!("Disallow: {path}"), format!("Disallow: {other}"));
            let text = format!("User-agent: *|Disallow: /a|{line}|");
            assert_found("query-position", &text, 3, &[name, &line, &other]);
            assert_eq!(found("query-position", &format!("{text}{other}")), [""; 0]);
        }
    }
    for rules in [
        "Disallow: /*?*diff=",
        "Disallow: /*?",
        "Disallow: /*diff=",
        "Disallow: /x?diff=",
        "Allow: /*?diff=",
        "Disallow: /*?diff=|Disallow: /*diff",
        "Disallow: /*?diff=|Disallow: /*&",
        "Disallow: /*?diff=|Allow: /*&diff=",
        "Disallow: /*?&",
        "Disallow: /*?v*",
        "Disallow: /*title=*&diff=",
        "Disallow: /*?*=",
        "Disallow: /*?diff=|Disallow: /",
    ] {
        let text = format!("User-agent: *|{rules}");
        assert_eq!(found("query-position", &text), [""; 0], "{text}");
    }
    assert_eq!(warnings("v1", "User-agent: *\nDisallow: /*?a=\n").len(), 1);
}
