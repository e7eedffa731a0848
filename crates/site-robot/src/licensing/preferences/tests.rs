//! Examples of the drafts and standards, with the answers that follow from them.

use robot_detection_robots_txt::{Dialect, RobotsTxt};

use super::*;

/// Returns the results for training, input and search: `y`, `n`, or `-` without a preference.
fn results(stated: &[Preference]) -> String {
    let result = |usage: &ContentUse| match decisive(stated, *usage).and_then(|one| one.allows) {
        Some(true) => 'y',
        Some(false) => 'n',
        None => '-',
    };
    ContentUse::ALL.iter().map(result).collect()
}

fn of_file(text: &str, robot: &str, path: &str) -> String {
    let file = RobotsTxt::parse(text.replace('|', "\n").as_bytes(), Dialect::default());
    let sources = PageSources {
        robots_txt: Some(&file),
        ..PageSources::default()
    };
    results(&sources.preferences(robot, path))
}

/// The example of draft-ietf-aipref-attach-05 §3.4.
const ATTACH: &str = "User-Agent: *|Allow: /|Disallow: /never/|Content-Usage: train-ai=n|Content-Usage: /ai-ok/ train-ai=y||User-Agent: ExampleBot|Allow: /|Content-Usage: train-ai=y|";

#[test]
fn lines_of_robots_txt_apply_by_group_and_longest_path() {
    for (text, robot, path, expected) in [
        // draft-ietf-aipref-attach-05 §1.2 and §3.4.
        (
            "User-Agent: *|Allow: /|Content-Usage: train-ai=n",
            "a",
            "/x",
            "n--",
        ),
        (ATTACH, "a", "/test", "n--"),
        (ATTACH, "a", "/never/test", "---"),
        (ATTACH, "a", "/ai-ok/test", "y--"),
        (ATTACH, "ExampleBot", "/test", "y--"),
        (ATTACH, "examplebot", "/never/test", "y--"),
        // §3.1: the longest path applies; of equal paths the stricter preference.
        (
            "User-agent: *|Allow: /|Content-Usage: train-ai=n|Content-Usage: / train-ai=y",
            "a",
            "/x",
            "y--",
        ),
        (
            "User-agent: *|Allow: /|Content-Usage: /a train-ai=y|Content-Usage: /a train-ai=n",
            "a",
            "/a",
            "n--",
        ),
        (
            "User-agent: *|Allow: /|Content-Usage: /a train-ai=y|Content-Usage: /a search=n",
            "a",
            "/a",
            "y-n",
        ),
        (
            "User-agent: *|Allow: /|Content-Usage: /a train-ai=y|Content-Usage: /a/b search=n",
            "a",
            "/a/b",
            "--n",
        ),
        (
            "User-agent: *|Allow: /|Content-Usage: /*.pdf$ train-ai=n",
            "a",
            "/x/y.pdf",
            "n--",
        ),
        (
            "User-agent: *|Allow: /|Content-Usage: /*.pdf$ train-ai=n",
            "a",
            "/x/y.pdf?a",
            "---",
        ),
        (
            "User-agent: *|Allow: /|Content-Usage: /a%C3%A4 train-ai=n",
            "a",
            "/aä",
            "n--",
        ),
        (
            "User-agent: *|Allow: /|CONTENT-USAGE : /a\ttrain-ai=n # ,search=y",
            "a",
            "/a",
            "n--",
        ),
        // A named group without preferences does not inherit those of `*`.
        (
            "User-agent: *|Allow: /|Content-Usage: train-ai=n||User-agent: b|Allow: /",
            "b",
            "/x",
            "---",
        ),
        (
            "Content-Usage: train-ai=n|User-agent: *|Allow: /",
            "a",
            "/x",
            "---",
        ),
        // §3: the field is a rule, so it ends the list of robots.
        (
            "User-agent: a|Content-Usage: train-ai=n|User-agent: b|Content-Usage: train-ai=y",
            "a",
            "/x",
            "n--",
        ),
        (
            "User-agent: a|Content-Usage: train-ai=n|User-agent: b|Disallow: /",
            "a",
            "/x",
            "n--",
        ),
        (
            "User-agent: *|Disallow: /|Content-Usage: train-ai=y",
            "a",
            "/x",
            "---",
        ),
        (
            "User-agent: *|Allow: /|Content-Usage:|Content-Usage: /a",
            "a",
            "/a",
            "---",
        ),
        // contentsignals.org, and the files that Cloudflare manages.
        (
            "User-agent: *|Content-Signal: search=yes,ai-train=no|Allow: /",
            "a",
            "/x",
            "n-y",
        ),
        (
            "User-agent: *|Content-signal: ai-train=no, search=yes, ai-input=yes|Allow: /",
            "a",
            "/x",
            "nyy",
        ),
        (
            "User-agent: *|Content-Signal: search=yes,ai-train=no,use=reference|Allow: /",
            "a",
            "/x",
            "n-y",
        ),
        (
            "User-agent: *|Content-Signal: ai-train=n|Allow: /",
            "a",
            "/x",
            "---",
        ),
        (
            "User-agent: *|Content-Signal: ai-train=no|Allow: /||User-agent: b|Disallow: /y",
            "b",
            "/x",
            "---",
        ),
        (
            "Content-Signal: ai-train=no|User-agent: b|Disallow: /y",
            "b",
            "/x",
            "n--",
        ),
        (
            "User-agent: *|Content-Signal: ai-train=yes|Content-Usage: train-ai=n|Allow: /",
            "a",
            "/x",
            "n--",
        ),
        // draft-kelley-aipref-training-preference-signal-00.
        (
            "User-agent: __usage_ai-training|Disallow: /|Allow: /press/",
            "a",
            "/x",
            "n--",
        ),
        (
            "User-agent: __usage_ai-training|Disallow: /|Allow: /press/",
            "a",
            "/press/x",
            "y--",
        ),
        (
            "User-agent: __usage_ai-training|Disallow: /||User-agent: *|Content-Usage: train-ai=y|Allow: /",
            "a",
            "/x",
            "n--",
        ),
        ("User-agent: *|Disallow: /", "a", "/x", "---"),
    ] {
        assert_eq!(
            of_file(text, robot, path),
            expected,
            "{text} {robot} {path}"
        );
    }
}

#[test]
fn dictionaries_are_read_as_the_vocabulary_defines() {
    for (list, expected) in [
        // draft-ietf-aipref-vocab-08 §6, §6.5.1 and §6.5.2.
        ("train-ai=y, search=n", "y-n"),
        ("train-ai=y, train-ai, search=n, search=\"n\"", "---"),
        ("train-ai;allow=n, train-ai=y", "y--"),
        ("train-ai;has;parameters=\"?\";", "---"),
        ("train-ai=n;a=\"b,c\", ai-use=y", "ny-"),
        // Labels that were dropped.
        ("ai=y, genai=n", "---"),
        ("train-ai=y, train-genai=n", "y--"),
        ("bots=y, train-ai=n", "n--"),
        ("tdm=n, all=n, inference=n, ai-output=n", "---"),
        // RFC 9651: one error makes the whole list unknown; the last of equal keys counts.
        ("train-ai=n search=y", "---"),
        ("train-ai=n,", "---"),
        ("Train-AI=n", "---"),
        ("train-ai = n", "---"),
        ("train-ai=n, foo=y;bar", "n--"),
        ("train-ai=n, train-ai=y", "y--"),
        ("train-ai=N, search=y", "--y"),
        ("train-ai=?0, ai-use=0, search=n", "--n"),
        ("train-ai=(n), search=n", "--n"),
        ("", "---"),
    ] {
        let sources = PageSources {
            headers: vec![("", "Content-Usage", list)],
            ..PageSources::default()
        };
        let stated = sources.preferences("a", "/x");
        assert_eq!(results(&stated), expected, "{list}");
        // The list has the same meaning in a robots.txt.
        let text = format!("User-agent: *|Allow: /|Content-Usage: {list}");
        assert_eq!(of_file(&text, "a", "/x"), expected, "{list}");
    }
    let sources = PageSources {
        headers: vec![("", "Content-Usage", "bots=n")],
        ..PageSources::default()
    };
    let remark = sources.preferences("a", "/x")[0].remark.clone();
    assert_eq!(
        remark.as_deref(),
        Some("draft-ietf-aipref-vocab-05 of 2025-12-01 dropped it")
    );
}

#[test]
fn headers_tags_and_documents_are_combined() {
    const TDMREP: &str = r#"[{"location":"/directory-a/","tdm-reservation":1},
        {"location":"/directory-b/html/","tdm-reservation":1,"tdm-policy":"https://provider.example/p.json"},
        {"location":"/directory-b/images/*.jpg","tdm-reservation":0}]"#;
    const META: &str =
        r#"<meta name="tdm-reservation" content="1"><meta name=robots content="noai">"#;
    let rsl = |inner: &str| {
        format!(
            r#"<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>{inner}</license></content></rsl>"#
        )
    };
    let usage = |permits: &str, prohibits: &str| {
        rsl(&format!(
            r#"<permits type="usage">{permits}</permits><prohibits type="usage">{prohibits}</prohibits>"#
        ))
    };
    let (none, r) = (&[][..], String::new);
    let yes = &[("tdm-reservation", "0")][..];
    for (headers, html, tdmrep, rsl, robot, path, expected) in [
        // TDM Reservation Protocol: the file, and its order.
        (none, "", TDMREP, r(), "a", "/directory-a/x.pdf", "n--"),
        (
            none,
            "",
            TDMREP,
            r(),
            "a",
            "/directory-b/html/p.html",
            "n--",
        ),
        (
            none,
            "",
            TDMREP,
            r(),
            "a",
            "/directory-b/images/a.jpg",
            "y--",
        ),
        (
            none,
            "",
            TDMREP,
            r(),
            "a",
            "/directory-b/images/a.png",
            "---",
        ),
        (
            none,
            "",
            r#"[{"location":"/","tdm-reservation":1},{"location":"/free/","tdm-reservation":0}]"#,
            r(),
            "a",
            "/free/x",
            "n--",
        ),
        (
            none,
            "",
            r#"[{"location":"/","tdm-reservation":2}]"#,
            r(),
            "a",
            "/x",
            "---",
        ),
        (none, "", "no JSON", r(), "a", "/x", "---"),
        (
            &[
                ("tdm-reservation", "1"),
                ("tdm-policy", "https://a.example/p"),
            ],
            "",
            "",
            r(),
            "a",
            "/x",
            "n--",
        ),
        // The header replaces the file, and the tag replaces the header.
        (
            yes,
            "",
            r#"[{"location":"/","tdm-reservation":1}]"#,
            r(),
            "a",
            "/x",
            "y--",
        ),
        (
            yes,
            r#"<meta name="tdm-reservation" content="1">"#,
            "",
            r(),
            "a",
            "/x",
            "n--",
        ),
        (
            &[("tdm-reservation", "yes")],
            "",
            r#"[{"location":"/","tdm-reservation":1}]"#,
            r(),
            "a",
            "/x",
            "n--",
        ),
        // DeviantArt's words.
        (yes, META, "", r(), "a", "/x", "n--"),
        (
            &[("X-Robots-Tag", "noindex, noimageai")],
            "",
            "",
            r(),
            "a",
            "/x",
            "n--",
        ),
        // Headers are one dictionary; of several sources the stricter applies (vocabulary §5.1).
        (
            &[
                ("Content-Usage", "train-ai=n"),
                ("content-usage", "train-ai=y"),
            ],
            "",
            "",
            r(),
            "a",
            "/x",
            "y--",
        ),
        (
            &[
                ("Content-Usage", "train-ai=y"),
                ("Content-Signal", "ai-train=no"),
            ],
            "",
            "",
            r(),
            "a",
            "/x",
            "n--",
        ),
        (
            &[("Content-Usage", "train-ai=y")],
            "",
            r#"[{"location":"/","tdm-reservation":1}]"#,
            r(),
            "a",
            "/x",
            "n--",
        ),
        // Really Simple Licensing 1.0: a narrower use precedes a wider one.
        (
            none,
            "",
            "",
            rsl("<prohibits>ai-train</prohibits>"),
            "a",
            "/x",
            "n--",
        ),
        (none, "", "", usage("search", "ai-train"), "a", "/x", "n-y"),
        (
            none,
            "",
            "",
            usage("ai-train search", "ai-train"),
            "a",
            "/x",
            "n-y",
        ),
        (none, "", "", usage("ai-input", "all"), "a", "/x", "nyn"),
        (none, "", "", usage("all", "ai-all"), "a", "/x", "nny"),
        (
            none,
            "",
            "",
            rsl(r#"<permits>ai-train</permits><payment type="crawl"/>"#),
            "a",
            "/x",
            "---",
        ),
        (
            none,
            "",
            "",
            rsl(r#"<permits>ai-train</permits><payment type="attribution"/>"#),
            "a",
            "/x",
            "y--",
        ),
        (
            none,
            "",
            "",
            rsl(
                "</license><license><permits>all</permits></license><license><prohibits>search</prohibits>",
            ),
            "a",
            "/x",
            "yyy",
        ),
        (
            none,
            "",
            "",
            "<rsl><content url='/a/'><license><prohibits>all</prohibits></license></content>"
                .to_owned(),
            "a",
            "/x",
            "---",
        ),
        (
            none,
            "",
            "",
            "<rsl><content url='/'><license><prohibits>all".to_owned(),
            "a",
            "/x",
            "---",
        ),
    ] {
        let sources = PageSources {
            headers: headers
                .iter()
                .map(|(name, value)| ("", *name, *value))
                .collect(),
            html: html.as_bytes(),
            tdmrep,
            licences: vec![("/l.xml", &rsl)],
            ..PageSources::default()
        };
        let stated = sources.preferences(robot, path);
        assert_eq!(
            results(&stated),
            expected,
            "{headers:?} {html} {tdmrep} {rsl} {path}"
        );
    }
}

#[test]
fn robots_tag_of_another_robot_and_unusable_sources_state_nothing() {
    let stated = |name, value, tdmrep| {
        let sources = PageSources {
            headers: vec![("", name, value)],
            tdmrep,
            licences: vec![("l", "<html>")],
            ..PageSources::default()
        };
        sources.preferences("ClaudeBot", "/")
    };
    for (value, expected) in [
        ("googlebot: noai", "---"),
        ("claudebot: noindex, noai", "n--"),
        ("noindex, noai", "n--"),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", "---"),
    ] {
        let found = stated("X-Robots-Tag", value, "");
        assert_eq!(results(&found), expected, "{value}");
    }
    let remarks = stated("TDM-Reservation", "yes", "<html>");
    let remarks: Vec<_> = remarks
        .iter()
        .filter_map(|one| one.remark.as_deref())
        .collect();
    let expected = [
        "the file is not a JSON list",
        "the value is neither 0 nor 1",
        "the document is not RSL",
    ];
    assert_eq!(remarks, expected);
}
