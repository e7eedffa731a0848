//! Every screen with data, on a desktop and a phone, light and dark, using only the keyboard.

use serde_json::Value;

use super::{day::filled, house::House};
use crate::support::browser::{Browser, Screen};

/// Every screen, with a name for its screenshot.
pub(super) const SCREENS: [(&str, &str); 40] = [
    ("overview", "now"),
    ("overview?time=7d&by=decision", "now-week"),
    ("evidence", "evidence"),
    ("robots", "robots"),
    ("robots?by=operator&time=7d", "operators"),
    ("registry", "registry"),
    ("robots/new", "robot-new"),
    ("robots/bundled/googlebot?time=7d", "robot"),
    ("robots/manual/winter-crawler", "robot-by-hand"),
    ("traffic?visitors=robots&by=cause", "traffic"),
    ("traffic?site=shop&robot=googlebot&time=7d", "traffic-robot"),
    ("paths", "paths"),
    ("paths?path=%2Frecipes%2F*&site=shop", "paths-below"),
    ("sites", "sites"),
    ("rules", "rules"),
    ("rules?site=shop", "rules-site"),
    ("rules/new?action=refuse&operator=OpenAI", "rule-new"),
    ("rules/confirm?action=slow&robot=gptbot", "rule-confirm"),
    ("robots-txt", "robots-txt"),
    (
        "robots-txt?site=shop&robot=gptbot&url=%2Frecipes%2Fplum-cake.html",
        "robots-txt-checked",
    ),
    ("verification", "verification"),
    ("verification?robot=googlebot", "verification-robot"),
    ("suspects", "suspects"),
    ("site-robot?site=shop", "site-robot"),
    ("site-robot/descriptions?site=shop", "descriptions"),
    ("site-robot/explain?site=shop", "explain"),
    ("site-robot/clear?site=shop", "site-robot-clear"),
    ("identify", "identify"),
    (
        "identify?user_agent=Mozilla%2F5.0%20(compatible%3B%20AhrefsBot%2F7.0)&path=%2Fmembers%2Frecipe-1.html&host=shop.example",
        "identified",
    ),
    ("sources", "sources"),
    ("refresh", "refresh"),
    ("refreshes", "refreshes"),
    ("refreshes/1", "refresh-record"),
    ("bans", "bans"),
    ("alerts", "alerts"),
    ("changes", "changes"),
    ("settings?site=shop", "settings"),
    ("access", "access"),
    ("account", "account"),
    ("openapi", "openapi"),
];

/// Measures a screen: no element may be too wide, without colour or cut off.
const LOOK: &str = "
    const wide = document.documentElement.scrollWidth > window.innerWidth;
    const drawn = [...document.querySelectorAll('svg path, svg polyline, svg rect')];
    const black = drawn.filter(part => getComputedStyle(part).fill === 'rgb(0, 0, 0)').length;
    // Only scrollable boxes may contain more than they show.
    const scrolls = element => {
        for (let part = element.parentElement; part; part = part.parentElement)
            if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(part).overflowX)) return true;
        return false;
    };
    const out = [...document.querySelectorAll('main *')].filter(element => {
        const box = element.getBoundingClientRect();
        return box.width > 1 && (box.right > window.innerWidth + 1 || box.left < -1) && !scrolls(element);
    });
    const text = document.querySelector('main').innerText;
    const odd = ['undefined', 'NaN', '{{', 'None,', 'Some('].filter(word => text.includes(word));
    return {
        wide, black, odd,
        out: out.slice(0, 3).map(element => element.outerHTML.slice(0, 120)),
        inline: document.querySelectorAll('[style]').length,
        script: document.querySelectorAll('script:not([src])').length,
    };";

fn assert_well(found: &Value, what: &str) {
    let well = serde_json::json!({
        "wide": false, "black": 0, "odd": [], "out": [], "inline": 0, "script": 0,
    });
    assert_eq!(found, &well, "{what}");
}

async fn walk(browser: &mut Browser, house: &House) {
    for screen in [Screen::DESK, Screen::PHONE] {
        for (page, name) in SCREENS {
            browser.look(screen, "light").await;
            house.go(browser, page).await;
            for scheme in ["light", "dark"] {
                browser.look(screen, scheme).await;
                let found = browser.client.execute(LOOK, vec![]).await.unwrap();
                assert_well(&found, &format!("{screen:?} {scheme} {page}"));
                // A phone has the same colours as a desktop, so its dark screenshots are skipped.
                if scheme == "light" || screen.width() == Screen::DESK.width() {
                    let width = screen.width();
                    let name = format!("screen-{width}-{scheme}-{name}");
                    browser.keep_screenshot(&name).await;
                }
            }
        }
    }
}

#[test]
fn every_entry_of_the_navigation_is_a_screen() {
    let navigation = include_str!("../../../crates/console/src/lib.rs");
    let entry = regex::Regex::new(r#"NavigationEntry::\w+\("([^"]+)""#).unwrap();
    let entries: Vec<_> = entry.captures_iter(navigation).collect();
    assert!(entries.len() > 10);
    for entry in entries {
        let is_it = |(page, _): &(&str, &str)| page.split('?').next() == Some(&entry[1]);
        assert!(SCREENS.iter().any(is_it), "{}", &entry[1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_screen_with_data_fits_a_desktop_and_a_phone_in_both_colour_schemes() {
    let house = filled().await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    house.log_in(&browser).await;
    walk(&mut browser, &house).await;
    browser.end().await;
}
