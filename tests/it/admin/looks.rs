//! Layout of the pages, measured in a real browser.

use serde_json::Value;

use super::{
    browser::{go, log_in},
    site::{Plan, Site, flat_file},
    verification::Lists,
};
use crate::support::{
    browser::{Browser, Screen},
    http::Reply,
};

/// Every page, with a name for its screenshot.
const PAGES: [(&str, &str); 23] = [
    ("overview", "overview"),
    ("robots", "robots"),
    ("registry", "registry"),
    ("registry?q=nobody", "registry-none"),
    ("sources", "sources"),
    ("settings", "settings"),
    ("robots/new", "robot-new"),
    ("robots/web-robots-db/acme0123", "robot"),
    ("identify", "identify"),
    ("paths", "paths"),
    (
        "identify?user_agent=Acme0007Walker%2F2&path=%2Fmembers-only-stuff%2F",
        "identified",
    ),
    ("verification", "verification"),
    ("robots-txt", "robots-txt"),
    ("sites", "sites"),
    ("site-robot", "site-robot"),
    ("site-robot/descriptions", "descriptions"),
    ("site-robot/explain", "explain"),
    ("refreshes", "refreshes"),
    ("refreshes/1", "refresh-record"),
    ("refresh", "refresh"),
    ("account", "account"),
    ("nothing-here", "problem"),
    ("verification?robot=listbot", "verification-robot"),
];

async fn visited() -> (Site, Lists) {
    let site = Plan::default().start().await;
    site.source.set(Reply::text(flat_file(250)));
    site.refresh().await;
    let lists = Lists::visited(&site).await;
    (site, lists)
}

async fn measure(browser: &Browser, script: &str) -> Value {
    browser.client.execute(script, vec![]).await.unwrap()
}

#[tokio::test]
async fn the_header_has_one_line_for_each_list_and_does_not_move() {
    let (site, _lists) = visited().await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    log_in(&browser, &site).await;
    for screen in [Screen::DESK, Screen::LAPTOP] {
        browser.look(screen, "light").await;
        let mut first = Value::Null;
        for (page, _) in PAGES {
            go(&browser, &site, page).await;
            // Left edge and middle of each entry, and the header's height.
            let script = "
                const box = element => element.getBoundingClientRect();
                const entries = [...document.querySelectorAll('.top a, .top button')];
                return [
                    box(document.querySelector('.top')).height,
                    entries.map(entry => [entry.textContent.trim(), Math.round(box(entry).left)]),
                    new Set(entries.map(entry => Math.round((box(entry).top + box(entry).bottom) / 2))).size,
                ];";
            let found = measure(&browser, script).await;
            assert_eq!(found[2], 2, "{screen:?} {page}: two lines: {found}");
            assert!(found[1].as_array().unwrap().len() >= 11, "{page}: {found}");
            if first.is_null() {
                first = found;
            } else {
                assert_eq!(found, first, "{screen:?} {page}: the header jumps");
            }
        }
    }
    browser.end().await;
}

#[tokio::test]
async fn every_page_fits_screens_between_phone_and_desktop() {
    let (site, _lists) = visited().await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    log_in(&browser, &site).await;
    // `console::screens` covers the phone and the desktop, with data.
    for screen in [Screen::TABLET, Screen::LAPTOP] {
        browser.look(screen, "light").await;
        for (page, name) in PAGES {
            go(&browser, &site, page).await;
            let script = "return [document.documentElement.scrollWidth, window.innerWidth];";
            let found = measure(&browser, script).await;
            let [wide, screen_wide] = [0, 1].map(|at| found[at].as_u64().unwrap());
            assert!(wide <= screen_wide, "{screen:?} {page}: {found}");
            let width = screen.width();
            let name = format!("looks-{width}-{name}");
            browser.keep_screenshot(&name).await;
        }
    }
    browser.end().await;
}

#[tokio::test]
async fn the_newest_time_of_a_chart_is_visible_on_a_phone() {
    let (site, _lists) = visited().await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    log_in(&browser, &site).await;
    for screen in [Screen::PHONE, Screen::TABLET, Screen::DESK] {
        browser.look(screen, "light").await;
        go(&browser, &site, "verification").await;
        // The chart's right end lies in the visible part of its scroll box.
        let script = "
            const chart = document.querySelector('.area');
            const box = element => element.getBoundingClientRect();
            let right = window.innerWidth;
            for (let part = chart.parentElement; part; part = part.parentElement) {
                if (getComputedStyle(part).overflowX !== 'visible') {
                    right = Math.min(right, box(part).right);
                }
            }
            return [box(chart).right <= right + 1, box(chart.querySelector('text')).height];";
        let found = measure(&browser, script).await;
        assert_eq!(found[0], true, "{screen:?}: {found}");
        assert!(
            found[1].as_f64().unwrap() >= 10.0,
            "{screen:?}: the text is too small: {found}"
        );
    }
    browser.end().await;
}
