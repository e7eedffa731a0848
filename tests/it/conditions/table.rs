//! Each condition alone and with others, for each kind of visitor.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use robot_detection::{
    app,
    config::Loader,
    detect::{Claim, Detector, Verdict},
    policy::{Policy, Request, Sender, Visitor},
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
    verify::PublishedRanges,
};

fn policy(conditions: &str) -> Policy {
    let text = format!(
        "filter_pattern = ''\n[[list]]\nname = 'office'\nurl = 'office.txt'\n\
         [[list]]\nname = 'cloud'\nurl = 'https://lists.example/cloud.json'\n\
         [[list]]\nname = 'unread'\nurl = 'unread.txt'\n\
         [[rule]]\nname = 'it'\npath = '/*'\naction = 'refuse'\n{conditions}\n"
    );
    let loaded = Loader::new().file("c.toml", &text).load().unwrap();
    let lists = loaded.origins().lists();
    for (url, document) in LISTS {
        let list = PublishedRanges::parse_chosen(url, document.as_bytes()).unwrap();
        lists.put(url, list);
    }
    app::policy(&loaded).unwrap_or_else(|error| panic!("{conditions}: {error}"))
}

/// Lists as published: lines with comments, overlapping and adjacent networks, and JSON.
const LISTS: [(&str, &str); 2] = [
    (
        "office.txt",
        "# ours\n; of 2026-11-20\n10.1.0.0/16 ; office\n192.0.2.0/25\n192.0.2.128/25 # the other half\n\
         192.0.2.64/26\n2001:db8:1::/48\n::ffff:198.51.100.7\n",
    ),
    (
        "https://lists.example/cloud.json",
        "{\"cidr\": \"203.0.113.0/25\", \"id\": \"A1\"}\n{\"cidr\": \"2001:db8:ffff::/48\"}\n{\"type\": \"metadata\", \"size\": 9}\n",
    ),
];

fn detector() -> Detector {
    let robot = |id: &str, purpose| {
        let mut robot = Robot::new(id, Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
        robot.purpose = purpose;
        Arc::new(robot)
    };
    Detector::new([
        robot("ListedBot", Purpose::Search),
        robot("ManyPeople", Purpose::Shared),
    ])
    .unwrap()
    .recognise_unlisted(true)
}

/// Returns `true` if the rule matches a visitor with this User-Agent, address and headers.
fn matches(
    policy: &Policy,
    detector: &Detector,
    user_agent: &str,
    address: &str,
    more: &str,
) -> bool {
    let mut headers = HeaderMap::new();
    for line in more.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        let name = HeaderName::try_from(name).unwrap();
        headers.append(name, HeaderValue::try_from(value).unwrap());
    }
    if !user_agent.is_empty() {
        headers.insert("user-agent", HeaderValue::try_from(user_agent).unwrap());
    }
    let sender = Sender {
        address: address.parse().ok(),
        headers: Some(&headers),
        ..Sender::default()
    };
    let claim = detector.claim(user_agent.as_bytes());
    let visitor = match &claim {
        Some(claim) => Some(Visitor::new(claim, Verdict::Unverifiable).with_sender(sender)),
        None => policy
            .has_rules_for_people()
            .then(|| Visitor::person(sender)),
    };
    let request = Request {
        method: "GET",
        host: None,
        path: "/a",
        query: None,
    };
    let judgement = policy.judge(&request, visitor);
    judgement.rule.or(judgement.noted).is_some()
}

const LISTED: &str = "ListedBot/1.0";
const UNLISTED: &str = "AcmeCorpSpider/1.0";
const NAMELESS: &str = "";
const PERSON: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const SHARED: &str = "ManyPeople/1.0";

/// User-Agent, address, headers, and whether the rule matches.
type Case = (&'static str, &'static str, &'static str, bool);

/// Conditions of a rule, with the requests that the rule matches or not.
const CASES: &[(&str, &[Case])] = &[
    (
        "",
        &[
            (LISTED, "", "", true),
            (UNLISTED, "", "", true),
            (NAMELESS, "", "", false),
            (PERSON, "", "", false),
            (SHARED, "", "", false),
        ],
    ),
    (
        "visitors = 'robots'",
        &[
            (LISTED, "", "", true),
            (UNLISTED, "", "", true),
            (NAMELESS, "", "", true),
            (PERSON, "", "", false),
            (SHARED, "", "", false),
        ],
    ),
    (
        "visitors = 'people'",
        &[
            (LISTED, "", "", false),
            (UNLISTED, "", "", false),
            (NAMELESS, "", "", false),
            (PERSON, "", "", true),
            (SHARED, "", "", true),
        ],
    ),
    (
        "visitors = 'all'\npeople = true",
        &[
            (LISTED, "", "", true),
            (UNLISTED, "", "", true),
            (NAMELESS, "", "", true),
            (PERSON, "", "", true),
            (SHARED, "", "", true),
        ],
    ),
    (
        "visitors = ['person', 'nameless']",
        &[
            (LISTED, "", "", false),
            (NAMELESS, "", "", true),
            (PERSON, "", "", true),
            (SHARED, "", "", false),
        ],
    ),
    (
        "addresses = ['192.0.2.0/24', '2001:db8:1::/48', '198.51.100.7']",
        &[
            (LISTED, "192.0.2.0", "", true),
            (LISTED, "192.0.2.255", "", true),
            (LISTED, "192.0.3.0", "", false),
            (LISTED, "::ffff:192.0.2.1", "", true),
            (LISTED, "2001:db8:1:ffff::1", "", true),
            (LISTED, "2001:db8:2::1", "", false),
            (LISTED, "198.51.100.7", "", true),
            (LISTED, "198.51.100.8", "", false),
            (LISTED, "", "", false),
            (PERSON, "192.0.2.1", "", false),
        ],
    ),
    (
        "addresses = ['list:office', '203.0.113.200']",
        &[
            (LISTED, "192.0.2.0", "", true),
            (LISTED, "192.0.2.127", "", true),
            (LISTED, "192.0.2.128", "", true),
            (LISTED, "192.0.2.255", "", true),
            (LISTED, "192.0.3.0", "", false),
            (LISTED, "10.1.255.255", "", true),
            (LISTED, "10.2.0.0", "", false),
            (LISTED, "198.51.100.7", "", true),
            (LISTED, "::ffff:198.51.100.7", "", true),
            (LISTED, "2001:db8:1::1", "", true),
            (LISTED, "2001:db8:2::1", "", false),
            (LISTED, "203.0.113.200", "", true),
            (LISTED, "203.0.113.1", "", false),
            (LISTED, "", "", false),
            (PERSON, "192.0.2.1", "", false),
        ],
    ),
    (
        "visitors = 'all'\naddresses = 'list:office, list:cloud'",
        &[
            (PERSON, "192.0.2.1", "", true),
            (PERSON, "203.0.113.127", "", true),
            (PERSON, "203.0.113.128", "", false),
            (NAMELESS, "2001:db8:ffff::1", "", true),
        ],
    ),
    (
        "visitors = 'all'\naddresses = 'list:unread'",
        &[
            (PERSON, "192.0.2.1", "", false),
            (LISTED, "192.0.2.1", "", false),
            (LISTED, "", "", false),
        ],
    ),
    (
        "visitors = 'all'\naddresses = '192.0.2.0/24'",
        &[
            (PERSON, "192.0.2.1", "", true),
            (PERSON, "192.0.3.1", "", false),
            (NAMELESS, "192.0.2.1", "", true),
            (SHARED, "192.0.2.1", "", true),
            (PERSON, "", "", false),
        ],
    ),
    (
        "request_headers = ['X-Monitor']",
        &[
            (LISTED, "", "X-Monitor: 1", true),
            (LISTED, "", "x-monitor: ", true),
            (LISTED, "", "X-Other: 1", false),
            (PERSON, "", "X-Monitor: 1", false),
        ],
    ),
    (
        "visitors = 'people'\nrequest_headers = ['!Accept-Language', '!Cookie']",
        &[
            (PERSON, "", "", true),
            (PERSON, "", "Accept-Language: de", false),
            (PERSON, "", "Cookie: a=b", false),
            (PERSON, "", "Accept: */*", true),
            (LISTED, "", "", false),
        ],
    ),
    (
        "visitors = 'all'\nrequest_headers = ['Accept: text/*', 'X-Key: ?bc']",
        &[
            (PERSON, "", "Accept: text/html\nX-Key: abc", true),
            (PERSON, "", "Accept: TEXT/plain\nX-Key: Xbc", true),
            (PERSON, "", "Accept: text/html\nX-Key: bc", false),
            (PERSON, "", "X-Key: abc", false),
            (LISTED, "", "Accept: text/html\nX-Key: no\nX-Key: abc", true),
        ],
    ),
    (
        "visitors = 'all'\nuser_agents = ['*Firefox/140.*', 'curl/*']",
        &[
            (PERSON, "", "", true),
            (
                "Mozilla/5.0 (X11; rv:141.0) Gecko/20100101 Firefox/141.0",
                "",
                "",
                false,
            ),
            ("CURL/8.0", "", "", true),
            ("x curl/8.0", "", "", false),
            (LISTED, "", "", false),
            (NAMELESS, "", "", false),
        ],
    ),
    (
        "visitors = 'all'\nsignature_agents = ['*agent.example*']",
        &[
            (
                LISTED,
                "",
                "Signature-Agent: \"https://agent.example\"",
                true,
            ),
            (
                PERSON,
                "",
                "Signature-Agent: \"https://other.example\"",
                false,
            ),
            (PERSON, "", "", false),
        ],
    ),
    (
        "purposes = 'search'\naddresses = '192.0.2.0/24'\nrequest_headers = 'X-A'",
        &[
            (LISTED, "192.0.2.1", "X-A: 1", true),
            (LISTED, "192.0.3.1", "X-A: 1", false),
            (LISTED, "192.0.2.1", "", false),
            (UNLISTED, "192.0.2.1", "X-A: 1", false),
        ],
    ),
    (
        "robots = 'unlisted'\nuser_agents = '*spider*'",
        &[
            (UNLISTED, "", "", true),
            ("AcmeCorpCrawler/1.0", "", "", false),
            (LISTED, "", "", false),
        ],
    ),
    (
        "verdicts = 'unverifiable'\naddresses = '192.0.2.0/24'",
        &[
            (LISTED, "192.0.2.1", "", true),
            (LISTED, "192.0.3.1", "", false),
        ],
    ),
    (
        "visitors = 'all'\nhosts = 'other.example'\naddresses = '192.0.2.0/24'",
        &[
            (PERSON, "192.0.2.1", "", false),
            (LISTED, "192.0.2.1", "", false),
        ],
    ),
    (
        "visitors = 'all'\nmethods = 'POST'",
        &[(PERSON, "", "", false), (LISTED, "", "", false)],
    ),
];

#[test]
fn each_condition_matches_as_specified() {
    let detector = detector();
    let mut tried = 0;
    for (conditions, cases) in CASES {
        let policy = policy(conditions);
        for &(user_agent, address, headers, expected) in *cases {
            let found = matches(&policy, &detector, user_agent, address, headers);
            assert_eq!(
                found, expected,
                "{conditions}\n{user_agent:?} {address} {headers:?}"
            );
            tried += 1;
        }
    }
    assert!(tried >= 70, "{tried}");
}

#[test]
fn a_rule_without_such_conditions_does_not_match_people() {
    for (conditions, judges) in [
        ("", false),
        ("visitors = 'robots'", false),
        ("addresses = '192.0.2.0/24'", false),
        ("visitors = 'shared'", false),
        ("visitors = 'people'", true),
        ("visitors = 'all'", true),
    ] {
        assert_eq!(
            policy(conditions).has_rules_for_people(),
            judges,
            "{conditions}"
        );
    }
}

#[test]
fn an_unconfirmed_rule_is_only_logged_and_later_rules_decide() {
    let text = "filter_pattern = ''\n\
        [[rule]]\nname = 'dry'\npath = '/*'\naction = 'refuse'\nvisitors = 'all'\n\
        [[rule]]\nname = 'robots'\npath = '/*'\naction = 'refuse'\nstatus = 410\n";
    let loaded = Loader::new().file("c.toml", text).load().unwrap();
    let policy = app::policy(&loaded).unwrap();
    let request = Request {
        method: "GET",
        host: None,
        path: "/a",
        query: None,
    };
    let judgement = policy.judge(&request, Some(Visitor::person(Sender::default())));
    assert!(judgement.rule.is_none() && judgement.decision.pass_reason().is_some());
    assert_eq!(judgement.noted.unwrap().label(), "rule \"dry\"");
    let detector = detector();
    let claim = detector.claim(LISTED.as_bytes()).unwrap();
    let judgement = policy.judge(&request, Some(Visitor::from(&claim)));
    assert_eq!(judgement.rule.unwrap().label(), "rule \"robots\"");
    assert_eq!(judgement.decision.status(), Some(410));
    assert!(matches!(claim, Claim::Listed(_)));
}
