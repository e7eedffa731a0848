//! The first page lists the conditions that need an administrator's attention, and no others.

use robot_detection::{
    description::ResourceDescription,
    operations::{HeavenUse, ServedCertificate},
};

use super::{
    site::{Client, NOW_MS, Plan, Site},
    visits::{USUAL, come},
};
use crate::support::{
    http::{Reply, TestServer},
    program::{Server, request},
};

const HOUR_MS: i64 = 60 * 60_000;
const NOTHING: &str = "Nothing needs attention.";

/// Returns a site with traffic of people and well-known robots, and a page in robot heaven.
async fn healthy_site() -> (Site, Client) {
    let site = Plan::open().start().await;
    // Neither impostors nor a robot with growing traffic.
    come(&site.store, &USUAL[..6], 0..60).await;
    let page = ResourceDescription::new("https://shop.example/a");
    let run = ended_run(&site, NOW_MS - 12 * HOUR_MS).await;
    site.store
        .descriptions()
        .save("shop", run, &[page], NOW_MS)
        .await
        .unwrap();
    site.robot_runs.set_offered_sites(["shop".to_owned()]);
    site.robot_runs.set_heaven_use("shop", HeavenUse::Served);
    site.robot_runs
        .set_schedule("shop", |ms| Some(ms + 24 * HOUR_MS));
    let client = site.client();
    (site, client)
}

async fn ended_run(site: &Site, began_ms: i64) -> i64 {
    let (run, _) = site
        .store
        .frontier()
        .begin_run("shop", "", began_ms)
        .await
        .unwrap();
    let ended = site
        .store
        .frontier()
        .finish_run("shop", run.run_id, 0, began_ms + 1);
    ended.await.unwrap().run_id
}

async fn says(client: &Client, sentence: &str) {
    let text = client.get("overview").await.text();
    assert!(text.contains(sentence), "{text}");
    assert!(!text.contains(NOTHING), "{text}");
}

async fn told(client: &Client) -> serde_json::Value {
    client.get("api/v1/status").await.json()["needs"].clone()
}

fn certificate(names: &str, left_ms: i64, failures: u32) -> ServedCertificate {
    ServedCertificate {
        names: names.to_owned(),
        not_after: Some((NOW_MS + left_ms) / 1_000),
        failures,
    }
}

#[tokio::test]
async fn nothing_is_listed_while_all_is_well() {
    let (site, client) = healthy_site().await;
    site.certificates
        .set_source(|| vec![certificate("shop.example", 60 * 24 * HOUR_MS, 2)]);
    let page = client.get("overview").await;
    assert!(page.text().contains(NOTHING), "{}", page.text());
    assert!(!page.body.contains("Needs you"), "{}", page.body);
    assert_eq!(told(&client).await, serde_json::json!([]));
}

#[tokio::test]
async fn certificates_are_listed_before_they_expire_and_when_they_cannot_be_ordered() {
    let (site, client) = healthy_site().await;
    site.certificates.set_source(|| {
        vec![
            certificate("<b>shop</b>", 50 * HOUR_MS, 0),
            certificate("old.example", -HOUR_MS, 0),
            certificate("acme.example", 99 * 24 * HOUR_MS, 5),
        ]
    });
    says(
        &client,
        "The certificate for &#60;b&#62;shop&#60;/b&#62; expires in 2 days.",
    )
    .await;
    says(&client, "The certificate for old.example has expired.").await;
    says(
        &client,
        "5 consecutive certificate orders for acme.example failed; see the log.",
    )
    .await;
}

#[tokio::test]
async fn a_heaven_that_is_quarantined_empty_or_old_is_listed_with_a_link() {
    let (site, client) = healthy_site().await;
    let (run, _) = site
        .store
        .frontier()
        .begin_run("shop", "", NOW_MS)
        .await
        .unwrap();
    let why = "a third of the pages is gone";
    let held = site.store.frontier().hold_run(run.run_id, why, 0, NOW_MS);
    held.await.unwrap();
    says(
        &client,
        "The pages of shop are held for review: a third of the pages is gone",
    )
    .await;
    assert_eq!(
        told(&client).await,
        serde_json::json!(["The pages of shop are held for review: a third of the pages is gone"])
    );
    let page = client.get("overview").await.body;
    assert!(page.contains("href=\"./site-robot?site=shop\""), "{page}");
    // Another run is published.
    ended_run(&site, NOW_MS).await;
    let text = client.get("overview").await.text();
    assert!(text.contains(NOTHING), "{text}");
    site.store.descriptions().clear("shop").await.unwrap();
    says(
        &client,
        "Robot heaven of shop has no pages: the last run of the site robot described no pages.",
    )
    .await;
    // Robots are not redirected to heaven.
    site.robot_runs.set_heaven_use("shop", HeavenUse::Nothing);
    let text = client.get("overview").await.text();
    assert!(text.contains(NOTHING), "{text}");
}

#[tokio::test]
async fn pages_older_than_their_schedule_are_listed() {
    let site = Plan::open().start().await;
    come(&site.store, &USUAL[..1], 0..3).await;
    let client = site.client();
    ended_run(&site, NOW_MS - 49 * HOUR_MS).await;
    site.robot_runs.set_offered_sites(["shop".to_owned()]);
    let text = client.get("overview").await.text();
    assert!(text.contains(NOTHING), "{text}");
    site.robot_runs
        .set_schedule("shop", |ms| Some(ms + 24 * HOUR_MS));
    says(
        &client,
        "The pages of shop were generated 2 days ago; the site robot should have run \
         twice since then.",
    )
    .await;
    // A run that failed on this instance comes first until a later run ends.
    site.store
        .frontier()
        .begin_run("shop", "", NOW_MS)
        .await
        .unwrap();
    site.robot_runs.fail("shop", "no such host");
    says(
        &client,
        "The last run of the site robot of shop failed: no such host",
    )
    .await;
    ended_run(&site, NOW_MS).await;
    let text = client.get("overview").await.text();
    assert!(text.contains(NOTHING), "{text}");
}

#[tokio::test]
async fn conditions_are_listed_before_any_request_is_counted() {
    let site = Plan::open().start().await;
    site.certificates
        .set_source(|| vec![certificate("shop.example", -HOUR_MS, 0)]);
    says(
        &site.client(),
        "The certificate for shop.example has expired.",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_names_its_own_certificate_that_expires() {
    let directory = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["soon.example".to_owned()]).unwrap();
    let now = time::OffsetDateTime::now_utc();
    params.not_after = now + time::Duration::days(3) + time::Duration::hours(1);
    let certificate = params.self_signed(&key).unwrap().pem();
    let write = |name: &str, text: &str| {
        std::fs::write(directory.path().join(name), text).unwrap();
    };
    write("soon.pem", &certificate);
    write("soon.key", &key.serialize_pem());
    write(
        "robot-detection.toml",
        "[[listener]]\nlisten = '127.0.0.1:0'\ntls = true\n\
         [[certificate]]\ncertificate_file = 'soon.pem'\nkey_file = 'soon.key'\n",
    );
    let server = Server::start(directory.path(), &["serve"]);
    let client = Client::of(server.admin.unwrap_or(server.addr));
    client.log_in(server.password.as_deref().unwrap()).await;
    says(
        &client,
        "The certificate for soon.example expires in 3 days.",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_proxy_is_named_in_log_doctor_and_console() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("site"));
    let configure = |listen: &str| {
        let upstream = upstream.url("/");
        let text = format!("web_robots_db = ''\n[server]\nupstream = '{upstream}'\n{listen}\n");
        std::fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    };
    configure("");
    let server = Server::start(directory.path(), &["serve"]);
    for visitor in 1..=70 {
        let address = format!("192.0.2.{visitor}");
        request(server.addr, "GET", "/", &[("X-Forwarded-For", &address)]);
    }
    let line = "trusted_proxies = [\"127.0.0.1\"]";
    let log = std::fs::read_to_string(directory.path().join("stderr.log")).unwrap();
    assert_eq!(log.matches(line).count(), 1, "{log}");
    configure(&format!("listen = '{}'", server.addr));
    let doctor = server
        .run(directory.path(), &["doctor", "--offline"])
        .stdout;
    let doctor = String::from_utf8(doctor).unwrap();
    assert!(doctor.contains(line), "{doctor}");
    let client = Client::of(server.addr);
    client.log_in(server.password.as_deref().unwrap()).await;
    says(&client, &line.replace('"', "&#34;")).await;
}
