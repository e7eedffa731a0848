//! How pages of the traffic look, in a real browser.

use robot_detection::admin::HeavenUse;

use super::{
    browser::go,
    changes, history,
    site::Plan,
    visits::{USUAL, Visits, come},
};
use crate::support::browser::{Browser, Screen};

const PAGES: [(&str, &str); 12] = [
    ("overview", "now"),
    ("overview?time=7d&by=decision", "now-week"),
    ("robots", "robots"),
    ("robots?by=operator&time=7d", "operators"),
    ("robots/bundled/googlebot?time=7d", "robot"),
    ("traffic?site=shop&visitors=robots", "requests"),
    ("sites", "sites"),
    ("sources", "sources"),
    ("settings", "settings"),
    ("verification", "verdicts"),
    ("robots-txt", "violations"),
    ("site-robot", "runs"),
];

#[tokio::test]
async fn every_screen_is_drawn_in_both_lights_on_a_desk_and_a_phone() {
    let site = Plan::open().start().await;
    site.refresher.prepare(true).await.unwrap();
    come(&site.store, USUAL, 0..9 * 24).await;
    let more = Visits {
        per_hour: 160,
        ..USUAL[11]
    };
    come(&site.store, &[more], 0..20).await;
    let days: Vec<_> = (0..29)
        .flat_map(|day| vec![day; usize::try_from(day % 7).unwrap()])
        .collect();
    history::violate(&site, &days, "path-not-filtered").await;
    history::violate(&site, &[1, 1, 2, 5, 5, 5], "robots.txt").await;
    let counts: Vec<_> = (0..15)
        .map(|run| (60 - 4 * run, 4 * run, run % 3))
        .collect();
    history::runs(&site, &counts).await;
    for (hours, event) in [
        (2, "paused"),
        (9, "rule-added"),
        (70, "reloaded"),
        (71, "rule-removed"),
    ] {
        changes::changed(&site, hours * changes::HOUR_MS, event, "live rule 7").await;
    }
    site.robot_runs.offer(["shop".to_owned()]);
    site.robot_runs.tell_heaven("shop", HeavenUse::Served);
    let mut browser = Browser::start().await;
    for screen in [Screen::DESK, Screen::PHONE] {
        for scheme in ["light", "dark"] {
            browser.look(screen, scheme).await;
            for (page, name) in PAGES {
                go(&browser, &site, page).await;
                let script = "
                    const drawn = [...document.querySelectorAll('svg path, svg polyline, svg rect')];
                    return [
                        document.documentElement.scrollWidth <= window.innerWidth,
                        drawn.every(part => getComputedStyle(part).fill !== 'rgb(0, 0, 0)'),
                        document.querySelectorAll('[style]').length,
                    ];";
                let found = browser.client.execute(script, vec![]).await.unwrap();
                assert_eq!(found[0], true, "{screen:?} {page} is wider than the screen");
                assert_eq!(found[1], true, "{scheme} {page}: a part has no colour");
                assert_eq!(found[2], 0, "{page}: inline styles are forbidden");
                let width = screen.width();
                let name = format!("console-{width}-{scheme}-{name}");
                browser.keep_screenshot(&name).await;
            }
        }
    }
    browser.end().await;
}

#[tokio::test]
async fn the_keyboard_alone_reaches_every_filter_and_is_seen() {
    let site = Plan::open().start().await;
    come(&site.store, USUAL, 0..30).await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    go(&browser, &site, "overview").await;
    for _ in 0..60 {
        let focused = browser.client.active_element().await.unwrap();
        focused.send_keys("\u{e004}").await.unwrap();
        let script = "
            const at = document.activeElement;
            return [at.tagName, at.textContent.trim(), getComputedStyle(at).outlineStyle];";
        let found = browser.client.execute(script, vec![]).await.unwrap();
        assert_ne!(found[2], "none", "{found}: its focus is not seen");
        if found[0] == "SUMMARY" && found[1] == "Filters" {
            let filters = browser.client.active_element().await.unwrap();
            filters.send_keys("\u{e007}").await.unwrap();
            browser.wait_for_text(".bar button.primary", "Filter").await;
            browser.end().await;
            return;
        }
    }
    panic!("the filters are not reached");
}
