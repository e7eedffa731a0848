//! The application's statements about visitors: in response headers, and by reports.

use super::*;

const FIELD: &str = "X-Robot-Detection-Person";

/// A site that declares visitors of `/yes` to be people, and visitors of `/no` not to be.
async fn speaking() -> RawServer {
    RawServer::start(|mut connection| async move {
        while let Some(request) = connection.request().await {
            let path = request.split(' ').nth(1).unwrap_or_default();
            let word = match path.trim_start_matches('/') {
                word @ ("yes" | "no" | "maybe") => format!("{FIELD}: {word}\r\n"),
                _ => String::new(),
            };
            let answer = format!("HTTP/1.1 200 OK\r\n{word}Content-Length: 4\r\n\r\nsite");
            connection.send(answer).await;
        }
    })
    .await
}

const SHUT: &str =
    "[[rule]]\nname = 'shut'\npath = '/shut/*'\nsuspect = true\naction = 'refuse'\npeople = true\n";

#[tokio::test(flavor = "multi_thread")]
async fn the_upstreams_header_clears_and_marks_and_is_not_forwarded() {
    let house = House::of(speaking().await, SHUT);
    let other = [
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Other"),
        PERSON[1],
    ];
    let status = |headers: &[(&str, &str)]| house.ask("/shut/1", headers).status;
    let ask = |path: &str, headers: &[(&str, &str)]| {
        let answer = house.ask(path, headers);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header(FIELD), "", "{path}");
    };
    assert_eq!(
        (status(&LIAR), status(&PERSON), status(&other)),
        (403, 200, 200)
    );
    ask("/maybe", &LIAR);
    assert_eq!(status(&LIAR), 403, "an invalid value has no effect");
    ask("/yes", &LIAR);
    ask("/no", &PERSON);
    assert_eq!(
        (status(&LIAR), status(&PERSON), status(&other)),
        (200, 403, 200)
    );
    let lines = house.lines(10);
    assert_eq!(lines[8]["suspect"], "upstream-word");
    ask("/no", &LIAR);
    ask("/yes", &PERSON);
    assert_eq!(
        (status(&LIAR), status(&PERSON)),
        (403, 200),
        "the last statement applies"
    );
    // Statements about robots are ignored.
    let robot = [("User-Agent", GOOGLEBOT)];
    ask("/no", &robot);
    assert_eq!(status(&robot), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitors_own_header_has_no_effect() {
    let house = House::of(speaking().await, SHUT);
    let forged = [&LIAR[..], &[(FIELD, "yes")]].concat();
    assert_eq!(house.ask("/a", &forged).status, 200);
    let sent = house.site.last_request().to_lowercase();
    assert!(!sent.contains("person"), "{sent}");
    assert_eq!(house.ask("/shut/1", &forged).status, 403);
    let misspelt = [&LIAR[..], &[("x_robot_detection_person", "yes")]].concat();
    assert_eq!(house.ask("/a", &misspelt).status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_header_is_removed_where_suspects_are_detected_unless_its_name_is_empty() {
    const ON: &str = "suspects.action = 'report'\n";
    for (settings, field, seen) in [
        (ON.to_owned(), FIELD, ""),
        ("suspects.action = 'off'\n".to_owned(), FIELD, "yes"),
        (format!("{ON}suspects.person_header = ''\n"), FIELD, "yes"),
        (
            format!("{ON}suspects.person_header = 'X-Member'\n"),
            FIELD,
            "yes",
        ),
    ] {
        let house = House::of(speaking().await, &settings);
        assert_eq!(house.ask("/yes", &PERSON).header(field), seen, "{settings}");
    }
}

fn report(house: &House, body: &str) -> Answer {
    let length = body.len();
    let head = format!(
        "POST /check/report HTTP/1.1\r\nHost: check\r\nConnection: close\r\nContent-Length: {length}\r\n\
         X-Robot-Detection-Token: 0123456789abcdef\r\n\r\n"
    );
    exchange(
        house.server.check.unwrap(),
        format!("{head}{body}").as_bytes(),
    )
}

const CHECK: &str = "[check]\nlisten = '127.0.0.1:0'\ntoken = '0123456789abcdef'\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_report_has_the_same_effect_and_is_rejected_completely_if_a_line_is_invalid() {
    let house = House::of(speaking().await, &format!("{SHUT}{CHECK}"));
    let statuses = || [&LIAR[..], &PERSON].map(|headers| house.ask("/shut/1", headers).status);
    let right = format!("127.0.0.1 yes {CHROME}\n127.0.0.1 no {FIREFOX}\n");
    for (body, status, told) in [
        (
            format!("{right}127.0.0 no x\n"),
            400,
            "line 3: the line must begin with an address",
        ),
        ("x".repeat(70_000), 413, "must not exceed 65536 bytes"),
        (String::new(), 400, "1 to 1000 visitors"),
    ] {
        let answer = report(&house, &body);
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(told), "{}", answer.text());
    }
    assert_eq!(statuses(), [403, 200]);
    let answer = report(&house, &right);
    let told: Value = serde_json::from_str(&answer.text()).unwrap();
    let expected = serde_json::json!({ "taken": 2, "yes": 1, "no": 1, "for_seconds": 600 });
    assert_eq!((answer.status, told), (200, expected));
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(statuses(), [200, 403]);
    let asked = "GET /check/report HTTP/1.1\r\nHost: check\r\nConnection: close\r\n";
    let token = "X-Robot-Detection-Token: 0123456789abcdef\r\n";
    let addr = house.server.check.unwrap();
    let answer = exchange(addr, format!("{asked}{token}\r\n").as_bytes());
    assert_eq!(
        (answer.status, answer.header("allow").as_str()),
        (405, "POST")
    );
    assert_eq!(
        exchange(addr, format!("{asked}\r\n").as_bytes()).status,
        403,
        "the token is missing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_applies_only_to_sites_that_detect_suspects() {
    let off = format!("[suspects]\naction = \"off\"\n{CHECK}");
    let house = House::of(speaking().await, &off);
    let answer = report(&house, "192.0.2.7 no x");
    assert_eq!(answer.status, 400);
    assert!(
        answer
            .text()
            .contains("line 1: the site does not detect suspects")
    );
}
