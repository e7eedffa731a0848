//! Every screen checked by axe, an independent accessibility checker: `tests/peers/axe`.

use super::{day::filled, screens::SCREENS};
use crate::support::browser::{Browser, Screen};

/// Runs all rules of axe; returns the violations with their elements.
const RUN: &str = "
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then(found => done(
        found.violations.flatMap(one => one.nodes.map(node =>
            `${one.impact} ${one.id}: ${one.help}: ${node.target} ${node.html.slice(0, 160)} ${node.failureSummary}`))));";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs axe-core: tests/peers/axe fetches it"]
async fn axe_finds_nothing_on_any_screen() {
    let axe = std::env::var_os("AXE_CORE").expect("AXE_CORE names axe.min.js");
    let axe = std::fs::read_to_string(axe).unwrap();
    let house = filled().await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    let mut faults = Vec::new();
    house.log_in(&browser).await;
    for screen in [Screen::DESK, Screen::PHONE] {
        for scheme in ["light", "dark"] {
            browser.look(screen, scheme).await;
            for (page, _) in SCREENS {
                house.go(&browser, page).await;
                // Scripts run by the driver bypass the page's Content-Security-Policy.
                browser.client.execute(&axe, vec![]).await.unwrap();
                let found = browser.client.execute_async(RUN, vec![]).await.unwrap();
                let found = found.as_array().unwrap().iter();
                faults.extend(found.map(|fault| format!("{screen:?} {scheme} {page}: {fault}")));
            }
        }
    }
    browser.end().await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
