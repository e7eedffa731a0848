//! The program as a user runs it, and requests with exactly chosen bytes.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::Duration,
};

pub(crate) use super::eventually::eventually;

pub(crate) const GOOGLEBOT: &str =
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
pub(crate) const FIREFOX: &str =
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
pub(crate) const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 \
     (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

/// Time limit for any single step of a test.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// Variable that disables the fast path, for the program and for tests that serve themselves.
pub(crate) const FAST_PATH: &str = "ROBOT_DETECTION_SERVER_FAST_PATH";

/// Variable that sets the listener of health checks and metrics.
pub(crate) const OPERATION: &str = "ROBOT_DETECTION_OPERATION_LISTEN";

/// Returns `true` unless the suites run without the fast path.
pub(crate) fn fast_path() -> bool {
    std::env::var_os(FAST_PATH).is_none_or(|value| value != "false")
}

/// Returns the program's command in a directory, isolated from the caller's settings.
pub(crate) fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_robot-detection"));
    command.current_dir(directory);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ROBOT_DETECTION_") {
            command.env_remove(name);
        }
    }
    if !fast_path() {
        command.env(FAST_PATH, "false");
    }
    // Prevents collisions with the servers of other tests.
    command.env(OPERATION, "127.0.0.1:0");
    command
}

/// Runs the program to its end.
pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Output {
    command(directory)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs the program in a terminal with these typed answers.
pub(crate) fn run_at_terminal(directory: &Path, arguments: &[&str], answers: &str) -> Output {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    // Closing the terminal would kill a test process that has it as controlling terminal.
    let terminal = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OpenptFlags::NOCTTY.bits().cast_signed())
        .open(name.to_str().unwrap());
    std::fs::File::from(ours.try_clone().unwrap())
        .write_all(answers.as_bytes())
        .unwrap();
    command(directory)
        .args(arguments)
        .stdin(terminal.unwrap())
        .output()
        .unwrap()
}

/// Runs the program, expects success, and returns its standard output.
pub(crate) fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the arguments that serve the demonstration if the test's configuration names no site.
fn demonstration(
    command: &Command,
    directory: &Path,
    arguments: &[&str],
) -> &'static [&'static str] {
    let file = std::fs::read_to_string(directory.join("robot-detection.toml"));
    let names_site = |text: String| {
        ["upstream", "[[site]]", "[check]"]
            .iter()
            .any(|word| text.contains(word))
    };
    let is_set = |name: &str| command.get_envs().any(|(set, _)| set == name);
    let is_named = arguments.iter().any(|argument| argument.starts_with("--"))
        || [
            "ROBOT_DETECTION_SERVER_UPSTREAM",
            "ROBOT_DETECTION_CHECK_LISTEN",
        ]
        .into_iter()
        .any(is_set);
    if arguments.first() != Some(&"serve") || is_named || file.map_or(true, names_site) {
        return &[];
    }
    &["--config", "robot-detection.toml", "serve", "--demo"]
}

/// Returns the administrator's password from the file written at the first start.
pub(crate) fn first_password(directory: &Path) -> Option<String> {
    let text = std::fs::read_to_string(directory.join("admin-password")).ok()?;
    Some(text.trim().to_owned())
}

/// A running `serve`; killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) addr: SocketAddr,
    pub(crate) admin: Option<SocketAddr>,
    /// Address of health checks and metrics.
    pub(crate) operation: Option<SocketAddr>,
    /// Address of the decision endpoint, unless it is a socket.
    pub(crate) check: Option<SocketAddr>,
    pub(crate) password: Option<String>,
}

impl Server {
    /// Starts `serve` on a free port and waits until it prints its address.
    pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Self {
        Self::start_as(command(directory), directory, arguments)
    }

    /// Starts the server with a command prepared by a test.
    pub(crate) fn start_as(mut command: Command, directory: &Path, arguments: &[&str]) -> Self {
        let shown = demonstration(&command, directory, arguments);
        let arguments = arguments
            .get(usize::from(!shown.is_empty())..)
            .unwrap_or_default();
        #[expect(
            clippy::zombie_processes,
            reason = "`Drop` waits for the process; a panic here ends the test anyway"
        )]
        let mut child = command
            .args(shown)
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(directory.join("stderr.log")).unwrap())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut admin = None;
        let (mut operation, mut check) = (None, None);
        loop {
            let mut line = String::new();
            let read = stdout.read_line(&mut line).unwrap();
            let log = || std::fs::read_to_string(directory.join("stderr.log")).unwrap_or_default();
            assert!(read > 0, "the server exited: {}", log());
            if let Some(url) = line.strip_prefix("admin page: http://") {
                admin = url.split('/').next().and_then(|addr| addr.parse().ok());
            }
            if let Some(url) = line.strip_prefix("health checks and metrics: http://") {
                operation = url.split('/').next().and_then(|addr| addr.parse().ok());
            }
            if let Some(addr) = line.strip_prefix("decision endpoint for other proxies: ") {
                check = addr.trim().parse().ok();
            }
            if let Some((_, url)) = line.split_once(" on http://") {
                // In a JSON log, a quote follows.
                let addr = url.trim().split(['/', '"']).next().unwrap_or_default();
                let addr = addr.parse().unwrap();
                let is_new = log().contains("initial administrator password is in");
                return Self {
                    child,
                    stdout,
                    addr,
                    admin,
                    operation,
                    check,
                    password: first_password(directory).filter(|_| is_new),
                };
            }
        }
    }

    /// Reloads the server's configuration, whatever the new one removes.
    pub(crate) fn reload(&self, directory: &Path) {
        let output = self.run(directory, &["reload", "--accept"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
    }

    /// Runs a command that talks to this server.
    pub(crate) fn run(&self, directory: &Path, arguments: &[&str]) -> Output {
        let mut command = command(directory);
        if let Some(addr) = self.operation {
            command.env(OPERATION, addr.to_string());
        }
        let command = command.args(arguments).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Requests a path on the listener for health checks and metrics.
    pub(crate) fn operation(&self, path: &str) -> Answer {
        request(self.operation.unwrap(), "GET", path, &[])
    }

    pub(crate) fn metrics(&self) -> String {
        self.operation("/metrics").text()
    }

    pub(crate) fn get(&self, path: &str, user_agent: &str) -> Answer {
        request(self.addr, "GET", path, &[("User-Agent", user_agent)])
    }

    /// Stops the server, and waits until it has exited.
    pub(crate) fn stop(&mut self) {
        let process = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &process]).status();
        assert!(asked.unwrap().success());
        self.child.wait().unwrap();
    }

    /// Waits for the next line on standard output.
    pub(crate) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Returns the id of the server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the current memory in KiB, and resets the peak.
    pub(crate) fn memory_kib(&self) -> u64 {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
        self.peak_memory_kib()
    }

    /// Returns the peak memory in KiB.
    pub(crate) fn peak_memory_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let peak = status.split_once("VmHWM:").unwrap().1;
        peak.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([format!("-{name}"), self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }

    /// Waits for the server to exit; returns whether it succeeded.
    pub(crate) fn wait(mut self) -> bool {
        let mut status = None;
        eventually("the server exits", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().success()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Response to a request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Returns the values of a header, joined by commas; empty if absent.
    pub(crate) fn header(&self, name: &str) -> String {
        self.headers
            .iter()
            .filter(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends a request on a new connection; the path is sent unchanged.
pub(crate) fn request(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        head.push_str("Host: example.org\r\n");
    }
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    if method == "POST" {
        head.push_str("Content-Length: 0\r\n");
    }
    head.push_str("\r\n");
    exchange(addr, head.as_bytes())
}

/// Sends a request to the JSON API of the admin pages with a token.
pub(crate) fn admin_json(
    addr: SocketAddr,
    token: &str,
    (method, path): (&str, &str),
    body: &str,
) -> Answer {
    let length = body.len();
    let request = format!(
        "{method} /robot-detection/admin/api/v1/{path} HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    exchange(addr, request.as_bytes())
}

/// Sends bytes on a new connection; returns the whole response.
pub(crate) fn exchange(addr: SocketAddr, bytes: &[u8]) -> Answer {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    exchange_on(stream, bytes)
}

/// Sends bytes on a connection; returns the whole response.
pub(crate) fn exchange_on(mut stream: impl Read + Write, bytes: &[u8]) -> Answer {
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or_else(|| panic!("no response head in {:?}", String::from_utf8_lossy(&answer)));
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    Answer {
        status,
        headers,
        body: answer[end + 4..].to_vec(),
    }
}
