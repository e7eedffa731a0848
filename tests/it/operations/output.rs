//! Output of the program on standard output and on a terminal.

use std::{
    fs,
    io::{self, BufRead as _, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::support::program::{FIREFOX, command, eventually, exchange, first_password, request};

use super::site::configure;

/// Runs the program with a standard output that nothing reads.
fn unread(directory: &Path, arguments: &[&str]) -> Output {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let stdin = fs::File::open(directory.join("input")).unwrap();
    command(directory)
        .args(arguments)
        .stdin(stdin)
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}

#[test]
fn a_closed_pipe_stops_every_command_quietly() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "server.listen = '127.0.0.1:0'");
    let lines = format!("{FIREFOX}\n").repeat(10);
    fs::write(directory.path().join("input"), lines).unwrap();
    let robots = "User-agent: *\nDisallow: /a\nDissalow: /b\n";
    fs::write(directory.path().join("robots.txt"), robots).unwrap();
    fs::write(directory.path().join("filter.conf"), "").unwrap();
    for arguments in [
        &["completions", "bash"][..],
        &["completions", "zsh"],
        &["--help"],
        &["help", "serve"],
        &["--version"],
        &["init", "--stdout"],
        &["doctor", "--offline"],
        &["doctor", "--offline", "--json"],
        &["registry", "list"],
        &["registry", "list", "--json"],
        &["registry", "show", "googlebot"],
        &["registry", "export", "--format", "nginx"],
        &["identify"],
        &["identify", "--json"],
        &["report"],
        &["report", "--json"],
        &["explain", "--path", "/", "--user-agent", "x"],
        &["explain", "--path", "/", "--user-agent", "x", "--json"],
        &[
            "robots-txt",
            "check",
            "--file",
            "robots.txt",
            "--user-agent",
            "x",
            "/a",
        ],
        &["robots-txt", "lint", "robots.txt"],
        &["site-robot", "check", "filter.conf"],
        &["site-robot", "fmt", "filter.conf"],
        &["site-robot", "status"],
        &["site-robot", "status", "--json"],
        &["site-robot", "export"],
        &["verify", "--ip", "127.0.0.1", "--user-agent", "x"],
        &["admin", "token", "a-test"],
    ] {
        let output = unread(directory.path(), arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        for word in ["panicked", "roken pipe", "os error"] {
            assert!(!told.contains(word), "{arguments:?}: {told}");
        }
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 1)),
            "{arguments:?}: {code:?} {told}"
        );
        assert!(!told.contains("error:"), "{arguments:?}: {told}");
    }
}

#[test]
fn a_server_continues_when_its_output_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = free.local_addr().unwrap();
    drop(free);
    let log = directory.path().join("stderr.log");
    let mut server = command(directory.path())
        .args(["serve", "--demo", "--listen", &addr.to_string()])
        .stdout(writer)
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    eventually("the server accepts connections", || {
        assert!(
            server.try_wait().unwrap().is_none(),
            "the server has stopped"
        );
        std::net::TcpStream::connect(addr).is_ok()
    });
    let status = request(addr, "GET", "/", &[("User-Agent", FIREFOX)]).status;
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(status, 200);
    let told = fs::read_to_string(log).unwrap();
    assert!(
        told.contains("initial administrator password is in ")
            && first_password(directory.path()).is_some(),
        "the password must not be lost: {told}"
    );
}

#[test]
fn json_log_mode_prints_only_json_and_no_password() {
    let directory = tempfile::tempdir().unwrap();
    let given = "a-password-from-a-secret";
    for chosen in ["", "secret"] {
        fs::write(directory.path().join("secret"), given).unwrap();
        let mut server = command(directory.path())
            .args(["serve", "--demo", "--listen", "127.0.0.1:0"])
            .env("ROBOT_DETECTION_LOG_FORMAT", "json")
            .env("ROBOT_DETECTION_ADMIN_PASSWORD_FILE", chosen)
            .stdout(Stdio::piped())
            .stderr(fs::File::create(directory.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = io::BufReader::new(server.stdout.take().unwrap()).lines();
        let mut told = String::new();
        while !told.contains(" on http://") {
            let line = lines.next().unwrap().unwrap();
            let line: serde_json::Value = serde_json::from_str(&line).expect(&line);
            told += line["message"].as_str().unwrap();
        }
        let addr = told.rsplit_once("http://").unwrap().1;
        let addr = addr.trim_end_matches('/').parse().unwrap();
        let made = first_password(directory.path());
        let password = made.clone().unwrap_or(given.to_owned());
        assert_eq!(made.is_none(), chosen == "secret");
        if made.is_some() {
            let file = directory.path().join("admin-password");
            assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
            fs::remove_file(file).unwrap();
        }
        let body = format!("password={password}");
        let login = format!(
            "POST /robot-detection/admin/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(exchange(addr, login.as_bytes()).status, 303);
        server.kill().unwrap();
        server.wait().unwrap();
        told += &fs::read_to_string(directory.path().join("log")).unwrap();
        assert!(!told.contains(&password), "{told}");
    }
}

/// Returns a server's output on a terminal until it serves, both streams interleaved.
fn on_a_terminal(variables: &[(&str, &str)]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_robot-detection");
    let mut script = Command::new("script");
    script
        .current_dir(directory.path())
        .args(["--quiet", "--flush", "--return", "--command"])
        .arg(format!(
            "echo $$ > pid; exec '{program}' serve --demo --listen 127.0.0.1:0"
        ))
        .arg("/dev/null")
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    for (name, value) in variables {
        script.env(name, value);
    }
    let mut script = script.spawn().unwrap();
    let mut output = script.stdout.take().unwrap();
    let mut told = Vec::new();
    let is_ready = |told: &[u8]| {
        let told = String::from_utf8_lossy(told);
        told.contains(" on http://") && told.contains("robot heaven has")
    };
    while !is_ready(&told) {
        let mut bytes = [0; 4096];
        let read = output.read(&mut bytes).unwrap();
        assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&bytes[..read]);
    }
    // SIGHUP from a closed terminal requests a reload and does not stop the server.
    let pid = fs::read_to_string(directory.path().join("pid")).unwrap();
    let killed = Command::new("kill").args(["-KILL", pid.trim()]).status();
    assert!(killed.unwrap().success());
    script.wait().unwrap();
    String::from_utf8_lossy(&told).into_owned()
}

#[test]
fn the_log_has_colours_on_a_terminal_and_where_forced() {
    for (variables, is_coloured) in [
        (&[][..], true),
        (&[("NO_COLOR", "")], true),
        (&[("NO_COLOR", "1")], false),
        (&[("NO_COLOR", "false")], false),
        (&[("TERM", "dumb")], false),
    ] {
        let told = on_a_terminal(variables);
        assert_eq!(
            told.contains('\u{1b}'),
            is_coloured,
            "{variables:?}: {told}"
        );
    }
}

#[test]
fn the_served_address_is_printed_once() {
    let told = on_a_terminal(&[("NO_COLOR", "1")]);
    assert_eq!(
        told.matches("serving the demonstration site").count(),
        1,
        "{told}"
    );
    assert!(told.contains("loaded "), "{told}");
}
