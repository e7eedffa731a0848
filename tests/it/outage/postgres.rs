//! PostgreSQL stops while a server runs, or is unavailable at startup.

use std::{fs, process::Stdio, time::Duration};

use robot_detection::{
    app::{BuildError, RobotDetection},
    description::{ResourceDescription, name},
    store::Store,
};
use serde_json::Value;

use super::site::{Site, assert_serves, log_in, page, readiness, wait_for};
use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
    postgres::{self, Cluster},
    program::{GOOGLEBOT, Server, command, eventually, first_password, succeed},
};

/// Asserts that clients without a session see only that the database is unavailable.
fn assert_strangers_are_told_nothing(server: &Server) {
    for (path, cookie) in [
        ("login", ""),
        ("overview", "robot-detection-admin=AAAAAAAAAAAAAAAAAAAAAA"),
    ] {
        let stranger = page(server, path, cookie);
        assert_eq!(stranger.status, 503);
        let text = stranger.text();
        assert!(text.contains("has been unavailable since"), "{text}");
        let is_told = text.contains("postgres:") || text.contains("Bundled");
        assert!(!is_told, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_waits_for_an_unavailable_database() {
    let cluster = Cluster::start();
    let site = Site::new(&cluster.create_database().await);
    let server = site.start();
    let cookie = log_in(&server, server.password.as_deref().unwrap());
    assert!(
        page(&server, "sources", &cookie)
            .text()
            .contains("Bundled registry")
    );

    cluster.stop();
    let told = wait_for(&server, "away");
    assert!(
        told["away_since"].as_str().unwrap().ends_with('Z'),
        "{told}"
    );
    assert!(
        told["reason"].as_str().unwrap().contains("postgres:"),
        "{told}"
    );
    // If each response queried the database, each would take five seconds.
    for _ in 0..30 {
        assert_eq!(readiness(&server).0, 200);
        assert_serves(&server);
        let overview = page(&server, "overview", &cookie);
        assert_eq!(overview.status, 200, "{}", overview.text());
        let overview = overview.text();
        assert!(
            overview.contains("The database became unavailable"),
            "{overview}"
        );
        let sources = page(&server, "sources", &cookie).text();
        assert!(
            sources.contains("Bundled registry"),
            "shows the data in memory"
        );
    }
    let status = page(&server, "api/v1/status", &cookie).text();
    assert!(status.contains("\"database_away_since\":\"2"), "{status}");
    assert_eq!(page(&server, "robots", &cookie).status, 503);
    assert_strangers_are_told_nothing(&server);
    let metrics = server.metrics();
    assert!(
        metrics.contains("robot_detection_database_up 0"),
        "{metrics}"
    );

    cluster.resume();
    wait_for(&server, "ok");
    eventually("the pages are complete again", || {
        let overview = page(&server, "overview", &cookie);
        overview.status == 200 && !overview.text().contains("The database became unavailable")
    });
    assert!(
        site.log().contains("database available again"),
        "{}",
        site.log()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_started_without_its_database_opens_it_when_available() {
    let cluster = Cluster::start();
    let site = Site::new(&cluster.create_database().await);
    cluster.stop();
    let server = site.start();
    assert_eq!(server.password, None, "a password cannot be stored yet");
    let told = wait_for(&server, "away");
    assert!(
        told["reason"]
            .as_str()
            .unwrap()
            .contains("check that the server is running"),
        "{told}"
    );
    assert_serves(&server);

    cluster.resume();
    wait_for(&server, "ok");
    eventually("a password is generated", || {
        first_password(site.path()).is_some()
    });
    eventually("the password is set", || {
        site.log().contains("initial administrator password is in")
    });
    // An attempt before the database accepts changes leaves a file with another password.
    let password = first_password(site.path()).unwrap();
    let cookie = log_in(&server, &password);
    eventually("the bundled registry is in the database", || {
        page(&server, "registry?q=googlebot", &cookie)
            .text()
            .contains("Googlebot")
    });
    assert_serves(&server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_free_connection_serves_and_names_the_cause() {
    let cluster = Cluster::start();
    let url = cluster.create_database().await;
    let name = url.split(['/', '?']).nth(3).unwrap();
    let create = format!(
        "CREATE ROLE limited LOGIN CONNECTION LIMIT 1; ALTER DATABASE {name} OWNER TO limited"
    );
    cluster.execute(&create).await;
    let site = Site::new(&url.replace("user=postgres", "user=limited"));
    let server = site.start();
    assert_serves(&server);
    let told = wait_for(&server, "away");
    let reason = "too many connections for role";
    assert!(told["reason"].as_str().unwrap().contains(reason), "{told}");
    assert!(site.log().contains(reason), "{}", site.log());

    cluster
        .execute("ALTER ROLE limited CONNECTION LIMIT -1")
        .await;
    wait_for(&server, "ok");
    for _ in 0..20 {
        assert_serves(&server);
    }
    let open = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'limited'";
    eventually_async("an idle instance has three connections", async || {
        cluster.execute(open).await <= 3
    })
    .await;
}

/// Requests a path as a robot; returns status, `Location` and `Retry-After`.
fn answered(server: &Server, path: &str) -> (u16, String, String) {
    let answer = server.get(path, GOOGLEBOT);
    let (to, after) = (answer.header("location"), answer.header("retry-after"));
    (answer.status, to, after)
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_are_redirected_only_to_pages_that_heaven_can_serve() {
    let cluster = Cluster::start();
    let url = cluster.create_database().await;
    let site = Site::new(&url);
    let file = site.path().join("robot-detection.toml");
    let heaven = "heaven.source = 'database'\nheaven.url = 'http://www.example.com'\n";
    fs::write(
        &file,
        heaven.to_owned() + &fs::read_to_string(&file).unwrap(),
    )
    .unwrap();
    let pages = ["a", "b"].map(|name| {
        let mut page = ResourceDescription::new(format!("http://www.example.com/private/{name}"));
        page.set(name::TITLE, name);
        page.set(name::FULL_TEXT, "Words.");
        page
    });
    let store = Store::connect(&url).await.unwrap();
    let saved = store
        .descriptions()
        .save("default", 1, &pages, 1_790_000_000_000);
    saved.await.unwrap();
    store.close().await;
    let server = site.start();
    let [a, b] = ["a", "b"].map(|name| format!("/robot-heaven/private/{name}.htm"));
    eventually("robots are redirected to its page", || {
        answered(&server, "/private/a").1 == a
    });
    assert_eq!(server.get(&a, GOOGLEBOT).status, 200);

    cluster.stop();
    wait_for(&server, "away");
    let began = tokio::time::Instant::now();
    assert_eq!(
        answered(&server, "/private/a"),
        (302, a.clone(), String::new())
    );
    assert!(server.get(&a, GOOGLEBOT).text().contains("Words."));
    let start = "/robot-heaven/".to_owned();
    assert_eq!(
        answered(&server, "/private/b"),
        (302, start.clone(), String::new())
    );
    assert_eq!(answered(&server, &start).0, 200);
    let away = (503, String::new(), "15".to_owned());
    assert_eq!(answered(&server, &b), away);
    assert!(began.elapsed() < Duration::from_secs(4), "no request waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_robot_run_resumes_after_an_outage_of_the_database() {
    let cluster = Cluster::start();
    let site = Site::new(&cluster.create_database().await);
    let pages = TestServer::with(|seen| {
        let links = (0..12).map(|number| format!("<a href=/{number}>{number}</a> "));
        let links: String = links.filter(|_| seen.path == "/").collect();
        let text = format!("<title>{}</title><p>Words.</p>{links}", seen.path);
        match &*seen.path {
            "/robots.txt" => Reply::status(404),
            _ => Reply::typed("text/html", text),
        }
    });
    let log_file = site.path().join("run.log");
    let run = command(site.path())
        .args([
            "site-robot",
            "run",
            &pages.url("/"),
            "--delay",
            "0.3",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&log_file).unwrap())
        .spawn()
        .unwrap();
    let log = || fs::read_to_string(&log_file).unwrap();
    eventually("the run has started", || pages.seen().len() > 3);
    cluster.stop();
    eventually("the run waits for the database", || {
        log().contains("the run will resume when the database is available again")
    });
    cluster.resume();
    let ended = run.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", log());
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(told["state"], "finished", "{told}");
    let all = succeed(site.path(), &["site-robot", "status", "--json"]);
    assert!(all.contains("13"), "{all}");
}

#[tokio::test]
async fn an_application_chooses_whether_to_start_without_its_database() {
    let builder = RobotDetection::builder()
        .web_robots_db("")
        .database_url("postgres://somebody@127.0.0.1:1/robots");
    let refused = builder.clone().build().await;
    assert!(matches!(refused, Err(BuildError::Store(_))));
    let robots = builder.wait_for_database(true).build().await.unwrap();
    assert!(robots.store().outage().is_some());
    let detector = robots.detector().load();
    let claim = detector.identify(b"Googlebot/2.1");
    assert_eq!(
        claim.map(|claim| claim.id().to_owned()).as_deref(),
        Some("googlebot")
    );
    robots.shutdown().await;
    // A server that rejects the user now may accept the user after a restore.
    let nobody = postgres::database_url().await;
    let nobody = nobody.replace("user=postgres", "user=nobody_known");
    let builder = RobotDetection::builder().database_url(nobody);
    let robots = builder.wait_for_database(true).build().await.unwrap();
    let absence = robots.store().outage().unwrap();
    assert!(absence.reason.contains("check user"), "{absence:?}");
    robots.shutdown().await;
    let wrong = RobotDetection::builder().database_url("mysql://a");
    assert!(wrong.wait_for_database(true).build().await.is_err());
    let directory = tempfile::tempdir().unwrap();
    let nowhere = format!("sqlite://{}/none/a.db", directory.path().display());
    let wrong = RobotDetection::builder().database_url(nowhere);
    assert!(wrong.wait_for_database(true).build().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_during_an_outage_are_stored_once_the_database_is_back() {
    let cluster = Cluster::start();
    let site = Site::new(&cluster.create_database().await);
    // The counts of both instances are added.
    let servers = [site.start(), site.start()];
    let ask = || {
        for server in &servers {
            assert_serves(server);
        }
    };
    let kept = || -> Value {
        let arguments = ["report", "--json", "--by", "robot"];
        serde_json::from_str(&succeed(site.path(), &arguments)).unwrap()
    };
    ask();
    eventually("the earlier counts are stored", || {
        kept()["totals"]["all"]["hits"] == 4
    });
    cluster.stop();
    wait_for(&servers[0], "away");
    ask();
    wait_for(&servers[1], "away");
    eventually("the counts cannot be stored", || {
        site.log().contains("buffering traffic counters in memory")
    });
    ask();
    cluster.resume();
    for server in &servers {
        wait_for(server, "ok");
    }
    ask();
    for server in servers {
        site.end(server);
    }
    let kept = kept();
    assert_eq!(kept["totals"]["people"]["hits"], 8, "{}", site.log());
    assert_eq!(kept["robots"][0]["robot"], "googlebot");
    assert_eq!(kept["robots"][0]["hits"], 8);
    assert_eq!(kept["totals"]["all"]["bytes"], 8 * "the page".len());
}
