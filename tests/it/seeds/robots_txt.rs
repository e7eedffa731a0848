//! robots.txt: the tables of the documents, each in its dialect.

use std::time::Duration;

use robot_detection::robots_txt::{Dialect, RobotsTxt};

/// Returns the result of each query: `+` or `-`, with the line of the rule.
fn answers(dialect: Dialect, text: &str, questions: &[(&str, &str)]) -> Vec<String> {
    let file = RobotsTxt::parse_from("http://host.example/robots.txt", text.as_bytes(), dialect);
    let answer = |(robot, url): &(&str, &str)| {
        let me = file.for_robot(robot);
        let verdict = me.check(url);
        let sign = if verdict.allowed() { "+" } else { "-" };
        let line = verdict.rule().map_or(0, |rule| rule.line());
        format!("{sign}{line} {robot} {url}")
    };
    questions.iter().map(answer).collect()
}

/// Asserts results in the format of [`answers`].
#[track_caller]
fn assert_results(dialect: Dialect, text: &str, expected: &[&str]) {
    let questions: Vec<_> = expected
        .iter()
        .map(|line| {
            let mut words = line.splitn(3, ' ').skip(1);
            (
                words.next().unwrap_or_default(),
                words.next().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        answers(dialect, text, &questions),
        expected,
        "{dialect}:\n{text}"
    );
}

/// Returns `true` if a rule path matches a URL path.
fn matches(dialect: Dialect, rule: &str, path: &str) -> bool {
    let text = format!("User-agent: *\nDisallow: {rule}\n");
    let file = RobotsTxt::parse(text.as_bytes(), dialect);
    let me = file.for_robot("AnyRobot");
    me.check(path).rule().is_some()
}

/// HTTP: The Definitive Guide, table 9-3.
#[test]
fn paths_match_as_in_the_definitive_guide() {
    for (rule, path, expected) in [
        ("/tmp", "/tmp", true),
        ("/tmp", "/tmpfile.html", true),
        ("/tmp", "/tmp/a.html", true),
        ("/tmp/", "/tmp", false),
        ("", "README.TXT", true),
        ("/~fred/hi.html", "/%7Efred/hi.html", true),
        ("/%7Efred/hi.html", "/~fred/hi.html", true),
        ("/%7efred/hi.html", "/%7Efred/hi.html", true),
        ("/~fred/hi.html", "~fred%2Fhi.html", false),
        ("/~fred/hi.html", "/~fred%2Fhi.html", false),
        ("/~fred%2Fhi.html", "/~fred%2fhi.html", true),
        ("/*.html", "/a.html", false),
    ] {
        for dialect in [Dialect::tdg(), Dialect::v1()] {
            assert_eq!(
                matches(dialect, rule, path),
                expected,
                "{dialect}: {rule} {path}"
            );
        }
    }
}

/// HTTP: The Definitive Guide, 9.4.6: the file of Mary's Antiques.
const MARY: &str = "\
#####################################################################
# This is the robots.txt file for Mary's Antiques web site
#####################################################################

# Keep Suzy's robot out of all the dynamic URLs
User-Agent: Suzy-Spider
Disallow: /dynamic
Allow: /private/suzy-stuff
Disallow: /private

# The Furniture-Finder robot understands the inventory program
User-Agent: Furniture-Finder
Allow: /dynamic/check-inventory
Disallow: /dynamic
Disallow: /private

# Keep everyone else out of the dynamic gateways and private data.
User-Agent: *
Disallow: /dynamic
Disallow: /private
";

/// Table 9-4. Names of robots have hyphens in the file, but not in the table.
#[test]
fn marys_antiques_admits_each_robot_as_the_table_shows() {
    const URLS: [&str; 6] = [
        "http://www.marys-antiques.com/",
        "http://www.marys-antiques.com/index.html",
        "http://www.marys-antiques.com/private/payroll.xls",
        "http://www.marys-antiques.com/private/suzy-stuff/taxes.txt",
        "http://www.marys-antiques.com/dynamic/buystuff?id=3546",
        "http://www.marys-antiques.com/dynamic/check-inventory?kitchen",
    ];
    for (robot, allowed) in [
        ("Suzy-Spider", [true, true, false, true, false, false]),
        ("Furniture-Finder", [true, true, false, false, false, true]),
        ("NosyBot", [true, true, false, false, false, false]),
    ] {
        for dialect in [Dialect::tdg(), Dialect::v1()] {
            let me = RobotsTxt::parse(MARY.as_bytes(), dialect).for_robot(robot);
            let answers = URLS.map(|url| me.check(url).allowed());
            assert_eq!(answers, allowed, "{dialect}: {robot}");
        }
    }
}

/// HTTP: The Definitive Guide, 9.4.3: the book and the standards differ.
#[test]
fn an_empty_disallow_forbids_all_in_the_book_and_nothing_elsewhere() {
    let text = "# only Slurp & Webcrawler\n\nUser-Agent: slurp\nUser-Agent: webcrawler\n\
                Disallow: /private\n\nUser-Agent: *\nDisallow:\n";
    for dialect in Dialect::names().map(|name| name.parse::<Dialect>().expect("a preset")) {
        let file = RobotsTxt::parse(text.as_bytes(), dialect);
        let allowed = file.for_robot("Other").check("/index.html").allowed();
        assert_eq!(allowed, dialect != Dialect::tdg(), "{dialect}");
        let slurp = file.for_robot("Slurp");
        assert!(!slurp.check("/private/a").allowed(), "{dialect}");
        assert!(slurp.check("/public/a").allowed(), "{dialect}");
    }
}

/// HTTP: The Definitive Guide, 9.4.3, "User-Agent lines".
#[test]
fn a_name_in_the_file_matches_a_part_of_the_robots_name() {
    let text = "User-Agent: bot\nDisallow: /\n";
    for (robot, refused) in [
        ("Bot", true),
        ("Robot", true),
        ("Bottom-Feeder", true),
        ("Spambot", true),
        ("Dont-Bother-Me", true),
        ("Slurp", false),
    ] {
        let me = RobotsTxt::parse(text.as_bytes(), Dialect::tdg()).for_robot(robot);
        assert_eq!(!me.check("/a").allowed(), refused, "{robot}");
    }
}

/// The example in Geoportal, "Being a Good Robot".
const GEOPORTAL: &str = "\
# General Section
User-Agent: *
Disallow: /private/
# Specific section
User-Agent: GeoportalServer
Disallow: /not-for-geoportal/
Disallow: /*.html
Allow: /private/for-geoportal/
Allow: /*.xml$
Crawl-Delay: 10
Host: https://myhost:8443
";

#[test]
fn geoportal_falls_back_to_the_general_section() {
    let file = RobotsTxt::parse(GEOPORTAL.as_bytes(), Dialect::geoportal());
    let me = file.for_robot("GeoportalServer");
    for (path, allowed, line) in [
        ("/index.html", false, 7),
        ("/private/a.xml", true, 9),
        ("/private/a.xml?x", false, 3),
        ("/private/for-geoportal/a", true, 8),
        ("/private/for-geoportal/a.html", false, 7),
        ("/private/a", false, 3),
        ("/not-for-geoportal/a.xml", false, 6),
        ("/not-for-geoportal", false, 6),
        ("/public", true, 0),
    ] {
        let verdict = me.check(path);
        let found = verdict.rule().map_or(0, |rule| rule.line());
        assert_eq!((verdict.allowed(), found), (allowed, line), "{path}");
    }
    assert!(me.check("/private/a").is_fallback());
    assert!(!me.check("/index.html").is_fallback());
    assert_eq!(me.crawl_delay(), Some(Duration::from_secs(10)));
    assert_eq!(file.for_robot("Other").crawl_delay(), me.crawl_delay());
    assert_eq!(file.host().as_deref(), Some("https://myhost:8443"));
    assert_eq!(
        file.effective_url("http://other.example/a.xml"),
        "https://myhost:8443/a.xml"
    );
}

#[test]
fn geoportals_program_uses_the_longest_match_of_both_sections() {
    assert_results(
        Dialect::geoportal_longest(),
        GEOPORTAL,
        &[
            "+8 GeoportalServer /private/for-geoportal/a.html",
            "-3 GeoportalServer /private/a.xml",
            "-3 geoportalserver /private/a",
            "-3 Other /private/a",
        ],
    );
}

#[test]
fn geoportal_joins_sections_of_the_same_robots_and_decodes_values() {
    assert_results(
        Dialect::geoportal(),
        "\
User-agent: A
User-agent: B
Disallow: /a%20b
Sitemap: http://host.example/s.xml
UserAgent: a
CrawlDelay: x
Disallow: /c+d
User-agent: C
Disallow: /x^y
Allow:
User-agent: *
User-agent: B
Disallow: /b
",
        &[
            "-3 A /a+b",
            "-3 B /a%20b/c",
            "-7 B /c%20d",
            "-13 A /b",
            "+0 A /x^y",
            "-10 C /x^y",
            "+0 A /100%",
            "+0 C /ROBOTS.TXT",
        ],
    );
}

/// Melkov, "Host directive", www-talk 2003.
#[test]
fn a_mirror_is_excluded_by_the_name_of_the_main_host() {
    let text = "User-Agent: *\nDisallow: /forum\nDisallow: /cgi-bin\n\
                Host: http://wrong.example\nHost: www.myhost.ru\n";
    for (site, allowed) in [
        ("http://www.myhost.ru", true),
        ("http://www.myhost.ru:80", true),
        ("http://WWW.MYHOST.RU", true),
        ("http://www.host1.com", false),
        ("http://www.myhost.ru:8081", false),
    ] {
        let url = format!("{site}/robots.txt");
        let file = RobotsTxt::parse_from(&url, text.as_bytes(), Dialect::yandex2003());
        let me = file.for_robot("Yandex");
        let verdict = me.check("/index.html");
        assert_eq!(verdict.allowed(), allowed, "{site}");
        assert_eq!(
            verdict.rule().map(|rule| rule.is_implied()),
            (!allowed).then_some(true)
        );
        assert_eq!(
            me.check("/forum/1").rule().map(|rule| rule.line()),
            Some(2),
            "{site}"
        );
        assert!(me.check("/robots.txt").allowed(), "{site}");
    }
    let only_wrong = "User-agent: *\nHost: http://www.myhost.ru\n";
    let file = RobotsTxt::parse(only_wrong.as_bytes(), Dialect::yandex2003());
    assert!(
        file.for_robot("Yandex")
            .check("http://other.example/")
            .allowed()
    );
}

#[test]
fn yandex_today_treats_host_and_clean_param_as_data() {
    let text = "User-agent: *\nDisallow: /a\nHost: www.myhost.ru\nHost: other.ru\n\
                Clean-param: ref /shop/\n";
    let file = RobotsTxt::parse(text.as_bytes(), Dialect::yandex());
    assert_eq!(file.host().as_deref(), Some("www.myhost.ru"));
    assert!(
        file.for_robot("Yandex")
            .check("http://x.example/b")
            .allowed()
    );
    assert_eq!(file.clean_url("/shop/a?ref=1&b=2"), "/shop/a?b=2");
    for dialect in [
        Dialect::google(),
        Dialect::v0(),
        Dialect::v1(),
        Dialect::tdg(),
    ] {
        let file = RobotsTxt::parse(text.as_bytes(), dialect);
        assert_eq!(file.host(), None, "{dialect}");
        assert_eq!(
            file.clean_url("/shop/a?ref=1"),
            "/shop/a?ref=1",
            "{dialect}"
        );
    }
}

/// RFC 9309 §5.1 and §5.2.
#[test]
fn the_examples_of_rfc_9309_are_followed() {
    assert_results(
        Dialect::rfc9309(),
        "\
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
",
        &[
            "-3 other /example/a",
            "-2 other /a.gif",
            "+4 other /publications/a",
            "+0 other /a.gif?x",
            "-7 FooBot /",
            "+8 foobot /example/page.html",
            "+9 foobot /example/allowed.gif",
            "-13 bazbot /example/page.html",
            "+0 bazbot /example/a.gif",
            "+0 quxbot /example/a.gif",
            "+0 other /robots.txt",
            "+0 foobot http://host.example/robots.txt",
        ],
    );
    assert_results(
        Dialect::rfc9309(),
        "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n",
        &[
            "-3 foobot /example/page/disallowed.gif",
            "+2 foobot /example/page/",
        ],
    );
}

/// RFC 9309 §2.2.1: groups of one robot are one group, `*` is for the others.
#[test]
fn groups_of_one_robot_are_combined() {
    assert_results(
        Dialect::rfc9309(),
        "\
User-Agent: ExampleBot
Disallow: /foo
Disallow: /bar
User-Agent: ExampleBot
Disallow: /baz
User-agent: *
Disallow: /all
Sitemap: http://host.example/s.xml
User-agent: Other
Unknown: x
User-agent: Third
Disallow: /x
User-agent: *
Disallow: /any
",
        &[
            "-2 examplebot /foo",
            "-5 ExampleBot /baz",
            "+0 ExampleBot /all",
            "-12 Other /x",
            "-12 Third /x",
            "-7 Nobody /all",
            "-14 Nobody /any",
        ],
    );
}

/// The table of escapes in RFC 9309 §2.2.2.
#[test]
fn escapes_are_compared_as_in_rfc_9309() {
    for (rule, path, expected) in [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz", true),
        (
            "/foo/bar?baz=http://foo.bar",
            "/foo/bar?baz=http://foo.bar",
            true,
        ),
        ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84", true),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", true),
        ("/foo/bar/%E3%83%84", "/foo/bar/\u{30c4}", true),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", true),
        ("/a%2fb", "/a%2Fb", true),
        ("/a%2fb", "/a/b", false),
        (
            "/path/file-with-a-%2A.html",
            "/path/file-with-a-*.html",
            true,
        ),
        (
            "/path/file-with-a-%2A.html",
            "/path/file-with-a-b.html",
            false,
        ),
        ("/path/foo-%24", "/path/foo-$", true),
    ] {
        assert_eq!(
            matches(Dialect::rfc9309(), rule, path),
            expected,
            "{rule} {path}"
        );
    }
}

/// The escape of a wildcard is three octets of the rule.
#[test]
fn an_escaped_wildcard_is_longer_than_a_wildcard() {
    assert_results(
        Dialect::rfc9309(),
        "User-agent: *\nAllow: /a*\nDisallow: /a%2A\n",
        &["-3 x /a*b", "+2 x /ab"],
    );
}

/// Errors that Google's parser tolerates (google/robotstxt, restated).
#[test]
fn google_tolerates_typos_and_a_missing_colon() {
    assert_results(
        Dialect::google(),
        "\u{feff}user agent FooBot\nuseragent: FooBot\nDissallow: /a\ndisalow /b\nDiasllow: /c\n\
         disallaw: /d\nDisallow /e f\nsite-map: http://host.example/s.xml\n",
        &[
            "-3 foobot /a",
            "-4 foobot /b",
            "-5 foobot /c",
            "-6 foobot /d",
            "+0 foobot /e",
            "+0 foobot/2.1 /a",
        ],
    );
    assert_results(
        Dialect::google(),
        "User-agent: FooBot/1.0 x\nDisallow: /a\nUser-agent: * y\nDisallow: /b\nAllow: /c/index.html\nDisallow: /c\n",
        &[
            "-2 FooBot /a",
            "-4 Other /b",
            "+5 Other /c/",
            "-6 Other /c/x",
            "+5 Other /c/index.html",
        ],
    );
    let text = format!(
        "User-agent: *\nDisallow: /{}\nDisallow: /robots\n",
        "x".repeat(17_000)
    );
    let me = RobotsTxt::parse(text.as_bytes(), Dialect::google()).for_robot("FooBot");
    assert!(
        !me.check(&format!("/{}", "x".repeat(16_663))).allowed(),
        "a long line is cut"
    );
    assert!(
        !me.check("/robots.txt").allowed(),
        "/robots.txt is matched like any path"
    );
}

/// `WWW::RobotRules` 6.02.
#[test]
fn the_standard_of_1994_is_applied_as_by_robotrules() {
    assert_results(
        Dialect::v0(),
        "\
Disallow: /early
User-agent: MOMspider
Disallow: /mom # comment
# no boundary
Disallow: http://host.example/whole
Disallow: http://other.example/other
Allow: /mom/open
Disallow: rel/ative
User-agent: Nobody

Disallow: /orphan
User-Agent: *
Disallow: /*.gif
Disallow:
Disallow: /late
",
        &[
            "-3 MOMspider/2.0 http://host.example/mom/open",
            "-5 momspider http://host.example/whole/1",
            "+0 MOMspider http://host.example/other",
            "-8 MOMspider http://host.example/rel/ative",
            "+0 MOMspider http://host.example/early",
            "+0 Nobody http://host.example/orphan",
            "-1 Third http://host.example/early",
            "+14 Third http://host.example/a.gif",
            "-13 Third http://host.example/*.gif",
            "+14 Third http://host.example/late",
            "+0 MOMspider ftp://host.example/mom",
        ],
    );
    let url = "http://host.example:80/robots.txt";
    let file = RobotsTxt::parse_from(url, b"", Dialect::v0());
    assert!(file.covers("http://host.example/a"));
    assert!(!file.covers("http://host.example:8080/a"));
    assert!(file.covers("/a"));
}

/// No preset has both options.
#[test]
fn an_allow_line_does_not_end_a_list_of_agents_where_only_disallow_does() {
    let mut dialect = Dialect::v0();
    dialect.allow = true;
    assert_results(
        dialect,
        "User-agent: a\nAllow: /x\nUser-agent: b\nDisallow: /\nUser-agent: c\nDisallow: /z\n",
        &["+2 a /x", "-4 a /y", "+2 b /x", "-4 b /y", "-6 c /z"],
    );
}

/// The draft of 1996: a record ends at a blank line, and the first match wins.
#[test]
fn the_draft_of_1996_uses_the_first_match_of_the_first_record() {
    assert_results(
        Dialect::v1(),
        "\
User-agent: Foo
# a comment is no blank line
Disallow: /a/b
Allow: /a
Disallow: /

User-agent: Foo
Disallow: /never

User-agent: *
Crawl-delay: 1
User-agent: Bar

Disallow: /orphan
User-agent: *
Disallow: /second
",
        &[
            "-3 foobar /a/b/c",
            "+4 Foo /a/c",
            "-5 Foo /x",
            "+0 Foo /robots.txt",
            "+0 Bar /orphan",
            "+0 Third /second",
        ],
    );
}

#[test]
fn a_delay_applies_to_the_agents_named_since_the_last_delay() {
    let text = "\
User-agent: a
Crawl-delay: 1.5
User-agent: b
Request-rate: 1/10
Crawl-delay: soon
Crawl-delay: 2
Crawl-delay: 3
Disallow: /x
User-agent: c
Disallow: /y
User-agent: *
Crawl-delay: 9
";
    for (dialect, delays) in [
        (Dialect::rfc9309(), [Some(1.5), Some(2.0), None, Some(9.0)]),
        (
            Dialect::bing(),
            [Some(1.5), Some(2.0), Some(9.0), Some(9.0)],
        ),
        (Dialect::v1(), [None, None, None, None]),
        (Dialect::google(), [None, None, None, None]),
        (
            Dialect::geoportal(),
            [Some(9.0), Some(9.0), Some(9.0), Some(9.0)],
        ),
    ] {
        let file = RobotsTxt::parse(text.as_bytes(), dialect);
        let found = ["a", "b", "c", "d"].map(|robot| {
            file.for_robot(robot)
                .crawl_delay()
                .map(|delay| delay.as_secs_f64())
        });
        assert_eq!(found, delays, "{dialect}");
    }
    let file = RobotsTxt::parse(text.as_bytes(), Dialect::rfc9309());
    let rate = file.for_robot("b").request_rate().expect("a rate");
    assert_eq!((rate.requests, rate.period.as_secs()), (1, 10));
    assert!(
        !file.for_robot("b").check("/x").allowed(),
        "a delay must not end a list of robots"
    );
    assert!(!file.for_robot("a").check("/x").allowed());
}

#[test]
fn a_header_applies_to_the_longest_name_in_it() {
    let text = "User-agent: Foo\nDisallow: /a\nUser-agent: Foo-Image\nDisallow: /b\n\
                User-agent: *\nDisallow: /c\n";
    let file = RobotsTxt::parse(text.as_bytes(), Dialect::rfc9309());
    for (header, refused) in [
        ("Mozilla/5.0 (compatible; Foo-Image/1.0)", "/b"),
        ("foo/2.1 (+http://foo.example/)", "/a"),
        ("Foo-Video/1.0", "/a"),
        ("FooBar/1.0", "/c"),
        ("", "/c"),
    ] {
        let me = file.for_header(header);
        let paths = ["/a", "/b", "/c"];
        let found: Vec<_> = paths
            .iter()
            .filter(|path| !me.check(path).allowed())
            .collect();
        assert_eq!(found, [&refused], "{header}");
        assert_eq!(me.is_named(), refused != "/c", "{header}");
    }
}

#[test]
fn sitemaps_belong_to_the_whole_file() {
    let text =
        "Sitemap: http://a.example/1\nUser-agent: x\nsitemap:http://a.example/2 # two\nSitemap:\n";
    for name in Dialect::names() {
        let file = RobotsTxt::parse(text.as_bytes(), name.parse().expect("a preset"));
        let found: Vec<_> = file.sitemaps().collect();
        assert_eq!(
            found,
            ["http://a.example/1", "http://a.example/2"],
            "{name}"
        );
    }
}

#[test]
fn groups_are_shown_as_written() {
    let file = RobotsTxt::parse(MARY.as_bytes(), Dialect::rfc9309());
    let groups: Vec<_> = file.groups().collect();
    let shown: Vec<_> = groups
        .iter()
        .map(|group| (group.line, group.agents.join(" "), group.rules.len()))
        .collect();
    assert_eq!(
        shown,
        [
            (6, "Suzy-Spider".to_owned(), 3),
            (12, "Furniture-Finder".to_owned(), 3),
            (18, "*".to_owned(), 2),
        ]
    );
    let rule = groups
        .first()
        .and_then(|group| group.rules.get(1))
        .map(ToString::to_string);
    assert_eq!(rule.as_deref(), Some("Allow: /private/suzy-stuff"));
}

/// Malicious files are parsed and queried like any other.
#[test]
fn hostile_files_are_parsed_like_others() {
    let stars = format!(
        "User-agent: *\n{}",
        format!("Disallow: /{}\n", "*a".repeat(200)).repeat(100)
    );
    let groups = "User-agent: a\nDisallow: /b\n".repeat(20_000);
    let line = |n: usize| format!("User-agent: r{n}\nDisallow: /{n}\n");
    let names = (0..5_000).map(line).collect::<Vec<_>>().concat();
    let line = |n: usize| format!("Allow: {}\n", "/a".repeat(n));
    let nested = (1..1_000).map(line).collect::<Vec<_>>().concat();
    let odd = b"\xff\xfeU\0s\0e\0r\0-\0a\0g\0e\0n\0t\0:\0 \0*\0\r\0\n\0\0\0\0\r\r\r%%%%%";
    let files: [&[u8]; 7] = [
        stars.as_bytes(),
        groups.as_bytes(),
        names.as_bytes(),
        &vec![b'x'; 1 << 20],
        &vec![0; 100_000],
        nested.as_bytes(),
        odd,
    ];
    let url = format!("/{}", "a".repeat(1_999));
    for (at, text) in files.iter().enumerate() {
        for name in Dialect::names() {
            let file = RobotsTxt::parse(text, name.parse().expect("a preset"));
            for me in [
                file.for_robot("a"),
                file.for_header("Mozilla/5.0 (compatible; r7/1.0)"),
            ] {
                let verdict = me.check(&url);
                assert_eq!(
                    verdict.allowed(),
                    verdict.rule().is_none_or(|rule| rule.is_allow()),
                    "{at} {name}"
                );
            }
        }
    }
}
