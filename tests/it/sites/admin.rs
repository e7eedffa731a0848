//! Sites and reloads on the admin page, in a real browser and as JSON.

use reqwest::{Client, StatusCode, header};

use super::house::{House, site, upstream};
use crate::support::{
    browser::{Browser, Screen},
    program::{FIREFOX, GOOGLEBOT, succeed},
    raw::body,
};

fn client() -> Client {
    Client::builder().build().unwrap()
}

impl House {
    fn admin(&self, page: &str) -> String {
        format!("http://{}/robot-detection/admin/{page}", self.server.addr)
    }

    /// Returns a token for the JSON.
    fn token(&self) -> String {
        let arguments = ["admin", "token", "test"];
        let printed = succeed(self.directory.path(), &arguments);
        let word = printed.split_whitespace().last();
        word.unwrap().to_owned()
    }

    async fn json(&self, token: &str, page: &str) -> serde_json::Value {
        let request = client().get(self.admin(page)).bearer_auth(token);
        let answer = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{page}: {answer}"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_the_sites_adds_one_and_reloads() {
    let (shop, news) = (upstream("shop").await, upstream("news").await);
    let more = "filter_pattern = '/cart/*'\nrobots_txt.serve = 'settings'\n[[site.rule]]\nname = 'seo'\npurposes = ['seo']\naction = 'redirect'";
    let one = site("shop", "shop.example.org", &shop, more);
    let house = House::new(&one);
    house.ask("shop.example.org", "/cart/1", GOOGLEBOT).await;
    house.ask("shop.example.org", "/", FIREFOX).await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    browser
        .client
        .goto(&house.admin("login?next=sites"))
        .await
        .unwrap();
    let password = house.server.password.clone().unwrap();
    browser
        .find("#password")
        .await
        .send_keys(&password)
        .await
        .unwrap();
    browser.find("button.primary").await.click().await.unwrap();
    browser.wait_for_text("h1", "Sites").await;
    let row = browser
        .wait_for_text("[aria-labelledby=sites] tbody tr", "shop.example.org")
        .await;
    for words in [
        shop.addr.to_string().as_str(),
        "1 rule",
        "settings",
        "heaven at /robot-heaven/",
    ] {
        assert!(row.contains(words), "{words}: {row}");
    }

    // Using only the keyboard.
    let two = one.clone() + &site("news", "news.example", &news, "");
    house.write(&two);
    let button = browser.find("#reload-now").await;
    button.send_keys("\u{e007}").await.unwrap();
    let told = browser
        .wait_for_text("#reload", "The configuration was reloaded")
        .await;
    assert!(told.contains("added news"), "{told}");
    browser
        .wait_for_text("[aria-labelledby=sites] tbody", "news.example")
        .await;
    assert_eq!(body(&house.ask("news.example", "/", FIREFOX).await), "news");
    browser.keep_screenshot("admin-sites").await;

    house.write(&one);
    browser.find("#reload-now").await.click().await.unwrap();
    let told = browser.wait_for_text("#reload", "held for review").await;
    assert!(told.contains("site news would be removed"), "{told}");
    browser.find("#accept-reload").await.click().await.unwrap();
    browser.wait_for_text("#reload", "removed news").await;
    house.reload(&two);

    house.write(&one.replace("'/cart/*'", "'/[cart'"));
    browser.find("#reload-now").await.click().await.unwrap();
    let told = browser
        .wait_for_text("#reload", "nothing was changed")
        .await;
    assert!(
        told.contains("robot-detection.toml:6: site.filter_pattern"),
        "{told}"
    );
    assert_eq!(body(&house.ask("news.example", "/", FIREFOX).await), "news");

    browser
        .client
        .goto(&house.admin("settings?site=shop"))
        .await
        .unwrap();
    browser.wait_for_text("[aria-current=true]", "shop").await;
    browser.wait_for_text("#rules + .scroll", "seo").await;
    browser.look(Screen::PHONE, "dark").await;
    browser.client.goto(&house.admin("sites")).await.unwrap();
    browser
        .wait_for_text("[aria-labelledby=sites] tbody", "news.example")
        .await;
    let script = "return document.documentElement.scrollWidth > window.innerWidth;";
    let is_too_wide = browser.client.execute(script, vec![]).await.unwrap();
    assert_eq!(is_too_wide.as_bool(), Some(false));
    browser.keep_screenshot("admin-phone-sites").await;
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_json_lists_sites_with_counters_that_survive_a_reload() {
    let (shop, news) = (upstream("shop").await, upstream("news").await);
    let both = site(
        "shop",
        "shop.example.org",
        &shop,
        "filter_pattern = '/cart/*'",
    ) + &site(
        "news",
        "*.news.example",
        &news,
        "path = '/en'\nheaven.serve = false",
    );
    let house = House::new(&both);
    for user_agent in [GOOGLEBOT, GOOGLEBOT, FIREFOX] {
        house.ask("shop.example.org", "/cart/1", user_agent).await;
    }
    house.ask("a.news.example", "/en/", FIREFOX).await;
    house.signal(&both.replace("/cart/", "/basket/"));
    house.ask("shop.example.org", "/basket/1", GOOGLEBOT).await;
    let token = house.token();
    let told = house.json(&token, "api/v1/sites").await;
    let [shop_site, news_site] = told["sites"].as_array().unwrap().as_slice() else {
        panic!("{told}")
    };
    assert_eq!(shop_site["robots_redirected"], 3, "{told}");
    assert_eq!(shop_site["people"], 1);
    assert_eq!(
        shop_site["upstreams"][0]["url"],
        format!("http://{}/", shop.addr)
    );
    assert_eq!(news_site["people"], 1);
    assert_eq!(news_site["path"], "/en");
    assert_eq!(news_site["hosts"][0], "*.news.example");
    assert!(news_site["heaven"].is_null());
    assert_eq!(told["reload"]["by"], "SIGHUP");
    assert_eq!(told["reload"]["is_done"], true);

    let patterns = async |site: &str| {
        let status = house
            .json(&token, &format!("api/v1/status?site={site}"))
            .await;
        status["filtering"]["filter_patterns"][0].clone()
    };
    assert_eq!(patterns("shop").await, "/basket/*");
    assert_eq!(patterns("news").await, "/members-only-stuff/*");
    let asked = "api/v1/identify?user_agent=Googlebot/2.1&path=/basket/1&site=";
    assert_eq!(
        house.json(&token, &format!("{asked}shop")).await["decision"],
        "redirect"
    );
    assert_eq!(
        house.json(&token, &format!("{asked}news")).await["decision"],
        "pass"
    );
    let none = house.json(&token, "api/v1/status?site=none").await;
    assert_eq!(none["code"], "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_needs_a_token_and_reports_errors_as_json() {
    let one = upstream("one").await;
    let good = site("one", "one.example", &one, "");
    let house = House::new(&good);
    let token = house.token();
    let post = |page: &str| client().post(house.admin(page));
    let forged = post("sites/reload").header(header::ORIGIN, "http://evil.example");
    assert_eq!(forged.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let nobody = post("api/v1/reload").send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
    assert!(!house.log().contains("reloaded sites"));
    let done = post("api/v1/reload")
        .bearer_auth(&token)
        .send()
        .await
        .unwrap();
    assert_eq!(done.status(), StatusCode::OK);
    house.write(&good.replace("hosts", "hots"));
    let wrong = post("api/v1/reload")
        .bearer_auth(&token)
        .send()
        .await
        .unwrap();
    assert_eq!(wrong.status(), StatusCode::CONFLICT);
    let told = wrong.text().await.unwrap();
    assert!(told.contains("did you mean \\\"hosts\\\"?"), "{told}");
}
