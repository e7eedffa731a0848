//! From *Now* to a slowed robot in three clicks, and back in one, as seen on another instance.

use robot_detection::{clock::Clock, store::Store};

use super::house::{House, Instance};
use crate::{
    admin::visits::{USUAL, come_until},
    support::{
        browser::{Browser, Screen},
        postgres::database_url,
    },
};

/// Input device of the administrator.
#[derive(Clone, Copy)]
enum InputDevice {
    Mouse,
    Keyboard,
}

/// Two servers on one database with a day of traffic, and an administrator at the first.
struct Fleet {
    first: Instance,
    second: Instance,
    browser: Browser,
    _houses: [House; 2],
}

impl Fleet {
    async fn start() -> Self {
        let database = database_url().await;
        let houses = [House::new(&database, ""), House::new(&database, "")];
        let store = Store::connect(&database).await.unwrap();
        let now = Clock::system().now_ms() / 60_000;
        come_until(now, &store, USUAL, 0..20).await;
        store.close().await;
        let server = houses[0].serve();
        let password = server.password.clone().unwrap();
        let first = houses[0].of(server);
        let second = Instance::of(houses[1].serve(), &first);
        let mut browser = Browser::start().await;
        browser.look(Screen::DESK, "light").await;
        let login = admin(&first, "login");
        browser.log_in(&login, &password).await;
        Self {
            first,
            second,
            browser,
            _houses: houses,
        }
    }

    async fn act(&self, hand: InputDevice, css: &str) {
        match hand {
            InputDevice::Mouse => self.browser.find(css).await.click().await.unwrap(),
            InputDevice::Keyboard => self.browser.press(css).await,
        }
    }

    /// Slows Googlebot with three clicks or keys, and undoes the rule with a fourth.
    async fn slow_and_undo(&self, hand: InputDevice) {
        let Self {
            first,
            second,
            browser,
            ..
        } = self;
        let page = admin(first, "overview");
        browser.client.goto(&page).await.unwrap();
        self.act(hand, ".ranks a[href*='bundled/googlebot']").await;
        browser.wait_for_text("#done", "Actions").await;
        browser.keep_screenshot("admin-robot-rules").await;
        self.act(hand, "#slow").await;
        browser
            .wait_for_text("#touched", "In the last 24 hours")
            .await;
        browser.keep_screenshot("admin-rule-confirm").await;
        assert_eq!(second.robot().status, 200);
        self.act(hand, "#put").await;
        second.within_a_second(429);
        assert_ne!(second.robot().header("retry-after"), "");
        browser.wait_for_text("[role=status]", "is active").await;
        browser.keep_screenshot("admin-rules").await;
        self.act(hand, "#undo").await;
        second.within_a_second(200);
        browser.wait_for_text("[role=status]", "is removed").await;
    }
}

fn admin(instance: &Instance, page: &str) -> String {
    let addr = instance.server.addr;
    format!("http://{addr}/robot-detection/admin/{page}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_is_slowed_in_three_clicks_or_keys_and_released_in_one_without_scripts() {
    let mut fleet = Fleet::start().await;
    fleet.slow_and_undo(InputDevice::Mouse).await;
    fleet.browser.disable_scripts().await;
    fleet.slow_and_undo(InputDevice::Keyboard).await;

    fleet.act(InputDevice::Keyboard, "#pause-all").await;
    let browser = &mut fleet.browser;
    browser
        .wait_for_text("main", "All enforcement is paused")
        .await;
    browser.keep_screenshot("admin-paused").await;
    let changes = admin(&fleet.first, "changes");
    browser.client.goto(&changes).await.unwrap();
    browser.wait_for_text("tbody", "rule-removed").await;
    browser.look(Screen::PHONE, "dark").await;
    browser.keep_screenshot("admin-changes-phone").await;
    browser.find("#resume").await.click().await.unwrap();
    browser
        .wait_for_text("#pause-all", "Pause all enforcement")
        .await;
    fleet.browser.end().await;
}
