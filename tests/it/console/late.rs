//! Live decisions: their delay, filters, use without scripts, and the server's shutdown.

use std::time::Duration;

use reqwest::header;

use super::house::House;
use crate::support::{
    browser::{Browser, Screen},
    program::{FIREFOX, GOOGLEBOT, request},
};

const HOST: &str = "blog.example";

/// Records the delay of each row, whose path contains the time of the request.
const WATCH: &str = r"
    window.late = [];
    new MutationObserver(changes => {
        for (const change of changes) for (const row of change.addedNodes) {
            const asked = /\/at-(\d+)/.exec(row.textContent);
            if (asked) window.late.push(Date.now() - Number(asked[1]));
        }
    }).observe(document.querySelector('#live tbody'), { childList: true });";

fn now_ms() -> i64 {
    robot_detection::clock::Clock::system().now_ms()
}

/// Sends 50 requests a second for some seconds.
async fn send(addr: std::net::SocketAddr, seconds: u32) {
    let mut due = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..50 * seconds {
        due.tick().await;
        let asking = tokio::task::spawn_blocking(move || {
            let path = format!("/at-{}", now_ms());
            let headers = [("Host", HOST), ("User-Agent", GOOGLEBOT)];
            request(addr, "GET", &path, &headers);
        });
        asking.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "prints the measured delay")]
async fn fifty_decisions_a_second_are_shown_live_and_can_be_paused() {
    let house = House::start(async |_, _| ()).await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    house.log_in(&browser).await;
    house.go(&browser, "live?robot=googlebot").await;
    browser.wait_for_text("#live-state", "automatically").await;
    browser.client.execute(WATCH, vec![]).await.unwrap();
    send(house.server.addr, 4).await;
    house.visit(HOST, "/a-person", FIREFOX, "192.0.2.7");
    house.visit(HOST, "/the-last", GOOGLEBOT, "192.0.2.7");
    let rows = browser.wait_for_text("#live tbody", "/the-last").await;
    assert!(
        !rows.contains("/a-person"),
        "the stream is not filtered: {rows}"
    );
    let late = "return [window.late.length, Math.max(...window.late)];";
    let late = browser.client.execute(late, vec![]).await.unwrap();
    println!("{} rows, the latest {} ms late", late[0], late[1]);
    let shown = late[0].as_u64().unwrap();
    assert!(shown >= 150, "too few of 200 rows are shown: {shown}");
    browser.keep_screenshot("live-busy").await;

    browser.find("#pause").await.click().await.unwrap();
    browser.wait_for_text("#live-state", "Paused.").await;
    house.visit(HOST, "/while-paused", GOOGLEBOT, "192.0.2.7");
    let text = browser.find("#live tbody").await.text().await.unwrap();
    assert!(!text.contains("/while-paused"), "{text}");
    browser.find("#pause").await.click().await.unwrap();
    browser.wait_for_text("#live tbody", "/while-paused").await;

    browser.disable_scripts().await;
    house.go(&browser, "live").await;
    let pause = browser.find("#pause").await;
    assert!(
        !pause.is_displayed().await.unwrap(),
        "the pause button needs a script"
    );
    house.visit(HOST, "/without-scripts", GOOGLEBOT, "192.0.2.7");
    let link = fantoccini::Locator::LinkText("Refresh");
    let link = browser.client.find(link).await.unwrap();
    link.click().await.unwrap();
    browser
        .wait_for_text("#live tbody", "/without-scripts")
        .await;
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_does_not_wait_for_viewers_of_live_decisions() {
    let house = House::start(async |_, _| ()).await;
    // Another test may have installed the provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let events = reqwest::Client::builder().build().unwrap();
    let events = events.get(house.admin("live/events"));
    let events = events.header(header::COOKIE, house.cookie());
    let mut events = events.send().await.unwrap();
    assert_eq!(events.headers()[header::CONTENT_TYPE], "text/event-stream");
    assert!(events.chunk().await.unwrap().is_some());
    // The drain limit is ten minutes, but the server stops within one because nothing delays it.
    house.server.signal("TERM");
    while let Ok(Some(_)) = events.chunk().await {}
    let House { server, .. } = house;
    let ended = tokio::task::spawn_blocking(move || server.wait());
    assert!(ended.await.unwrap());
}
