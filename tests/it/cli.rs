//! The program from a user's view: arguments, output, exit codes, a running server.

use std::{
    fs,
    io::Write as _,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program::{self, CHROME, FIREFOX, GOOGLEBOT, Server, eventually, request, run, succeed},
};

fn data(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/data/registry", name]
        .iter()
        .collect();
    path.to_string_lossy().into_owned()
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Writes a configuration that needs no network.
fn offline(directory: &Path, more: &str) {
    let text = format!("web_robots_db = ''\n{more}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

#[test]
fn startup_prints_the_next_steps_until_paths_closed_to_robots_are_configured() {
    let upstream = TestServer::with(|_| Reply::text("site"));
    let upstream = upstream.url("");
    let start = |file: &str, arguments: &[&str]| {
        let directory = directory();
        if !file.is_empty() {
            offline(directory.path(), file);
        }
        let mut command = program::command(directory.path());
        command.env("ROBOT_DETECTION_WEB_ROBOTS_DB", "");
        let mut server = Server::start_as(command, directory.path(), arguments);
        let patterns = server.get("/members-only-stuff/", GOOGLEBOT);
        assert_eq!(patterns.status, 302);
        server.stop();
        server.next_line()
    };
    let plain = ["serve", "--upstream", &upstream];
    let next = start("", &plain);
    assert!(
        next.starts_with("next: run `robot-detection init --interactive`")
            && next.contains("from /members-only-stuff/* to /robot-heaven/"),
        "{next}"
    );
    let next = start("", &["serve", "--demo"]);
    assert!(
        next.contains("robot-detection serve --upstream URL"),
        "{next}"
    );
    assert_eq!(start("redirect_status = 302", &plain), "");
}

#[test]
fn the_demonstration_redirects_robots_and_passes_people() {
    let directory = directory();
    let server = Server::start(directory.path(), &["serve", "--demo"]);
    let members = "/members-only-stuff/reports/";

    let robot = server.get(members, GOOGLEBOT);
    assert_eq!(robot.status, 302);
    let own_page = "/robot-heaven/members-only-stuff/reports/";
    assert_eq!(robot.header("location"), own_page);
    assert_eq!(robot.header("vary"), "User-Agent");
    assert_eq!(robot.header("cache-control"), "no-store");

    for person in [CHROME, FIREFOX] {
        let answer = server.get(members, person);
        assert_eq!(answer.status, 200);
        assert!(answer.text().contains("</html>"));
        assert!(answer.header("vary").contains("User-Agent"));
    }
    for path in ["/robot-heaven/", "/", "/about.html"] {
        assert_eq!(server.get(path, GOOGLEBOT).status, 200, "{path}");
    }
    let head = request(server.addr, "HEAD", members, &[("User-Agent", GOOGLEBOT)]);
    assert_eq!((head.status, &*head.header("location")), (302, own_page));
    assert!(head.body.is_empty());
    let post = request(server.addr, "POST", members, &[("User-Agent", GOOGLEBOT)]);
    assert_eq!(post.status, 200);
    assert!(
        !directory.path().join("robot-detection.db").exists(),
        "the demonstration left a file"
    );
}

#[test]
fn another_spelling_of_a_path_is_the_same_path() {
    let directory = directory();
    let server = Server::start(directory.path(), &["serve", "--demo"]);
    for (path, filtered) in [
        ("/members-only-stuff/a", true),
        ("/members-only-stuff/", true),
        ("/members-only-stuff", false),
        ("/%6dembers-only-stuff/a", true),
        ("//members-only-stuff/a", true),
        ("/./members-only-stuff/a", true),
        ("/x/../members-only-stuff/a", true),
        ("/members-only-stuff/./a", true),
        ("/members-only-stuff/%2e%2e/x", false),
        ("/members-only-stuff/../x", false),
        ("/members-only-stuff%2Fa", true),
        ("/members-only-stuff/a?b=c", true),
        ("/x?/members-only-stuff/a", false),
        ("/Members-Only-Stuff/a", false),
        ("/members-only-stuffing", false),
        ("/robots.txt", false),
        ("/robot-heaven/", false),
    ] {
        let is_redirected = server.get(path, GOOGLEBOT).status == 302;
        assert_eq!(is_redirected, filtered, "{path}");
    }
}

#[test]
fn user_agents_of_every_shape_do_no_harm() {
    let directory = directory();
    let server = Server::start(directory.path(), &["serve", "--demo"]);
    let path = "/members-only-stuff/";
    let long = "x".repeat(8 * 1024 - 32);
    let too_long = "x".repeat(8 * 1024);
    assert_eq!(request(server.addr, "GET", path, &[]).status, 200, "absent");
    assert_eq!(server.get(path, "").status, 200, "empty");
    assert_eq!(server.get(path, &long).status, 200, "8 KiB");
    assert_eq!(
        server.get(path, &too_long).status,
        431,
        "longer than a header line may be"
    );
    let repeated = [("User-Agent", FIREFOX), ("User-Agent", GOOGLEBOT)];
    assert_eq!(
        request(server.addr, "GET", path, &repeated).status,
        302,
        "repeated"
    );
    let bytes = b"GET /members-only-stuff/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: \xff\xfe\xa0\r\n\r\n";
    assert_eq!(
        program::exchange(server.addr, bytes).status,
        200,
        "not UTF-8"
    );
}

#[test]
fn operational_endpoints_have_their_own_listener() {
    let directory = directory();
    let site = TestServer::new(Reply::text("the site"));
    let settings = "filter_pattern = ['/metrics']\nserver.upstream = ";
    offline(directory.path(), &format!("{settings}'{}'", site.url("")));
    let server = Server::start(directory.path(), &["serve"]);
    assert_eq!(server.operation("/healthz").text(), "ok\n");
    let ready: Value = serde_json::from_str(&server.operation("/readyz").text()).unwrap();
    assert_eq!(ready["ready"], true);
    assert!(ready["robots"].as_u64().unwrap() >= 60);
    assert_eq!(server.operation("/").status, 404);
    // The site's listener passes these paths to the site, even for local clients.
    for host in ["localhost", "127.0.0.1", "www.example.org"] {
        for path in ["/healthz", "/readyz", "/metrics", "/reload"] {
            let answer = request(server.addr, "GET", path, &[("Host", host)]);
            assert_eq!(answer.text(), "the site", "{host}{path}");
        }
    }
    assert_eq!(server.get("/metrics", GOOGLEBOT).status, 302);
    let metrics = server.metrics();
    let is_the_hit = |line: &&str| {
        line.starts_with("robot_detection_requests_total{")
            && [r#"visitor="listed""#, r#"decision="redirect""#, "} 1"]
                .iter()
                .all(|part| line.contains(part))
    };
    assert!(metrics.lines().any(|line| is_the_hit(&line)), "{metrics}");
}

#[test]
fn the_admin_listener_serves_the_admin_page_and_operational_endpoints() {
    let directory = directory();
    offline(directory.path(), "[admin]\nlisten = '127.0.0.1:0'");
    let server = Server::start(directory.path(), &["serve"]);
    let admin = server.admin.unwrap();
    let login = "/robot-detection/admin/login";
    for (addr, path, status) in [
        (admin, "/metrics", 200),
        (admin, login, 200),
        (admin, "/", 404),
        (server.operation.unwrap(), login, 404),
        (server.addr, "/metrics", 404),
        (server.addr, login, 404),
    ] {
        let found = request(addr, "GET", path, &[]).status;
        assert_eq!(found, status, "{addr} {path}");
    }
}

#[test]
fn a_server_starts_without_the_port_of_its_operational_endpoints() {
    let here = directory();
    offline(here.path(), "");
    let first = Server::start(here.path(), &["serve"]);
    let taken = first.operation.unwrap();
    let start = |more: &str| {
        let directory = directory();
        offline(directory.path(), more);
        let mut command = program::command(directory.path());
        command.env(program::OPERATION, taken.to_string());
        let server = Server::start_as(command, directory.path(), &["serve"]);
        assert_eq!(server.get("/", FIREFOX).status, 200);
        let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
        (server.operation, log)
    };
    let (operation, log) = start("");
    assert_eq!(operation, None);
    let told = format!(
        "health checks and metrics are not available at operation.listen: cannot listen on {taken}"
    );
    assert!(log.contains(&told), "{log}");
    // The admin pages share the port at another address: one listener serves both.
    let admin = format!("127.0.0.2:{}", taken.port());
    let (operation, log) = start(&format!("[admin]\nlisten = '{admin}'"));
    assert_eq!(operation, admin.parse().ok());
    assert!(!log.contains("operation.listen"), "{log}");
}

#[test]
fn an_invalid_configuration_is_rejected_with_its_line_and_the_nearest_name() {
    let directory = directory();
    fs::write(
        directory.path().join("robot-detection.toml"),
        "\nredirect_uri = '/x/'\n",
    )
    .unwrap();
    let output = run(directory.path(), &["serve"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error.contains(
            "robot-detection.toml:2: unknown key \"redirect_uri\"; did you mean \"redirect_url\"?"
        ),
        "{error}"
    );
}

#[test]
fn all_configuration_errors_are_reported_together() {
    let directory = directory();
    // Each key contains its line number.
    let told = |text: &str, command: &[&str]| {
        offline(directory.path(), text);
        let output = run(directory.path(), command);
        let told = [output.stdout, output.stderr].concat();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        String::from_utf8(told).unwrap()
    };
    let wrong = "filter_pattern = '/[x'\nredirect_uri = '/x/'\nredirect_status = 'x'\n\
        [server]\nupstream = 'ftp://x'\n[admin]\npath = 'x'\n\
        [[rule]]\naction = 'refuse'\nstatus = 405\nmethods = ['GE T']\n\
        [[source]]\nname = 'x'\nurl = 'htp://x/'\n\
        [[site]]\nhosts = 'a.example'\nupstream = 'http://127.0.0.1:1'\nlisten = '127.0.0.1:0'\n\
        [[rule]]\naction = 'refuse'\naddresses = ['list:x']\n\
        [site_robot]\nrobot_conf = '/nowhere'\nstarting_points = 'http://a.example/'\n";
    for command in [&["doctor", "--offline"][..], &["serve"], &["rules", "list"]] {
        let told = told(wrong, command);
        let mut lines: Vec<u32> = told
            .lines()
            .filter_map(|line| line.split_once(".toml:")?.1.split(':').next())
            .map(|line| line.parse().unwrap())
            .collect();
        lines.sort_unstable();
        let expected = [2, 3, 4, 6, 8, 11, 12, 15, 19, 22, 24];
        assert_eq!(lines, expected, "{command:?}: {told}");
    }
    let many = (1..=25).fold(String::new(), |text, key| {
        text + "key_" + &key.to_string() + " = 1\n"
    });
    let lines = told(&many, &["serve"]);
    assert_eq!(lines.matches("unknown key").count(), 20, "{lines}");
    assert!(lines.contains("and 5 more errors"), "{lines}");
    let quotes = "redirect_url = \"/x/\n[server]\nlisten = '127.0.0.1:0\n";
    let lines = told(quotes, &["serve"]);
    for expected in [
        ".toml:2: redirect_url: the string has no closing quote; add \" at its end",
        ".toml:4: server.listen: the string has no closing quote; add ' at its end",
    ] {
        assert!(lines.contains(expected), "{lines}");
    }
}

#[test]
fn a_used_port_and_an_unusable_database_print_one_line_and_exit_with_1() {
    let directory = directory();
    offline(directory.path(), "");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let upstream = "http://127.0.0.1:9";
    let no_directory = "sqlite:///nonexistent/directory/robots.db";
    for arguments in [
        vec!["serve", "--listen", &addr, "--upstream", upstream],
        vec![
            "--database",
            no_directory,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            upstream,
        ],
    ] {
        let output = run(directory.path(), &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        let errors = error
            .lines()
            .filter(|line| line.starts_with("error: "))
            .count();
        assert_eq!((errors, error.lines().count()), (1, 1), "{error}");
    }
}

#[test]
fn identify_prints_one_line_for_each_line() {
    let directory = directory();
    let mut child = program::command(directory.path())
        .arg("identify")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for _ in 0..1_000 {
            writeln!(stdin, "{GOOGLEBOT}\n{FIREFOX}\n").unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines, "googlebot\n-\n-\n".repeat(1_000));
    assert!(
        !directory.path().join("robot-detection.db").exists(),
        "a reading command created a database"
    );

    let json = succeed(
        directory.path(),
        &["identify", "--json", GOOGLEBOT, FIREFOX],
    );
    let mut answers = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let robot = answers.next().unwrap();
    assert_eq!(robot["claim"]["id"], "googlebot");
    let from = usize::try_from(robot["claim"]["start"].as_u64().unwrap()).unwrap();
    assert!(GOOGLEBOT[from..].starts_with("Googlebot"));
    assert_eq!(answers.next().unwrap()["claim"], Value::Null);
}

#[test]
fn explain_prints_the_servers_decision_with_its_reasons() {
    let directory = directory();
    offline(directory.path(), "");
    let explain = |path: &str, user_agent: &str| {
        let arguments = [
            "explain",
            "--json",
            "--path",
            path,
            "--user-agent",
            user_agent,
        ];
        serde_json::from_str::<Value>(&succeed(directory.path(), &arguments)).unwrap()
    };
    let redirected = explain("/members-only-stuff/a?b", GOOGLEBOT);
    assert_eq!(redirected["decision"], "redirect");
    assert_eq!(redirected["claim"]["robot"], "googlebot");
    assert!(redirected["steps"].as_array().unwrap().len() > 1);
    assert_eq!(
        explain("/members-only-stuff/a", FIREFOX)["decision"],
        "pass"
    );
    assert_eq!(explain("/elsewhere", GOOGLEBOT)["decision"], "pass");
}

#[test]
fn explain_shows_the_signs_of_a_robot() {
    let directory = directory();
    for (user_agent, claim) in [
        ("examplebot/1", r#"unlisted, by robot word "bot""#),
        ("Googlebot/2.1", r#"googlebot, by token "Googlebot""#),
    ] {
        let arguments = ["explain", "--path", "/", "--user-agent", user_agent];
        let answer = succeed(directory.path(), &arguments);
        assert!(answer.contains(claim), "{answer}");
    }
}

#[test]
fn explain_rejects_an_impossible_path() {
    let directory = directory();
    let arguments = ["explain", "--path", "members", "--user-agent", "x"];
    assert_eq!(run(directory.path(), &arguments).status.code(), Some(2));
}

#[test]
fn a_refresh_from_a_file_is_exact_and_takes_effect_in_a_running_server_immediately() {
    let directory = directory();
    offline(
        directory.path(),
        "bundled_registry = false\nunlisted_robots = false",
    );
    let server = Server::start(directory.path(), &["serve"]);
    let refresh = |file: &str| {
        let arguments = ["registry", "refresh", "--json", "--from", &data(file)];
        let records: Value = serde_json::from_str(&succeed(directory.path(), &arguments)).unwrap();
        records[0].clone()
    };
    let first = refresh("era1.txt");
    assert_eq!(first["outcome"], "replaced");
    assert_eq!(first["removed"], 0);
    let (gone, new) = eras();
    let status = |ua: &str| server.get("/members-only-stuff/", ua).status;
    eventually("the first era is loaded", || status(&gone) == 302);
    assert_eq!(status(&new), 200);

    let second = refresh("era2.txt");
    assert_eq!(
        (&second["added"], &second["removed"], &second["changed"]),
        (&16.into(), &3.into(), &1.into())
    );
    eventually("the second era is loaded", || status(&new) == 302);
    assert_eq!(status(&gone), 200);

    assert_eq!(refresh("era2.txt")["outcome"], "not-modified");
}

/// Returns the User-Agents of a robot only in the first era and of one only in the second.
fn eras() -> (String, String) {
    let useragents = |file: &str| {
        fs::read(data(file))
            .unwrap()
            .split(|b| *b == b'\n')
            .filter_map(|line| {
                let line = String::from_utf8_lossy(line).trim().to_owned();
                line.strip_prefix("robot-useragent:")
                    .map(|ua| ua.trim().to_owned())
            })
            .filter(|ua| ua.contains('/') && ua.len() > 8 && !ua.contains(' '))
            .collect::<Vec<_>>()
    };
    let (first, second) = (useragents("era1.txt"), useragents("era2.txt"));
    let only = |these: &[String], those: &[String]| {
        these.iter().find(|ua| !those.contains(ua)).unwrap().clone()
    };
    (only(&first, &second), only(&second, &first))
}

#[test]
fn an_unreadable_source_leaves_the_rows_and_reports_the_reason() {
    let directory = directory();
    offline(directory.path(), "");
    let before = succeed(directory.path(), &["registry", "list", "--json"]);
    let html = directory.path().join("page.html");
    fs::write(&html, "<!doctype html><title>404</title>").unwrap();
    for from in [
        html.to_str().unwrap(),
        "missing.txt",
        "http://127.0.0.1:1/all.txt",
    ] {
        let output = run(directory.path(), &["registry", "refresh", "--from", from]);
        assert_eq!(output.status.code(), Some(1), "{from}");
        assert!(
            String::from_utf8_lossy(&output.stderr).starts_with("error: "),
            "{from}"
        );
    }
    assert_eq!(
        succeed(directory.path(), &["registry", "list", "--json"]),
        before
    );
}

#[test]
fn a_robot_added_by_hand_survives_a_refresh_and_can_be_removed() {
    let directory = directory();
    offline(directory.path(), "");
    let add = [
        "registry",
        "add",
        "housebot",
        "--useragent",
        "HouseBot/1.0",
        "--purpose",
        "search",
    ];
    succeed(directory.path(), &add);
    assert_eq!(run(directory.path(), &add).status.code(), Some(1), "twice");
    succeed(
        directory.path(),
        &["registry", "refresh", "--from", &data("era1.txt")],
    );
    assert_eq!(
        succeed(directory.path(), &["identify", "HouseBot/2.0"]),
        "housebot\n"
    );
    assert!(succeed(directory.path(), &["registry", "show", "housebot"]).contains("manual"));
    let exported = succeed(
        directory.path(),
        &["registry", "export", "--source", "manual"],
    );
    assert!(exported.contains("robot-id: housebot"), "{exported}");
    succeed(directory.path(), &["registry", "remove", "housebot"]);
    assert_eq!(
        succeed(directory.path(), &["identify", "HouseBot/2.0"]),
        "unlisted\n",
        "the robot is still identified by its name"
    );
    assert_eq!(
        run(directory.path(), &["registry", "remove", "googlebot"])
            .status
            .code(),
        Some(1)
    );
    let junk = run(
        directory.path(),
        &["registry", "add", "x", "--useragent", "none"],
    );
    assert_eq!(junk.status.code(), Some(2));
}

#[test]
fn a_refresh_reports_each_unusable_robot_once() {
    let directory = directory();
    offline(directory.path(), "");
    let file = (1..=12).fold(String::new(), |file, i| {
        file + &format!("robot-id: good{i}\nrobot-useragent: Goodrobot{i}/1.0\n\n")
    });
    let file = file + "robot-id: nameless\nrobot-useragent:\n";
    fs::write(directory.path().join("all.txt"), file).unwrap();
    let printed = succeed(
        directory.path(),
        &["registry", "refresh", "--from", "all.txt"],
    );
    assert_eq!(printed.matches("nameless").count(), 1, "{printed}");
}

#[test]
fn a_search_without_results_prints_a_note_to_standard_error() {
    let directory = directory();
    offline(directory.path(), "");
    succeed(directory.path(), &["registry", "list"]);
    for command in ["list", "export"] {
        let output = run(directory.path(), &["registry", command, "zzzzzz"]);
        let note = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{note}");
        assert_eq!(output.stdout, b"", "{command}");
        assert!(note.starts_with("no robot matches"), "{note}");
    }
}

#[test]
fn creating_a_token_without_a_name_is_wrong_usage() {
    let directory = directory();
    let output = run(directory.path(), &["admin", "token", " "]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn without_network_the_bundled_registry_serves_and_a_warning_is_logged() {
    let directory = directory();
    fs::write(
        directory.path().join("robot-detection.toml"),
        "web_robots_db = 'http://127.0.0.1:1/all.txt'",
    )
    .unwrap();
    let server = Server::start(directory.path(), &["serve"]);
    assert_eq!(server.get("/members-only-stuff/", GOOGLEBOT).status, 302);
    eventually("the log reports the failed refresh", || {
        let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
        log.contains("127.0.0.1:1")
    });
}

#[test]
fn a_hangup_reloads_the_filter_and_an_invalid_file_changes_nothing() {
    let directory = directory();
    offline(directory.path(), "filter_pattern = '/old/*'");
    let server = Server::start(directory.path(), &["serve"]);
    assert_eq!(server.get("/old/a", GOOGLEBOT).status, 302);
    offline(directory.path(), "filter_pattern = '/new/*'");
    server.signal("HUP");
    eventually("the new pattern applies", || {
        server.get("/new/a", GOOGLEBOT).status == 302
    });
    assert_eq!(server.get("/old/a", GOOGLEBOT).status, 404);
    offline(directory.path(), "filter_pattern = '/[x'");
    server.signal("HUP");
    eventually("the log contains the error", || {
        let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
        log.contains("robot-detection.toml:2: filter_pattern")
    });
    assert_eq!(server.get("/new/a", GOOGLEBOT).status, 302);
    offline(directory.path(), "filter_pattern = ''");
    server.signal("HUP");
    eventually("the log warns that nothing is filtered", || {
        let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
        log.contains("no paths are filtered on the site")
    });
}

#[test]
fn a_termination_signal_stops_the_server_cleanly() {
    let directory = directory();
    let server = Server::start(directory.path(), &["serve", "--demo"]);
    server.signal("TERM");
    assert!(server.wait());
}

#[test]
fn the_password_is_printed_only_at_the_first_start() {
    let directory = directory();
    offline(directory.path(), "");
    let first = Server::start(directory.path(), &["serve"]);
    assert!(
        first
            .password
            .as_ref()
            .is_some_and(|password| password.len() >= 20)
    );
    drop(first);
    assert_eq!(Server::start(directory.path(), &["serve"]).password, None);
}

#[test]
fn a_token_opens_the_api_until_it_is_removed() {
    let directory = directory();
    offline(directory.path(), "");
    let token = succeed(directory.path(), &["admin", "token", "monitoring"]);
    let bearer = format!("Bearer {}", token.trim());
    let server = Server::start(directory.path(), &["serve"]);
    let ask = || {
        let headers = [("Host", "127.0.0.1"), ("Authorization", bearer.as_str())];
        request(
            server.addr,
            "GET",
            "/robot-detection/admin/api/v1/status",
            &headers,
        )
    };
    assert_eq!(ask().status, 200, "{}", ask().text());
    succeed(
        directory.path(),
        &["admin", "token", "monitoring", "--remove"],
    );
    assert_eq!(ask().status, 401);
}

#[test]
fn tokens_have_a_scope_and_an_expiry_and_are_listed_with_sessions() {
    let directory = directory();
    offline(directory.path(), "");
    let make = |arguments: &[&str]| {
        let all = [&["admin", "token"], arguments].concat();
        run(directory.path(), &all)
    };
    let reader = make(&["reader", "--scope", "read", "--ends", "30d"]);
    let reader = format!(
        "Bearer {}",
        String::from_utf8(reader.stdout).unwrap().trim()
    );
    assert_eq!(make(&["writer"]).status.code(), Some(0));
    for wrong in [
        &["x", "--ends", "yesterday"][..],
        &["x", "--ends", "2020-01-01"],
        &["x", "--scope", "all"],
        &["x", "--remove", "--scope", "read"],
    ] {
        assert_eq!(make(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let listed = succeed(directory.path(), &["admin", "tokens", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["tokens"][0]["scope"], "read");
    assert_eq!(listed["tokens"][1]["scope"], "write");
    assert!(listed["tokens"][1]["ends"].is_null());
    let table = succeed(directory.path(), &["admin", "tokens"]);
    assert!(table.contains("no expiry"), "{table}");

    let server = Server::start(directory.path(), &["serve"]);
    let reload = "/robot-detection/admin/api/v1/reload";
    let headers = [("Host", "127.0.0.1"), ("Authorization", &reader)];
    assert_eq!(request(server.addr, "POST", reload, &headers).status, 403);
    let sessions = succeed(directory.path(), &["admin", "sessions", "--json"]);
    assert!(sessions.contains("\"sessions\": []"), "{sessions}");
    succeed(directory.path(), &["admin", "sessions", "--end-all"]);
    let gone = run(directory.path(), &["admin", "sessions", "--end", "0"]);
    assert_eq!(gone.status.code(), Some(1));
}

#[test]
fn init_writes_a_file_that_serve_accepts_and_never_overwrites_one() {
    let directory = directory();
    succeed(directory.path(), &["init"]);
    assert_eq!(run(directory.path(), &["init"]).status.code(), Some(1));
    succeed(directory.path(), &["init", "--force"]);
    let free = [
        "--config",
        "robot-detection.toml",
        "doctor",
        "--offline",
        "--json",
    ];
    let mut doctor = program::command(directory.path());
    doctor
        .args(free)
        .env("ROBOT_DETECTION_SERVER_LISTEN", "127.0.0.1:0");
    let output = doctor.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], true, "{report}");
}

#[test]
fn init_asks_questions_and_writes_a_file_that_doctor_accepts() {
    let directory = directory();
    let site = TestServer::new(Reply::text("a page").with("server", "Jetty(12.0.9)"));
    let upstream = site.url("/");
    let ask_with = |more: &[&str], answers: &str| {
        let mut command = program::command(directory.path());
        command.args(["init", "--interactive"]).args(more);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut asked = command.spawn().unwrap();
        // If the file exists, the program exits without reading its input.
        let _ = asked.stdin.take().unwrap().write_all(answers.as_bytes());
        let output = asked.wait_with_output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), text)
    };
    let ask = |answers: &str| ask_with(&[], answers);
    let file = directory.path().join("robot-detection.toml");
    let (code, told) = ask(&format!("{upstream}\n"));
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("standard input ended") && !file.exists(),
        "{told}"
    );
    // The question about who may read the pages stays unanswered.
    let unanswered = format!("{upstream}\nwww.example.com\n/a/*\nrefuse\n\n");
    let (code, told) = ask(&unanswered);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("heaven.open_to") && told.contains("--open-to"),
        "{told}"
    );
    let (code, told) = ask_with(&["--open-to", "verified"], &unanswered);
    assert_eq!(code, Some(1), "{told}");
    assert!(!file.exists(), "{told}");
    // After two wrong answers the question is repeated.
    let (code, told) = ask(&format!(
        "http://127.0.0.1:1\n{upstream}\nwww.example.com\n/a/[b\n/a/*\nrefuse\n\nrobots\n\n127.0.0.1:8081\n"
    ));
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("/a/[b") && told.contains("next: `robot-detection doctor`"),
        "{told}"
    );
    assert!(
        told.contains("the upstream does not respond: ") && told.contains("[0.0.0.0:80]"),
        "{told}"
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("starting_points = [\"http://www.example.com/a/\"]"),
        "{text}"
    );
    for line in [
        "listen = \"127.0.0.1:8081\"",
        "open_to = \"robots\"",
        "path_parameters = true",
    ] {
        assert!(text.lines().any(|it| it == line), "{text}");
    }
    let mut doctor = program::command(directory.path());
    let offline = [
        "--config",
        "robot-detection.toml",
        "doctor",
        "--offline",
        "--json",
    ];
    doctor
        .args(offline)
        .env("ROBOT_DETECTION_SERVER_LISTEN", "127.0.0.1:0");
    let report: Value = serde_json::from_slice(&doctor.output().unwrap().stdout).unwrap();
    assert_eq!(report["ok"], true, "{report}");
    let (code, told) = ask("\n\n\n\n\n\n");
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("--force") && !told.contains("Press Enter"),
        "{told}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn doctor_reports_failed_checks() {
    let directory = directory();
    offline(
        directory.path(),
        "[verify]\nenabled = false\n[server]\nupstream = 'http://127.0.0.1:1'\nlisten = '127.0.0.1:0'",
    );
    let output = run(directory.path(), &["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(report.contains("ok    database"), "{report}");
    assert!(report.contains("FAIL  upstream"), "{report}");
}

#[test]
fn doctor_reads_sources_as_a_refresh_does() {
    let directory = directory();
    let site = Server::start(directory.path(), &["serve", "--demo"]);
    let here = directory.path();
    fs::write(here.join("a list.txt"), "QuillBot").unwrap();
    let source = |name: &str, url: &str| format!("[[source]]\nname = '{name}'\nurl = '{url}'\n");
    let sources = [
        source(
            "escaped",
            &format!("file://{}/a%20list.txt", here.display()),
        ),
        source("relative", "a list.txt"),
        source("folder", "."),
        source(
            "web",
            &format!("http://user:secret@{}/about.html", site.addr),
        ),
    ]
    .concat();
    offline(
        here,
        &format!("[verify]\nenabled = false\n[server]\nlisten = '127.0.0.1:0'\n{sources}"),
    );
    let output = run(here, &["doctor"]);
    let report = String::from_utf8_lossy(&output.stdout);
    for line in [
        "ok    source escaped",
        "ok    source relative",
        "FAIL  source folder",
        "ok    source web",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
    assert!(!report.contains("secret"), "{report}");
}

#[test]
fn validate_checks_only_the_file() {
    let directory = directory();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = directory.path().join("new.toml");
    let validate = |text: &str| {
        fs::write(&file, text).unwrap();
        let output = run(directory.path(), &["validate", "new.toml"]);
        let told = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(told).unwrap())
    };
    // A used port, or an unreachable upstream or database, is not an error here.
    let valid = format!(
        "filter_pattern = ['/a/*', '/b/*']\ndatabase.url = 'sqlite://new.db'\nserver.listen = '{}'\n\
         [[site]]\nhosts = ['a.example']\nupstream = ['http://127.0.0.1:1', 'http://127.0.0.1:2']\n\
         [[rule]]\naction = 'refuse'\npath = '/c/*'\n",
        taken.local_addr().unwrap()
    );
    let told = "new.toml is valid: sites: 1, upstreams: 2, rules and filter patterns: 3\n";
    assert_eq!(validate(&valid), (Some(0), told.to_owned()));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let (code, told) = validate("log.level = 'a=b=c'\nadmin.path = 'x'\n");
    assert_eq!(code, Some(1), "{told}");
    for place in ["new.toml:1: log.level: ", "new.toml:2: admin.path: "] {
        assert!(told.contains(place), "{place}: {told}");
    }
    for (text, expected) in [
        ("", "does not configure a site"),
        (
            "server.upstream = 'ftp://x'",
            "new.toml:1: server.upstream: ",
        ),
    ] {
        let (code, told) = validate(text);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let missing = run(directory.path(), &["validate", "missing.toml"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn doctor_creates_no_database() {
    let directory = directory();
    offline(directory.path(), "[server]\nlisten = '127.0.0.1:0'");
    let report = succeed(directory.path(), &["doctor", "--offline"]);
    assert!(report.contains("does not exist yet"), "{report}");
    assert!(!directory.path().join("robot-detection.db").exists());
    let no_directory = ["--database", "sqlite://nowhere/x.db", "doctor", "--offline"];
    let output = run(directory.path(), &no_directory);
    assert_eq!(output.status.code(), Some(1));
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(
        report.contains("the directory nowhere does not exist"),
        "{report}"
    );
}

#[test]
fn doctor_rejects_the_configurations_that_serve_rejects() {
    let directory = directory();
    for (wrong, key) in [
        ("filter_pattern = '/[x'", "filter_pattern"),
        ("[log]\nformat = 'xml'", "log.format"),
        ("[log]\nlevel = 'a=b=c'", "log.level"),
        ("[server]\nlisten = 'x'", "server.listen"),
        ("[server]\nupstream = 'ftp://x'", "server.upstream"),
        ("[admin]\npath = 'x'", "admin.path"),
    ] {
        offline(directory.path(), wrong);
        for command in [vec!["serve"], vec!["doctor", "--offline"]] {
            let output = run(directory.path(), &command);
            let told = [output.stdout, output.stderr].concat();
            let told = String::from_utf8_lossy(&told);
            assert_eq!(output.status.code(), Some(2), "{command:?} {wrong}: {told}");
            assert!(told.contains(key), "{command:?} {wrong}: {told}");
        }
    }
}

#[test]
fn an_impossible_file_or_database_url_is_wrong_usage() {
    let directory = directory();
    for arguments in [
        ["--config", "missing.toml", "registry", "list"],
        ["--database", "mysql://u:geheim@h/x", "registry", "list"],
        [
            "--database",
            "postgres://u:geheim@h:x/y",
            "admin",
            "password",
        ],
    ] {
        let output = run(directory.path(), &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(!error.contains("geheim"), "{error}");
    }
}

#[test]
fn a_second_signal_does_not_wait_for_running_requests() {
    let directory = directory();
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("upstream = 'http://{}'", upstream.local_addr().unwrap());
    let times = "drain_timeout_seconds = 86400\nresponse_timeout_seconds = 86400";
    offline(directory.path(), &format!("[server]\n{server}\n{times}"));
    let server = Server::start(directory.path(), &["serve"]);
    let mut client = std::net::TcpStream::connect(server.addr).unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let (_never_answers, _) = upstream.accept().unwrap();
    server.signal("TERM");
    eventually("the server begins to stop", || {
        let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
        log.contains("a second signal")
    });
    server.signal("TERM");
    assert!(server.wait());
}

#[test]
fn every_command_has_help_with_an_example() {
    let directory = directory();
    for command in [
        "serve",
        "report",
        "identify",
        "explain",
        "init",
        "doctor",
        "validate",
        "completions",
        "registry refresh",
        "registry list",
        "registry show",
        "registry add",
        "registry remove",
        "registry export",
        "admin password",
        "admin token",
    ] {
        let mut arguments = command.split(' ').collect::<Vec<_>>();
        arguments.push("--help");
        let help = succeed(directory.path(), &arguments);
        assert!(
            help.contains("Example: ") || help.contains("Examples: "),
            "{command}: {help}"
        );
    }
    assert!(succeed(directory.path(), &["completions", "bash"]).contains("robot-detection"));
    assert_eq!(run(directory.path(), &["srve"]).status.code(), Some(2));
}
