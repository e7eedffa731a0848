//! The program for Apache's `RewriteMap`, driven as Apache does: line by line.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use super::house::House;
use crate::support::program::{FIREFOX, GOOGLEBOT, eventually};

const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";

struct Map {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Map {
    fn start(house: &House) -> Self {
        let config = house.directory.path().join("robot-detection.toml");
        let text = fs::read_to_string(&config).unwrap();
        let socket = house.directory.path().join("check.sock");
        let text = text.replace("unix:check.sock", &format!("unix:{}", socket.display()));
        fs::write(&config, text).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_robot-detection"))
            .arg("--config")
            .arg(&config)
            .arg("apache-map")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut map = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        };
        map.comes_back();
        map
    }

    fn ask_raw(&mut self, line: &[u8]) -> String {
        let input = self.input.as_mut().unwrap();
        input.write_all(&[line, b"\n"].concat()).unwrap();
        input.flush().unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert!(answer.ends_with('\n'), "{answer:?}");
        answer.trim_end_matches('\n').to_owned()
    }

    fn ask(&mut self, path: &str, user_agent: &str) -> String {
        self.ask_raw(key(path, user_agent).as_bytes())
    }

    /// Waits until queries are answered again.
    fn comes_back(&mut self) {
        eventually("queries are answered again", || {
            self.ask("/", FIREFOX) != "away"
        });
    }

    fn worker(&self) -> u32 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let lists = threads.map(|thread| thread.unwrap().path().join("children"));
        let all: String = lists
            .map(|list| fs::read_to_string(list).unwrap())
            .collect();
        all.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn key(path: &str, user_agent: &str) -> String {
    format!(
        "7\t192.0.2.7\thttp\tGET {path} HTTP/1.1\texample.org\tlocalhost\tUser-Agent: {user_agent}\tAccept: */*"
    )
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_is_answered_in_order_as_the_proxy_decides() {
    let house = House::new().await;
    let mut map = Map::start(&house);
    let redirect = map.ask("/members-only-stuff/a", GPTBOT);
    assert!(
        redirect.starts_with("302\tdecision=redirect\t"),
        "{redirect}"
    );
    assert!(redirect.contains("\tlocation=/robot-heaven/"), "{redirect}");
    let refusal = map.ask("/paid/1", GPTBOT);
    assert!(refusal.starts_with("402\tdecision=refuse\t"), "{refusal}");
    assert!(refusal.contains("\ttext=Pay first."), "{refusal}");
    assert!(
        map.ask("/tagged/1", GOOGLEBOT)
            .contains("\tx-robots-tag=noindex")
    );
    assert!(
        map.ask("/", GOOGLEBOT)
            .contains("\tx-robot-detection=googlebot")
    );
    assert!(map.ask("/", FIREFOX).starts_with("200\tdecision=pass\t"));
    // A directly served page becomes a redirect: Apache cannot serve a page from a map.
    assert!(map.ask("/pages/1", GOOGLEBOT).starts_with("302\t"));
    // Many lines sent together are answered one by one.
    let lines: String = (0..100)
        .map(|number| key(if number % 2 == 0 { "/paid/1" } else { "/" }, GPTBOT) + "\n")
        .collect();
    map.input
        .as_mut()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    for number in 0..100 {
        let mut answer = String::new();
        map.output.read_line(&mut answer).unwrap();
        let expected = if number % 2 == 0 { "402" } else { "200" };
        assert!(
            answer.starts_with(expected) || answer == "away\n",
            "{number}: {answer}"
        );
    }
    assert!(house.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_keys_are_refused_and_the_next_key_is_answered() {
    let house = House::new().await;
    let mut map = Map::start(&house);
    let long = key(&format!("/{}", "a".repeat(20_000)), FIREFOX);
    let longest = "a".repeat(300_000);
    for odd in [
        key("/", "Fire\tfox"),
        key("/", "Fire\rfox"),
        key("/ x", FIREFOX),
        key("/", FIREFOX).replace("192.0.2.7", "me"),
        "GET / HTTP/1.1".to_owned(),
        String::new(),
        long,
        longest,
    ] {
        let answer = map.ask_raw(odd.as_bytes());
        assert!(answer.starts_with("400\tdecision=refuse"), "{answer}");
    }
    assert!(map.ask_raw(b"\xff\x00\xfe").starts_with("400\t"));
    assert!(map.ask("/", FIREFOX).starts_with("200\t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_or_stuck_worker_is_replaced() {
    let house = House::new().await;
    let mut map = Map::start(&house);
    for name in ["-KILL", "-STOP"] {
        let worker = map.worker();
        signal(worker, name);
        assert_eq!(map.ask("/", FIREFOX), "away", "{name}");
        map.comes_back();
        assert_ne!(map.worker(), worker, "{name}");
        assert!(map.ask("/paid/1", GPTBOT).starts_with("402\t"), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_input_stops_parent_and_worker() {
    let house = House::new().await;
    let mut map = Map::start(&house);
    let worker = map.worker();
    drop(map.input.take());
    assert!(map.child.wait().unwrap().success());
    eventually("the worker has ended", || {
        !fs::exists(format!("/proc/{worker}")).unwrap()
    });
}
