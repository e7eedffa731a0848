//! A members' application and its generated robot heaven, from login to screenshot.

mod application;

use std::{fs, path::Path};

use regex::Regex;
use serde_json::Value;
use tokio::task::spawn_blocking;

use application::{Application, PASSWORD, SECRETS, names, title};

use crate::site_robot_render;
use crate::support::{
    browser::{Browser, Screen},
    program::{self, Answer, FIREFOX, GOOGLEBOT, Server, eventually},
};

const LOGIN_PASSWORD: &str = "ROBOT_DETECTION_SITE_ROBOT_LOGIN_PASSWORD";

/// Pages without a heaven page: a canonical link to another page, or a ban on indexing.
const WITHOUT: [&str; 3] = ["print/1", "hidden", "closed"];

fn write(directory: &Path, application: &Application, open_to: &str) {
    let origin = &application.origin;
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite://robot.db'\nfilter_pattern = '/members/*'\n\
         redirect_url = '/robot-heaven/'\n[server]\nupstream = '{origin}'\n\
         [heaven]\nsource = 'database'\nurl = '{origin}'\nname = 'Harbour Guild'\n\
         open_to = '{open_to}'\n[site_robot]\nstarting_points = '{origin}/members/'\n\
         render = 'empty'\nlogin_form = '{origin}/login'\nlogin_fields = 'user=robot'\n\
         login_password_field = 'pass'\nlogin_token_field = 'csrf'\n"
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

/// Runs the site robot on the application; returns the summary.
async fn visit(directory: &Path) -> Value {
    let mut command = site_robot_render::command(directory);
    command
        .env(LOGIN_PASSWORD, PASSWORD)
        .args(["site-robot", "run", "--json"]);
    let output = spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{note}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{note}"))
}

fn serve(directory: &Path) -> Server {
    let mut command = program::command(directory);
    command.env(LOGIN_PASSWORD, PASSWORD);
    let server = Server::start_as(command, directory, &["serve"]);
    eventually("heaven has pages", || {
        let start = server.get("/robot-heaven/sitemap.xml", GOOGLEBOT);
        start.status == 200 && start.text().contains("/members/")
    });
    server
}

/// Follows a robot's redirect; returns the heaven page's path and response.
fn heaven_page(server: &Server, name: &str) -> (String, Answer) {
    let sent = server.get(&format!("/members/{name}"), GOOGLEBOT);
    assert_eq!(sent.status, 302, "{name}");
    let to = sent.header("location");
    (to.clone(), server.get(&to, GOOGLEBOT))
}

fn json_ld(page: &str) -> Value {
    let script = Regex::new(r#"(?s)<script type="application/ld\+json">(.*?)</script>"#).unwrap();
    serde_json::from_str(&script.captures(page).unwrap()[1]).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_of_thirty_pages_gets_a_heaven_that_leaks_nothing() {
    assert_eq!(names().len(), 30);
    let application = Application::open().await;
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write(directory, &application, "robots");
    let summary = visit(directory).await;
    assert_eq!(summary["state"], "finished", "{summary}");
    assert_eq!(summary["added"], names().len() - WITHOUT.len(), "{summary}");
    assert_eq!(summary["parity"]["differing"], 0, "{summary}");
    {
        let seen = application.seen.lock().unwrap();
        assert!(seen.sessions > 2, "sessions were not renewed: {seen:?}");
        let effects = ["logout", "delete"];
        let has_effect = |path: &&String| effects.iter().any(|it| path.ends_with(it));
        assert_eq!(seen.paths.iter().find(has_effect), None);
    }

    let server = serve(directory);
    let shown = names().into_iter().filter(|it| !WITHOUT.contains(&&**it));
    for name in shown {
        let (to, page) = heaven_page(&server, &name);
        assert!(to.starts_with("/robot-heaven/members/"), "{name}: {to}");
        assert_eq!(page.status, 200, "{name}");
        let text = page.text();
        let heading = match &*name {
            "report.pdf" => "About salt".to_owned(),
            name => title(name),
        };
        assert!(text.contains(&heading), "{name}: {text}");
        let canonical = format!(
            "<link rel=\"canonical\" href=\"{}{to}\">",
            application.origin
        );
        assert!(text.contains(&canonical), "{name}: {text}");
        assert_eq!(json_ld(&text)["isAccessibleForFree"], false, "{name}");
        // A human visitor is redirected to the original, which requires a login.
        let person = server.get(&to, FIREFOX);
        let original = format!("{}/members/{name}", application.origin);
        assert_eq!((person.status, person.header("location")), (302, original));
    }
    whole(&server);
    hidden(&server);
}

/// Checks that heaven contains the text of the pages.
fn whole(server: &Server) {
    for (name, words) in [
        ("logbook/3", &["Petrel 3", "<ol>", "one with rope"][..]),
        ("tables", &[">Depths</caption>", "<th", ">7</td>"]),
        ("code", &["for gauge in gauges:\n    print(gauge.depth)"]),
        ("quotes", &["<blockquote", "Never trust a calm harbour."]),
        ("app/2", &["Gauge 2 reads four fathoms."]),
        ("report.pdf", &["Salt of the members"]),
        ("de/tides", &["das Wasser steigt um vier Meter"]),
        ("snippet", &["What is shown to all."]),
    ] {
        let text = heaven_page(server, name).1.text();
        for word in words {
            assert!(text.contains(word), "{name}: {word}: {text}");
        }
    }
    for (name, published) in [
        ("news/1", "2025-03-01"),
        ("news/2", "2025-04-01"),
        ("news/3", "2025-05-01"),
    ] {
        let data = json_ld(&heaven_page(server, name).1.text());
        let date = data["datePublished"].as_str().unwrap_or_default();
        assert!(date.starts_with(published), "{name}: {data}");
    }
    assert!(json_ld(&heaven_page(server, "quotes").1.text())["datePublished"].is_null());
    // A page with another canonical URL redirects to that URL's heaven page.
    let (alias, own) = (
        heaven_page(server, "print/1").0,
        heaven_page(server, "logbook/1").0,
    );
    assert_eq!(alias, own);
}

/// Checks that members' secrets appear nowhere, and that people see no page's text.
fn hidden(server: &Server) {
    let files = [
        "",
        "sitemap.xml",
        "feed.atom",
        "llms.txt",
        "llms-full.txt",
        "rd.jsonl",
        "rd.soif",
        "by/title/",
    ];
    let mut all: Vec<_> = files
        .iter()
        .map(|file| server.get(&format!("/robot-heaven/{file}"), GOOGLEBOT))
        .collect();
    assert!(all.iter().all(|answer| answer.status == 200), "{all:?}");
    let sitemap = all[1].text();
    let links = Regex::new(r"<loc>https?://[^/]*(/[^<]*)</loc>").unwrap();
    for link in links.captures_iter(&sitemap) {
        all.push(server.get(&link[1], GOOGLEBOT));
        all.push(server.get(&format!("{}.md", &link[1]), GOOGLEBOT));
    }
    for (number, answer) in all.iter().enumerate() {
        let text = answer.text();
        for secret in SECRETS {
            assert!(!text.contains(secret), "{number}: {secret}: {text}");
        }
    }
    for name in WITHOUT.iter().filter(|name| **name != "print/1") {
        let sent = server.get(&format!("/members/{name}"), GOOGLEBOT);
        assert_eq!(sent.header("location"), "/robot-heaven/", "{name}");
    }
    for file in files {
        let text = server.get(&format!("/robot-heaven/{file}"), FIREFOX).text();
        assert!(!text.contains("Petrel 3"), "{file}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_heaven_looks_right_on_screens_and_on_paper() {
    let application = Application::open().await;
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write(directory, &application, "all");
    visit(directory).await;
    let server = serve(directory);
    let mut browser = Browser::start().await;
    for (screen, scheme, media) in [
        (Screen::DESK, "light", "desk"),
        (Screen::DESK, "dark", "desk"),
        (Screen::PHONE, "light", "phone"),
        (Screen::DESK, "light", "print"),
    ] {
        browser.look(screen, scheme).await;
        if media == "print" {
            browser.print().await;
        }
        for (name, picture) in [("logbook/3", "list"), ("tables", "table"), ("code", "code")] {
            let to = heaven_page(&server, name).0;
            let url = format!("http://{}{to}", server.addr);
            browser.client.goto(&url).await.unwrap();
            browser.find("h1").await;
            let script = "return document.documentElement.scrollWidth > window.innerWidth;";
            let is_too_wide = browser.client.execute(script, vec![]).await.unwrap();
            assert_eq!(is_too_wide, false, "{name} {media}");
            browser
                .keep_screenshot(&format!("application-{picture}-{media}-{scheme}"))
                .await;
        }
    }
    browser.end().await;
}
