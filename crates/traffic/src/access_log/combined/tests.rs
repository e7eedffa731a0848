use super::*;

const TIME: &str = "[01/Mar/2026:10:00:00 +0000]";

fn entry(line: &str) -> Option<(&str, u64)> {
    let entry = read(line.as_bytes())?;
    Some((std::str::from_utf8(entry.user_agent).unwrap(), entry.bytes))
}

/// Asserts the result of parsing a line, in which `TIME` is a placeholder for a time.
fn assert_read(line: &str, user_agent: &str, bytes: u64) {
    let line = line.replace("TIME", TIME);
    assert_eq!(entry(&line), Some((user_agent, bytes)), "{line}");
}

#[test]
fn formats_of_both_servers_are_parsed() {
    for (line, user_agent, bytes) in [
        // Lines in the combined format.
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 512 "-" "A/1""#,
            "A/1",
            512,
        ),
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 512 "https://www.example/?q=a" "A/1 (x; y)""#,
            "A/1 (x; y)",
            512,
        ),
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 304 - "-" "-""#,
            "-",
            0,
        ),
        (r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 0 "" """#, "", 0),
        // Lines in the common format.
        (r#"192.0.2.1 - - TIME "GET / HTTP/1.0" 200 512"#, "", 512),
        (r#"192.0.2.1 - - TIME "GET / HTTP/1.0" 404 -"#, "", 0),
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.0" 200 512 0.004 upstream"#,
            "",
            512,
        ),
        // Lines that start with a virtual host.
        (
            r#"www.example:443 192.0.2.1 - - TIME "GET / HTTP/1.1" 200 512 "-" "A/1""#,
            "A/1",
            512,
        ),
        (
            r#"[2001:db8::5]:80 2001:db8::1 - - TIME "GET / HTTP/1.1" 200 5 "-" "A/1""#,
            "A/1",
            5,
        ),
        (
            r#"www.example:80 192.0.2.1 - - TIME "GET / HTTP/1.0" 200 512"#,
            "",
            512,
        ),
    ] {
        assert_read(line, user_agent, bytes);
    }
}

#[test]
fn addresses_users_and_additional_fields_are_skipped() {
    for (line, user_agent, bytes) in [
        // Lines with unusual addresses and user names.
        (
            r#"2001:db8::7:1 - - TIME "GET / HTTP/1.1" 200 5 "-" "A/1""#,
            "A/1",
            5,
        ),
        (
            r#"host.example ident anna TIME "GET / HTTP/1.1" 200 5 "-" "A/1""#,
            "A/1",
            5,
        ),
        (
            r#"192.0.2.1 - anna maria TIME "GET / HTTP/1.1" 200 5 "-" "A/1""#,
            "A/1",
            5,
        ),
        (
            r#"192.0.2.1 - "" TIME "GET / HTTP/1.1" 401 5 "-" "A/1""#,
            "A/1",
            5,
        ),
        (
            r#"192.0.2.1 - a\"b] \"c TIME "GET / HTTP/1.1" 401 5 "-" "A/1""#,
            "A/1",
            5,
        ),
        (
            r#"192.0.2.1 - [x] [y TIME "GET / HTTP/1.1" 401 5 "-" "A/1""#,
            "A/1",
            5,
        ),
        // Lines with additional fields.
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 5 "-" "A/1" "192.0.2.9""#,
            "A/1",
            5,
        ),
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 5 "-" "A/1" 0.001 0.001 ."#,
            "A/1",
            5,
        ),
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 5 "-" 0.3 "A/1" rt=1 "b"#,
            "A/1",
            5,
        ),
    ] {
        assert_read(line, user_agent, bytes);
    }
}

#[test]
fn invalid_requests_and_quotes_do_not_affect_other_fields() {
    for (line, user_agent, bytes) in [
        // Lines that contain invalid requests.
        (r#"192.0.2.1 - - TIME "-" 408 - "-" "-""#, "-", 0),
        (r#"192.0.2.1 - - TIME "" 400 0 "-" "-""#, "-", 0),
        (
            r#"192.0.2.1 - - TIME "\x16\x03\x01\x02\x00\x01" 400 157 "-" "-""#,
            "-",
            157,
        ),
        (
            r#"192.0.2.1 - - TIME "\x03\n\x16\"\\" 400 226 "-" "A/1""#,
            "A/1",
            226,
        ),
        (
            r#"192.0.2.1 - - TIME "GET /a\" 200 1 \"b HTTP/1.1" 404 9 "-" "A/1""#,
            "A/1",
            9,
        ),
        (
            r#"192.0.2.1 - - TIME "GET /"bare" quotes HTTP/1.1" 404 9 "-" "A/1""#,
            "A/1",
            9,
        ),
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" - 9 "-" "A/1""#,
            "A/1",
            9,
        ),
        // Lines with quotes inside fields.
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 5 "\"a\" \"b\"" "say \"A/1\"""#,
            r#"say \"A/1\""#,
            5,
        ),
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 5 "\x22 \x22A" "\x22A/1\x22""#,
            r"\x22A/1\x22",
            5,
        ),
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 5 "-" "ends in \\""#,
            r"ends in \\",
            5,
        ),
        // Lines with a number that overflows.
        (
            r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 200 99999999999999999999 "-" "A/1""#,
            "A/1",
            u64::MAX,
        ),
    ] {
        assert_read(line, user_agent, bytes);
    }
}

#[test]
fn request_cannot_forge_the_fields_after_it() {
    let forged = r#"192.0.2.1 - - TIME "GET /\" 200 1 \"-\" \"Forged/1" 404 9 "-" "A/1""#;
    assert_read(forged, "A/1", 9);
    let forged = r#"192.0.2.1 - - TIME "GET / HTTP/1.1" 404 9 "\" \"Forged/1" "A/1""#;
    assert_read(forged, "A/1", 9);
    let forged = r#"192.0.2.1 - x TIME \"GET / HTTP/1.1\" 200 5 \"-\" \"Forged/1\" TIME "GET /" 200 5 "-" "A/1""#;
    assert_read(forged, "A/1", 5);
}

#[test]
fn line_cut_before_its_last_quote_is_rejected_or_parsed_as_common_format() {
    let line = format!(r#"192.0.2.1 - - {TIME} "GET / HTTP/1.1" 200 512 "-" "A/1""#);
    let common = line.find(" \"-\"").unwrap();
    let status = line.find(" 512").unwrap();
    for length in 0..line.len() {
        let found = entry(line.get(..length).unwrap());
        if (status + 2..=common + 1).contains(&length) {
            assert_eq!(found.unwrap().0, "", "{length}");
        } else {
            assert_eq!(found, None, "{length}");
        }
    }
}

#[test]
fn lines_of_other_formats_are_rejected() {
    for line in [
        "",
        " ",
        "A/1 (a user agent alone)",
        r#"2026/03/01 10:00:00 [error] 7#7: *1 open() "/srv/x" failed (2: No such file), client: 192.0.2.1, request: "GET /x HTTP/1.1""#,
        r#"{"http_user_agent":"A/1","time":"[t] "}"#,
        r#"Fields: date time cs(User-Agent) "x""#,
        r#"192.0.2.1 - - [t] "GET / HTTP/1.1" OK 5 "-" "A/1""#,
        r#"192.0.2.1 - - [t] "GET / HTTP/1.1" 200 five "-" "A/1""#,
        r#"192.0.2.1 - - [t] "GET / HTTP/1.1" 2000 5 "-" "A/1""#,
        r#"192.0.2.1 - - [t] "GET / HTTP/1.1" 200 5 "one field alone""#,
        r#"192.0.2.1 - - "GET / HTTP/1.1" 200 5 "-" "A/1""#,
    ] {
        assert_eq!(entry(line), None, "{line}");
    }
}
