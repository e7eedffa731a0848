//! Endless or malicious sites: each run ends within its limits.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, Response, header},
};
use flate2::{Compression, write::GzEncoder};
use futures_util::stream;
use robot_detection::{
    description::name,
    site_robot::{
        SiteRobot, SiteRobotBuilder, Summary, TrapLimits,
        source::{HttpSettings, HttpSource, SourceLimits},
    },
    store::{DescriptionQuery, RunState, Store},
};
use tokio::time::{Interval, interval};

use crate::site_robot::endless::{GeneratedSite, flood, html, links, moved, status, typed};
use crate::site_robot::site::{Page, Site};
use crate::support::{files::files, postgres, program};

/// Time limit of a run.
const DEADLINE: Duration = Duration::from_mins(2);

async fn store() -> Store {
    Store::connect("sqlite::memory:").await.unwrap()
}

/// Returns a builder of a robot that follows any number of links and never retries.
fn robot(store: &Store, site: &GeneratedSite) -> SiteRobotBuilder {
    robot_with(store, &site.url("/"), SourceLimits::default())
}

fn robot_with(store: &Store, start: &str, limits: SourceLimits) -> SiteRobotBuilder {
    let settings = HttpSettings {
        limits,
        ..HttpSettings::default()
    };
    let source = HttpSource::new(settings).unwrap();
    SiteRobot::builder("docs", store.clone(), source)
        .start(start, None)
        .retries(0, Duration::ZERO)
}

/// Runs a robot to its end.
async fn end(builder: SiteRobotBuilder) -> Summary {
    let robot = builder.build().unwrap();
    let summary = tokio::time::timeout(DEADLINE, robot.run()).await;
    let summary = summary.expect("the run did not end in time").unwrap();
    assert_eq!(summary.state, RunState::Finished);
    summary
}

async fn titles(store: &Store) -> BTreeMap<String, String> {
    let query = DescriptionQuery::new("docs");
    let stored = store.descriptions().list(&query).await.unwrap();
    let pair = |stored: robot_detection::store::StoredDescription| {
        let url = url::Url::parse(stored.description.url()).unwrap();
        (url.path().to_owned(), stored.description.title().to_owned())
    };
    stored.into_iter().map(pair).collect()
}

async fn outcome(store: &Store, url: &str) -> String {
    let known = store.frontier().known_url("docs", url).await.unwrap();
    known.unwrap().outcome.unwrap()
}

/// Returns the number after a prefix.
fn number(path: &str, prefix: &str) -> Option<u64> {
    path.strip_prefix(prefix)?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_calendar_is_abandoned() {
    let site = GeneratedSite::open(|path| {
        let month = |path: &str, prefix: &str| {
            let (year, month) = path.strip_prefix(prefix)?.split_once(['-', '/'])?;
            Some(year.parse::<i64>().ok()? * 12 + month.parse::<i64>().ok()? - 1)
        };
        let text = |month: i64| format!("{:04}-{:02}", month / 12, month % 12 + 1);
        if let Some(month) = month(path, "/month?m=") {
            let around = [month - 1, month + 1].map(|month| format!("/month?m={}", text(month)));
            return html(format!("<title>{}</title>{}", text(month), links(&around)));
        }
        if let Some(month) = month(path, "/archive/") {
            let next = format!("/archive/{}", text(month + 1).replace('-', "/"));
            return html(format!("<title>{}</title>{}", text(month), links(&[next])));
        }
        match path {
            "/" => html("<a href=/month?m=2026-11>m</a><a href=/archive/2026/11>a</a>"),
            _ => status(404),
        }
    })
    .await;
    let store = store().await;
    let limits = TrapLimits {
        years_ahead: 2,
        years_back: 1,
        ..TrapLimits::default()
    };
    end(robot(&store, &site).traps(limits)).await;
    let paths = site.paths();
    assert!((40..130).contains(&paths.len()), "{} pages", paths.len());
    assert!(paths.iter().any(|path| path == "/month?m=2026-12"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_session_ids_in_each_response_create_no_new_pages() {
    let count = Arc::new(AtomicU64::new(0));
    let site = GeneratedSite::open(move |path| {
        if path == "/robots.txt" {
            return status(404);
        }
        let id = || {
            let id = count.fetch_add(1, Ordering::Relaxed);
            format!("{:032x}", u128::from(id) * 0x9e37_79b9_7f4a_7c15_f39c)
        };
        let links = [
            format!("/a;jsessionid={}", id()),
            format!("/b?PHPSESSID={}", id()),
            format!("/(S({}))/c", id()),
            format!("/d?x=1&sid={}", id()),
        ];
        html(format!("<title>Page</title>{}", self::links(&links)))
    })
    .await;
    let store = store().await;
    end(robot(&store, &site)).await;
    let mut paths = site.paths();
    paths.sort();
    assert_eq!(paths, ["/", "/a", "/b", "/c", "/d?x=1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_pages_under_ever_new_paths_are_abandoned() {
    let count = Arc::new(AtomicU64::new(0));
    let site = GeneratedSite::open(move |path| {
        if path == "/robots.txt" {
            return status(404);
        }
        let id = || format!("{:08x}", count.fetch_add(1, Ordering::Relaxed) * 0x9e37);
        let links = [format!("/s/{}/a", id()), format!("/s/{}/b", id())];
        let title = path.chars().last().unwrap();
        html(format!("<title>{title}</title>{}", self::links(&links)))
    })
    .await;
    let store = store().await;
    let limits = TrapLimits {
        max_alike: 20,
        ..TrapLimits::default()
    };
    end(robot(&store, &site).traps(limits)).await;
    let asked = site.paths().len();
    assert!((40..200).contains(&asked), "{asked} pages");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_redirects_refreshes_and_frames_are_abandoned() {
    let site = GeneratedSite::open(|path| {
        if let Some(hop) = number(path, "/chain/") {
            return moved(&format!("/chain/{}", hop + 1));
        }
        if let Some(hop) = number(path, "/refresh/") {
            let next = hop + 1;
            return html(format!(
                "<title>R {hop}</title><meta http-equiv=refresh content='0; url=/refresh/{next}'>"
            ));
        }
        if let Some(hop) = number(path, "/frame/") {
            let next = hop + 1;
            return html(format!(
                "<title>F {hop}</title><frameset><frame src=/frame/{next}><frame src=/frame/{hop}></frameset>"
            ));
        }
        match path {
            "/" => html(
                "<title>Home</title><a href=/loop>l</a><a href=/chain/1>c</a>\
                 <a href=/refresh/1>r</a><a href=/frame/1>f</a><a href=/self>s</a>",
            ),
            "/loop" => moved("/pool"),
            "/pool" => moved("/loop"),
            "/self" => html("<title>Self</title><meta http-equiv=refresh content='0'>\
                 <meta http-equiv=refresh content='0; url=/self'><iframe src=/self></iframe>"),
            _ => status(404),
        }
    })
    .await;
    let store = store().await;
    end(robot(&store, &site)).await;
    let paths = site.paths();
    let unique: BTreeSet<_> = paths.iter().collect();
    assert_eq!(unique.len(), paths.len(), "each once: {paths:?}");
    for prefix in ["/chain/", "/refresh/", "/frame/"] {
        let hops = paths.iter().filter(|path| path.starts_with(prefix)).count();
        assert_eq!(hops, 11, "{prefix}");
    }
    assert!(paths.len() < 40, "{}", paths.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_body_is_aborted() {
    // 1 GiB in pieces, without an announced length.
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let site = GeneratedSite::open(move |path| match path {
        "/" => html("<title>Home</title><a href=/huge>h</a><a href=/next>n</a>"),
        "/huge" => html(flood("<title>Huge</title>", 16_384, &counted)),
        "/next" => html("<title>Next</title>"),
        _ => status(404),
    })
    .await;
    let store = store().await;
    let summary = end(robot(&store, &site)).await;
    let text = outcome(&store, &site.url("/huge")).await;
    assert!(
        text.contains("larger than the maximum of 10485760 bytes"),
        "{text}"
    );
    assert_eq!((summary.counts.added, titles(&store).await.len()), (2, 2));
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 1_024, "{sent} pieces of 64 KiB were read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_body_is_aborted() {
    let site = GeneratedSite::open(|path| {
        let drip = |mut drops: Interval| async move {
            drops.tick().await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), drops))
        };
        match path {
            "/" => html("<title>Home</title><a href=/drip>d</a><a href=/next>n</a>"),
            "/drip" => html(Body::from_stream(stream::unfold(
                interval(Duration::from_millis(50)),
                drip,
            ))),
            "/next" => html("<title>Next</title>"),
            _ => status(404),
        }
    })
    .await;
    let store = store().await;
    let limits = SourceLimits {
        idle_timeout: Duration::from_secs(2),
        timeout: DEADLINE * 2,
        ..SourceLimits::default()
    };
    let summary = end(robot_with(&store, &site.url("/"), limits)).await;
    assert_eq!((summary.counts.added, summary.counts.failed), (2, 1));
    let text = outcome(&store, &site.url("/drip")).await;
    assert!(text.contains("took too long"), "{text}");
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// Returns 16 MiB of zeros in one gzip member, and 1,000 such members: 16 GiB.
fn bomb() -> Vec<u8> {
    zipped(&vec![b' '; 16 << 20]).repeat(1_000)
}

fn encoded(coding: &'static str, body: Vec<u8>) -> Response<Body> {
    let mut response = html(body);
    let coding = HeaderValue::from_static(coding);
    response
        .headers_mut()
        .insert(header::CONTENT_ENCODING, coding);
    response
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gzip_bombs_do_no_harm() {
    let bomb = bomb();
    assert!(bomb.len() > 10 << 20, "{}", bomb.len());
    let small = bomb[..8 << 20].to_owned();
    let nested = zipped(&small);
    let site = GeneratedSite::open(move |path| match path {
        "/" => html(links(
            &["/one", "/two", "/file.gz", "/next"].map(str::to_owned),
        )),
        "/robots.txt" | "/one" => encoded("gzip", small.clone()),
        "/two" => encoded("gzip, gzip", nested.clone()),
        "/file.gz" => typed("application/gzip", small.clone()),
        "/next" => html("<title>Next</title>"),
        _ => status(404),
    })
    .await;
    let store = store().await;
    end(robot(&store, &site)).await;
    assert_eq!(site.paths().len(), 5, "{:?}", site.paths());
    let titles = titles(&store).await;
    assert!(titles.contains_key("/next"), "{titles:?}");
    assert!(!titles.contains_key("/one") && !titles.contains_key("/two"));
    let text = outcome(&store, &site.url("/one")).await;
    assert!(
        text.contains("larger than the maximum of 10485760 bytes"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_cannot_be_decompressed_is_not_described() {
    let page = |title: &str| format!("<title>{title}</title>").into_bytes();
    let site = GeneratedSite::open(move |path| match path {
        "/" => html(links(
            &["/old", "/twice", "/br", "/plain", "/bomb"].map(str::to_owned),
        )),
        "/old" => encoded("x-gzip", zipped(&page("Old name"))),
        "/twice" => encoded("gzip, gzip", zipped(&zipped(&page("Twice")))),
        "/br" => encoded("br", page("No Brotli")),
        "/plain" => encoded("identity", page("Plain")),
        "/bomb" => encoded("x-gzip", zipped(&vec![b' '; 16 << 20])),
        _ => status(404),
    })
    .await;
    let store = store().await;
    end(robot(&store, &site)).await;
    let titles = titles(&store).await;
    assert_eq!(
        (&*titles["/old"], &*titles["/plain"]),
        ("Old name", "Plain")
    );
    assert!(!titles.contains_key("/br") && !titles.contains_key("/bomb"));
    assert!(titles.get("/twice").is_none_or(|title| title == "Twice"));
    let text = outcome(&store, &site.url("/br")).await;
    assert!(text.contains("unsupported content coding br"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_and_exploding_sitemaps_are_abandoned() {
    let sitemap = |tag: &str, urls: &[String]| {
        let entries: String = urls
            .iter()
            .map(|url| format!("<{tag}><loc>{url}</loc></{tag}>"))
            .collect::<Vec<_>>()
            .concat();
        let set = if tag == "url" {
            "urlset"
        } else {
            "sitemapindex"
        };
        format!("<?xml version='1.0'?><{set}>{entries}</{set}>")
    };
    let bomb = bomb();
    let small = bomb[..8 << 20].to_owned();
    let site = GeneratedSite::open(move |path| {
        if let Some(map) = number(path, "/map/") {
            let next = [2 * map, 2 * map + 1].map(|map| format!("/map/{map}"));
            return typed("application/xml", sitemap("sitemap", &next));
        }
        match path {
            "/robots.txt" => typed(
                "text/plain",
                "Sitemap: /map/1\nSitemap: /bomb.xml.gz\nSitemap: /good\n",
            ),
            "/bomb.xml.gz" => typed("application/gzip", small.clone()),
            "/good" => typed("application/xml", sitemap("sitemap", &["/part".to_owned()])),
            "/part" => typed("application/xml", sitemap("url", &["/page".to_owned()])),
            "/page" => html("<title>Listed</title>"),
            "/" => html("<title>Home</title>"),
            _ => status(404),
        }
    })
    .await;
    let store = store().await;
    end(robot(&store, &site)).await;
    let paths = site.paths();
    let maps = paths.iter().filter(|it| it.starts_with("/map/")).count();
    assert!((7..64).contains(&maps), "{maps}");
    assert_eq!(titles(&store).await["/page"], "Listed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_directories_are_abandoned() {
    for (link, most) in [("a/", 5), ("a/b/", 5), ("x{}/", 25)] {
        let site = GeneratedSite::open(move |path| {
            let depth = path.matches('/').count().to_string();
            let link = link.replace("{}", &depth);
            html(format!(
                "<title>{path}</title><a href=\"{link}\">deeper</a>"
            ))
        })
        .await;
        let store = store().await;
        end(robot(&store, &site).obey_robots_txt(false)).await;
        let asked = site.paths().len();
        assert!((3..=most).contains(&asked), "{link}: {asked}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_first_of_very_many_links_are_followed() {
    let site = GeneratedSite::open(|path| match path {
        "/robots.txt" => typed("text/plain", "User-agent: *\nDisallow: /n\n"),
        "/" => {
            let links: String = (0..300_000)
                .map(|n| format!("<a href=n{n}>n</a>"))
                .collect::<Vec<_>>()
                .concat();
            html(format!("<title>Many</title>{links}"))
        }
        _ => status(404),
    })
    .await;
    let store = store().await;
    let summary = end(robot(&store, &site)).await;
    assert_eq!(site.paths(), ["/"]);
    let found = summary.counts.found;
    assert!((9_000..=10_001).contains(&found), "{found}");
    assert_eq!(titles(&store).await["/"], "Many");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_beginning_of_a_huge_robots_txt_counts() {
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let site = GeneratedSite::open(move |path| match path {
        "/robots.txt" => {
            let first = "User-agent: *\nDisallow: /private\n";
            typed("text/plain", flood(first, 1_600, &counted))
        }
        "/" => html("<title>Home</title><a href=/private/a>p</a><a href=/b>b</a>"),
        _ => html("<title>Page</title>"),
    })
    .await;
    let store = store().await;
    end(robot(&store, &site)).await;
    assert_eq!(site.paths(), ["/", "/b"]);
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 400, "{sent} pieces of 64 KiB were read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cookies_are_neither_stored_nor_sent() {
    let site = GeneratedSite::open(|path| {
        let next = path.len();
        let mut response = html(format!("<title>{next}</title><a href=\"{path}c\">c</a>"));
        for number in 0..next {
            let cookie = format!("c{number}={}", "x".repeat(500));
            let cookie = cookie.parse().unwrap();
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        if next > 30 { status(404) } else { response }
    })
    .await;
    let store = store().await;
    let summary = end(robot(&store, &site).obey_robots_txt(false)).await;
    assert_eq!(summary.counts.added, 30);
    let headers = site.headers();
    assert!(headers.iter().all(|it| !it.contains_key(header::COOKIE)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_responses_do_not_stop_the_run() {
    let site = GeneratedSite::raw(|path| {
        let page = |title: &str, more: &str| {
            let body = format!("<title>{title}</title>{more}");
            let length = body.len();
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
        };
        let answer = match path {
            "/" => {
                let all = ["cut", "chunk", "many", "long", "none", "noise", "next"];
                page("Home", &links(&all.map(|it| format!("/{it}"))))
            }
            "/cut" => "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 1000\r\n\r\n<title>Cut</title>".to_owned(),
            "/chunk" => "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n7\r\n<title>\r\nzz".to_owned(),
            "/many" => format!("HTTP/1.1 200 OK\r\n{}\r\n<title>Many</title>", "x-a: b\r\n".repeat(100_000)),
            "/long" => format!("HTTP/1.1 200 OK\r\nx-a: {}\r\n\r\n<title>Long</title>", "b".repeat(4 << 20)),
            "/none" => String::new(),
            "/noise" => "\u{0}\u{1}\u{2} what is this\r\n\r\n".to_owned(),
            "/next" => page("Next", ""),
            _ => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        answer.into_bytes()
    })
    .await;
    let store = store().await;
    let summary = end(robot(&store, &site)).await;
    let titles = titles(&store).await;
    assert_eq!(titles.into_keys().collect::<Vec<_>>(), ["/", "/next"]);
    assert_eq!(summary.counts.added, 2);
}

/// Visits pages with wrong character sets, and text that databases reject.
async fn odd_texts(store: Store) {
    let site = GeneratedSite::open(|path| match path {
        "/" => {
            let all = [
                "latin", "nul", "huge", "utf16", "unknown", "half", "control",
            ];
            html(links(&all.map(|it| format!("/{it}"))))
        }
        // The page claims to be UTF-8, but is not; the server's character set counts.
        "/latin" => typed("text/html; charset=utf-8", &b"<title>caf\xe9</title>"[..]),
        "/nul" => html(&b"<title>a\0b</title><meta name=author content='c\0d'><h1>e\0f</h1>\0"[..]),
        "/huge" => html(format!("<title>{}</title>", "t".repeat(1 << 20))),
        "/utf16" => {
            let text = "\u{feff}<title>Straße</title>";
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            typed("text/html; charset=iso-8859-1", bytes)
        }
        "/unknown" => typed("text/html; charset=klingon", "<title>Übung</title>"),
        "/half" => html(&b"<title>\xf0\x9f\x92"[..]),
        "/control" => html("<title>a\u{202e}b\u{7}c\u{1b}[31m</title>"),
        _ => status(404),
    })
    .await;
    end(robot(&store, &site)).await;
    let titles = titles(&store).await;
    assert_eq!(titles["/latin"], "caf\u{fffd}");
    assert!(!titles["/nul"].contains('\0') && titles["/nul"].starts_with('a'));
    assert_eq!(titles["/utf16"], "Straße", "the byte order mark decides");
    assert_eq!(titles["/unknown"], "Übung");
    assert!(
        titles["/huge"].len() <= 64 << 10,
        "{}",
        titles["/huge"].len()
    );
    assert_eq!(titles.len(), 8, "{:?}", titles.keys());
    let nul = store
        .descriptions()
        .find("docs", &site.url("/nul"))
        .await
        .unwrap();
    let nul = nul.unwrap().description;
    assert!(!nul.value(name::AUTHOR).unwrap().contains('\0'));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_texts_are_described_in_sqlite() {
    odd_texts(store().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_texts_are_described_in_postgres() {
    let url = postgres::database_url().await;
    odd_texts(Store::connect(&url).await.unwrap()).await;
}

/// Path, character set, place of its declaration, and title of a page.
const FOREIGN: [(&str, &str, &str, &str); 11] = [
    ("/ru", "koi8-r", "header", "Руководство администратора"),
    (
        "/ru2",
        "windows-1251",
        "",
        "Документация по серверу баз данных",
    ),
    ("/ko", "euc-kr", "meta", "아파치 웹 서버 설명서"),
    ("/ja", "shift_jis", "", "データベース管理者のための説明書"),
    ("/ja2", "euc-jp", "xml", "日本語の題名"),
    ("/zh", "gb18030", "meta", "数据库管理员手册"),
    ("/zh2", "big5", "header", "資料庫管理員手冊"),
    ("/pl", "iso-8859-2", "meta", "Zażółć gęślą jaźń"),
    ("/tr", "windows-1254", "header", "İstanbul'da ışık ağaç"),
    // Files of a type unknown to the server, identified by their extension.
    (
        "/index.html.fr.mac",
        "macintosh",
        "untold meta",
        "Été à Noël",
    ),
    (
        "/index.html.ko.euc-kr",
        "euc-kr",
        "untold xml",
        "서버 설명서",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn titles_in_foreign_character_sets_are_right() {
    let site = GeneratedSite::open(|path| {
        if path == "/" {
            return html(links(&FOREIGN.map(|(path, ..)| path.to_owned())));
        }
        let page = FOREIGN.iter().find(|(own, ..)| *own == path);
        let Some((_, charset, place, title)) = page else {
            return status(404);
        };
        let head = match *place {
            "meta" => {
                format!("<meta http-equiv=content-type content='text/html; charset={charset}'>")
            }
            "xml" => format!("<?xml version='1.0' encoding='{charset}'?>\n"),
            "untold meta" => format!("<!DOCTYPE html><meta charset={charset}>"),
            "untold xml" => format!("<?xml version='1.0' encoding='{charset}'?>\n<!DOCTYPE html>"),
            _ => String::new(),
        };
        let text = format!("{head}<title>{title}</title><p>{}</p>", title.repeat(20));
        let encoding = encoding_rs::Encoding::for_label(charset.as_bytes()).unwrap();
        let (bytes, _, has_unknown) = encoding.encode(&text);
        assert!(!has_unknown, "{charset}");
        match *place {
            "header" => typed(&format!("text/html; charset={charset}"), bytes.into_owned()),
            place if place.starts_with("untold") => {
                typed("application/octet-stream", bytes.into_owned())
            }
            _ => html(bytes.into_owned()),
        }
    })
    .await;
    let store = store().await;
    end(robot(&store, &site)).await;
    let titles = titles(&store).await;
    for (path, charset, _, title) in FOREIGN {
        assert_eq!(titles[path], title, "{charset}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "tests all names on one site")]
async fn no_name_leads_outside_heaven_or_to_another_page() {
    let long = format!("/{}", "n".repeat(300));
    let paths = [
        "/A",
        "/a",
        "/a/",
        "/a.htm",
        "/a.html",
        "/a/index.html",
        "/a.html/b",
        "/a.htm/b",
        "/index.html",
        "/INDEX.HTML",
        "/%C3%A9",
        "/e%CC%81",
        "/con",
        "/aux.html",
        "/nul.txt",
        "/com1/lpt1",
        "/a.",
        "/a%20",
        "/x:y",
        "/sitemap.xml",
        "/by/title/1.html",
        "/heaven.css",
        "/llms.txt",
        "/rd.soif",
        "/.htaccess",
        "/..%2F..%2Fescaped",
        "/%5C..%5C..%5Cescaped",
        "/%2Fetc%2Fpasswd",
        "/a%00b",
        "/-rf",
        "/~root",
        "/feed.atom",
        &long,
    ];
    let more = [
        "/../../up",
        "/%2e%2e/%2E%2E/dots",
        "\\..\\..\\back",
        "/x/..\\..\\y",
    ];
    let resolved = ["/up", "/dots", "/back", "/y"];
    let too_long = format!("/{}", "l".repeat(4_000));
    let links: Vec<&str> = paths.iter().chain(&more).copied().collect();
    let mut home = links.clone();
    home.push(&too_long);
    let site = Site::open(&[("/", Page::html("Home", &home))]).await;
    for (number, path) in paths.iter().chain(&resolved).enumerate() {
        site.put(path, Page::html(&format!("Page {number}"), &[]));
    }
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    let start = site.url("/");
    let run = tokio::task::spawn_blocking(move || {
        let arguments = [
            "--database",
            "sqlite://robot.db",
            "site-robot",
            "run",
            &start,
        ];
        let more = ["--delay", "0", "--publish", "heaven", "--json"];
        program::succeed(&inner, &[&arguments[..], &more[..]].concat())
    });
    let ran: serde_json::Value = serde_json::from_str(&run.await.unwrap()).unwrap();
    let asked = site.paths();
    assert!(asked.iter().all(|path| path.len() < 400), "{asked:?}");
    for path in &resolved {
        assert!(asked.contains(&(*path).to_owned()), "{path}: {asked:?}");
    }
    let pages = usize::try_from(ran["heaven"]["pages"].as_u64().unwrap()).unwrap();
    assert_eq!(pages, paths.len() + resolved.len() + 1, "{ran}");

    let all: Vec<String> = files(directory.path()).into_keys().collect();
    let is_ours = |path: &&String| {
        ["a/b/heaven/", "a/b/.heaven.lock", "a/b/robot.db"]
            .iter()
            .any(|it| path.starts_with(it))
    };
    assert_eq!(all.iter().find(|path| !is_ours(path)), None);
    let heaven: Vec<String> = files(&directory.path().join("a/b/heaven"))
        .into_keys()
        .collect();
    let folded: BTreeSet<String> = heaven.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(
        folded.len(),
        heaven.len(),
        "names that are equal without case"
    );
    let kept = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-~/".contains(c);
    // Marker files of heaven are not pages.
    for name in heaven
        .iter()
        .filter(|name| !name.starts_with(".robot-heaven"))
    {
        assert!(name.chars().all(kept), "{name}");
        assert!(name.split('/').all(|part| part.len() <= 200), "{name}");
        for part in name.split('/') {
            let stem = part.split('.').next().unwrap();
            assert!(
                !matches!(stem, "con" | "aux" | "nul" | "com1" | "lpt1" | ""),
                "{name}"
            );
        }
    }
    let markdown = heaven
        .iter()
        .filter(|name| name.strip_suffix(".md").is_some())
        .count();
    assert!(markdown == 0 || markdown >= pages, "{markdown}");
}
