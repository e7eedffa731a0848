//! Paths from which robots are redirected without a matching heaven page are marked.

use regex::Regex;
use robot_detection::{
    description::ResourceDescription,
    store::{CountedPaths, PathCount, PathKey, TrafficBatch},
};

use super::{
    site::{Client, NOW_MS, Plan, Site},
    visits::{self, DAY, NOW, USUAL, minute_of},
};

/// Sites, robots and paths, each with the number of redirects of ten requests.
const ASKED: &[(&str, &str, &str, u64)] = &[
    ("shop", "gptbot", "/members/", 10),
    ("shop", "gptbot", "/members/described", 10),
    ("shop", "gptbot", "/members/with-query", 10),
    ("shop", "gptbot", "/members/caf%C3%A9", 10),
    ("shop", "gptbot", "/members/gone", 3),
    ("shop", "gptbot", "/members/passed", 0),
    ("shop", "gptbot", "/other/a/*", 10),
    ("shop", "", "/people/*", 10),
];

const DESCRIBED: &[&str] = &[
    "https://shop.example/members/",
    "https://shop.example/members/caf%C3%A9",
    "https://shop.example/members/described",
    "https://shop.example/members/gone-again",
    "https://shop.example/members/with-query?page=1",
];

async fn asked(site: &Site, number: i64, rows: &[(&str, &str, &str, u64)]) {
    let row = |(site, robot, path, redirects): &(&str, &str, &str, u64)| {
        let key = PathKey {
            site: (*site).to_owned(),
            robot: (*robot).to_owned(),
            path: (*path).to_owned(),
        };
        let count = PathCount {
            requests: 10,
            redirects: *redirects,
            ..PathCount::default()
        };
        (key, count)
    };
    let counted = CountedPaths {
        minute: NOW_MS / 60_000 - 5,
        rows: rows.iter().map(row).collect(),
        cuts: Vec::new(),
    };
    let batch = TrafficBatch {
        writer: "paths",
        number,
        counted: &[],
        paths: &[counted],
        live: &[],
    };
    site.store.traffic().add(&batch, NOW_MS).await.unwrap();
    // Requests that were never counted are not reported.
    visits::add(&site.store, &[minute_of(&USUAL[4], NOW - DAY, 1)]).await;
}

async fn describe(site: &Site) {
    let described: Vec<_> = DESCRIBED
        .iter()
        .map(|url| ResourceDescription::new(*url))
        .collect();
    let saved = site
        .store
        .descriptions()
        .save("shop", 1, &described, NOW_MS);
    saved.await.unwrap();
}

/// Returns the marked paths, each with its link target.
async fn marked(client: &Client, page: &str) -> Vec<(String, String)> {
    let body = client.get(page).await.body;
    let mark = r#"class="missing" href="\./([^"]+)">.*?<span class="unseen"> ([^<]+)</span>"#;
    let mark = Regex::new(mark).unwrap();
    let found = mark.captures_iter(&body);
    found
        .map(|found| (found[2].to_owned(), found[1].replace("&#38;", "&")))
        .collect()
}

#[tokio::test]
async fn redirected_paths_without_a_description_are_marked() {
    let site = Plan::open().start().await;
    let client = site.client();
    asked(&site, 1, ASKED).await;
    // On a site without any descriptions, every row would be marked.
    assert_eq!(marked(&client, "paths?path=/members/*").await, []);
    describe(&site).await;
    let found = marked(&client, "paths?path=/members/*").await;
    let link = "site-robot/descriptions?site=shop&q=%2Fmembers%2Fgone";
    assert_eq!(found, [("/members/gone".to_owned(), link.to_owned())]);
    // The linked search shows the descriptions of neighbouring pages.
    let led = client.get(link).await;
    assert!(led.text().contains("/members/gone-again"), "{}", led.text());
    let found = marked(&client, "paths").await;
    let names: Vec<_> = found.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["/other/*"], "people are not redirected to heaven");
    let page = client.get("paths").await.text();
    assert!(page.contains("“Missing from heaven” marks paths"), "{page}");
}

#[tokio::test]
async fn only_the_selected_site_is_checked() {
    let site = Plan::open().start().await;
    let client = site.client();
    asked(&site, 1, ASKED).await;
    asked(&site, 2, &[("blog", "gptbot", "/other/b", 10)]).await;
    describe(&site).await;
    assert_eq!(marked(&client, "paths").await, []);
    assert_eq!(marked(&client, "paths?site=shop").await.len(), 1);
    assert_eq!(marked(&client, "paths?site=blog").await, []);
}
