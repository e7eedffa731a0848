//! The cases against nginx, HAProxy and our proxy, which must never be laxer than both.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tokio::net::UnixStream;

use crate::support::{eventually::eventually_async, program::Server};

use super::{case::Case, client::Place, ours, play, play::Observed, upstream::Upstream};

/// Maximum silence of a server before the case continues.
const PATIENCE: Duration = Duration::from_secs(2);

/// Statuses by which a proxy refuses a request or a response.
const REFUSALS: [u16; 18] = [
    400, 405, 408, 411, 413, 414, 415, 417, 421, 426, 431, 500, 501, 502, 503, 504, 505, 508,
];

/// Result of a case with one server.
#[derive(Debug)]
struct CaseCounts {
    /// Number of requests that reached the upstream, valid or not.
    forwarded: usize,
    /// Number of responses that are not refusals.
    passed: usize,
    text: String,
}

/// A server of another project; killed when dropped.
struct Peer {
    place: Place,
    child: Child,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
#[ignore = "needs nginx and HAProxy: tests/peers/raw_http runs it"]
async fn our_proxy_is_never_laxer_than_both_peers() {
    let directory = tempfile::tempdir().unwrap();
    let cases = ours::all();
    let (ours, nginx, haproxy) = tokio::join!(
        ours(&cases),
        theirs(&cases, directory.path(), nginx),
        theirs(&cases, directory.path(), haproxy),
    );
    let mut laxer = Vec::new();
    let mut table = format!("{:66} {:24} {:24} HAProxy\n", "", "ours", "nginx");
    for (((case, ours), nginx), haproxy) in cases.iter().zip(&ours).zip(&nginx).zip(&haproxy) {
        let is_laxer = ours.forwarded > nginx.forwarded.max(haproxy.forwarded)
            || ours.passed > nginx.passed.max(haproxy.passed);
        let mark = if is_laxer { "!" } else { " " };
        if is_laxer {
            laxer.push(case.name.as_str());
        }
        let name: String = case.name.chars().take(64).collect();
        let _ = writeln!(
            table,
            "{mark} {name:64} {:24} {:24} {}",
            ours.text, nginx.text, haproxy.text
        );
    }
    table += "!: laxer than both; requests at the upstream stand behind the arrow\n";
    std::io::stdout().write_all(table.as_bytes()).unwrap();
    assert!(
        laxer.is_empty(),
        "our proxy forwards requests that both peers refuse: {laxer:#?}"
    );
}

async fn ours(cases: &[Case]) -> Vec<CaseCounts> {
    let upstream = Upstream::start().await;
    let directory = tempfile::tempdir().unwrap();
    let url = format!("http://{}", upstream.addr);
    let server = Server::start(directory.path(), &["serve", "--upstream", &url]);
    verdicts(cases, &Place::Tcp(server.addr), &upstream).await
}

async fn theirs(
    cases: &[Case],
    directory: &Path,
    start: impl Fn(&Path, &str) -> Peer,
) -> Vec<CaseCounts> {
    let upstream = Upstream::start().await;
    let peer = start(directory, &upstream.addr.to_string());
    let Place::Unix(socket) = &peer.place else {
        unreachable!()
    };
    eventually_async("the peer listens", async || {
        UnixStream::connect(socket).await.is_ok()
    })
    .await;
    verdicts(cases, &peer.place, &upstream).await
}

async fn verdicts(cases: &[Case], place: &Place, upstream: &Upstream) -> Vec<CaseCounts> {
    let mut verdicts = Vec::new();
    for case in cases {
        let observed = play::observe(place, upstream, case, PATIENCE).await;
        verdicts.push(verdict(&observed));
    }
    verdicts
}

fn verdict(observed: &Observed) -> CaseCounts {
    let responses = observed.responses();
    let statuses: Vec<_> = responses
        .iter()
        .take(3)
        .map(|response| {
            format!(
                "{}{}",
                response.status,
                if response.is_cut { "-cut" } else { "" }
            )
        })
        .collect();
    let wrong = observed.seen.malformed.len();
    let forwarded = observed.requests().len() + wrong;
    let mut text = format!(
        "{} -> {forwarded}",
        if statuses.is_empty() {
            "-".to_owned()
        } else {
            statuses.join(" ")
        }
    );
    if wrong > 0 {
        text += " malformed";
    }
    if observed.received.malformed.is_some() {
        text += " bad answer";
    }
    let passed = responses
        .iter()
        .filter(|response| !response.is_cut && !REFUSALS.contains(&response.status))
        .count();
    CaseCounts {
        forwarded,
        // Invalid messages, in either direction, were forwarded all the same.
        passed: passed + wrong + usize::from(observed.received.malformed.is_some()),
        text,
    }
}

fn nginx(directory: &Path, upstream: &str) -> Peer {
    let socket = directory.join("nginx.sock");
    let (at, config) = (directory.display(), directory.join("nginx.conf"));
    let text = format!(
        "daemon off;\nmaster_process off;\nerror_log {at}/nginx.log;\npid {at}/nginx.pid;\n\
         events {{ worker_connections 512; }}\n\
         http {{\n access_log off;\n client_body_temp_path {at}/body;\n proxy_temp_path {at}/proxy;\n\
         fastcgi_temp_path {at}/fastcgi;\n uwsgi_temp_path {at}/uwsgi;\n scgi_temp_path {at}/scgi;\n\
         map $http_upgrade $to_switch {{ default upgrade; '' ''; }}\n\
         upstream cases {{ server {upstream} max_fails=0; keepalive 8; }}\n\
         server {{\n listen unix:{};\n location / {{\n proxy_pass http://cases;\n proxy_http_version 1.1;\n\
         proxy_set_header Host $http_host;\n proxy_set_header Upgrade $http_upgrade;\n\
         proxy_set_header Connection $to_switch;\n }}\n }}\n}}\n",
        socket.display()
    );
    fs::write(&config, text).unwrap();
    start(
        "nginx",
        &["-p".as_ref(), directory, "-c".as_ref(), &config],
        socket,
    )
}

fn haproxy(directory: &Path, upstream: &str) -> Peer {
    let socket = directory.join("haproxy.sock");
    let config = directory.join("haproxy.cfg");
    let text = format!(
        "global\n maxconn 500\ndefaults\n mode http\n timeout connect 5s\n timeout client 10s\n timeout server 10s\n\
         frontend clients\n bind unix@{}\n default_backend cases\nbackend cases\n server one {upstream}\n",
        socket.display()
    );
    fs::write(&config, text).unwrap();
    start("haproxy", &["-db".as_ref(), "-f".as_ref(), &config], socket)
}

/// Starts a peer; Debian installs its program outside of some `PATH`s.
fn start(name: &str, arguments: &[&Path], socket: std::path::PathBuf) -> Peer {
    let path = format!("/usr/sbin/{name}");
    let program = if Path::new(&path).exists() {
        path.as_str()
    } else {
        name
    };
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {name}: {error}; install it first"));
    Peer {
        place: Place::Unix(socket),
        child,
    }
}
