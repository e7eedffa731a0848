mod slips;

use std::fmt::Write as _;

use proptest::prelude::*;

use super::warnings::MAX_WARNINGS;
use crate::{AgentsEnd, Dialect, RobotsTxt, Warning};

fn warnings(dialect: &str, text: impl AsRef<[u8]>) -> Vec<Warning> {
    let dialect = dialect.parse().expect("a dialect");
    RobotsTxt::parse(text.as_ref(), dialect).warnings()
}

/// Returns the lines and kinds of all warnings, such as `2 unknown-field`.
fn kinds(dialect: &str, text: impl AsRef<[u8]>) -> String {
    let warnings = warnings(dialect, text);
    let kinds = warnings.iter().map(|it| format!("{} {}", it.line, it.kind));
    kinds.collect::<Vec<_>>().join(", ")
}

fn assert_kinds(cases: &[(&str, &str, &str)]) {
    for (dialect, text, expected) in cases {
        assert_eq!(kinds(dialect, text), *expected, "{dialect}: {text:?}");
    }
}

#[test]
fn valid_file_has_no_warnings() {
    let text = "# A site\n\nUser-agent: *\nAllow: /private/open$\nDisallow: /private/*.html # inside\n\
                Crawl-delay: 10\nContent-Signal: search=yes\n\n\
                User-agent: MJ12bot\nUser-agent: other_robot\nDisallow: /\nRequest-rate: 1/10m 0800-1300\n\n\
                Host: www.shop.example\nClean-param: session&ref /shop/\nLicense: https://shop.example/l\n\
                Sitemap: https://shop.example/sitemap.xml\n";
    assert_eq!(kinds("rfc9309", text), "");
    assert_eq!(kinds("rfc9309", ""), "");
    assert_eq!(
        kinds(
            "tdg",
            "User-agent: a\nUser-agent: b\nDisallow: /a\n\nUser-agent: *\nAllow: /b\n"
        ),
        ""
    );
}

#[test]
fn unknown_fields_are_reported() {
    assert_kinds(&[
        ("rfc9309", "User-agent: *\nDissalow: /a", "2 unknown-field"),
        ("google", "User-agent: *\nDissalow: \n", "2 unknown-field"),
        ("rfc9309", "User-agent: *\nDisallow /a\n", "2 missing-colon"),
        (
            "google",
            "Useragent *\nDisallow /a\nDisallow\t/b c\n",
            "1 missing-colon, 2 missing-colon, 3 missing-colon",
        ),
        (
            "rfc9309",
            "hello world\n: x\n",
            "1 missing-colon, 2 unknown-field",
        ),
        (
            "rfc9309",
            "User-agent: *\nDisallow: /a\nNoindex: /b\n",
            "3 noindex",
        ),
        ("v0", "User-agent: *\nAllow: /a\n", "2 unknown-allow"),
    ]);
    for slip in ["Sitemaps", "Site-map", "Useragents", "Allowed", "Disallaw"] {
        let line = format!("{slip}: https://a.example/s.xml");
        let text = &warnings("google", &line)[0].text;
        assert!(text.contains("this dialect accepts it"), "{slip}: {text}");
    }
    for (line, next) in [
        (
            "https://a.example/s.xml",
            "if this is the URL of a sitemap, write Sitemap: before it",
        ),
        (
            "Colour: red",
            "remove the line, or start it with # if it is a comment",
        ),
        ("Noarchive: /", "or add a META tag"),
    ] {
        let text = &warnings("rfc9309", line)[0].text;
        assert!(text.ends_with(next), "{text}");
    }
    let [warning] = &warnings("rfc9309", "User_agent: *")[..] else {
        panic!("one warning");
    };
    assert_eq!(
        warning.text,
        "unknown field \"User_agent\": robots ignore the line; write User-agent"
    );
    let google = warnings("google", "Useragent *");
    assert!(google[0].text.contains("this dialect accepts it"));
}

#[test]
fn paths_are_checked() {
    let file = |path: &str| format!("User-agent: *\nDisallow: {path}\n");
    for (dialect, path, expected) in [
        ("rfc9309", "", ""),
        ("tdg", "", "2 empty-disallow"),
        ("rfc9309", "private/", "2 bad-path"),
        ("rfc9309", "*", "2 bad-path"),
        ("rfc9309", "*.pdf$", "2 bad-path"),
        ("v1", "*", "2 bad-path, 2 wildcard"),
        ("v1", "/a*b", "2 wildcard"),
        ("v1", "/a$", "2 wildcard"),
        ("v1", "/a$b", ""),
        ("rfc9309", "/a /b", "2 bad-path"),
        ("rfc9309", "https://shop.example/a", "2 full-url"),
        ("v0", "https://shop.example/a", ""),
        ("rfc9309", "/a%2", "2 bad-escape"),
        ("rfc9309", "/a%zz", "2 bad-escape"),
        ("rfc9309", "/a%2F%c3%A9", ""),
    ] {
        assert_eq!(kinds(dialect, file(path)), expected, "{dialect}: {path}");
    }
    assert_kinds(&[
        ("rfc9309", "User-agent: *\nAllow:\n", "2 empty-allow"),
        ("geoportal", "User-agent: *\nAllow:\n", "2 empty-allow"),
    ]);
    let text = &warnings("tdg", file(""))[0].text;
    assert!(text.contains("disallows everything"), "{text}");
}

#[test]
fn agents_must_be_product_tokens() {
    let file = |agent: &str| format!("User-agent: {agent}\nDisallow: /a\n");
    for (agent, expected) in [
        ("*", ""),
        ("Example-Robot_9", ""),
        ("", "1 empty-agent"),
        ("ExampleRobot/1.0", "1 bad-agent"),
        ("Example Robot", "1 bad-agent"),
        ("one, two", "1 bad-agent"),
        ("Example*", "1 bad-agent"),
        ("Beispiël", "1 bad-agent"),
        ("Mozilla/4.0 (compatible; Example)", "1 bad-agent"),
    ] {
        assert_eq!(kinds("rfc9309", file(agent)), expected, "{agent}");
    }
    let text = &warnings("rfc9309", file("ExampleRobot/1.0"))[0].text;
    assert!(text.ends_with("write User-agent: ExampleRobot"), "{text}");
    assert_eq!(kinds("google", file("MJ12bot")), "1 bad-agent");
    let text = &warnings("v1", file(""))[0].text;
    assert!(text.contains("applies to all robots"), "{text}");
    let text = &warnings("google", file("Example9/1.0"))[0].text;
    assert!(text.contains("reads only \"Example\""), "{text}");
}

/// These combinations of options do not occur in any preset.
#[test]
fn linter_and_parser_agree_on_groups_of_changed_presets() {
    let text = "User-agent: a\nAllow: /x\nUser-agent: a\nDisallow: /\n";
    let kinds = |dialect| {
        let file = RobotsTxt::parse(text.as_bytes(), dialect);
        let warnings = file.warnings();
        let kinds = warnings.iter().map(|it| format!("{} {}", it.line, it.kind));
        (file.groups().count(), kinds.collect::<Vec<_>>().join(", "))
    };
    let no_allow = Dialect {
        allow: false,
        agents_end: AgentsEnd::KnownField,
        ..Dialect::rfc9309()
    };
    let expected = "2 unknown-allow, 3 duplicate-agent".to_owned();
    assert_eq!(kinds(no_allow), (1, expected));
    let with_allow = Dialect {
        allow: true,
        ..Dialect::v0()
    };
    assert_eq!(kinds(with_allow), (1, "3 duplicate-agent".to_owned()));
}

#[test]
fn rules_outside_of_groups_are_reported() {
    assert_kinds(&[
        (
            "rfc9309",
            "Disallow: /a\nDisallow: /b\nUser-agent: *\nDisallow: /c",
            "1 orphan-rule",
        ),
        (
            "rfc9309",
            "Crawl-delay: 5\nUser-agent: *\nDisallow: /c",
            "1 orphan-rule",
        ),
        ("v0", "Disallow: /a\n", "1 orphan-rule"),
        ("rfc9309", "User-agent: *\n\nDisallow: /a\n", ""),
        (
            "v1",
            "User-agent: *\n\nDisallow: /a\nDisallow: /b",
            "2 blank-line",
        ),
        (
            "v1",
            "User-agent: *\nDisallow: /a\n\n\n# b\nDisallow: /b\n",
            "3 blank-line",
        ),
        (
            "v1",
            "User-agent: *\n# a\nDisallow: /a\n\nUser-agent: b\nDisallow:/a\n",
            "",
        ),
    ]);
    let text = &warnings("v0", "Disallow: /a")[0].text;
    assert!(text.contains("to all robots"), "{text}");
}

#[test]
fn rules_that_never_decide_are_reported() {
    assert_kinds(&[
        (
            "v1",
            "User-agent: *\nDisallow: /a\nAllow: /a/b\n",
            "3 shadowed-rule",
        ),
        ("v1", "User-agent: *\nAllow: /a/b\nDisallow: /a\n", ""),
        (
            "v1",
            "User-agent: *\nDisallow: /b\nDisallow: /a/\nDisallow: /\nAllow: /a/b/c\n",
            "5 shadowed-rule",
        ),
        (
            "v1",
            "User-agent: *\nDisallow:\nDisallow: /a\n",
            "2 empty-disallow, 3 shadowed-rule",
        ),
        (
            "v1",
            "User-agent: *\nDisallow: /a\nDisallow: /a\n",
            "3 duplicate-rule",
        ),
        (
            "geoportal",
            "User-agent: *\nDisallow: /*.html\nDisallow: /*.html5\n",
            "",
        ),
        (
            "geoportal",
            "User-agent: *\nDisallow: /a\nAllow: /a*b\n",
            "3 shadowed-rule",
        ),
        ("rfc9309", "User-agent: *\nDisallow: /a\nAllow: /a/b\n", ""),
        (
            "rfc9309",
            "User-agent: *\nDisallow: /a\nAllow: /a\nDisallow: /a\n",
            "2 shadowed-rule, 4 duplicate-rule",
        ),
    ]);
}

#[test]
fn several_groups_for_a_robot_are_reported() {
    let twice = "User-agent: a\nDisallow: /a\n\nUser-agent: A\nDisallow: /b\n";
    assert_kinds(&[
        ("rfc9309", twice, "4 split-group"),
        ("v1", twice, "4 unread-group"),
        ("geoportal", twice, "4 unread-group"),
        (
            "v0",
            &twice.to_lowercase().replace(" a\n", " *\n"),
            "4 split-group",
        ),
        (
            "v1",
            &twice.to_lowercase().replace(" a\n", " *\n"),
            "4 unread-group",
        ),
        (
            "rfc9309",
            "User-agent: a\nUser-agent: b\nUser-agent: A\nDisallow: /a\n",
            "3 duplicate-agent",
        ),
        (
            "rfc9309",
            "User-agent: a\nSitemap: https://a.example/\nUser-agent: b\nDisallow: /a\nUser-agent: a\nAllow: /b\n",
            "5 split-group",
        ),
    ]);
}

#[test]
fn other_values_are_checked() {
    let file = |line: &str| format!("User-agent: *\nDisallow: /a\n{line}\n");
    for (dialect, line, expected) in [
        ("rfc9309", "Crawl-delay: 0.5", ""),
        ("rfc9309", "Crawl-delay: ten", "3 crawl-delay"),
        ("rfc9309", "Crawl-delay: 0,5", "3 crawl-delay"),
        ("geoportal", "Crawl-delay: 0.5", "3 crawl-delay"),
        ("google", "Crawl-delay: 5", "3 crawl-delay"),
        ("v1", "Crawl-delay: 5", "3 crawl-delay"),
        ("rfc9309", "Request-rate: 1/5", ""),
        ("rfc9309", "Request-rate: 5", "3 request-rate"),
        ("rfc9309", "Request-rate: 1/0", "3 request-rate"),
        ("rfc9309", "Sitemap: /sitemap.xml", "3 sitemap"),
        ("rfc9309", "Sitemap: https:///sitemap.xml", "3 sitemap"),
        ("rfc9309", "Sitemap: HTTPS://a.example/ä.xml", ""),
        ("rfc9309", "Host: http://a.example/", ""),
        ("rfc9309", "Host: http://a.example/b", "3 host"),
        ("yandex2003", "Host: http://a.example", "3 host"),
        ("rfc9309", "Host: a.example\nHost: b.example", "4 host"),
        ("yandex2003", "Host: a.example\nHost: b.example:81", ""),
        ("yandex", "Clean-param: a&b /c", ""),
        ("yandex", "Clean-param: /c a", "3 clean-param"),
    ] {
        assert_eq!(kinds(dialect, file(line)), expected, "{dialect}: {line}");
    }
}

#[test]
fn octets_that_are_not_text_are_reported() {
    for (octets, expected) in [
        (
            b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n".to_vec(),
            "1 byte-order-mark",
        ),
        (b"User-agent: *\nDisallow: /a\0b\n".to_vec(), "2 nul"),
        (
            b"User-agent: *\nDisallow:\t/a\x07b\n".to_vec(),
            "2 control-character",
        ),
        (b"User-agent: *\nDisallow: /\xe9\n".to_vec(), "2 not-utf-8"),
        (b"\xff\xfeU\0s\0".to_vec(), "1 utf-16"),
        (b"\0U\0s\0e\0r".to_vec(), "1 utf-16"),
        (
            b" \n<!DOCTYPE html>\n<title>Not found</title>".to_vec(),
            "1 html",
        ),
    ] {
        assert_eq!(kinds("rfc9309", &octets), expected, "{octets:?}");
    }
    let long = format!("User-agent: *\nDisallow: /{}\n", "a".repeat(16_663));
    assert_eq!(kinds("rfc9309", long), "2 long-line");
    let mut large = "User-agent: *\n".to_owned();
    large.extend(std::iter::repeat_n("# nothing\n", 60_000));
    assert_eq!(kinds("rfc9309", large), "51200 long-file");
    // The limit truncates the rule after `Disall`, which leaves a line without a colon.
    let comments = "# nothing\n".repeat(51_198);
    let cut = format!("User-agent: *\n{comments}Disallow: /private\n");
    assert_eq!(kinds("rfc9309", cut), "51200 long-file");
}

#[test]
fn warnings_are_sorted_by_line_and_limited() {
    let text = "x: y\n".repeat(5_000);
    let warnings = warnings("rfc9309", text);
    assert_eq!(warnings.len(), MAX_WARNINGS + 1);
    assert!(warnings.is_sorted_by_key(|warning| warning.line));
    let last = warnings.last().unwrap();
    assert_eq!(last.kind.as_str(), "more");
    assert!(last.text.starts_with("4800 more"), "{}", last.text);
}

#[test]
fn hostile_file_is_linted_quickly() {
    let mut prefixes = "User-agent: *\n".to_owned();
    for length in 1..1_000 {
        let _ = writeln!(prefixes, "Disallow: /{}", "a".repeat(length));
    }
    let same = "Allow: /a\n".repeat(25_000) + &"Disallow: /a\n".repeat(20_000);
    let agents = "User-agent: a\nDisallow: /\n".repeat(18_000);
    for text in [
        prefixes,
        format!("User-agent: *\n{same}"),
        agents,
        "a".repeat(10 << 20),
    ] {
        for dialect in Dialect::names() {
            assert!(warnings(dialect, &text).len() <= MAX_WARNINGS + 1);
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_octets_are_linted(
        octets in proptest::collection::vec(
            prop_oneof![
                "(User-agent|Allow|Disallow|Host|Crawl-delay|Dissalow)(: ?|)(/|\\*|)[a-c%*$# ]{0,4}\n"
                    .prop_map(String::into_bytes),
                proptest::collection::vec(any::<u8>(), 0..12),
            ],
            0..12,
        ),
        dialect in proptest::sample::select(Dialect::names().to_vec()),
    ) {
        let octets = octets.concat();
        let lines = octets.iter().filter(|octet| matches!(octet, b'\n' | b'\r')).count() + 1;
        for warning in warnings(dialect, &octets) {
            prop_assert!((1..=lines).contains(&warning.line));
            prop_assert!(!warning.text.contains(char::is_control), "{}", warning.text);
            prop_assert!(warning.text.len() < 600);
        }
    }
}
