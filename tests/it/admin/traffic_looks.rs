//! Layout of the traffic pages in a real browser.

use super::{
    browser::go,
    site::Plan,
    visits::{USUAL, come},
};
use crate::support::browser::{Browser, Screen};

#[tokio::test]
async fn the_keyboard_reaches_every_filter_with_visible_focus() {
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
        assert_ne!(found[2], "none", "{found}: its focus is not visible");
        if found[0] == "SUMMARY" && found[1] == "Filters" {
            let filters = browser.client.active_element().await.unwrap();
            filters.send_keys("\u{e007}").await.unwrap();
            browser.wait_for_text(".bar button.primary", "Filter").await;
            browser.end().await;
            return;
        }
    }
    panic!("the keyboard did not reach the filters");
}
