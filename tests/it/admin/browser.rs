//! A human visitor with a real browser.

use fantoccini::Locator;
use robot_detection::{operations, registry::Source};

use super::site::{NOW_MS, PASSWORD, Plan, Site, flat_file};
use crate::support::{
    browser::{Browser, Screen},
    http::Reply,
};

pub(super) async fn log_in(browser: &Browser, site: &Site) {
    let url = format!("http://{}/robot-detection/admin", site.address);
    browser.log_in(&url, PASSWORD).await;
}

/// Returns `true` if the page is wider than the screen.
async fn is_too_wide(browser: &Browser) -> bool {
    let script = "return document.documentElement.scrollWidth > window.innerWidth;";
    let answer = browser.client.execute(script, vec![]).await.unwrap();
    answer.as_bool().unwrap()
}

pub(super) async fn go(browser: &Browser, site: &Site, page: &str) {
    let url = format!("http://{}/robot-detection/admin/{page}", site.address);
    browser.client.goto(&url).await.unwrap();
    browser.find("h1").await;
}

#[tokio::test]
async fn an_administrator_logs_in_searches_refreshes_and_sees_the_result() {
    let site = Plan::default().start().await;
    site.refresher.prepare(true).await.unwrap();
    site.source.set(Reply::text(flat_file(250)));
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    log_in(&browser, &site).await;
    browser.keep_screenshot("admin-1-first-start").await;

    // The page's script must follow the refresh without reloading the page.
    go(&browser, &site, "sources").await;
    browser.find("#refresh-all").await.click().await.unwrap();
    browser
        .wait_for_text("#refresh h2", "The refresh has finished.")
        .await;
    browser
        .wait_for_text(".steps", "250 added, 0 changed, 0 removed")
        .await;
    browser.keep_screenshot("admin-2-refreshed").await;

    for name in ["Robots", "Registry"] {
        let link = browser.client.find(Locator::LinkText(name)).await;
        link.unwrap().click().await.unwrap();
        browser.wait_for_text("h1", name).await;
    }
    let search = browser.find("#q").await;
    search.send_keys("acme0123walker").await.unwrap();
    browser.find(".filters button").await.click().await.unwrap();
    let rows = browser.wait_for_text("tbody", "Acme Robot 0123").await;
    assert!(!rows.contains("Acme Robot 0124"), "{rows}");
    browser.find("tbody a").await.click().await.unwrap();
    browser.wait_for_text("h1", "Acme Robot 0123").await;
    browser.keep_screenshot("admin-3-robot").await;

    go(&browser, &site, "overview").await;
    browser.keep_screenshot("admin-4-overview").await;
    browser.end().await;
    let counts = site.store.robots().counts().await.unwrap();
    let web = counts.iter().find(|c| c.source == Source::web_robots_db());
    assert_eq!(web.map(|count| count.active), Some(250));
}

#[tokio::test]
async fn pages_fit_a_phone_and_dark_mode() {
    let site = Plan::default().start().await;
    site.source.set(Reply::text(flat_file(250)));
    site.refresh().await;
    site.source.set(Reply::status(503));
    let hash = operations::hash_password(PASSWORD).unwrap();
    site.store
        .access()
        .set_password_hash(&hash, NOW_MS)
        .await
        .unwrap();
    let mut browser = Browser::start().await;
    browser.look(Screen::PHONE, "dark").await;
    log_in(&browser, &site).await;
    let asked = "identify?user_agent=Acme0007Walker%2F2&path=%2Fmembers-only-stuff%2F";
    for (page, name) in [
        ("overview", "admin-phone-overview"),
        ("registry", "admin-phone-registry"),
        ("sources", "admin-phone-sources"),
        ("settings", "admin-phone-settings"),
        ("robots/web-robots-db/acme0123", "admin-phone-robot"),
        ("robots/new", "admin-phone-new"),
        (asked, "admin-phone-identify"),
        ("refreshes", "admin-phone-refreshes"),
        ("refreshes/1", "admin-phone-refresh"),
        ("refresh", "admin-phone-start"),
        ("account", "admin-phone-account"),
    ] {
        go(&browser, &site, page).await;
        assert!(!is_too_wide(&browser).await, "{page} is wider than a phone");
        browser.keep_screenshot(name).await;
    }
    browser.look(Screen::DESK, "dark").await;
    for (page, name) in [
        ("overview", "admin-dark-overview"),
        ("registry", "admin-dark-registry"),
        (asked, "admin-dark-identify"),
    ] {
        go(&browser, &site, page).await;
        browser.keep_screenshot(name).await;
    }
    browser.end().await;
}
