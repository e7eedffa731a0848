//! A limit of open files below the need of `max_connections`.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    process::Command,
    sync::{Condvar, Mutex},
    thread,
};

use futures_util::future::join_all;
use http::{Request, StatusCode};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_util::task::TaskTracker;

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, Server, command},
};

use super::site::configure;

/// Returns the program's command with a soft and a hard limit of open files.
fn limited(directory: &Path, soft: u32, hard: u32) -> Command {
    let program = command(directory);
    let mut limited = Command::new("prlimit");
    limited
        .current_dir(directory)
        .arg(format!("--nofile={soft}:{hard}"))
        .arg(program.get_program());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

/// Starts an upstream that responds only when 30 requests are waiting.
fn slow_upstream() -> TestServer {
    let (waiting, is_full) = (Mutex::new(0), Condvar::new());
    TestServer::with(move |_| {
        let mut count = waiting.lock().unwrap();
        *count += 1;
        is_full.notify_all();
        drop(is_full.wait_while(count, |count| *count < 30).unwrap());
        Reply::text("hello")
    })
}

fn log(directory: &Path) -> String {
    fs::read_to_string(directory.join("stderr.log")).unwrap()
}

#[test]
fn excess_clients_wait_for_files_while_others_reach_the_upstream() {
    const CLIENTS: usize = 300;
    let upstream = slow_upstream();
    let directory = tempfile::tempdir().unwrap();
    let settings = format!(
        "server.upstream = '{}'\nserver.workers = 2",
        upstream.url("/")
    );
    configure(directory.path(), &settings);
    let server = Server::start_as(
        limited(directory.path(), 160, 160),
        directory.path(),
        &["serve"],
    );
    let statuses = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| server.get("/", FIREFOX).status))
            .collect();
        let statuses = clients.into_iter().map(|client| client.join().unwrap());
        statuses.collect::<Vec<_>>()
    });
    let failed = statuses.iter().filter(|status| **status != 200).count();
    let log = log(directory.path());
    assert_eq!(failed, 0, "of {CLIENTS}: {statuses:?}\n{log}");
    assert!(!log.to_lowercase().contains("too many open files"), "{log}");
    assert!(!log.contains("cannot accept connections"), "{log}");
    for words in [
        "160",
        "42 concurrent clients",
        "max_connections",
        "10000",
        "LimitNOFILE",
    ] {
        assert!(log.contains(words), "{words:?} is not in {log}");
    }
}

/// Requests many pages over one connection concurrently; returns the statuses.
async fn ask_at_once(addr: SocketAddr, requests: usize) -> Vec<StatusCode> {
    let stream = TcpStream::connect(addr).await.unwrap();
    let (client, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    TaskTracker::new().spawn(connection);
    let asked = (0..requests).map(|_| {
        let mut client = client.clone();
        async move {
            client.ready().await.unwrap();
            let request = Request::get("http://a.example/").header("User-Agent", FIREFOX);
            let answer = client.send_request(request.body(String::new()).unwrap());
            answer.await.unwrap().status()
        }
    });
    join_all(asked).await
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_a_few_clients_wait_for_files_too() {
    let upstream = slow_upstream();
    let directory = tempfile::tempdir().unwrap();
    let settings = format!("server.upstream = '{}'", upstream.url("/"));
    configure(directory.path(), &settings);
    let limited = limited(directory.path(), 160, 160);
    let server = Server::start_as(limited, directory.path(), &["serve"]);
    let answers = join_all((0..3).map(|_| ask_at_once(server.addr, 100))).await;
    let statuses = answers.concat();
    let failed = statuses.iter().filter(|status| **status != 200).count();
    let log = log(directory.path());
    assert_eq!((statuses.len(), failed), (300, 0), "{log}");
}

#[test]
fn the_soft_limit_is_raised_to_the_hard_limit() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "server.max_connections = 500");
    let server = Server::start_as(
        limited(directory.path(), 160, 4096),
        directory.path(),
        &["serve"],
    );
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let open_files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let numbers: Vec<_> = open_files
        .unwrap()
        .split_whitespace()
        .skip(3)
        .take(2)
        .collect();
    assert_eq!(numbers, ["4096", "4096"], "{limits}");
    let log = log(directory.path());
    assert!(
        !log.contains("open files"),
        "the limit is high enough: {log}"
    );
}

#[test]
fn doctor_reports_how_many_clients_the_open_files_allow() {
    for (hard, max_connections, is_doubtful, words) in [
        (160, 10_000, true, "42 concurrent clients"),
        (4096, 10_000, true, "max_connections"),
        (4096, 500, false, "4096"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let settings = format!(
            "server.listen = '127.0.0.1:0'\nserver.workers = 2\nserver.max_connections = {max_connections}"
        );
        configure(directory.path(), &settings);
        let output = limited(directory.path(), 100.min(hard), hard)
            .args(["doctor", "--offline", "--json"])
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut checks = report["checks"].as_array().unwrap().iter();
        let check = checks.find(|check| check["check"] == "open files");
        let check = check.unwrap_or_else(|| panic!("{report:#}"));
        assert_eq!(check["warning"], is_doubtful, "{check}");
        assert_eq!(check["ok"], true, "{check}");
        let text = check["text"].as_str().unwrap();
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}
