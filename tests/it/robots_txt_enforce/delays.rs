//! Crawl-delay, with a clock that the tests advance.

use std::time::Duration;

use robot_detection::policy::{EnforcementMode, ViolatedRule};

use super::site::{EXAMPLEBOT, FIREFOX, NEWSBOT, Site, UNLISTED};

const FILE: &str = "User-agent: ExampleBot
Crawl-delay: 10
Disallow: /private/

User-agent: *
Crawl-delay: 2
";

fn site(mode: EnforcementMode) -> Site {
    Site::new(FILE, |layer| layer.enforce_crawl_delay(mode))
}

#[tokio::test]
async fn a_robot_that_ignores_the_delay_gets_a_retry_after() {
    let site = site(EnforcementMode::On);
    assert_eq!(site.status("/a", EXAMPLEBOT).await, 200);
    assert_eq!(site.status("/b", EXAMPLEBOT).await, 200);
    site.clock.advance(Duration::from_millis(1_500));
    let soon = site.get("/c", EXAMPLEBOT).await;
    assert_eq!((soon.status, soon.header("retry-after")), (429, "9"));
    assert_eq!(soon.header("cache-control"), "no-store");
    assert_eq!(
        soon.body,
        "This robot does not obey /robots.txt: /robots.txt specifies a crawl-delay of 10 s, \
         but the previous request came 1.5 s ago.\n"
    );
    site.clock.advance(Duration::from_secs(9));
    assert_eq!(site.status("/c", EXAMPLEBOT).await, 200);
    let kept = site.violations().delays;
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].hits, kept[0].refused), (1, 1));
    let expected = ViolatedRule::Delay {
        delay: Duration::from_secs(10),
        shortest_gap: Duration::from_millis(1_500),
    };
    assert_eq!(kept[0].broken, expected);
}

#[tokio::test]
async fn a_robot_that_keeps_the_delay_is_never_refused() {
    let site = site(EnforcementMode::On);
    for number in 0..100 {
        assert_eq!(site.status("/a", EXAMPLEBOT).await, 200, "{number}");
        site.clock.advance(Duration::from_secs(10));
    }
    assert!(site.violations().delays.is_empty());
}

#[tokio::test]
async fn report_mode_counts_and_passes_everything() {
    let site = site(EnforcementMode::Report);
    for _ in 0..5 {
        assert_eq!(site.status("/a", EXAMPLEBOT).await, 200);
    }
    let kept = site.violations();
    assert_eq!((kept.delays[0].hits, kept.delays[0].refused), (3, 0));
    assert!(kept.rules.is_empty());
}

#[tokio::test]
async fn each_robot_has_its_own_delay_and_people_have_none() {
    let site = site(EnforcementMode::On);
    let other = UNLISTED.replace("Mystery", "Secret");
    for user_agent in [EXAMPLEBOT, NEWSBOT, UNLISTED, &other] {
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(site.status("/a", user_agent).await);
        }
        assert_eq!(statuses, [200, 200, 429], "{user_agent}");
    }
    for _ in 0..20 {
        assert_eq!(site.status("/a", FIREFOX).await, 200);
    }
}

#[tokio::test]
async fn exempt_disallowed_and_redirected_requests_do_not_count() {
    let site = site(EnforcementMode::On);
    for _ in 0..10 {
        for (path, status) in [
            ("/robots.txt", 200),
            ("/robot-heaven/", 200),
            ("/private/a", 200),
            ("/members-only-stuff/a", 302),
        ] {
            assert_eq!(site.status(path, EXAMPLEBOT).await, status, "{path}");
        }
    }
    assert_eq!(site.violations().rules[0].hits, 10);
    assert!(site.violations().delays.is_empty());
}

#[tokio::test]
async fn off_tracks_no_delay() {
    let site = site(EnforcementMode::Off);
    for _ in 0..10 {
        assert_eq!(site.status("/a", EXAMPLEBOT).await, 200);
    }
    assert!(site.violations().delays.is_empty());
}
