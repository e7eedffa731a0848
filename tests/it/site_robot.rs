//! The site robot visits a site on loopback.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may panic")]

pub(crate) mod endless;
pub(crate) mod site;

use std::{collections::BTreeMap, time::Duration};

use robot_detection::{
    clock::Clock,
    description::name,
    heaven::{HeavenSettings, Library, ServedHeaven},
    site_robot::{
        RobotState, SiteRobot, SiteRobotBuilder, SiteRobotError, Summary,
        source::{HttpSettings, HttpSource},
    },
    store::{DescriptionQuery, RunState, Store},
};

use site::{Page, RecordedRequest, Site};

async fn store() -> Store {
    Store::connect("sqlite::memory:").await.unwrap()
}

/// Returns a builder of a robot that starts at the root and retries without delay.
fn robot(store: &Store, site: &Site) -> SiteRobotBuilder {
    robot_at(store, site, "/")
}

fn robot_at(store: &Store, site: &Site, path: &str) -> SiteRobotBuilder {
    let source = HttpSource::new(HttpSettings::default()).unwrap();
    SiteRobot::builder("docs", store.clone(), source)
        .start(site.url(path), Some(9))
        .retries(0, Duration::ZERO)
}

async fn run(builder: SiteRobotBuilder) -> Summary {
    let summary = builder.build().unwrap().run().await.unwrap();
    assert_eq!(summary.state, RunState::Finished);
    summary
}

/// Returns path and title of each description.
async fn described(store: &Store, site: &Site) -> BTreeMap<String, String> {
    let stored = store
        .descriptions()
        .list(&DescriptionQuery::new("docs"))
        .await
        .unwrap();
    let entry = |stored: robot_detection::store::StoredDescription| {
        let path = stored
            .description
            .url()
            .strip_prefix(&site.origin)
            .unwrap()
            .to_owned();
        (path, stored.description.title().to_owned())
    };
    stored.into_iter().map(entry).collect()
}

async fn paths(store: &Store, site: &Site) -> String {
    let all = described(store, site).await;
    all.into_keys().collect::<Vec<_>>().join(" ")
}

async fn outcome(store: &Store, site: &Site, path: &str) -> String {
    let known = store
        .frontier()
        .known_url("docs", &site.url(path))
        .await
        .unwrap();
    known.unwrap().outcome.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "one site with all its checks")]
async fn a_site_is_visited_within_its_scope() {
    let elsewhere = Site::open(&[("/", Page::html("Elsewhere", &[]))]).await;
    let other = elsewhere.url("/");
    let site = Site::open(&[
        (
            "/",
            Page::html(
                "Home",
                &["a", "/b?x=1#top", &other, "/robot-heaven/x", "mailto:a@b"],
            ),
        ),
        (
            "/a",
            Page::html("A", &["/c", "/", "/a", "/moved", "/robot-detection/admin"]),
        ),
        (
            "/b?x=1",
            Page::new("<title>B</title><frame src=/frame><a href=/no rel=nofollow>n</a>"),
        ),
        ("/c", Page::html("C", &["/gone", "/away", "/away/../a"])),
        ("/frame", Page::html("Frame", &[])),
        ("/moved", Page::moved("/target")),
        ("/target", Page::html("Target", &["/loop"])),
        ("/loop", Page::moved("/loop")),
        ("/away", Page::moved(&other)),
        ("/no", Page::html("No", &[])),
    ])
    .await;
    let store = store().await;
    let summary = run(robot(&store, &site)).await;

    assert_eq!(paths(&store, &site).await, "/ /a /b?x=1 /c /frame /target");
    let asked = site.asked();
    assert!(asked.iter().all(|asked| asked.method == "GET"));
    let mut asked: Vec<_> = asked.into_iter().map(|asked| asked.path).collect();
    asked.sort();
    let expected = [
        "/",
        "/a",
        "/away",
        "/b?x=1",
        "/c",
        "/frame",
        "/gone",
        "/loop",
        "/moved",
        "/robots.txt",
        "/target",
    ];
    assert_eq!(asked, expected);
    assert!(elsewhere.asked().is_empty());
    assert_eq!((summary.counts.added, summary.counts.fetched), (6, 10));
    let depth = async |path| {
        let stored = store
            .descriptions()
            .find("docs", &site.url(path))
            .await
            .unwrap()
            .unwrap();
        stored.description.value(name::DEPTH).unwrap().to_owned()
    };
    assert_eq!(depth("/").await, "0");
    assert_eq!(
        depth("/frame").await,
        "1",
        "a frame counts as part of its page"
    );
    assert_eq!(depth("/target").await, "2", "a redirect adds no depth");
    assert_eq!(depth("/c").await, "2");
    assert_eq!(
        outcome(&store, &site, "/gone").await,
        "not described: answer: status 404"
    );
    assert!(
        outcome(&store, &site, "/loop")
            .await
            .contains("moved to /loop")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_run_fetches_only_changed_pages() {
    let site = Site::open(&[
        ("/robots.txt", Page::text("text/plain", "")),
        ("/", Page::html("Home", &["/a", "/b", "/twin"])),
        ("/a", Page::html("A", &["/deep"])),
        ("/b", Page::html("B", &[])),
        ("/twin", Page::html("B", &[])),
        ("/deep", Page::html("Deep", &[])),
    ])
    .await;
    let store = store().await;
    run(robot(&store, &site)).await;
    let before = store
        .descriptions()
        .list(&DescriptionQuery::new("docs"))
        .await
        .unwrap();
    assert_eq!(before.len(), 4, "only one of two duplicates is described");
    site.asked();

    let second = run(robot(&store, &site)).await;
    let asked = site.asked();
    let plain: Vec<_> = asked.iter().filter(|asked| !asked.is_conditional).collect();
    assert!(plain.is_empty(), "{plain:?}");
    assert_eq!((second.counts.fetched, second.counts.unmodified), (5, 5));
    let after = store
        .descriptions()
        .list(&DescriptionQuery::new("docs"))
        .await
        .unwrap();
    assert_eq!(before, after);

    site.put("/a", Page::html("A, changed", &["/new"]));
    site.put("/new", Page::html("New", &[]));
    let third = run(robot(&store, &site)).await;
    let counts = third.counts;
    assert_eq!((counts.changed, counts.added, counts.withdrawn), (1, 1, 0));
    let titles = described(&store, &site).await;
    assert_eq!(titles["/a"], "A, changed");
    assert!(
        titles.contains_key("/deep"),
        "the page still exists without links to it"
    );
    site.remove("/deep");
    let fourth = run(robot(&store, &site)).await;
    assert_eq!(fourth.counts.withdrawn, 1);
    assert!(!described(&store, &site).await.contains_key("/deep"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unmodified_robots_txt_is_not_sent_again() {
    let rules = |path: &str| Page::text("text/plain", format!("User-agent: *\nDisallow: {path}"));
    let site = Site::open(&[
        ("/robots.txt", rules("/a")),
        ("/", Page::html("Home", &["/a", "/b"])),
        ("/a", Page::html("A", &[])),
        ("/b", Page::html("B", &[])),
    ])
    .await;
    let store = store().await;
    // Requested paths, robots.txt first; a star marks a conditional request.
    let asked = async || {
        run(robot(&store, &site)).await;
        let mut asked = site.asked();
        asked.sort_by_key(|asked| (asked.path != "/robots.txt", asked.path.clone()));
        let word = |asked: &RecordedRequest| {
            let star = if asked.is_conditional { "*" } else { "" };
            format!("{}{star}", asked.path)
        };
        asked.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(asked().await, "/robots.txt / /b");
    assert_eq!(asked().await, "/robots.txt* /* /b*");
    site.put("/robots.txt", rules("/b"));
    assert_eq!(asked().await, "/robots.txt* /* /a");
    assert_eq!(asked().await, "/robots.txt* /* /a*");

    site.put("/robots.txt", Page::status(503));
    asked().await;
    site.put("/robots.txt", rules("/b"));
    let after_a_fault = asked().await;
    assert!(
        after_a_fault.starts_with("/robots.txt* "),
        "{after_a_fault}"
    );

    site.remove("/robots.txt");
    assert_eq!(asked().await, "/robots.txt* /* /a* /b");
    site.put("/robots.txt", rules("/b"));
    assert_eq!(asked().await, "/robots.txt /* /a*");
    store.frontier().clear_site("docs").await.unwrap();
    assert_eq!(asked().await, "/robots.txt / /a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_duplicates_the_shortest_url_is_described_in_any_order() {
    let twin = Page::html("Twin", &["/twin"]);
    let site = Site::open(&[
        ("/", Page::html("Home", &["/twin/under/its/longer/name"])),
        ("/twin/under/its/longer/name", twin.clone()),
        ("/twin", twin),
    ])
    .await;
    let store = store().await;
    let first = run(robot(&store, &site)).await;
    assert_eq!(paths(&store, &site).await, "/ /twin");
    let counts = first.counts;
    assert_eq!((counts.added, counts.rejected, counts.withdrawn), (2, 1, 0));
    let outcome = outcome(&store, &site, "/twin/under/its/longer/name").await;
    assert!(outcome.contains("filter-by-md5"), "{outcome}");
    site.asked();

    let second = run(robot(&store, &site)).await;
    let asked = site.asked();
    let plain: Vec<_> = asked.iter().filter(|asked| !asked.is_conditional).collect();
    assert_eq!(
        plain.len(),
        1,
        "all except the missing robots.txt: {plain:?}"
    );
    assert_eq!(second.counts.unmodified, 3);
    assert_eq!(paths(&store, &site).await, "/ /twin");

    site.remove("/twin");
    run(robot(&store, &site)).await;
    run(robot(&store, &site)).await;
    assert_eq!(paths(&store, &site).await, "/ /twin/under/its/longer/name");
}

/// Returns the heaven paths to which robots are redirected from the given paths.
async fn heaven_paths(store: &Store, site: &Site, asked: &[&str]) -> Vec<String> {
    let settings = HeavenSettings::new(&site.origin).unwrap();
    let heaven = ServedHeaven::new(Library::new(store.clone(), "docs"), settings);
    heaven.reload().await.unwrap();
    let link = |path: &&str| heaven.link(path).unwrap_or_else(|| "-".to_owned());
    asked.iter().map(link).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_url_of_a_page_redirects_to_its_heaven_page() {
    let canonical = "<link rel=canonical href=/shop/salt>";
    // A link to the English file replaces an untranslated one.
    let guide = Page::html("Guide", &["/en/guide"]).in_head("<html lang=en>");
    let by_price = Page::html("Salt by price", &[]).in_head(canonical);
    let login = "<title>Log in</title><p>Who are you?<input type=password>";
    // The canonical URL of this page does not exist.
    let lost = Page::html("Lost", &[]).header("link", "</lost>; rel=canonical");
    let pepper = "/shop/pepper?utm_source=start&size=2";
    let links = [
        "/shop/salt?sort=price",
        pepper,
        "/old",
        "/da/guide",
        "/members",
        "/lost?a=1",
    ];
    let site = Site::open(&[
        ("/", Page::html("Start", &links)),
        ("/shop/salt", Page::html("Salt", &[]).in_head(canonical)),
        ("/shop/salt?sort=price", by_price),
        ("/shop/pepper?size=2", Page::html("Pepper", &[])),
        ("/old", Page::moved("/older")),
        ("/older", Page::moved("/shop/pepper?size=2&gclid=1")),
        ("/da/guide", guide.clone()),
        ("/en/guide", guide),
        ("/members", Page::moved("/login")),
        ("/login", Page::new(login)),
        ("/lost?a=1", lost),
    ])
    .await;
    let store = store().await;
    run(robot(&store, &site)).await;
    let asked = [
        "/shop/salt",
        "/shop/salt?sort=price",
        "/shop/salt?utm_campaign=x",
        "/shop/pepper?size=2&fbclid=1",
        "/old",
        "/da/guide",
        "/en/guide",
        "/members",
        "/lost?a=1",
        "/nothing",
    ];
    let salt = "/robot-heaven/shop/salt.htm";
    let guide = "/robot-heaven/en/guide.htm";
    let told = heaven_paths(&store, &site, &asked).await;
    assert_eq!(told[..3], [salt; 3]);
    assert!(told[3].starts_with("/robot-heaven/shop/pepper"), "{told:?}");
    assert_eq!(told[4], told[3]);
    assert_eq!(told[5..7], [guide; 2]);
    assert_eq!(told[7], "-");
    assert!(told[8].starts_with("/robot-heaven/lost"), "{told:?}");
    assert_eq!(told[9], "-");

    // After the canonical URL is gone, the page that named it gets its own heaven page.
    site.put("/shop/salt", Page::status(410));
    run(robot(&store, &site)).await;
    run(robot(&store, &site)).await;
    let told = heaven_paths(&store, &site, &["/shop/salt?sort=price"]).await;
    assert_ne!(told[0], "-");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_without_validators_are_compared_by_content() {
    let site = Site::open(&[("/", Page::html("Home", &["/slow"]))]).await;
    site.put("/slow", Page::html("A", &[]));
    let store = store().await;
    run(robot(&store, &site).fingerprint("1")).await;
    let second = run(robot(&store, &site).fingerprint("2")).await;
    let asked = site.asked();
    assert!(
        asked.iter().all(|asked| !asked.is_conditional),
        "another filter needs complete pages"
    );
    assert_eq!((second.counts.unmodified, second.counts.same), (0, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newly_forbidden_pages_are_withdrawn() {
    let all = [
        "/noindex",
        "/header",
        "/gone",
        "/forbidden",
        "/disallowed",
        "/below/a",
        "/stays",
    ];
    let site = Site::open(&[("/", Page::html("Home", &all))]).await;
    for path in all {
        site.put(path, Page::html(path, &[]));
    }
    let store = store().await;
    run(robot(&store, &site)).await;
    assert_eq!(described(&store, &site).await.len(), 8);

    site.put(
        "/noindex",
        Page::html("/noindex", &[]).in_head("<meta name=robots content=noindex>"),
    );
    site.put(
        "/header",
        Page::html("/header", &[]).header("x-robots-tag", "noindex"),
    );
    site.remove("/gone");
    site.put("/forbidden", Page::status(403));
    site.put(
        "/robots.txt",
        Page::text("text/plain", "User-agent: *\nDisallow: /disallowed\n"),
    );
    site.asked();
    let second = run(robot(&store, &site).never_below("/below/")).await;
    assert_eq!(paths(&store, &site).await, "/ /stays");
    assert_eq!(second.counts.withdrawn, 6);
    let asked = site.paths();
    assert!(!asked.contains(&"/disallowed".to_owned()) && !asked.contains(&"/below/a".to_owned()));
    let text = outcome(&store, &site, "/disallowed").await;
    assert!(
        text.contains("robots.txt: line 2, Disallow: /disallowed"),
        "{text}"
    );

    // Headers of a 304 count too, and a page that is allowed again is restored.
    site.put("/header", Page::html("/header", &[]));
    site.put("/robots.txt", Page::text("text/plain", ""));
    run(robot(&store, &site)).await;
    assert_eq!(
        paths(&store, &site).await,
        "/ /below/a /disallowed /header /stays"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_temporary_failure_keeps_the_descriptions() {
    let site = Site::open(&[
        ("/", Page::html("Home", &["/a"])),
        ("/a", Page::html("A", &["/b"])),
        ("/b", Page::html("B", &[])),
    ])
    .await;
    let store = store().await;
    run(robot(&store, &site)).await;
    site.put("/", Page::status(503));
    site.put("/b", Page::status(500));
    let second = run(robot(&store, &site)).await;
    assert_eq!(paths(&store, &site).await, "/ /a /b");
    assert_eq!((second.counts.failed, second.counts.withdrawn), (2, 0));
    assert_eq!(outcome(&store, &site, "/").await, "failed: status 503");

    site.put("/robots.txt", Page::status(500));
    site.asked();
    let third = run(robot(&store, &site)).await;
    assert_eq!(
        site.paths(),
        ["/robots.txt"],
        "RFC 9309: nothing is visited without a robots.txt response"
    );
    assert_eq!(third.counts.withdrawn, 0);
    assert_eq!(paths(&store, &site).await, "/ /a /b");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_page_is_retried() {
    let site = Site::open(&[("/", Page::status(503))]).await;
    let store = store().await;
    let builder = robot(&store, &site).retries(2, Duration::from_millis(1));
    let summary = run(builder).await;
    assert_eq!(site.paths(), ["/", "/", "/", "/robots.txt"]);
    assert_eq!((summary.counts.fetched, summary.counts.failed), (3, 1));
}

/// Returns whether a page is described, and whether its link is followed.
async fn judged(page: Page) -> (bool, bool) {
    let site = Site::open(&[("/", page), ("/linked", Page::html("Linked", &[]))]).await;
    let store = store().await;
    run(robot(&store, &site)).await;
    let all = described(&store, &site).await;
    (all.contains_key("/"), all.contains_key("/linked"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tags_and_headers_for_robots_are_obeyed() {
    for (content, expected) in [
        ("noindex", (false, true)),
        ("nofollow", (true, false)),
        ("noindex, nofollow", (false, false)),
        ("none", (false, false)),
        ("index, follow", (true, true)),
        ("all", (true, true)),
        ("noarchive", (true, true)),
        ("unavailable_after: 25 Jun 2010 15:00:00 GMT", (false, true)),
    ] {
        let page = || Page::html("Home", &["/linked"]);
        let tagged = page().in_head(&format!("<meta name=robots content=\"{content}\">"));
        assert_eq!(judged(tagged).await, expected, "META {content}");
        let headed = page().header("x-robots-tag", content);
        assert_eq!(judged(headed).await, expected, "header {content}");
    }
    let other = Page::html("Home", &["/linked"]).header("x-robots-tag", "otherbot: none");
    assert_eq!(judged(other).await, (true, true));
    let ours = Page::html("Home", &["/linked"]).in_head("<meta name=robot-detection content=none>");
    assert_eq!(judged(ours).await, (false, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nofollow_links_and_robots_txt_are_obeyed_unless_disabled() {
    let page = || Page::html("Home", &["/linked"]);
    let nofollow = Page::new("<title>Home</title><a rel=nofollow href=/linked>x</a>");
    assert_eq!(judged(nofollow).await, (true, false));

    let site = Site::open(&[
        ("/", page()),
        (
            "/robots.txt",
            Page::text("text/plain", "User-agent: *\nDisallow: /\n"),
        ),
    ])
    .await;
    let store = store().await;
    run(robot(&store, &site)).await;
    assert_eq!(site.paths(), ["/robots.txt"]);
    run(robot(&store, &site).obey_robots_txt(false)).await;
    assert_eq!(site.paths(), ["/", "/linked"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_noarchive_page_is_described_without_its_text() {
    let page = Page::html("Home", &[]).in_head("<meta name=robots content=noarchive>");
    let site = Site::open(&[("/", page)]).await;
    let store = store().await;
    run(robot(&store, &site)).await;
    let stored = store
        .descriptions()
        .find("docs", &site.url("/"))
        .await
        .unwrap()
        .unwrap();
    let description = stored.description;
    assert_eq!(description.title(), "Home");
    assert_eq!(description.value(name::ROBOTS), Some("noarchive"));
    assert_eq!(description.value(name::FULL_TEXT), None);
    assert_eq!(description.value(name::PARTIAL_TEXT), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_followed_to_the_configured_depth() {
    let site = Site::open(&[
        ("/1", Page::html("1", &["/2"])),
        ("/2", Page::html("2", &["/3"])),
        ("/3", Page::html("3", &["/4"])),
        ("/4", Page::html("4", &[])),
        ("/far", Page::html("Far", &["/2"])),
    ])
    .await;
    for (depth, expected) in [
        (Some(0), "/1"),
        (Some(2), "/1 /2 /3"),
        (None, "/1 /2 /3 /4"),
    ] {
        let store = store().await;
        let source = HttpSource::new(HttpSettings::default()).unwrap();
        let builder = SiteRobot::builder("docs", store.clone(), source);
        run(builder.start(site.url("/1"), depth)).await;
        assert_eq!(paths(&store, &site).await, expected);
    }
    let store = store().await;
    let source = HttpSource::new(HttpSettings::default()).unwrap();
    let builder = SiteRobot::builder("docs", store.clone(), source);
    run(builder
        .start(site.url("/1"), Some(0))
        .depth(Some(1))
        .start_at(site.url("/far")))
    .await;
    assert_eq!(paths(&store, &site).await, "/1 /2 /far");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sitemaps_and_feeds_are_starting_points() {
    let site = Site::open(&[("/", Page::html("Home", &[]))]).await;
    let robots = format!("Sitemap: {}\n", site.url("/maps/index.xml"));
    site.put("/robots.txt", Page::text("text/plain", robots));
    let index = format!(
        "<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>",
        site.url("/map.xml")
    );
    site.put("/maps/index.xml", Page::text("application/xml", index));
    let map = format!(
        "<urlset><url><loc>{}</loc></url><url><loc>http://elsewhere.example/</loc></url></urlset>",
        site.url("/listed")
    );
    site.put("/map.xml", Page::text("application/xml", map));
    site.put("/listed", Page::html("Listed", &[]));
    let feed = "<rss><channel><item><link>/news</link></item></channel></rss>";
    site.put("/feed", Page::text("application/rss+xml", feed));
    site.put("/news", Page::html("News", &[]));
    let store = store().await;
    run(robot(&store, &site).start(site.url("/feed"), Some(0))).await;
    assert_eq!(paths(&store, &site).await, "/ /listed /news");
    site.asked();
    run(robot(&store, &site).start(site.url("/feed"), Some(0))).await;
    assert_eq!(paths(&store, &site).await, "/ /listed /news");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visits_keep_the_crawl_delay_of_robots_txt() {
    let site = Site::open(&[
        (
            "/robots.txt",
            Page::text("text/plain", "User-agent: *\nCrawl-delay: 0.2\n"),
        ),
        ("/", Page::html("Home", &["/a", "/b"])),
        ("/a", Page::html("A", &[])),
        ("/b", Page::html("B", &[])),
    ])
    .await;
    let store = store().await;
    run(robot(&store, &site).server_delay(Duration::from_millis(10))).await;
    let asked = site.asked();
    assert_eq!(asked.len(), 4);
    for pair in asked.windows(2) {
        let pause = pair[1].at - pair[0].at;
        assert!(pause >= Duration::from_millis(200), "{pause:?}");
    }
}

/// Returns a site with a number of pages, each linking to some others.
async fn large_site(count: usize) -> Site {
    let site = Site::open(&[]).await;
    for number in 0..count {
        let links: Vec<_> = (1..=3)
            .map(|step| format!("/slow{}", (number * 3 + step) % count))
            .collect();
        let links: Vec<_> = links.iter().map(String::as_str).collect();
        site.put(
            &format!("/slow{number}"),
            Page::html(&format!("Page {number}"), &links),
        );
    }
    site
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_continues_where_it_was() {
    const PAGES: usize = 60;
    let site = large_site(PAGES).await;
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("robot.db").display());
    let clock = Clock::manual(1_000_000);
    let store = Store::connect(&url).await.unwrap();
    let start = |store: &Store| robot_at(store, &site, "/slow0").clock(clock.clone());
    let first = start(&store).build().unwrap();
    tokio::select! {
        _ = first.run() => panic!("the run ended before it was cancelled"),
        () = site.wait_for_requests(20) => {}
    }
    drop(first);
    store.close().await;

    // The cancelled run could not release the URLs that it had taken.
    clock.advance(Duration::from_secs(21));
    let store = Store::connect(&url).await.unwrap();
    let summary = run(start(&store)).await;
    assert!(summary.is_resumed);
    assert_eq!(summary.counts.added, PAGES as u64);
    assert_eq!(described(&store, &site).await.len(), PAGES);
    let mut asked = site.paths();
    asked.retain(|path| path != "/robots.txt");
    let visits = asked.len();
    asked.dedup();
    assert_eq!(asked.len(), PAGES);
    assert!(
        visits - PAGES <= 10,
        "{} were visited twice",
        visits - PAGES
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_paused_resumed_and_stopped() {
    let site = large_site(40).await;
    let store = store().await;
    let robot = robot_at(&store, &site, "/slow0").build().unwrap();
    let handle = robot.handle();
    assert_eq!(handle.progress().state, RobotState::Idle);
    let control = async {
        let mut progress = handle.watch();
        site.wait_for_requests(5).await;
        handle.pause();
        let is_paused = |it: &robot_detection::site_robot::Progress| {
            it.state == RobotState::Paused && it.active == 0
        };
        progress.wait_for(is_paused).await.unwrap();
        let asked = site.paths().len();
        assert!(matches!(
            robot.run().await,
            Err(SiteRobotError::RunsAlready { .. })
        ));
        assert_eq!(site.paths().len(), 0, "after {asked} nothing is requested");
        handle.resume();
        site.wait_for_requests(5).await;
        handle.stop();
    };
    let (summary, ()) = tokio::join!(robot.run(), control);
    let summary = summary.unwrap();
    assert_eq!(summary.state, RunState::Running);
    assert!(summary.counts.added < 40);
    assert_eq!(handle.progress().state, RobotState::Idle);
    let rest = robot.run().await.unwrap();
    assert!(rest.is_resumed);
    assert_eq!((rest.state, rest.counts.added), (RunState::Finished, 40));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_robots_share_a_run() {
    let site = large_site(60).await;
    let store = store().await;
    let first = robot_at(&store, &site, "/slow0").build().unwrap();
    let second = robot_at(&store, &site, "/slow0").build().unwrap();
    let (first, second) = tokio::join!(first.run(), second.run());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.run_id, second.run_id);
    assert_eq!(
        store
            .frontier()
            .run(first.run_id)
            .await
            .unwrap()
            .counts
            .added,
        60
    );
    let mut asked = site.paths();
    asked.retain(|path| path != "/robots.txt");
    assert_eq!(asked.len(), 60, "each page is visited once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_is_explained_step_by_step() {
    let site = Site::open(&[
        ("/", Page::html("Home", &["/a"])),
        (
            "/robots.txt",
            Page::text("text/plain", "User-agent: *\nDisallow: /private\n"),
        ),
    ])
    .await;
    let store = store().await;
    let robot = robot(&store, &site).build().unwrap();
    let explain = async |url: &str| robot.explain(url).await.unwrap().to_string();
    let text = explain(&site.url("/private/a")).await;
    assert!(
        text.contains("no  robots.txt: line 2, Disallow: /private"),
        "{text}"
    );
    assert!(text.contains("never visited"), "{text}");
    let text = explain("http://elsewhere.example/").await;
    assert!(
        text.contains("no  scope: the host elsewhere.example:80 is not in scope"),
        "{text}"
    );
    let text = explain("javascript:alert(1)").await;
    assert!(text.contains("no  url: "), "{text}");
    robot.run().await.unwrap();
    assert!(robot.explain(&site.url("/a")).await.unwrap().is_visited());
    let text = explain(&site.url("/a")).await;
    assert!(
        text.contains("done, depth 1: not described: answer: status 404"),
        "{text}"
    );
}

#[tokio::test]
async fn a_robot_needs_a_starting_point_and_a_name() {
    let store = store().await;
    let source = || HttpSource::new(HttpSettings::default()).unwrap();
    let builder = |name: &str| SiteRobot::builder(name, store.clone(), source());
    let error = |builder: SiteRobotBuilder| builder.build().unwrap_err().to_string();
    assert!(error(builder("docs")).contains("no starting point"));
    assert!(error(builder("docs").start_at("example.com")).contains("\"example.com\""));
    assert!(error(builder("docs").start_at("ftp://a.example/")).contains("ftp:"));
    assert!(error(builder("").start_at("http://a.example/")).contains("1 to 100 bytes"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traps_end_and_links_with_side_effects_are_not_followed() {
    let links = [
        "/logout",
        "/posts/7/delete",
        "/calendar?year=2093",
        "/a/b/a/b/a/b/a/b",
        "/page;jsessionid=0F3A?PHPSESSID=77&x=1",
        "/list?page=1",
        "/list?page=2",
        "/list?page=3",
    ];
    let site = Site::open(&[("/", Page::html("Home", &links))]).await;
    let store = store().await;
    run(robot(&store, &site).max_queries(2)).await;
    let asked = site.paths();
    let lists = asked
        .iter()
        .filter(|path| path.starts_with("/list"))
        .count();
    assert_eq!((asked.len(), lists), (5, 2), "{asked:?}");
    assert!(asked.contains(&"/page?x=1".to_owned()), "{asked:?}");
    let robot = robot(&store, &site).build().unwrap();
    let text = robot.explain(&site.url("/posts/7/delete")).await.unwrap();
    assert!(text.to_string().contains("no  trap: "), "{text}");
}
