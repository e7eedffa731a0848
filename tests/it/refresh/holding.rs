//! Apparently damaged lists are quarantined until an administrator accepts them.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use robot_detection::{
    fetch::FetchLimits,
    refresh::{RefreshError, RefreshOptions, SourceSpec, Trigger},
    registry::{Format, Source},
    store::{RefreshOutcome, RefreshRecord},
};

use super::house::{House, dozen, flat_file, source, spec};
use crate::support::{
    http::{Reply, TestServer},
    log,
};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("Fetcher{n}x")).collect()
}

/// Returns a registry with a number of robots in a format.
fn registry(format: Format, count: usize) -> String {
    let names = names(count);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let each = |write: fn(&str) -> String| names.iter().map(|name| write(name)).collect::<Vec<_>>();
    match format {
        Format::WebRobotsDb => flat_file(&all),
        Format::List => each(|name| format!("{name}\n")).concat(),
        Format::Matomo => each(|name| {
            format!("- regex: '{name}'\n  name: '{name}'\n  category: 'Crawler'\n  producer:\n    name: 'Acme'\n\n")
        })
        .concat(),
        Format::AiRobotsTxt => {
            let entries = each(|name| format!("\"{name}\": {{\"operator\": \"Acme\"}}"));
            format!("{{\n{}\n}}\n", entries.join(",\n"))
        }
        _ => {
            let entries = each(|name| format!("{{\"pattern\": \"{name}\", \"url\": \"\"}}"));
            format!("[\n{}\n]\n", entries.join(",\n"))
        }
    }
}

async fn house(server: &TestServer, format: Format) -> House {
    let spec = SourceSpec {
        format,
        ..spec(&server.url("/registry"))
    };
    House::with(vec![spec], FetchLimits::default()).await
}

async fn held(house: &House) -> Option<RefreshRecord> {
    let spec = house.refresher.sources().remove(0);
    house.refresher.held(&spec).await.unwrap()
}

async fn accept(house: &House, document: &str) -> Result<RefreshRecord, RefreshError> {
    let options = RefreshOptions {
        accept: Some(document.to_owned()),
        ..RefreshOptions::default()
    };
    let source = Source::web_robots_db();
    let refresher = &house.refresher;
    refresher.refresh(&source, Trigger::Admin, options).await
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Format, position of the cut, outcome of the refresh, and reported reason.
type Cut = (Format, fn(&str) -> usize, RefreshOutcome, &'static str);

/// Truncated files; without the quarantine, those that still parse would be accepted.
const CUTS: &[Cut] = &[
    (
        Format::WebRobotsDb,
        nine_tenths,
        RefreshOutcome::Held,
        "its last line has no line feed",
    ),
    (
        Format::WebRobotsDb,
        |text| text.rfind("robot-name: Fetcher95").unwrap(),
        RefreshOutcome::Held,
        "its last record has no robot-name and 1 more fields",
    ),
    (
        Format::List,
        nine_tenths,
        RefreshOutcome::Held,
        "its last line has no line feed",
    ),
    (
        Format::Matomo,
        |text| text.rfind("  producer:").unwrap(),
        RefreshOutcome::Held,
        "its last record has no producer",
    ),
    (
        Format::Matomo,
        nine_tenths,
        RefreshOutcome::Held,
        "its last line has no line feed",
    ),
    (
        Format::Matomo,
        |text| text.rfind("Acme").unwrap(),
        RefreshOutcome::Failed,
        "not a registry in the format matomo",
    ),
    (
        Format::AiRobotsTxt,
        nine_tenths,
        RefreshOutcome::Failed,
        "EOF while parsing",
    ),
    (
        Format::CrawlerUserAgents,
        nine_tenths,
        RefreshOutcome::Failed,
        "EOF while parsing",
    ),
];

fn nine_tenths(text: &str) -> usize {
    text.len() * 9 / 10 + 3
}

#[tokio::test]
async fn a_file_truncated_within_a_record_is_quarantined_in_every_format() {
    for &(format, cut, outcome, said) in CUTS {
        let whole = registry(format, 100);
        let server = TestServer::new(Reply::text(whole.clone()));
        let house = house(&server, format).await;
        assert_eq!(house.replace().await.added, 100, "{format:?}");
        let ids = house.ids(&Source::web_robots_db()).await;
        server.set(Reply::text(whole[..cut(&whole)].to_owned()));
        let record = house.fail().await;
        assert_eq!(record.outcome, outcome, "{format:?}: {}", record.error);
        assert!(record.error.contains(said), "{format:?}: {}", record.error);
        assert_eq!(house.ids(&Source::web_robots_db()).await, ids, "{format:?}");
        let is_held = outcome == RefreshOutcome::Held;
        assert_eq!(held(&house).await.is_some(), is_held, "{format:?}");
    }
}

#[tokio::test]
async fn a_truncated_first_download_is_quarantined_too() {
    let whole = registry(Format::WebRobotsDb, 40);
    let server = TestServer::new(Reply::text(whole[..whole.len() - 20].to_owned()));
    let house = house(&server, Format::WebRobotsDb).await;
    assert_eq!(house.fail().await.outcome, RefreshOutcome::Held);
    assert!(house.ids(&Source::web_robots_db()).await.is_empty());
    // A plain list is written by hand, so its first and next download may lack a final newline.
    for text in [
        "Alphafetcher\nBravofetcher",
        "Alphafetcher\nBravofetcher\nCharliefetcher",
    ] {
        let server = TestServer::new(Reply::text(text));
        let list = SourceSpec {
            source: source("own-list"),
            format: Format::List,
            ..spec(&server.url("/"))
        };
        let options = RefreshOptions::default();
        let refresher = &house.refresher;
        let record = refresher
            .refresh_from(&list, Trigger::Command, options)
            .await;
        assert_eq!(record.unwrap().outcome, RefreshOutcome::Replaced);
    }
}

#[tokio::test]
async fn a_loss_of_more_than_a_tenth_is_quarantined_and_a_tenth_is_not() {
    let server = TestServer::new(Reply::text(registry(Format::WebRobotsDb, 100)));
    let house = house(&server, Format::WebRobotsDb).await;
    house.replace().await;
    server.set(Reply::text(registry(Format::WebRobotsDb, 89)));
    let record = house.fail().await;
    assert_eq!(record.outcome, RefreshOutcome::Held);
    assert_eq!(
        record.error,
        "the document has 89 robots, down from 100: more than a tenth would be removed at once"
    );
    assert!(house.knows("Fetcher99x"));
    server.set(Reply::text(registry(Format::WebRobotsDb, 90)));
    assert_eq!(house.replace().await.removed, 10);
    assert_eq!(held(&house).await, None);
}

#[tokio::test]
async fn a_quarantined_list_is_remembered_and_only_that_list_is_accepted() {
    let server = TestServer::new(Reply::text(registry(Format::WebRobotsDb, 100)));
    let house = house(&server, Format::WebRobotsDb).await;
    house.replace().await;
    server.set(Reply::text(registry(Format::WebRobotsDb, 80)));
    let document = house.fail().await.held_sha256.unwrap();

    // Another instance, started later, sees the quarantined list, and a failure keeps it.
    server.set(Reply::status(500));
    assert_eq!(house.fail().await.outcome, RefreshOutcome::Failed);
    let (_, later) = house.neighbour().await;
    let spec = later.sources().remove(0);
    let remembered = later.held(&spec).await.unwrap().unwrap();
    assert_eq!(remembered.held_sha256.as_ref(), Some(&document));

    // Another document is not the one that was reviewed.
    server.set(Reply::text(registry(Format::WebRobotsDb, 70)));
    let Err(RefreshError::Held(changed)) = accept(&house, &document).await else {
        panic!("the accepted document has changed");
    };
    assert!(
        changed
            .error
            .starts_with("not accepted, because the document changed while held for review")
    );
    assert!(
        changed.error.contains("the document has 70 robots"),
        "{}",
        changed.error
    );
    assert!(house.knows("Fetcher99x"));
    assert_eq!(held(&house).await.unwrap().held_sha256, changed.held_sha256);

    let document = changed.held_sha256.unwrap();
    assert_eq!(accept(&house, &document).await.unwrap().removed, 30);
    assert!(!house.knows("Fetcher99x") && house.knows("Fetcher69x"));
    assert_eq!(held(&house).await, None);
}

#[tokio::test]
async fn a_complete_document_replaces_an_accepted_one_and_is_reported() {
    let server = TestServer::new(Reply::text(registry(Format::WebRobotsDb, 100)));
    let house = house(&server, Format::WebRobotsDb).await;
    house.replace().await;
    server.set(Reply::text(registry(Format::WebRobotsDb, 80)));
    let document = house.fail().await.held_sha256.unwrap();
    server.set(Reply::text(registry(Format::WebRobotsDb, 101)));
    let record = accept(&house, &document).await.unwrap();
    assert_eq!(record.added, 1);
    assert!(record.problems[0].starts_with("the document held for review is no longer available"));
}

#[tokio::test]
async fn a_quarantine_is_logged_once_with_the_command_to_accept_it() {
    let server = TestServer::new(Reply::text(registry(Format::WebRobotsDb, 100)));
    let house = house(&server, Format::WebRobotsDb).await;
    house.replace().await;
    server.set(Reply::text(registry(Format::WebRobotsDb, 80)));
    log::keep();
    house.fail().await;
    house.fail().await;
    let told = log::lines_with(&server.url("/registry"));
    assert_eq!(told.len(), 1, "{told:?}");
    let told = &told[0];
    assert!(
        told.contains("the registry web-robots-db is held for review: the document has 80 robots")
            && told.contains("registry refresh --source web-robots-db --accept"),
        "{told}"
    );
}

#[tokio::test]
async fn gzip_is_read_from_files_and_servers_up_to_the_limit() {
    let house = House::new("http://127.0.0.1:9/never-asked").await;
    let server = TestServer::new(Reply::typed("application/gzip", gzip(&dozen())));
    let path = house.path("all.txt.gz");
    std::fs::write(&path, gzip(&dozen())).unwrap();
    let refresh = |url: String| {
        let (refresher, options) = (house.refresher.clone(), RefreshOptions::default());
        async move {
            let spec = spec(&url);
            refresher
                .refresh_from(&spec, Trigger::Command, options)
                .await
        }
    };
    let record = refresh(path.display().to_string()).await.unwrap();
    assert_eq!(
        (record.outcome, record.added),
        (RefreshOutcome::Replaced, 12)
    );
    let record = refresh(server.url("/all.txt.gz")).await.unwrap();
    assert_eq!(record.outcome, RefreshOutcome::NotModified, "the same text");

    let whole = gzip(&registry(Format::WebRobotsDb, 400));
    let bomb = gzip(&" ".repeat(6_000_000));
    let twice = {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&whole).unwrap();
        encoder.finish().unwrap()
    };
    for (bytes, said) in [
        (
            whole[..whole.len() * 9 / 10].to_vec(),
            "truncated or damaged",
        ),
        (whole[..whole.len() - 4].to_vec(), "truncated or damaged"),
        (whole[..5].to_vec(), "truncated or damaged"),
        (bomb, "the gzip file contains over 5000000 bytes"),
        (twice, "the document is gzip data"),
    ] {
        for url in [path.display().to_string(), server.url("/all.txt.gz")] {
            std::fs::write(&path, &bytes).unwrap();
            server.set(Reply::typed("application/gzip", bytes.clone()));
            let Err(RefreshError::Failed(record)) = refresh(url).await else {
                panic!("{said}");
            };
            assert!(record.error.contains(said), "{said}: {}", record.error);
            assert!(house.knows("Limafetcher"));
        }
    }
}
