//! User-Agents that compare themselves with a robot, but are another program.

use std::sync::Arc;

use robot_detection::{detect::Detector, registry::bundled};

/// User-Agents that were once mistaken for robots of Google or Meta, and thus for impostors.
const CASES: &[(&str, &str)] = &[
    (
        "Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)",
        "feedly",
    ),
    (
        "FreshRSS/1.24.1 (Linux; https://freshrss.org) like Googlebot",
        "freshrss",
    ),
    (
        "Mozilla/5.0 (compatible; Feedspot/1.0 (+https://www.feedspot.com/fs/fetcher; like FeedFetcher-Google)",
        "feedspot",
    ),
    (
        "Mozilla/5.0 (compatible; inoreader.com-like FeedFetcher-Google)",
        "inoreader",
    ),
    (
        "Mozilla/5.0 (compatible;acapbot/0.1;treat like Googlebot)",
        "acapbot",
    ),
    (
        "ExampleReader/2.0 (compatible with Googlebot; +https://reader.example/)",
        "unlisted",
    ),
    (
        "ExampleReader/2.0 (similar to Googlebot and bingbot)",
        "unlisted",
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) \
         Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
        "imessage",
    ),
];

#[test]
fn a_user_agent_that_is_like_a_robot_is_identified_by_its_own_name() {
    let robots = bundled().robots.into_iter().map(Arc::new);
    let detector = Detector::new(robots).unwrap().recognise_unlisted(true);
    let named = |text: &str| {
        let claim = detector.identify(text.as_bytes());
        claim.map(|claim| claim.id().to_owned()).unwrap_or_default()
    };
    for (user_agent, expected) in CASES {
        assert_eq!(named(user_agent), *expected, "{user_agent}");
    }
    // Googlebot itself, with `like` in its User-Agent as in a browser's.
    let google = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; \
                  +http://www.google.com/bot.html) Chrome/141.0.0.0 Safari/537.36";
    assert_eq!(named(google), "googlebot");
}
