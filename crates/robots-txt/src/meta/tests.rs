//! Tests of META tags and headers for several robots.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;

/// Returns the directives for a robot, or for all robots if the name is empty.
fn of(meta: &RobotsMeta, robot: &str) -> String {
    let answer = if robot.is_empty() {
        meta.for_all_robots()
    } else {
        meta.for_robot(robot)
    };
    answer.directives.to_string()
}

fn headers(values: &[&str]) -> RobotsMeta {
    let mut meta = RobotsMeta::default();
    meta.add_headers(values.iter().map(|value| ("X-Robots-Tag", value)));
    meta
}

#[test]
fn token_applies_to_the_rules_after_it_on_its_line() {
    // From Google's "X-Robots-Tag" specification: two robots on one line and on two lines.
    for values in [
        &["googlebot: nofollow", "otherbot: noindex, nofollow"][..],
        &["googlebot: nofollow, otherbot: noindex, nofollow"],
        &["GOOGLEBOT:nofollow,OtherBot:noindex,nofollow"],
    ] {
        let meta = headers(values);
        assert_eq!(of(&meta, "Googlebot"), "nofollow", "{values:?}");
        assert_eq!(of(&meta, "otherbot/1.0"), "noindex, nofollow");
        assert_eq!(of(&meta, "ThirdBot"), "all");
        assert_eq!(of(&meta, ""), "all");
    }
    let meta = headers(&["noarchive, googlebot: nofollow", "noindex"]);
    assert_eq!(of(&meta, "googlebot"), "noindex, nofollow, noarchive");
    assert_eq!(of(&meta, "otherbot"), "noindex, noarchive");
    let meta = headers(&["googlebot: nofollow, *: noindex"]);
    assert_eq!(of(&meta, "otherbot"), "noindex");
}

#[test]
fn date_is_not_a_token() {
    for value in [
        "unavailable_after: 25 Jun 2010 15:00:00 PST",
        "unavailable_after:25 Jun 2010 15:00:00 PST",
        "unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, nofollow",
        "nofollow, googlebot: unavailable_after: 2010-06-25T15:00:00-08:00, noindex",
    ] {
        let meta = headers(&[value]);
        let answer = meta.for_robot("googlebot");
        let after = answer.directives.unavailable_after().unwrap();
        assert_eq!(after.unix_seconds(), 1_277_506_800, "{value}");
    }
}

#[test]
fn statements_of_all_sources_are_combined() {
    let mut meta = headers(&["max-snippet:20", "googlebot: max-snippet:-1, nofollow"]);
    meta.add_tag("robots", "max-snippet:50, max-image-preview:large");
    meta.add_tag("GoogleBot", "max-image-preview:standard, none");
    assert_eq!(
        of(&meta, "Googlebot"),
        "noindex, nofollow, max-snippet:20, max-image-preview:standard"
    );
    assert_eq!(of(&meta, ""), "max-snippet:20, max-image-preview:large");
    let answer = meta.for_robot("Googlebot");
    let because: Vec<_> = answer.because.iter().map(ToString::to_string).collect();
    assert_eq!(
        because,
        [
            r#"X-Robots-Tag: "max-snippet:20""#,
            r#"tag GoogleBot: "max-image-preview:standard""#,
            r#"X-Robots-Tag for googlebot: "nofollow""#,
            r#"tag GoogleBot: "none""#,
        ]
    );
    let mut twice = meta.clone();
    twice.extend(meta.clone());
    assert_eq!(twice, meta);
}

#[test]
fn robots_obey_the_names_documented_by_their_operators() {
    let mut meta = RobotsMeta::default();
    meta.add_tag("googlebot", "noindex");
    meta.add_tag("googlebot-news", "nosnippet");
    meta.add_tag("msnbot", "nofollow");
    meta.add_tag(" BingBot ", "noarchive");
    assert_eq!(of(&meta, "Googlebot"), "noindex");
    assert_eq!(of(&meta, "Googlebot-News"), "noindex, nosnippet");
    let header = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    assert_eq!(of(&meta, header), "noindex");
    assert_eq!(of(&meta, "bingbot"), "nofollow, noarchive");
    assert_eq!(of(&meta, "msnbot/2.0b"), "nofollow, noarchive");
    assert_eq!(of(&meta, "ExampleBot"), "all");
}

#[test]
fn header_name_is_case_insensitive_and_value_may_be_any_bytes() {
    let mut meta = RobotsMeta::default();
    meta.add_headers([
        (
            &b"x-RoBots-tag"[..],
            &b"\xff\xfe, noindex, \xc3\x28: none"[..],
        ),
        (b"X-Robots-Tags", b"nofollow"),
        (b"Robots", b"nofollow"),
    ]);
    assert_eq!(of(&meta, ""), "noindex");
    meta.add_header(b"");
    meta.add_header(&b"a:,".repeat(100_000));
    assert_eq!(of(&meta, "a"), "noindex");
}

#[test]
fn number_of_robots_is_limited() {
    let mut meta = RobotsMeta::default();
    for number in 0..5000 {
        meta.add_tag(&format!("robot{number}"), "none, noindex");
    }
    meta.add_tag(&"a".repeat(1000), "noindex");
    meta.add_tag("", "noindex");
    meta.add_tag("robots", "nosnippet");
    assert!(meta.statements().count() < 2500);
    assert_eq!(of(&meta, "robot1"), "noindex, nofollow, nosnippet");
}

fn any_directive() -> impl Strategy<Value = Directive> {
    let limit = prop_oneof![any::<u32>().prop_map(Limit::AtMost), Just(Limit::Unlimited)];
    let size = prop_oneof![
        Just(ImagePreview::None),
        Just(ImagePreview::Standard),
        Just(ImagePreview::Large)
    ];
    let date = (1..=28u8, 1970..2100u16, 0..24u8, 0..60u8, 0..4usize).prop_map(
        |(day, year, hour, minute, form)| {
            let text = match form {
                0 => format!("{day} Feb {year} {hour:02}:{minute:02}:00 PST"),
                1 => format!("Fri, {day:02} Feb {year} {hour:02}:{minute:02}:00 +0130"),
                2 => format!("{year}-02-{day:02}T{hour:02}:{minute:02}-05:00"),
                _ => format!("Friday, February {day}, {year}, {hour:02}:{minute:02}"),
            };
            Directive::UnavailableAfter(UnavailableAfter::parse(&text).expect("a date"))
        },
    );
    prop_oneof![
        Just(Directive::NoIndex),
        Just(Directive::NoFollow),
        Just(Directive::NoArchive),
        Just(Directive::NoCache),
        Just(Directive::NoSnippet),
        Just(Directive::NoTranslate),
        Just(Directive::NoImageIndex),
        Just(Directive::IndexIfEmbedded),
        limit.clone().prop_map(Directive::MaxSnippet),
        limit.prop_map(Directive::MaxVideoPreview),
        size.prop_map(Directive::MaxImagePreview),
        date,
    ]
}

fn any_directives() -> impl Strategy<Value = RobotsDirectives> {
    proptest::collection::vec(any_directive(), 0..8).prop_map(|all| all.into_iter().collect())
}

proptest! {
    #[test]
    fn written_directives_are_parsed_again(
        everybody in any_directives(),
        robots in proptest::collection::btree_map("[a-z][a-z-]{0,9}bot", any_directives(), 0..4),
    ) {
        let written = everybody.to_string();
        prop_assert_eq!(&RobotsDirectives::parse(&written), &everybody);
        let mut text = written;
        for (token, directives) in &robots {
            let _ = write!(text, ", {token}: {directives}");
        }
        if text.len() <= 1024 {
            let tag: XRobotsTag = text.parse().unwrap();
            prop_assert_eq!(tag.to_string(), text.clone());
            prop_assert_eq!(&text.parse::<XRobotsTag>().unwrap(), &tag);
        }
        let meta = headers(&[&text]);
        prop_assert_eq!(&meta.for_all_robots().directives, &everybody);
        for (token, directives) in &robots {
            let mut both = everybody.clone();
            both.extend(directives.iter().cloned());
            prop_assert_eq!(meta.for_robot(token).directives, both);
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic(value in any::<Vec<u8>>(), text in "[a-z:, _0-9-]{0,60}") {
        let mut meta = headers(&[&text]);
        meta.add_header(&value);
        meta.add_tag(&text, &text);
        let _ = meta.for_robot(&text);
        if let Ok(tag) = text.parse::<XRobotsTag>() {
            prop_assert_eq!(tag.to_string().parse::<XRobotsTag>().unwrap(), tag);
        }
    }
}

#[cfg(feature = "html")]
mod pages {
    use std::time::Duration;

    use super::*;

    fn page(html: impl AsRef<[u8]>) -> String {
        of(&PageMeta::read(html.as_ref()).robots, "")
    }

    #[test]
    fn tag_is_found_in_any_notation() {
        for html in [
            r#"<html><head><meta name="robots" content="noindex,nofollow"></head></html>"#,
            "<META NAME=ROBOTS CONTENT=NOINDEX,NOFOLLOW>",
            "<meta name='robots' content='noindex, nofollow'/>",
            "<meta content = \"none\"\n\tname = robots >",
            "<meta\u{c}data-x=1 name=robots\rcontent=none>",
            "<meta/name=robots /content=none />",
            r#"<meta name="rob&#111;ts" content="no&#105;ndex&comma;no&#x66;ollow">"#,
            "<meta name=robots name=other content=none content=all>",
            "<meta name=robots content=none <p>",
            r#"<meta name="robots" content="none"content="all">"#,
            "<meta name=robots content=noindex><meta name=Robots content=nofollow>",
            "\u{feff}<!doctype html><title>x</title><meta name=' robots ' content=' none '>",
            "<body><p>text<meta name=robots content=none>",
            "</head></body></html><meta name=robots content=none>",
            "<noscript><meta name=robots content=none></noscript>",
            "<!-- a --><!-- > --><!--><meta name=robots content=none>",
            "<svg><title>a</title><path/></svg><meta name=robots content=none>",
            "<p <meta name=robots content=all><meta name=robots content=none>",
            "<meta name=robots content=none http-equiv=X-Robots-Tag property=x>",
            "<meta name=robots content=none><title>never ended <meta name=robots content=nosnippet>",
        ] {
            assert_eq!(page(html), "noindex, nofollow", "{html}");
        }
    }

    #[test]
    fn text_that_is_not_a_tag_of_the_page_is_ignored() {
        for html in [
            "",
            "<!-- <meta name=robots content=none> -->",
            "<!-- never ended <meta name=robots content=none>",
            "<!-- a --!- > <meta name=robots content=none> -->",
            "<script>'<meta name=robots content=none>'</script>",
            "<script><!-- <script> </script> <meta name=robots content=none> --></script>",
            "<style><meta name=robots content=none></style>",
            "<title><meta name=robots content=none></title>",
            "<TEXTAREA><meta name=robots content=none></textareas></TEXTAREA>",
            "<iframe><meta name=robots content=none></iframe>",
            "<xmp><meta name=robots content=none></xmp>",
            "<noembed><meta name=robots content=none></noembed>",
            "<noframes><meta name=robots content=none></noframes>",
            "<plaintext></plaintext><meta name=robots content=none>",
            "<template><meta name=robots content=none></template>",
            "<template><template></template><meta name=robots content=none></template>",
            "<template><meta name=robots content=none>",
            "<![CDATA[<meta name=robots content=none>]]>",
            "<svg><![CDATA[ > <meta name=robots content=none> ]]></svg>",
            "<?xml <meta name=robots content=none>",
            "<p title='<meta name=robots content=none>'>",
            "<p title=\"'<meta name=robots content=none>\">",
            "&lt;meta name=robots content=none&gt;",
            "< meta name=robots content=none>",
            "</meta name=robots content=none>",
            "<metadata name=robots content=none>",
            "<meta name=robots content=none",
            "<meta name=robots content='none>",
            "<meta name content=none name=robots>",
            "<meta name=robots content content=none>",
            "<meta name=robots value=none>",
            "<meta name=robots content>",
            "<meta name=robots>",
            "<meta content=none>",
            "<meta name=robot content=none>",
            "<meta property=robots content=none>",
            "<meta http-equiv=X-Robots-Tag content=none>",
            "<link name=robots content=none>",
            "<meta/name=robots/content=none>",
            "<meta name=robots content=none/>",
            "<meta name=robots content=no\0ne>",
            "<meta name=robots content='no index no follow'>",
        ] {
            assert_eq!(page(html), "all", "{html}");
        }
    }

    #[test]
    fn closed_elements_do_not_hide_later_tags() {
        for before in [
            "<script>'</scripts>'</script >",
            "<script><!-- </script>",
            "<style></STYLE>",
            "<title></title>",
            "<textarea></title></textarea>",
            "<template><svg></template>",
            "<template><div></template></template>",
            "<svg><script/>",
            "<svg><style/></svg>",
            "<svg><foreignObject><title></title></foreignObject><style></svg>",
            "<svg><svg></svg><![CDATA[<p>]]></svg>",
            "<math><mi><svg></svg></mi></math>",
            "<math><style>",
            "<svg><style><p>",
            "<svg><title><style></style></title></svg>",
            "<svg></p>",
            "<![CDATA[ > ",
            "<!---->",
            "<!-- --!>",
            "<?php >",
            "</>",
            "<a href='>'>",
            "<svg/><math/>",
            "<iframe></iframe>",
        ] {
            let html = format!("{before}<meta name=robots content=none>");
            assert_eq!(page(&html), "noindex, nofollow", "{html}");
        }
    }

    #[test]
    fn utf_16_with_a_byte_order_mark_is_decoded() {
        let html = "\u{feff}<meta name=robots content='noindex, nofollow'>𝄞";
        let little: Vec<u8> = html.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = html.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for mut bytes in [little, big] {
            assert_eq!(page(&bytes), "noindex, nofollow");
            bytes.push(0xD8);
            assert_eq!(page(&bytes), "noindex, nofollow");
        }
        let latin = b"<p>\xe9\xff</p><meta name=robots content=none>";
        assert_eq!(page(latin), "noindex, nofollow");
        assert_eq!(page(b"\xff\xfe"), "all");
    }

    #[test]
    fn page_and_headers_are_combined() {
        let mut page = PageMeta::read(b"<meta name=examplebot content=nofollow>");
        page.robots.add_header(b"noarchive");
        assert_eq!(of(&page.robots, "ExampleBot/2"), "nofollow, noarchive");
        assert_eq!(of(&page.robots, "OtherBot"), "noarchive");
    }

    #[test]
    fn other_tags_of_table_9_5_are_parsed() {
        let page = PageMeta::read(
            b"<meta name=description content=' '>\
              <meta name=description content='Welcome to\n Mary&#39;s &amp; Co'>\
              <meta name=description content='later'>\
              <meta name=Keywords content='antiques,mary, furniture ,,restoration'>\
              <meta name=revisit-after content='soon'>\
              <meta name=revisit-after content='10 days'>",
        );
        assert_eq!(page.description.as_deref(), Some("Welcome to Mary's & Co"));
        assert_eq!(
            page.keywords,
            ["antiques", "mary", "furniture", "restoration"]
        );
        let days = |days: u64| Some(Duration::from_secs(days * 86_400));
        assert_eq!(page.revisit_after, days(10));
        assert_eq!(page.robots, RobotsMeta::default());
        for (content, expected) in [
            ("7", days(7)),
            ("1 Day", days(1)),
            ("2weeks", days(14)),
            ("1 month", days(30)),
            ("1 year", days(365)),
            ("48 hours", days(2)),
            ("", None),
            ("days", None),
            ("-1 days", None),
            ("99999999999 days", None),
            ("10 parsecs", None),
        ] {
            let html = format!("<meta name=revisit-after content='{content}'>");
            let page = PageMeta::read(html.as_bytes());
            assert_eq!(page.revisit_after, expected, "{content}");
        }
    }

    #[test]
    fn content_beyond_the_limit_is_ignored() {
        let mut html = vec![b' '; MAX_HTML_BYTES - 100];
        html.extend(b"<meta name=robots content=noindex>");
        html.resize(MAX_HTML_BYTES, b' ');
        html.extend(b"<meta name=robots content=nofollow>");
        assert_eq!(page(&html), "noindex");
    }

    #[test]
    fn hostile_pages_are_parsed_in_bounded_memory() {
        for part in [
            &b"<"[..],
            b"&",
            b"<svg>",
            b"<template>",
            b"</svg></template>",
            b"<meta name=a ",
            b"<meta name=x content=none>",
            b"<a b=c ",
            b"<!--",
            b"<![CDATA[",
            b"<script><!--<script>",
            b"&#",
            b"&notit",
            b"\0",
            b"\r",
            b"=\"",
        ] {
            let html: Vec<u8> = part.iter().copied().cycle().take(200_000).collect();
            let used = allocation_counter::measure(|| {
                let _ = PageMeta::read(&html);
            });
            assert!(used.bytes_max < 500_000, "{part:?}: {used:?}");
        }
        let long = [
            b"<meta name=robots content='",
            &b"none,".repeat(40_000)[..],
            b"'>",
        ]
        .concat();
        let used = allocation_counter::measure(|| {
            assert_eq!(page(&long), "noindex, nofollow");
        });
        assert!(used.bytes_max < 500_000, "{used:?}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_accepted_as_a_page(html in any::<Vec<u8>>()) {
            let _ = PageMeta::read(&html);
        }

        #[test]
        fn tag_is_found_after_closed_elements(names in proptest::collection::vec(
            proptest::sample::select(vec![
                "svg", "math", "title", "style", "template", "p", "desc", "mi", "script", "div",
            ]), 0..6)) {
            let mut html = String::new();
            for name in &names {
                let _ = write!(html, "<{name}>text</{name}>");
            }
            html.push_str("<meta name=robots content=none>");
            prop_assert_eq!(page(&html), "noindex, nofollow");
        }
    }
}
