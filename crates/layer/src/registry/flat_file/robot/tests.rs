use std::fmt::Write as _;

use super::*;

fn parsed(file: impl AsRef<[u8]>) -> Parsed {
    read(file.as_ref(), &Source::web_robots_db()).expect("the file contains a robot-id")
}

fn one(file: impl AsRef<[u8]>) -> Robot {
    let mut parsed = parsed(file);
    assert_eq!(
        (parsed.robots.len(), parsed.skipped.len()),
        (1, 0),
        "{parsed:?}"
    );
    parsed.robots.remove(0)
}

fn bundled(file: &str) -> Robot {
    read(file.as_bytes(), &Source::bundled())
        .unwrap()
        .robots
        .remove(0)
}

fn ids(parsed: &Parsed) -> Vec<&str> {
    parsed
        .robots
        .iter()
        .map(|robot| robot.id.as_str())
        .collect()
}

fn patterns(robot: &Robot) -> Vec<String> {
    robot.patterns.iter().map(ToString::to_string).collect()
}

// Tests of bytes and lines.

#[test]
fn lines_that_are_not_utf_8_are_windows_1252() {
    let parsed =
        parsed(b"robot-id: a\nrobot-name: M\xfccke\n\nrobot-id: b\nrobot-name: M\xc3\xbccke\x01\n");
    assert_eq!(parsed.robots[0].name, "Mücke");
    assert_eq!(parsed.robots[1].name, "Mücke");
}

#[test]
fn every_line_ending_gives_the_same_records() {
    let file = "robot-id: a\nrobot-name: A A\n\nrobot-id: b\nrobot-name: B";
    for end in ["\n", "\r\n", "\r", "\r\r\n"] {
        let parsed = parsed(file.replace('\n', end));
        assert_eq!(ids(&parsed), ["a", "b"], "{end:?}");
        assert_eq!(parsed.robots[0].name, "A A", "{end:?}");
    }
}

#[test]
fn the_last_record_needs_no_newline() {
    assert_eq!(
        one("robot-id: a\nrobot-useragent: QuillBot/1.0")
            .patterns
            .len(),
        1
    );
}

// Tests of fields.

#[test]
fn any_number_of_blanks_may_follow_the_colon() {
    for field in [
        "robot-id: quill",
        "robot-id:quill",
        "robot-id:     quill  ",
        "robot-id:\tquill",
        "Robot-Id : quill",
        "ROBOT-ID:quill",
    ] {
        assert_eq!(one(field).id, "quill", "{field}");
    }
}

#[test]
fn whole_values_are_kept() {
    let robot = one(
        "robot-id: quill\nrobot-name:   The  Quill\tRobot  \nrobot-useragent: Quill Robot/1.0 (a b)",
    );
    assert_eq!(robot.name, "The Quill Robot");
    assert_eq!(robot.useragent, "Quill Robot/1.0 (a b)");
}

#[test]
fn indented_lines_continue_the_previous_field() {
    let robot = one(
        "robot-id: quill\nrobot-useragent: QuillSpider/X.X (Quill Image Search;\n  http://www.acme.example/)\nrobot-name: Quill\n\tSpider\nrobot-description: text\n   robot-like words: more\n",
    );
    assert_eq!(
        robot.useragent,
        "QuillSpider/X.X (Quill Image Search; http://www.acme.example/)"
    );
    assert_eq!(robot.name, "Quill Spider");
}

#[test]
fn a_name_glued_to_the_id_is_split_off() {
    let robot = one("robot-id: robot-name: Quill Valley\nrobot-useragent: QuillValley/1.0");
    assert_eq!(
        (robot.id.as_str(), robot.name.as_str()),
        ("quill-valley", "Quill Valley")
    );
}

#[test]
fn a_field_glued_into_a_description_is_found() {
    let robot =
        one("robot-id: quill\nrobot-description: gathers thingsrobot-useragent: QuillBot/1.0\n");
    assert_eq!(robot.useragent, "QuillBot/1.0");
}

#[test]
fn the_first_field_wins() {
    let robot = one(
        "robot-id: quill\nrobot-name: First\nrobot-name: Second\nrobot-useragent:\nrobot-useragent: QuillBot",
    );
    assert_eq!(
        (robot.name.as_str(), robot.useragent.as_str()),
        ("First", "QuillBot")
    );
}

#[test]
fn fields_outside_the_schema_are_ignored() {
    let robot = one(
        "robot-id: quill\nrobot-nofollow: yes\nrobot-description1: x\nmodified-date: today\nx-field: y\nfree text\nrobot-name: Quill",
    );
    assert_eq!(robot.name, "Quill");
}

#[test]
fn fields_may_be_in_any_order() {
    let robot = one(
        "robot-useragent: QuillBot\nrobot-name: Quill\nrobot-id: quill\nrobot-details-url: http://acme.example/",
    );
    assert_eq!((robot.id.as_str(), robot.name.as_str()), ("quill", "Quill"));
}

#[test]
fn numbered_useragents_are_alternatives() {
    let robot = one(
        "robot-id: quill\nrobot-useragent: QuillBot/1.0\nrobot-useragent2: QuirkSpider\nrobot-useragent10: QuillBot/3.0",
    );
    assert_eq!(robot.useragent, "QuillBot/1.0 | QuirkSpider | QuillBot/3.0");
    assert_eq!(
        patterns(&robot),
        ["token \"QuillBot\"", "token \"QuirkSpider\""]
    );
}

#[test]
fn names_and_addresses_of_owners_are_never_kept() {
    let file = "robot-id: quill\nrobot-owner-name: Jane Doe\nrobot-owner-email: jane@acme.example\nmodified-by: Jane\nrobot-host: acme.example\n";
    let robot = one(file);
    assert!(
        !format!("{robot:?}").contains("Jane") && !format!("{robot:?}").contains("jane"),
        "{robot:?}"
    );
    let parsed = parsed(format!(
        "robot-id: a\n\nWritten by jane@acme.example\n\nrobot-owner-name: Jane\n\n{file}"
    ));
    assert!(
        !format!("{parsed:?}").to_lowercase().contains("jane"),
        "{parsed:?}"
    );
}

// Tests of records.

#[test]
fn two_blank_lines_separate_records_like_one() {
    assert_eq!(
        ids(&parsed("robot-id: a\n\n\n \t\nrobot-id: b\n")),
        ["a", "b"]
    );
}

#[test]
fn a_new_id_ends_a_record_without_a_blank_line() {
    let parsed = parsed("robot-id: a\nrobot-name: A\nrobot-id: b\nrobot-name: B\n");
    assert_eq!(ids(&parsed), ["a", "b"]);
    assert_eq!(parsed.robots[0].name, "A");
    let parsed = read(
        b"robot-id:\nrobot-name: A\nrobot-id:\nrobot-name: B\n",
        &Source::web_robots_db(),
    );
    assert_eq!(ids(&parsed.unwrap()), ["a", "b"]);
}

#[test]
fn lines_with_a_hash_and_blocks_without_an_id_are_counted() {
    let parsed = parsed(
        "# List of robots\n#\nA heading\nof two lines\n\nrobot-id: a\n# between\nrobot-name: A\n\nrobot-name: No Id\n\n  indented\n",
    );
    assert_eq!(ids(&parsed), ["a"]);
    assert_eq!(parsed.robots[0].name, "A");
    assert_eq!(parsed.comment_lines, 3);
    assert_eq!(parsed.records, 4);
    let skipped: Vec<_> = parsed
        .skipped
        .iter()
        .map(|s| (s.line, s.what.as_str(), s.reason.as_str()))
        .collect();
    assert_eq!(
        skipped,
        [
            (3, "A heading", "no robot-id"),
            (10, "No Id", "no robot-id"),
            (12, "indented", "no robot-id")
        ]
    );
}

#[test]
fn entities_are_decoded_everywhere() {
    let robot = one(
        "robot-id: quill&amp;co\nrobot-name: Quill &amp; Co &lt;Z&uuml;rich&gt;\nrobot-useragent: Quill&#45;Spider/1.0\nrobot-details-url: http://acme.example/?a=1&amp;b=2",
    );
    assert_eq!(
        (robot.id.as_str(), robot.name.as_str()),
        ("quill-co", "Quill & Co <Zürich>")
    );
    assert_eq!(patterns(&robot), ["token \"Quill-Spider\""]);
    assert_eq!(
        robot.details_url.as_deref(),
        Some("http://acme.example/?a=1&b=2")
    );
}

#[test]
fn ids_lose_their_blanks_and_remain_unique() {
    let parsed = parsed(
        "robot-id: quill one\n\nrobot-id: quill two\n\nrobot-id:  quill  one \nrobot-name: Again\n",
    );
    assert_eq!(ids(&parsed), ["quill-one", "quill-two"]);
    assert_eq!(parsed.skipped[0].line, 5);
    assert!(
        parsed.skipped[0].reason.starts_with("duplicate"),
        "{:?}",
        parsed.skipped
    );
    assert_eq!(parsed.records, 3);
}

#[test]
fn an_empty_id_comes_from_the_name_and_an_empty_name_from_the_id() {
    let parsed = parsed(
        "robot-id:\nrobot-name: The Quill!\n\nrobot-id: quirk\nrobot-name:\n\nrobot-id: ??\nrobot-name: ..\n",
    );
    assert_eq!(ids(&parsed), ["the-quill", "quirk"]);
    assert_eq!(parsed.robots[1].name, "quirk");
    assert_eq!(parsed.skipped[0].reason, "neither robot-id nor robot-name");
}

#[test]
fn a_long_useragent_is_kept_whole() {
    let useragent = format!("QuillBot/1.0 ({})", "x".repeat(107 - 15));
    assert_eq!(useragent.len(), 107);
    let robot = one(format!("robot-id: quill\nrobot-useragent: {useragent}\n"));
    assert_eq!(robot.useragent, useragent);
    assert_eq!(patterns(&robot), ["token \"QuillBot\""]);
}

#[test]
fn details_urls_must_be_http() {
    let url = |value: &str| one(format!("robot-id: a\nrobot-details-url: {value}\n")).details_url;
    assert_eq!(
        url("(http://acme.example/man?fetch(3))").as_deref(),
        Some("http://acme.example/man?fetch(3)")
    );
    assert_eq!(
        url("http://acme.example/x),").as_deref(),
        Some("http://acme.example/x")
    );
    assert_eq!(
        url("http://acme.example/bot.html (in German)").as_deref(),
        Some("http://acme.example/bot.html")
    );
    assert_eq!(
        url("HTTPS://acme.example").as_deref(),
        Some("HTTPS://acme.example")
    );
    for value in [
        "",
        "none",
        "www.acme.example",
        "mailto:x@acme.example",
        "javascript:alert(1)",
        "(forthcoming)",
        "http://",
        "http:///x",
        "http://a\"onclick=x",
        "see http://acme.example",
    ] {
        assert_eq!(url(value), None, "{value}");
    }
}

#[test]
fn a_robot_without_a_usable_useragent_is_kept_with_its_reason() {
    let reason = |file: &str| match one(file).status {
        Status::Unusable { reason } => reason,
        status => panic!("{status:?}"),
    };
    assert_eq!(reason("robot-id: a\n"), "the useragent is empty");
    assert_eq!(
        reason("robot-id: a\nrobot-useragent: no\n"),
        "the useragent is \"no\", which does not name a robot"
    );
    assert_eq!(
        reason(
            "robot-id: a\nrobot-useragent: Due to a fault it is not possible to say.\nrobot-exclusion-useragent: *\n"
        ),
        "the useragent is a sentence, not a name"
    );
}

#[test]
fn the_product_token_replaces_a_missing_useragent() {
    let robot =
        one("robot-id: a\nrobot-useragent: none\nrobot-exclusion-useragent: QuillBot/1.0\n");
    assert_eq!(patterns(&robot), ["token \"QuillBot\""]);
    assert_eq!(robot.product_token.as_deref(), Some("QuillBot"));
    assert_eq!(robot.useragent, "none");
}

#[test]
fn product_tokens_are_names() {
    let token = |value: &str| {
        one(format!("robot-id: a\nrobot-exclusion-useragent: {value}\n")).product_token
    };
    assert_eq!(token("quill, quill realm").as_deref(), Some("quill"));
    assert_eq!(token("\"Ask Wilbur\" or *").as_deref(), Some("Ask Wilbur"));
    for value in [
        "*",
        "yes",
        "no",
        "",
        "robots.txt",
        "http://acme.example",
        "It is not possible to set this in the toolkit",
    ] {
        assert_eq!(token(value), None, "{value}");
    }
}

#[test]
fn robots_with_purposes_of_the_database_are_redirected() {
    let purpose = |value: &str| one(format!("robot-id: a\nrobot-purpose: {value}\n")).purpose;
    assert_eq!(purpose("Indexing, statistics"), Purpose::Search);
    assert_eq!(purpose("maintenance, indexing."), Purpose::Search);
    assert_eq!(purpose("maintenance"), Purpose::Unknown);
    assert_eq!(purpose("statistics mirroring"), Purpose::Unknown);
    assert_eq!(purpose("monitoring"), Purpose::Monitoring);
    assert_eq!(
        purpose("a library that was made for monitoring of sites"),
        Purpose::Unknown
    );
    assert_eq!(purpose("AI-Training"), Purpose::AiTraining);
}

#[test]
fn exclusion_is_parsed_from_the_first_word() {
    let exclusion = |value: &str| one(format!("robot-id: a\nrobot-exclusion: {value}\n")).exclusion;
    assert_eq!(exclusion("Yes."), Exclusion::Yes);
    assert_eq!(exclusion("no (soon)"), Exclusion::No);
    assert_eq!(exclusion("partly"), Exclusion::Partly);
    assert_eq!(exclusion("not yet"), Exclusion::Unknown);
}

// Tests of additional fields.

#[test]
fn a_stated_kind_keeps_the_useragent_unchanged() {
    let robot = bundled(
        "robot-id: quill\nrobot-useragent: qut/\nrobot-useragent-kind: prefix\nrobot-useragent2: Quirk Bot|Bot of Quirk\nrobot-useragent-kind2: token\nrobot-useragent3: QuA\nrobot-useragent3-kind: exact\nrobot-useragent4: quo\n",
    );
    assert_eq!(
        patterns(&robot),
        [
            "prefix \"qut/\"",
            "token \"Quirk Bot\"",
            "token \"Bot of Quirk\"",
            "exact \"QuA\"",
            "prefix \"quo\""
        ]
    );
}

#[test]
fn an_invalid_kind_makes_the_robot_unusable() {
    for (kind, part) in [("tokn", "not a kind"), ("token", "too short")] {
        let robot = bundled(&format!(
            "robot-id: a\nrobot-useragent: Q\nrobot-useragent-kind: {kind}\n"
        ));
        assert!(
            matches!(&robot.status, Status::Unusable { reason } if reason.contains(part)),
            "{robot:?}"
        );
    }
}

#[test]
fn stated_patterns_replace_derived_ones() {
    let robot = bundled(
        "robot-id: quill\nrobot-useragent: QuillBot\nrobot-pattern: token Quill\nrobot-pattern2: regex ^Quill\\/[0-9] x\n",
    );
    assert_eq!(
        patterns(&robot),
        ["token \"Quill\"", "regex \"^Quill\\\\/[0-9] x\""]
    );
}

#[test]
fn operator_hosts_and_ranges_are_read_from_trusted_files_only() {
    let file = "robot-id: a\nrobot-owner-name: Acme, Inc.\nrobot-host: *.acme.example, Crawl.Acme.Example., 192.0.2.*, com, bad_host.example\nrobot-ranges-url: https://acme.example/ips.json\n";
    let robot = bundled(file);
    assert_eq!(robot.operator.as_deref(), Some("Acme, Inc."));
    assert_eq!(robot.host_suffixes, ["acme.example", "crawl.acme.example"]);
    assert_eq!(
        robot.ranges_url.as_deref(),
        Some("https://acme.example/ips.json")
    );
    let robot = one(file);
    assert_eq!(
        (robot.operator, robot.host_suffixes, robot.ranges_url),
        (None, Vec::new(), None)
    );
}

#[test]
fn signature_agents_are_hosts_and_read_from_trusted_files_only() {
    let file = "robot-id: a\nrobot-signature-agent: https://Keys.Acme.example/, acme.example:8443; acme.example:443, \"https://keys.acme.example\", http://plain.example, acme.example/Path, acme.example/a?b, acme.example:0, acme.example:+1, localhost\n";
    assert_eq!(
        bundled(file).signature_agents,
        [
            "keys.acme.example",
            "acme.example:8443",
            "acme.example",
            "acme.example/Path"
        ]
    );
    assert!(one(file).signature_agents.is_empty());
}

#[test]
fn evidence_is_words_and_read_from_trusted_files_only() {
    let file = "robot-id: a\nrobot-evidence: matomo, web-robots-db; matomo, Some prose., http://a.example/, operator\n";
    assert_eq!(
        bundled(file).evidence,
        ["matomo", "web-robots-db", "operator"]
    );
    assert!(one(file).evidence.is_empty());
}

// Tests of the size of the input.

#[test]
fn long_values_are_truncated_and_long_useragents_unusable() {
    let long = "ä".repeat(20_000);
    let robot = one(format!(
        "robot-id: {}\nrobot-name: {long}\nrobot-useragent: {long}\n",
        "q".repeat(5000)
    ));
    assert_eq!(robot.id.len(), 100);
    assert!(robot.name.len() <= 2048 && robot.useragent.len() <= 2048);
    assert!(
        matches!(&robot.status, Status::Unusable { reason } if reason.contains("longer")),
        "{robot:?}"
    );
}

#[test]
fn skipped_records_are_limited() {
    let file = format!("robot-id: a\n\n{}", "x\n\n".repeat(3000));
    let parsed = parsed(file);
    assert_eq!(parsed.records, 3001);
    assert_eq!(parsed.skipped.len(), 1001);
    assert_eq!(parsed.skipped[1000].reason, "skipped 2000 more records");
}

#[test]
fn the_number_of_robots_is_limited() {
    let mut file = String::new();
    for number in 0..50_010 {
        writeln!(file, "robot-id: q{number}").unwrap();
    }
    let parsed = parsed(file);
    assert_eq!((parsed.robots.len(), parsed.skipped.len()), (50_000, 10));
}

#[test]
fn no_input_takes_quadratic_time() {
    // Each of these inputs takes minutes to parse if a scan restarts at every step.
    for unit in [
        "robot-",
        "robot-id:",
        " \r",
        "&",
        "robot-id: x\n ",
        "(",
        "robot-name: robot-name:\n",
        "a:b\n",
    ] {
        let file = format!("robot-id: a\n{}", unit.repeat(1_000_000 / unit.len()));
        let _ = read(file.as_bytes(), &Source::web_robots_db());
    }
}
