//! Reloads lose no request; an invalid configuration changes nothing.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio_util::task::TaskTracker;

use super::house::{House, site, upstream};
use crate::support::{
    program::{FIREFOX, GOOGLEBOT, eventually, run},
    raw::{self, RawClient, RawServer, body, status},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reload_under_load_fails_no_request_and_closes_no_connection() {
    let (old, new, kept) = (
        upstream("old").await,
        upstream("new").await,
        upstream("kept").await,
    );
    let with = |first: &RawServer, more: &str| {
        let extra = site("extra", "extra.example", first, "");
        site("first", "first.example", first, more)
            + &site("kept", "kept.example", &kept, "")
            + if more.is_empty() { "" } else { &extra }
    };
    let house = House::new(&with(&old, ""));
    let (is_over, answered) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let clients = TaskTracker::new();
    for number in 0..12 {
        let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered));
        let mut client = RawClient::connect(house.server.addr).await;
        clients.spawn(async move {
            let host = if number % 3 == 0 { "kept" } else { "first" };
            let request = format!("GET /a HTTP/1.1\r\nHost: {host}.example\r\n\r\n");
            while !is_over.load(Ordering::Relaxed) {
                // The single connection has to last through all reloads.
                client.send(&request).await;
                let answer = client.response().await;
                assert_eq!(status(&answer), 200, "{answer}");
                match host {
                    "kept" => assert_eq!(body(&answer), "kept"),
                    _ => assert!(["old", "new"].contains(&body(&answer)), "{answer}"),
                }
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    for round in 0..6 {
        let seen = answered.load(Ordering::Relaxed);
        eventually("requests get responses", || {
            answered.load(Ordering::Relaxed) > seen + 100
        });
        if round % 2 == 0 {
            house.reload(&with(&new, "filter_pattern = '/new/*'"));
        } else {
            house.reload(&with(&old, ""));
        }
    }
    is_over.store(true, Ordering::Relaxed);
    clients.close();
    clients.wait().await;
    assert!(answered.load(Ordering::Relaxed) > 600);
    assert!(new.requests().len() > 100, "the reload took effect");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_sites_are_served_and_reloaded() {
    let answering = upstream("up").await;
    let with = |word: &str| {
        let more = format!("robots_txt.serve = 'settings'\nfilter_pattern = '/{word}/*'");
        let sites = (0..1_000).map(|number| {
            let name = format!("s{number}");
            site(&name, &format!("{name}.example"), &answering, &more)
        });
        sites.collect::<String>()
    };
    let house = House::new(&with("one"));
    for (filtered, passed) in [("/one/a", "/two/a"), ("/two/a", "/one/a")] {
        for number in [0, 499, 999] {
            let host = format!("s{number}.example");
            assert_eq!(status(&house.ask(&host, filtered, GOOGLEBOT).await), 302);
            assert_eq!(body(&house.ask(&host, passed, GOOGLEBOT).await), "up");
            assert_eq!(body(&house.ask(&host, filtered, FIREFOX).await), "up");
        }
        house.reload(&with("two"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_with_unchanged_settings_keeps_its_connections() {
    let (kept, first, second) = (
        upstream("kept").await,
        upstream("first").await,
        upstream("second").await,
    );
    let with = |other: &RawServer, more: &str| {
        // With our own robots.txt, the upstream gets requests only from visitors.
        let more = format!("robots_txt.serve = 'settings'\n{more}");
        // Each thread has its own connections.
        "server.workers = 1\n".to_owned()
            + &site("kept", "kept.example", &kept, &more)
            + &site("other", "other.example", other, "")
    };
    let house = House::new(&with(&first, ""));
    for (other, more) in [(&second, ""), (&first, "filter_pattern = '/x/*'")] {
        assert_eq!(body(&house.ask("kept.example", "/", FIREFOX).await), "kept");
        house.reload(&with(other, more));
        assert_eq!(body(&house.ask("kept.example", "/", FIREFOX).await), "kept");
    }
    assert_eq!(kept.connections(), 1);
    house.reload(&with(&first, "connect_timeout_seconds = 6"));
    assert_eq!(body(&house.ask("kept.example", "/", FIREFOX).await), "kept");
    assert_eq!(
        kept.connections(),
        2,
        "another proxy has its own connections"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_request_and_a_tunnel_survive_until_their_removed_site_ends() {
    let held = Arc::new(tokio::sync::Notify::new());
    let release = Arc::clone(&held);
    let old = RawServer::start(move |mut connection| {
        let held = Arc::clone(&held);
        async move {
            while let Some(request) = connection.request().await {
                if request.contains("Upgrade: ") || request.contains("upgrade: ") {
                    connection
                        .send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
                        .await;
                    let mut bytes = [0; 64];
                    while let Ok(length @ 1..) =
                        tokio::io::AsyncReadExt::read(&mut connection.stream, &mut bytes).await
                    {
                        connection.send(&bytes[..length]).await;
                    }
                    return;
                }
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\no").await;
                // The server may request robots.txt at any time, possibly first.
                if !request.starts_with("GET /robots.txt ") {
                    held.notified().await;
                }
                connection.send("ld").await;
            }
        }
    })
    .await;
    let new = upstream("new").await;
    let house = House::new(&site("a", "a.example", &old, ""));
    let mut under_way = RawClient::connect(house.server.addr).await;
    under_way
        .send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        .await;
    let head = under_way.head().await;
    assert_eq!(status(&head), 200);
    let mut tunnel = RawClient::connect(house.server.addr).await;
    tunnel
        .send("GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
        .await;
    assert_eq!(status(&tunnel.head().await), 101);
    tunnel.send("before").await;
    tunnel.until("before").await;

    house.reload(&site("a", "a.example", &new, ""));
    assert_eq!(body(&house.ask("a.example", "/", FIREFOX).await), "new");
    tunnel.send("after").await;
    tunnel.until("after").await;
    release.notify_one();
    under_way.until("ld").await;
    // The same connection continues with the current version of the site.
    under_way
        .send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        .await;
    assert_eq!(body(&under_way.response().await), "new");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_configuration_changes_nothing_and_is_reported() {
    let one = upstream("one").await;
    let good = site("one", "one.example", &one, "filter_pattern = '/a/*'");
    let house = House::new(&good);
    for (bad, reason) in [
        (
            good.replace("'/a/*'", "'/[a'"),
            "robot-detection.toml:6: site.filter_pattern: ",
        ),
        (
            good.replace("hosts", "host"),
            "unknown key \"host\" in [[site]]; did you mean \"hosts\"?",
        ),
        (
            good.replace("http://", "gopher://"),
            "robot-detection.toml:5: site.upstream: ",
        ),
        (
            format!("admin.listen = 'nowhere'\n{good}"),
            "robot-detection.toml:2: admin.listen: ",
        ),
        (
            format!("log.level = 'x=y=z'\n{good}"),
            "robot-detection.toml:2: log.level: ",
        ),
    ] {
        house.signal(&bad);
        let log = house.log();
        let last = log
            .lines()
            .rev()
            .find(|line| line.contains("configuration not reloaded"));
        assert!(
            last.is_some_and(|last| last.contains(reason)),
            "{reason}: {log}"
        );
        assert_eq!(
            status(&house.ask("one.example", "/a/1", GOOGLEBOT).await),
            302
        );
        assert_eq!(
            body(&house.ask("one.example", "/b/1", GOOGLEBOT).await),
            "one"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_need_a_restart_are_named_and_stay_unchanged() {
    let one = upstream("one").await;
    let sites = site("one", "one.example", &one, "");
    let house = House::new(&sites);
    house.signal(&format!(
        "admin.path = '/elsewhere'\ndatabase.url = 'sqlite://other.db'\n{sites}\n[[source]]\nname = 'x'\nurl = 'list.txt'\nformat = 'list'"
    ));
    let named = "these changed settings require a restart: database.url, admin.path, [[source]]";
    eventually("the setting is named", || house.log().contains(named));
    let page = house
        .ask("one.example", "/robot-detection/admin/login", FIREFOX)
        .await;
    assert_eq!(status(&page), 200);
    assert_eq!(
        body(&house.ask("one.example", "/elsewhere/login", FIREFOX).await),
        "one"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_is_reloaded_if_watching_is_enabled() {
    let one = upstream("one").await;
    let site = |pattern: &str| {
        let more = format!("filter_pattern = '{pattern}'");
        format!(
            "reload_on_change = true\n{}",
            site("one", "one.example", &one, &more)
        )
    };
    let house = House::new(&site("/a/*"));
    house.write(&site("/longer/*"));
    eventually("the change is noticed", || {
        house.log().contains("by=\"a change to the file\"")
    });
    assert_eq!(
        status(&house.ask("one.example", "/longer/1", GOOGLEBOT).await),
        302
    );
    // A missing file, as between two steps of an editor, is not reloaded.
    let path = house.directory.path().join("robot-detection.toml");
    fs::rename(&path, path.with_extension("old")).unwrap();
    house.write(&site("/longest/*"));
    eventually("the change is noticed", || {
        house.log().matches("by=\"a change to the file\"").count() == 2
    });
    assert_eq!(
        status(&house.ask("one.example", "/longest/1", GOOGLEBOT).await),
        302
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn included_files_are_watched_and_reloaded_too() {
    let one = upstream("one").await;
    let main = site("one", "one.example", &one, "");
    let house = House::new(&format!(
        "include = 'sites-*.toml'\nreload_on_change = true\n{main}"
    ));
    let write = |text: &str| fs::write(house.directory.path().join("sites-b.toml"), text).unwrap();
    let changes = |number| {
        eventually("the change is noticed", || {
            house.log().matches("by=\"a change to the file\"").count() == number
        });
    };
    write(&site("two", "two.example", &one, "filter_pattern = '/a/*'"));
    changes(1);
    let asked = async |host| status(&house.ask(host, "/a/1", GOOGLEBOT).await);
    assert_eq!(asked("two.example").await, 302);
    // A site of an included file has the same protection.
    write("");
    changes(2);
    assert!(house.log().contains("site two would be removed"));
    assert_eq!(asked("two.example").await, 302);
    write(
        &(site("two", "two.example", &one, "")
            + "[[site]]\nname = 'one'\nhosts = ['three.example']"),
    );
    changes(3);
    assert!(
        house
            .log()
            .contains("robot-detection.toml:5 has the same name"),
        "{}",
        house.log()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_removes_much_must_be_accepted() {
    let (up, other) = (upstream("up").await, upstream("other").await);
    let rules = (0..10)
        .map(|number| format!("[[rule]]\npath = '/{number}'\nrobots = '*'\naction = 'refuse'\n"));
    let rules: Vec<_> = rules.collect();
    let start = format!(
        "reload_on_change = true\nserver.upstream = ['http://{0}', 'http://{1}']\n",
        up.addr, other.addr
    );
    let whole = start.clone() + &rules.concat() + &site("shop", "shop.example", &up, "");
    let house = House::new(&whole);
    let answered = async |host| house.ask(host, "/a", FIREFOX).await;
    for (configuration, reason) in [
        (
            whole.replace("name = 'shop'", "name = 'cart'"),
            "site shop would be removed",
        ),
        (
            whole.replace(&format!(", 'http://{}'", other.addr), ""),
            "site default: of 2 upstreams, 1 would remain",
        ),
        (
            start.clone() + &rules[..6].concat() + &site("shop", "shop.example", &up, ""),
            "of 11 rules, 7 would remain",
        ),
        (
            start.clone() + &rules[..8].concat(),
            "the file was truncated",
        ),
    ] {
        let (code, text) = house.reload_by(&configuration, &[]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(reason), "{reason}: {text}");
        assert!(text.contains("reload --accept"), "{text}");
        assert_eq!(body(&answered("shop.example").await), "up");
    }
    // The file watcher sees the change too, and continues.
    fs::write(house.directory.path().join("robot-detection.toml"), "").unwrap();
    eventually("the empty file is rejected", || {
        house
            .log()
            .contains("the configuration file does not configure a site")
    });
    assert_eq!(body(&answered("shop.example").await), "up");
    house.write(&(whole.clone() + &site("new", "new.example", &other, "")));
    eventually("watching continues", || house.log().contains("added new"));
    assert_eq!(body(&answered("new.example").await), "other");
    // Two rules of ten may be removed.
    let (code, text) = house.reload_by(
        &(start.clone()
            + &rules[..8].concat()
            + &site("shop", "shop.example", &up, "")
            + &site("new", "new.example", &other, "")),
        &[],
    );
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = house.reload_by(&start, &["--accept"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("removed new, shop"), "{text}");
    // Without a token, the request is refused.
    let request = "POST /reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    let refused = raw::exchange(house.server.operation.unwrap(), request).await;
    assert_eq!(status(&refused), 403, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_a_site_does_not_start_the_demonstration() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("robot-detection.toml");
    for (text, expected) in [
        ("", "does not configure a site"),
        ("web_robots_db = ''\n", "does not configure a site"),
    ] {
        fs::write(&file, text).unwrap();
        let output = run(directory.path(), &["serve"]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(expected), "{told}");
    }
    // With only the decision endpoint, the server has no site.
    let house = House::new("[check]\nlisten = 'unix:check.sock'\n");
    for path in ["/", "/members-only-stuff/", "/login"] {
        let answer = house.ask("www.example", path, FIREFOX).await;
        assert_eq!(status(&answer), 404, "{path}: {answer}");
    }
    let heaven = house.ask("www.example", "/robot-heaven/", FIREFOX).await;
    assert_eq!(status(&heaven), 200, "{heaven}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_warns_about_robots_that_are_in_no_registry() {
    let one = upstream("one").await;
    let house = House::new(&site("one", "one.example", &one, ""));
    let rule = "[[site.rule]]\naction = 'refuse'\nrobots = ['GPTBot']\n";
    let (code, text) = house.reload_by(&site("one", "one.example", &one, rule), &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("GPTBot") && text.contains("gptbot"), "{text}");
}
