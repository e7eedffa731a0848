//! A browser process.

use std::{
    io,
    net::SocketAddr,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener,
        unix::pipe::{Receiver, Sender},
    },
    task::JoinSet,
};

use super::{RenderError, obstacle};

/// Shell command that connects the two pipes to the file descriptors Chromium uses for `DevTools`.
const PRELUDE: &str = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null";

/// Maximum number of bytes of the browser's output that are kept for error messages.
const MAX_SAID: usize = 8 * 1024;

/// Command-line arguments that disable network access and features that pages do not need.
const ARGUMENTS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-client-side-phishing-detection",
    "--disable-domain-reliability",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-notifications",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    // Otherwise, timers in all tabs except one would run only once per second.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-features=BackForwardCache,Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,\
     DialMediaRouteProvider,SpareRendererForSitePerProcess,WebRtcHideLocalIpsWithMdns",
    "--deny-permission-prompts",
    "--mute-audio",
    "--password-store=basic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--blink-settings=imagesEnabled=false",
    "--renderer-process-limit=4",
    "--js-flags=--max-old-space-size=128",
    // Otherwise, loopback addresses would bypass the proxy.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/// A browser process, which is killed on drop; its directory is then deleted.
// The order of the fields matters: the directory must be deleted after the process has ended.
//
// This uses the process type of the standard library: with Tokio's, each idle server thread would
// check for orphans, which costs 116 instructions per request.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    listening: JoinSet<()>,
    _wall: BlockingProxy,
    _directory: tempfile::TempDir,
}

impl Process {
    /// Starts a browser, and returns the process and the pipes for commands and responses.
    pub(super) async fn start(program: &Path) -> Result<(Self, Sender, Receiver), RenderError> {
        if let Some(reason) = obstacle(program) {
            return Err(RenderError::refused(reason));
        }
        let program = obstacle::find(program).unwrap_or_default();
        let cannot = |error| RenderError::refused(format!("cannot start the browser: {error}"));
        let directory = tempfile::Builder::new()
            .prefix("robot-detection-browser-")
            .tempdir()
            .map_err(cannot)?;
        let wall = BlockingProxy::build().await.map_err(cannot)?;
        let child = command(&program, directory.path(), &wall)
            .spawn()
            .map_err(cannot)?;
        let mut process = Self {
            child,
            said: Arc::default(),
            listening: JoinSet::new(),
            _wall: wall,
            _directory: directory,
        };
        let (sender, receiver) = process.pipes().map_err(cannot)?;
        Ok((process, sender, receiver))
    }

    /// Returns the pipes, and starts to read the error output.
    fn pipes(&mut self) -> io::Result<(Sender, Receiver)> {
        let child = &mut self.child;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let stderr = Receiver::from_owned_fd(OwnedFd::from(stderr))?;
        self.listening.spawn(listen(stderr, Arc::clone(&self.said)));
        Ok((
            Sender::from_owned_fd(OwnedFd::from(stdin))?,
            Receiver::from_owned_fd(OwnedFd::from(stdout))?,
        ))
    }

    /// Returns the process id, which is not reused before the process is dropped.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns a human-readable reason why the browser exited.
    pub(super) fn exit_reason(&self) -> String {
        let said = self.said.lock();
        let said = String::from_utf8_lossy(&said);
        if said.contains("No usable sandbox") || said.contains("without --no-sandbox") {
            return "Chromium cannot use its sandbox: run robot-detection as a separate user, and \
                    allow user namespaces (in a container: in its seccomp profile), or install \
                    chromium-sandbox"
                .to_owned();
        }
        let fatal = said.lines().rev().find(|line| line.contains("FATAL"));
        let last = fatal.or_else(|| said.lines().last()).unwrap_or("no output");
        last.chars()
            .take(200)
            .collect::<String>()
            .escape_debug()
            .to_string()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        {
            let group = rustix::process::Pid::from_child(&self.child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        // The process writes nothing after it has been killed, but must be reaped.
        for _ in 0..50 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

fn command(program: &Path, directory: &Path, wall: &BlockingProxy) -> Command {
    let mut command = Command::new("/bin/sh");
    // The program is passed as an argument, not as part of the script.
    command
        .args(["-c", PRELUDE, "sh"])
        .arg(program)
        .args(ARGUMENTS);
    let mut own = std::ffi::OsString::from("--user-data-dir=");
    own.push(directory);
    command
        .arg(own)
        .arg(format!("--proxy-server=http://{}", wall.address));
    command.arg("about:blank");
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8");
    for name in [
        "HOME",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_RUNTIME_DIR",
    ] {
        command.env(name, directory);
    }
    command
        .current_dir(directory)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Stores the end of the browser's error output.
async fn listen(mut stderr: Receiver, said: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 1024];
    while let Ok(length) = stderr.read(&mut piece).await
        && length > 0
    {
        let mut said = said.lock();
        said.extend_from_slice(piece.get(..length).unwrap_or_default());
        let over = said.len().saturating_sub(MAX_SAID);
        said.drain(..over);
    }
}

/// Maximum number of connections answered in parallel; further connections wait.
const MAX_AT_ONCE: usize = 16;

/// Response that the proxy sends to all requests.
const REFUSED: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A local proxy that refuses every request; it is stopped on drop.
#[derive(Debug)]
pub(super) struct BlockingProxy {
    pub(super) address: SocketAddr,
    _serving: JoinSet<()>,
}

impl BlockingProxy {
    pub(super) async fn build() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let mut serving = JoinSet::new();
        serving.spawn(refuse_all(listener));
        Ok(Self {
            address,
            _serving: serving,
        })
    }
}

async fn refuse_all(listener: TcpListener) {
    let mut refused = JoinSet::new();
    loop {
        while refused.try_join_next().is_some() {}
        if refused.len() >= MAX_AT_ONCE {
            let _ = refused.join_next().await;
        }
        // If this proxy gets no connection, neither does the browser.
        let Ok((mut connection, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        refused.spawn(async move {
            let _ = connection.write_all(REFUSED).await;
            let _ = connection.shutdown().await;
        });
    }
}
