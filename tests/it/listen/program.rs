//! The program's listeners: settings, several listeners, the service manager.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::net::{UnixDatagram, UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::support::program::{DEADLINE, command, run};

use super::tls::{connect, write};

/// Serves the demonstration with a configuration without a site.
const DEMONSTRATION: [&str; 4] = ["--config", "robot-detection.toml", "serve", "--demo"];

/// A running program; killed when dropped.
pub(super) struct Program {
    child: Child,
    /// Lines that the program has printed.
    said: Vec<String>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts a command; returns the URLs that it prints.
    pub(super) fn start(command: &mut Command, urls: usize) -> (Self, Vec<String>) {
        let mut program = Self {
            child: command.stdout(Stdio::piped()).spawn().unwrap(),
            said: Vec::new(),
        };
        let mut lines = BufReader::new(program.child.stdout.take().unwrap()).lines();
        let mut found = Vec::new();
        while found.len() < urls {
            let line = lines.next().expect("no further output").unwrap();
            if let Some((_, url)) = line.split_once(" on ") {
                found.push(url.to_owned());
            }
            program.said.push(line);
        }
        (program, found)
    }

    /// Returns the address of health checks and metrics.
    pub(super) fn operation(&self) -> SocketAddr {
        let prefix = "health checks and metrics: ";
        addr(
            self.said
                .iter()
                .find_map(|line| line.strip_prefix(prefix))
                .unwrap(),
        )
    }

    fn terminate(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(super) fn configured(directory: &Path, text: &str) -> Command {
    let file = directory.join("robot-detection.toml");
    let common = "web_robots_db = ''\ndatabase.url = 'sqlite::memory:'\n";
    fs::write(file, format!("{common}{text}")).unwrap();
    let mut command = command(directory);
    let log = fs::File::create(directory.join("stderr.log")).unwrap();
    let arguments: &[&str] = if text.contains("upstream") {
        &["serve"]
    } else {
        &DEMONSTRATION
    };
    command.args(arguments).stdin(Stdio::null()).stderr(log);
    command
}

pub(super) fn addr(url: &str) -> SocketAddr {
    let (_, rest) = url.split_once("://").unwrap();
    rest.trim_end_matches('/').parse().unwrap()
}

fn get(mut stream: impl std::io::Read + std::io::Write) -> String {
    stream
        .write_all(b"GET /healthz-of-nobody HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn tcp(url: &str) -> TcpStream {
    let stream = TcpStream::connect(addr(url)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

#[tokio::test]
async fn several_listeners_serve_the_same_site() {
    let directory = directory();
    let files = write(directory.path(), "site", &["site.example"]);
    let mut command = configured(
        directory.path(),
        "[server]\nlisten = ['127.0.0.1:0', 'unix:site.sock']\ntrusted_proxies = ['127.0.0.1']\nworkers = 2\n\
         [[listener]]\nlisten = '127.0.0.1:0'\ntls = true\n\
         [[listener]]\nlisten = '127.0.0.1:0'\nproxy_protocol = true\n\
         [[certificate]]\ncertificate_file = 'site.pem'\nkey_file = 'site.key'\n",
    );
    let (mut program, urls) = Program::start(&mut command, 4);
    let [plain, unix, https, proxied] = &urls[..] else {
        panic!("{urls:?}")
    };
    assert!(get(tcp(plain)).starts_with("HTTP/1.1 404"));
    assert_eq!(unix, "unix:site.sock");
    let path = directory.path().join("site.sock");
    assert!(get(UnixStream::connect(&path).unwrap()).starts_with("HTTP/1.1 404"));
    assert!(https.starts_with("https://"), "{https}");
    let stream = tokio::net::TcpStream::connect(addr(https)).await.unwrap();
    let stream = connect(stream, &[&files], "site.example", &[])
        .await
        .unwrap();
    assert!(
        super::ask(stream, super::GET)
            .await
            .starts_with("HTTP/1.1 200")
    );
    let mut stream = tcp(proxied);
    stream
        .write_all(b"PROXY TCP4 192.0.2.1 10.0.0.1 1 2\r\n")
        .unwrap();
    assert!(get(stream).starts_with("HTTP/1.1 404"));
    program.terminate();
    assert!(!path.exists());
}

#[test]
fn the_admin_pages_reachable_url_is_printed() {
    for (settings, urls, expected) in [
        (
            "server.listen = '127.0.0.1:0'\nadmin.listen = 'unix:admin.sock'",
            1,
            "/robot-detection/admin/ at unix:admin.sock",
        ),
        (
            "server.listen = 'unix:site.sock'",
            1,
            "/robot-detection/admin/ at unix:site.sock",
        ),
        (
            "server.listen = ['unix:site.sock', '127.0.0.1:0']",
            2,
            "http://127.0.0.1:",
        ),
    ] {
        let directory = directory();
        let mut command = configured(directory.path(), settings);
        let (program, _) = Program::start(&mut command, urls);
        let mut said = program.said.iter();
        let page = said.find_map(|line| line.strip_prefix("admin page: "));
        assert!(
            page.is_some_and(|page| page.starts_with(expected)),
            "{page:?}"
        );
        assert!(page.is_some_and(|page| !page.contains(":0/")), "{page:?}");
    }
}

#[test]
fn flags_accept_several_addresses_too() {
    let directory = directory();
    let mut command = configured(directory.path(), "");
    let (_program, urls) =
        Program::start(command.args(["--listen", "127.0.0.1:0, unix:site.sock"]), 2);
    assert!(get(tcp(&urls[0])).starts_with("HTTP/1.1 404"));
    assert_eq!(urls[1], "unix:site.sock");
}

#[test]
fn invalid_listeners_are_reported_with_their_place() {
    let directory = directory();
    write(directory.path(), "site", &["site.example"]);
    write(directory.path(), "other", &["other.example"]);
    for (text, expected) in [
        (
            "[[listener]]\ntls = true",
            "robot-detection.toml:3: a [[listener]] needs an address",
        ),
        (
            "[[listener]]\nlisten = 'x'",
            "robot-detection.toml:4: listener.listen: \"x\" is not an address",
        ),
        (
            "[[listener]]\nlisten = '[::1]:0'\ntls = true",
            "robot-detection.toml:5: listener.tls: a listener with TLS needs a [[certificate]]",
        ),
        (
            "[[listener]]\nlisten = '[::1]:0'\nproxy_protocol = true",
            "robot-detection.toml:5: listener.proxy_protocol: no proxy is trusted to send PROXY headers",
        ),
        (
            "[[certificate]]\ncertificate_file = 'x'",
            "robot-detection.toml:3: a [[certificate]] needs a certificate_file and a key_file",
        ),
        (
            "[[certificate]]\ncertificate_file = 'site.pem'\nkey_file = 'site.key'",
            "robot-detection.toml:3: certificate: no [[listener]] has tls = true",
        ),
        (
            "[[listener]]\nlisten = '[::1]:0'\ntls = true\n[[certificate]]\ncertificate_file = 'site.pem'\nkey_file = 'site.key'\n[[certificate]]\ncertificate_file = 'site.pem'\nkey_file = 'other.key'",
            "robot-detection.toml:9: certificate: other.key: the key does not match the certificate site.pem",
        ),
        (
            "[server]\nlisten = ''",
            "robot-detection.toml:4: server.listen: the list contains no address",
        ),
        (
            "[server]\nunix_socket_mode = '999'",
            "robot-detection.toml:4: server.unix_socket_mode: \"999\" is not a file mode",
        ),
        (
            "[server]\ntrusted_proxies = ['unix']",
            "robot-detection.toml:4: server.trusted_proxies: trusted proxy \"unix\" is neither",
        ),
    ] {
        configured(directory.path(), text);
        let output = run(directory.path(), &["serve"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}: {told}");
        assert!(told.contains(expected), "{text}: {told}");
    }
}

#[test]
fn the_state_is_reported_to_the_service_manager() {
    let directory = directory();
    let states = UnixDatagram::bind(directory.path().join("notify")).unwrap();
    states.set_read_timeout(Some(DEADLINE)).unwrap();
    let state = || {
        let mut bytes = [0; 256];
        let len = states.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    };
    let mut command = configured(directory.path(), "[server]\nlisten = '127.0.0.1:0'");
    command.env("NOTIFY_SOCKET", directory.path().join("notify"));
    let (mut program, _) = Program::start(&mut command, 1);
    assert_eq!(state(), "READY=1\n");
    program.terminate();
    assert_eq!(state(), "STOPPING=1\n");
}
