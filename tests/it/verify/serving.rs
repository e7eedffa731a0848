//! A server verifies robots, and treats impostors as configured.

use robot_detection::verify::ACCEPT_SIGNATURE;

use crate::dns_server::{WELL_KNOWN, reverse};
use crate::support::program::{eventually, request};

use super::site::{ELSEWHERE, HOME, Site, ask, ask_aside, ask_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_fetched_when_its_robot_arrives() {
    let site = Site::new("verify.spoofed = 'refuse'").await;
    let server = site.serve();
    assert_eq!(ask(&server, "hostbot/1", ELSEWHERE).text(), "pending");
    assert!(site.lists.seen().is_empty(), "fetched too early");
    assert_eq!(ask(&server, "listbot/1", ELSEWHERE).text(), "unverifiable");
    ask_until(&server, "listbot/1", HOME, "verified");
    assert_eq!(ask(&server, "listbot/1", ELSEWHERE).status, 403);
    assert_eq!(site.lists.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_start_uses_the_stored_list_without_the_network() {
    let site = Site::new("").await;
    let server = site.serve();
    ask(&server, "listbot/1", HOME);
    ask_until(&server, "listbot/1", HOME, "verified");
    server.signal("TERM");
    assert!(server.wait());
    let server = site.serve();
    ask_until(&server, "listbot/1", HOME, "verified");
    assert_eq!(ask(&server, "listbot/1", ELSEWHERE).text(), "spoofed");
    assert_eq!(site.lists.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_passes_during_the_dns_query() {
    let site = Site::new("verify.spoofed = 'refuse'").await;
    site.dns.host(HOME, "a.robots.example");
    site.dns.host(ELSEWHERE, "robots.example.evil.example");
    site.dns.hold();
    let server = site.serve();
    for _ in 0..2 {
        let first = ask(&server, "hostbot/1", HOME);
        assert_eq!((first.status, &*first.text()), (200, "pending"));
        let first = ask(&server, "hostbot/1", ELSEWHERE);
        assert_eq!((first.status, &*first.text()), (200, "pending"));
    }
    site.dns.release();
    ask_until(&server, "hostbot/1", HOME, "verified");
    let refused = "This request does not come from the robot that its User-Agent claims.\n";
    ask_until(&server, "hostbot/1", ELSEWHERE, refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_resolver_without_names_no_robot_is_spoofed() {
    let site = Site::new("verify.spoofed = 'refuse'").await;
    site.dns.forget(&reverse(WELL_KNOWN));
    let server = site.serve();
    ask_until(&server, "hostbot/1", HOME, "unverifiable");
    assert_eq!(ask(&server, "hostbot/1", HOME).status, 200);
}

/// Returns a rule that waits for the verdict and refuses impostors.
fn patient(milliseconds: u32) -> String {
    format!(
        "[[rule]]\npath = '/*'\nverdicts = ['spoofed']\naction = 'refuse'\n\
         wait_milliseconds = {milliseconds}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_waits_for_the_verdict() {
    let site = Site::new(&patient(10_000)).await;
    site.dns.host(HOME, "a.robots.example");
    site.dns.hold();
    let server = site.serve();
    let release = async {
        site.dns.wait_for_pending(2).await;
        site.dns.release();
    };
    let (impostor, robot, ()) = tokio::join!(
        ask_aside(&server, "hostbot/1", ELSEWHERE),
        ask_aside(&server, "hostbot/1", HOME),
        release
    );
    assert_eq!(impostor.status, 403, "even its first request is refused");
    assert_eq!((robot.status, &*robot.text()), (200, "verified"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_has_waited_too_long_is_decided_as_pending() {
    let site = Site::new(&patient(50)).await;
    site.dns.hold();
    let server = site.serve();
    for _ in 0..2 {
        let answer = ask(&server, "hostbot/1", ELSEWHERE);
        assert_eq!((answer.status, &*answer.text()), (200, "pending"));
    }
    site.dns.wait_for_pending(1).await;
    site.dns.release();
    eventually("the impostor is refused", || {
        ask(&server, "hostbot/1", ELSEWHERE).status == 403
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_disables_and_enables_verification() {
    let site = Site::new("verify.spoofed = 'refuse'").await;
    let server = site.serve();
    ask_until(&server, "listbot/1", HOME, "verified");
    assert_eq!(ask(&server, "listbot/1", ELSEWHERE).status, 403);
    site.configure("verify.enabled = false");
    server.signal("HUP");
    ask_until(&server, "listbot/1", ELSEWHERE, "unverifiable");
    site.configure("");
    server.signal("HUP");
    ask_until(&server, "listbot/1", ELSEWHERE, "spoofed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_decides_whether_refused_clients_are_invited_to_sign() {
    const REFUSE: &str = "[[rule]]\npath = '/*'\naction = 'refuse'";
    let site = Site::new(&format!("verify.methods = ['ranges']\n{REFUSE}")).await;
    let server = site.serve();
    let asked = || {
        let answer = ask(&server, "hostbot/1", ELSEWHERE);
        assert_eq!(answer.status, 403);
        answer.header("accept-signature")
    };
    assert_eq!(asked(), "");
    site.configure(&format!(
        "verify.methods = ['ranges', 'web-bot-auth']\n{REFUSE}"
    ));
    server.signal("HUP");
    eventually("refused clients are invited to sign", || {
        asked() == ACCEPT_SIGNATURE
    });
    site.configure(&format!("verify.methods = ['ranges']\n{REFUSE}"));
    server.signal("HUP");
    eventually("refused clients are not invited", || asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_against_impostors_is_stored_even_for_the_first_request() {
    let site = Site::new("").await;
    site.dns.host(HOME, "a.robots.example");
    site.dns.host(ELSEWHERE, "evil.example");
    let token = site.run(&["admin", "token", "test"]).stdout;
    let bearer = format!("Bearer {}", String::from_utf8(token).unwrap().trim());
    let server = site.serve();
    ask_until(&server, "hostbot/1", HOME, "verified");
    assert_eq!(ask(&server, "hostbot/1", ELSEWHERE).text(), "pending");
    ask_until(&server, "hostbot/1", ELSEWHERE, "spoofed");
    let kept = || {
        let path = "/robot-detection/admin/api/v1/evidence?event=impostor";
        let told = request(server.addr, "GET", path, &[("Authorization", &*bearer)]);
        let told: serde_json::Value = serde_json::from_str(&told.text()).unwrap();
        told["evidence"].as_array().unwrap().clone()
    };
    // The verification of the first request ends after its response.
    eventually("both samples are stored", || kept().len() >= 2);
    for row in kept() {
        assert_eq!(row["robot"], "hostbot");
        assert_eq!(
            (&row["verdict"], &row["decision"]),
            (&"spoofed".into(), &"pass".into())
        );
        assert_eq!(row["address"], ELSEWHERE);
        let proof = row["proof"].as_str().unwrap();
        assert!(proof.contains("evil.example"), "{proof}");
    }
}
