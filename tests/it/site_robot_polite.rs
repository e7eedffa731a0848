//! The site robot obeys a site's rules for robots, and withdrawn pages disappear.

use std::{collections::BTreeMap, path::Path, time::Duration};

use robot_detection::{
    description::name,
    site_robot::{
        SiteRobot,
        source::{HttpSettings, HttpSource},
    },
    store::{DescriptionQuery, RunState, Store},
};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::site_robot::site::{Page, Site};
use crate::support::{files::files, program};

/// Runs a site from a page with the program and published heaven; returns the summary.
async fn visit(directory: &Path, start: &str, more: &[&str]) -> Value {
    let arguments = [
        "--database",
        "sqlite://robot.db",
        "site-robot",
        "run",
        start,
    ];
    let all = [&arguments[..], &["--publish", "heaven", "--json"], more].concat();
    let all: Vec<String> = all.into_iter().map(str::to_owned).collect();
    let directory = directory.to_owned();
    let run = spawn_blocking(move || {
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        program::succeed(&directory, &all)
    });
    serde_json::from_str(&run.await.unwrap()).unwrap()
}

/// Waits eight seconds in real time, as the site demands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_real_time_a_crawl_delay_of_two_seconds_is_kept() {
    let site = Site::open(&[("/", Page::html("Home", &["/a", "/b", "/c", "/d"]))]).await;
    for path in ["/a", "/b", "/c", "/d"] {
        site.put(path, Page::html(path, &[]));
    }
    let robots_txt = "User-agent: *\nCrawl-delay: 2\n";
    site.put("/robots.txt", Page::text("text/plain", robots_txt));
    let directory = tempfile::tempdir().unwrap();
    let ran = visit(directory.path(), &site.url("/"), &["--delay", "0"]).await;
    assert_eq!(ran["added"], 5);
    let asked = site.asked();
    let pages: Vec<_> = asked.iter().filter(|it| it.path != "/robots.txt").collect();
    assert_eq!(pages.len(), 5);
    let span = pages.last().unwrap().at - pages.first().unwrap().at;
    assert!(span >= Duration::from_secs(8), "{span:?}");
    for pair in asked.windows(2) {
        let pause = pair[1].at - pair[0].at;
        assert!(pause >= Duration::from_secs(2), "{pause:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pages_rules_for_robots_apply_whatever_its_content_type() {
    let hidden = "<!DOCTYPE html><meta name=robots content='noindex, nofollow'>\
                  <title>Hidden</title><a href=/deep>d</a>";
    let site = Site::open(&[
        ("/", Page::html("Home", &["/a.html.en", "/b", "/c"])),
        ("/a.html.en", Page::text("application/octet-stream", hidden)),
        ("/b", Page::text("", hidden)),
        ("/c", Page::text("application/octet-stream", "Words.")),
        ("/deep", Page::html("Deep", &[])),
    ])
    .await;
    let directory = tempfile::tempdir().unwrap();
    let ran = visit(directory.path(), &site.url("/"), &["--delay", "0"]).await;
    assert_eq!((&ran["added"], &ran["rejected"]), (&2.into(), &2.into()));
    assert!(site.asked().iter().all(|asked| asked.path != "/deep"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "one site with all its checks")]
async fn forbidden_urls_are_never_requested() {
    let elsewhere = Site::open(&[("/docs/", Page::html("Elsewhere", &[]))]).await;
    let other = elsewhere.url("/docs/");
    let authority = other.strip_prefix("http:").unwrap().to_owned();
    let site = Site::open(&[]).await;
    let own = |path: &str| site.url(path);
    let forbidden = [
        // Disallowed, in equivalent spellings.
        "/docs/private/a",
        "/docs/%70rivate/b",
        "private/c",
        "./x/../private/d",
        "/docs/Private/../private/e",
        "/docs/secret.pdf?download=1",
        "\\docs\\private\\f",
        "private/g#top",
        " private/h ",
        "pri\nvate/i",
        // Out of scope.
        &other,
        &authority,
        "/",
        "/other/",
        "../up",
        "/docs/..%2Fother/a",
        "/docs/%2e%2e/dots",
        "/docs/../docs2/",
        "mailto:a@b.example",
        "javascript:go()",
        "ftp://127.0.0.1/docs/",
        "data:text/html,x",
        "file:///etc/passwd",
        "http:///docs/",
        "http://[::1]/docs/",
        // With side effects.
        "/docs/logout",
        "/docs/logout.php",
        "/docs/sign-out?next=/",
        "/docs/?logout",
        "/docs/user/LogOff",
        "/docs/posts/7/delete",
        "/docs/?action=delete&id=7",
        "/docs/%6Cogout",
        "/docs/delete.php?id=1",
        "/docs/cart?add-to-cart=3",
        // Heaven and the administrator's page.
        "/robot-heaven/",
        "/robot-heaven/docs/a.htm",
        "//robot-heaven/x",
        "/robot-detection/admin",
        "/docs/../robot-heaven/y",
        "/%72obot-heaven/z",
    ];
    site.put(
        "/docs/",
        Page::html(
            "Docs",
            &[&forbidden[..], &["/docs/ways", "/docs/ok"]].concat(),
        ),
    );
    site.put("/docs/ok", Page::html("Okay", &[]));
    // The same in places other than links.
    let refresh = "<meta http-equiv=refresh content='1; url=/docs/private/refreshed'>";
    let page = Page::html("Ways", &["/docs/moved", "/docs/away", "/docs/based"])
        .in_head(refresh)
        .in_head("<link rel=canonical href=/docs/private/canonical>")
        .in_head("<link rel=next href=/docs/private/next>");
    site.put("/docs/ways", page);
    site.put("/docs/moved", Page::moved("/docs/private/moved"));
    site.put("/docs/away", Page::moved(&other));
    let frames = "<title>B</title><base href=/docs/private/><frame src=frame><iframe src=inner>\
                  </iframe><area href=area><a href=link>l</a><form action=form></form>";
    site.put("/docs/based", Page::new(frames));
    let listed = [
        "/docs/private/listed",
        "/other/listed",
        "/robot-heaven/listed",
        "/docs/logout",
    ];
    let entries: String = listed
        .map(|path| format!("<url><loc>{}</loc></url>", own(path)))
        .concat();
    site.put(
        "/map.xml",
        Page::text("application/xml", format!("<urlset>{entries}</urlset>")),
    );
    let robots_txt = format!(
        "User-agent: robot-detection\nDisallow: /docs/private\nDisallow: /*.pdf\n\
         Sitemap: {}\nSitemap: {other}\n\nUser-agent: *\nAllow: /\n",
        own("/map.xml")
    );
    site.put("/robots.txt", Page::text("text/plain", robots_txt));

    let directory = tempfile::tempdir().unwrap();
    let more = ["--delay", "0", "--only-below", "/docs/"];
    visit(directory.path(), &own("/docs/"), &more).await;
    let expected = [
        "/docs/",
        "/docs/away",
        "/docs/based",
        "/docs/moved",
        "/docs/ok",
        "/docs/ways",
        "/map.xml",
        "/robots.txt",
    ];
    let asked = site.asked();
    assert!(asked.iter().all(|asked| asked.method == "GET"));
    let mut paths: Vec<_> = asked.into_iter().map(|asked| asked.path).collect();
    paths.sort();
    assert_eq!(paths, expected);
    assert!(elsewhere.asked().is_empty());
}

/// Returns whether a page is described, with its text, and whether its link is followed.
async fn judged(page: Page) -> (bool, bool, bool) {
    let site = Site::open(&[("/", page), ("/linked", Page::html("Linked", &[]))]).await;
    let store = Store::connect("sqlite::memory:").await.unwrap();
    let source = HttpSource::new(HttpSettings::default()).unwrap();
    let robot = SiteRobot::builder("docs", store.clone(), source).start(site.url("/"), Some(3));
    let summary = robot.build().unwrap().run().await.unwrap();
    assert_eq!(summary.state, RunState::Finished);
    let stored = store
        .descriptions()
        .list(&DescriptionQuery::new("docs"))
        .await;
    let all: BTreeMap<_, _> = stored
        .unwrap()
        .into_iter()
        .map(|stored| (stored.description.url().to_owned(), stored.description))
        .collect();
    let home = all.get(&site.url("/"));
    let has_text = home.is_some_and(|it| it.value(name::PARTIAL_TEXT).is_some());
    (
        home.is_some(),
        has_text,
        all.contains_key(&site.url("/linked")),
    )
}

/// The seven directives for robots, and their effect on description, text and links.
const WORDS: [(&str, (bool, bool, bool)); 7] = [
    ("index", (true, true, true)),
    ("noindex", (false, false, true)),
    ("follow", (true, true, true)),
    ("nofollow", (true, true, false)),
    ("none", (false, false, false)),
    ("all", (true, true, true)),
    ("noarchive", (true, false, true)),
];

fn home() -> Page {
    Page::html("Home", &["/linked"])
}

fn tag(robot: &str, content: &str) -> String {
    format!("<meta name=\"{robot}\" content=\"{content}\">")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_directive_has_the_same_effect_in_tag_and_header() {
    for (word, expected) in WORDS {
        let shouted = word.to_uppercase();
        for word in [word, &shouted] {
            let tagged = home().in_head(&tag("robots", word));
            assert_eq!(judged(tagged).await, expected, "META {word}");
            let headed = home().header("x-robots-tag", word);
            assert_eq!(judged(headed).await, expected, "X-Robots-Tag: {word}");
        }
        // For this robot by name, and for another one.
        let tagged = home().in_head(&tag("robot-detection", word));
        assert_eq!(
            judged(tagged).await,
            expected,
            "META robot-detection {word}"
        );
        let headed = home().header("x-robots-tag", &format!("robot-detection: {word}"));
        assert_eq!(judged(headed).await, expected, "robot-detection: {word}");
        let everything = (true, true, true);
        let tagged = home().in_head(&tag("googlebot", word));
        assert_eq!(judged(tagged).await, everything, "META googlebot {word}");
        let headed = home().header("x-robots-tag", &format!("googlebot: {word}"));
        assert_eq!(judged(headed).await, everything, "googlebot: {word}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stricter_of_tag_and_header_applies() {
    for (in_tag, of_tag) in WORDS {
        for (in_header, of_header) in WORDS {
            let page = home()
                .in_head(&tag("robots", in_tag))
                .header("x-robots-tag", in_header);
            let both = (
                of_tag.0 && of_header.0,
                of_tag.1 && of_header.1,
                of_tag.2 && of_header.2,
            );
            assert_eq!(judged(page).await, both, "{in_tag} × {in_header}");
        }
    }
}

/// Returns the names of files that contain a word.
fn mentions(directory: &Path, word: &str) -> Vec<String> {
    let mut all = files(directory);
    all.retain(|_, bytes| String::from_utf8_lossy(bytes).contains(word));
    all.into_keys().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "one site with all its checks")]
async fn a_withdrawn_page_disappears_from_every_file() {
    // Each page has a word that no other page contains.
    let cases = [
        ("/docs/tag", "Quincey"),
        ("/docs/header", "Renfield"),
        ("/docs/disallowed", "Whitby"),
        ("/docs/404", "Carfax"),
        ("/docs/410", "Demeter"),
        ("/docs/401", "Seward"),
        ("/docs/403", "Borgo"),
        ("/docs/moved", "Szgany"),
        ("/docs/alone", "Varna"),
        ("/other/scope", "Bistritz"),
        ("/docs/archive", "Swales"),
    ];
    let all = cases.map(|(path, _)| path);
    let site = Site::open(&[("/docs/", Page::html("Home", &all))]).await;
    let text = |word: &str| Page::new(format!("<title>{word}</title><p>About {word}.</p>"));
    for (path, word) in cases {
        site.put(path, text(word));
    }
    let directory = tempfile::tempdir().unwrap();
    let heaven = directory.path().join("heaven");
    let start = site.url("/docs/");
    visit(directory.path(), &start, &["--delay", "0"]).await;
    for (path, word) in cases {
        assert!(mentions(&heaven, word).len() > 1, "{path}");
    }

    site.put(
        "/docs/tag",
        text("Quincey").in_head(&tag("robots", "noindex")),
    );
    site.put(
        "/docs/header",
        text("Renfield").header("x-robots-tag", "noindex"),
    );
    let robots_txt = "User-agent: *\nDisallow: /docs/disallowed\n";
    site.put("/robots.txt", Page::text("text/plain", robots_txt));
    site.remove("/docs/404");
    for (path, status) in [("/docs/410", 410), ("/docs/401", 401), ("/docs/403", 403)] {
        site.put(path, Page::status(status));
    }
    site.put("/docs/moved", Page::moved("/docs/"));
    let linked: Vec<&str> = all
        .into_iter()
        .filter(|path| *path != "/docs/alone")
        .collect();
    site.put("/docs/", Page::html("Home", &linked));
    let more = ["--delay", "0", "--only-below", "/docs/"];
    let ran = visit(directory.path(), &start, &more).await;
    assert_eq!(ran["withdrawn"], 8, "{ran}");
    // A page that requires a login, and one without links, are not known to be gone.
    let stay = ["/docs/archive", "/docs/401", "/docs/alone"];
    let exported = spawn_blocking({
        let directory = directory.path().to_owned();
        let arguments = ["--database", "sqlite://robot.db", "site-robot", "export"];
        move || program::succeed(&directory, &arguments)
    });
    let exported = exported.await.unwrap();
    for (path, word) in cases {
        let is_there = stay.contains(&path);
        let files = mentions(&heaven, word);
        assert_eq!(!files.is_empty(), is_there, "{path}: {files:?}");
        // With its slash, since a number alone may appear in the server's port.
        let files = mentions(&heaven, &path[path.rfind('/').unwrap()..]);
        assert!(
            is_there || files.iter().all(|name| !name.contains("sitemap")),
            "{path}"
        );
        assert_eq!(exported.contains(word), is_there, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_with_another_canonical_url_is_kept_and_declares_it() {
    let page = Page::html("Copy", &[]);
    let site = Site::open(&[
        ("/", Page::html("Home", &["/copy"])),
        ("/copy", page.clone()),
    ])
    .await;
    let store = Store::connect("sqlite::memory:").await.unwrap();
    let run = async || {
        let source = HttpSource::new(HttpSettings::default()).unwrap();
        let robot = SiteRobot::builder("docs", store.clone(), source).start(site.url("/"), None);
        robot.build().unwrap().run().await.unwrap();
    };
    run().await;
    let elsewhere = "http://elsewhere.example/original";
    site.put(
        "/copy",
        page.in_head(&format!("<link rel=canonical href={elsewhere}>")),
    );
    run().await;
    let copy = store
        .descriptions()
        .find("docs", &site.url("/copy"))
        .await
        .unwrap();
    let copy = copy.unwrap().description;
    assert_eq!(copy.value(name::CANONICAL), Some(elsewhere));
}

/// A server that supports only dates gets conditional requests with dates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_run_transfers_no_pages() {
    let paths = ["/a", "/b", "/empty", "/twin", "/noindex", "/list.xml"];
    let site = Site::open(&[("/", Page::html("Home", &paths))]).await;
    for path in ["/a", "/b"] {
        site.put(path, Page::html(path, &["/"]));
    }
    site.put("/twin", Page::html("/a", &["/"]));
    for path in ["/empty", "/robots.txt"] {
        site.put(path, Page::text("text/plain", ""));
    }
    site.put("/list.xml", Page::text("application/xml", "<x>A list</x>"));
    site.put(
        "/noindex",
        Page::html("N", &["/behind"]).in_head(&tag("robots", "noindex")),
    );
    site.put("/behind", Page::html("Behind", &[]));
    let directory = tempfile::tempdir().unwrap();
    // The comparison of heaven pages with their originals would request them.
    let settings = directory.path().join("robot-detection.toml");
    std::fs::write(settings, "heaven.parity_pages = 0\n").unwrap();
    let first = visit(directory.path(), &site.url("/"), &["--delay", "0"]).await;
    site.asked();
    let second = visit(directory.path(), &site.url("/"), &["--delay", "0"]).await;
    let asked = site.asked();
    assert_eq!(asked.len(), 9, "{asked:?}");
    assert!(asked.iter().all(|it| it.is_conditional), "{asked:?}");
    assert_eq!(
        (&second["bytes"], &second["unmodified"]),
        (&0.into(), &8.into())
    );
    assert_eq!(second["heaven"]["changed"], false);
    assert_eq!(second["heaven"]["pages"], first["heaven"]["pages"]);
}
