//! From the page of a robot to "this robot is slowed", and back, in a real browser.

use super::house::House;
use crate::support::{
    browser::{Browser, Screen},
    program::eventually,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_is_slowed_in_three_clicks_and_undone_in_one() {
    let house = House::with_file("");
    let server = house.serve();
    let password = server.password.clone().unwrap();
    let instance = house.of(server);
    let admin = |page: &str| {
        let addr = instance.server.addr;
        format!("http://{addr}/robot-detection/admin/{page}")
    };
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    browser.client.goto(&admin("login")).await.unwrap();
    let field = browser.find("#password").await;
    field.send_keys(&password).await.unwrap();
    browser.find("button.primary").await.click().await.unwrap();
    browser.wait_for_text("h1", "Now").await;

    let robot = admin("robots/bundled/googlebot");
    browser.client.goto(&robot).await.unwrap();
    browser.wait_for_text("#done", "What is done with it").await;
    browser.keep_screenshot("admin-robot-rules").await;
    browser.find("#slow").await.click().await.unwrap();
    browser
        .wait_for_text("#touched", "In the last 24 hours")
        .await;
    browser.keep_screenshot("admin-rule-confirm").await;
    browser.find("#put").await.click().await.unwrap();
    browser.wait_for_text("[role=status]", "is in force").await;
    browser.keep_screenshot("admin-rules").await;
    let mut statuses = (0..11).map(|_| instance.robot().status);
    assert!(statuses.any(|status| status == 429));

    browser.find("#undo").await.click().await.unwrap();
    browser.wait_for_text("[role=status]", "is removed").await;
    eventually("it is not slowed any more", || {
        instance.robot().status == 200
    });
    browser.find("#pause-all").await.click().await.unwrap();
    browser
        .wait_for_text("main", "All enforcement is paused")
        .await;
    browser.keep_screenshot("admin-paused").await;
    browser.client.goto(&admin("changes")).await.unwrap();
    browser.wait_for_text("tbody", "rule-removed").await;
    browser.keep_screenshot("admin-changes").await;
    browser.look(Screen::PHONE, "dark").await;
    browser.keep_screenshot("admin-changes-phone").await;
    browser.client.goto(&admin("rules/new")).await.unwrap();
    browser.wait_for_text("h1", "Make a rule").await;
    browser.keep_screenshot("admin-rule-new-phone").await;
    browser.find("#resume").await.click().await.unwrap();
    browser
        .wait_for_text("#pause-all", "Pause all enforcement")
        .await;
}
