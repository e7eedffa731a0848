//! Upstream that records requests, and responds as the case specifies.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};
use tokio_util::task::TaskTracker;

use super::{
    case::{Answer, Case},
    strict::{self, Read, Request},
};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const OK_TO_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
/// Target of the probe request after each case; its response is unique.
pub(super) const PROBE_TARGET: &[u8] = b"/probe";
pub(super) const PROBE_ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nX-Probe: yes\r\nContent-Length: 5\r\n\r\nprobe";

/// A request of the program itself, which may arrive at any time.
const OWN_TARGET: &[u8] = b"/robots.txt";

/// A running upstream.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// Bytes and requests received since the case began.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceivedRequest {
    /// Complete requests, including the probe.
    pub(super) requests: Vec<Request>,
    /// Malformed bytes with the reason.
    pub(super) malformed: Vec<String>,
    /// Truncated requests.
    pub(super) cut: Vec<Vec<u8>>,
    /// Bytes after a 101.
    pub(super) tunnel: Vec<u8>,
    /// Bytes of incomplete requests on each open connection.
    partial: BTreeMap<usize, Vec<u8>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    answers: Vec<Answer>,
    early: bool,
    /// Number of the current case; messages of older cases are not recorded.
    case: usize,
    answered: usize,
    connections: usize,
    seen: ReceivedRequest,
}

impl Upstream {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let accepted = Arc::clone(&shared);
        let tasks = TaskTracker::new();
        let accepting = tasks.clone().spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tasks.spawn(serve(stream, Arc::clone(&accepted)));
            }
        });
        Self {
            addr,
            shared,
            accepting,
        }
    }

    /// Clears the records, and responds as the case specifies.
    pub(super) fn play(&self, case: &Case) {
        let mut state = self.shared.lock();
        state.answers.clone_from(&case.answers);
        state.early = case.early;
        state.case += 1;
        state.answered = 0;
        state.seen = ReceivedRequest::default();
    }

    /// Returns the records, once no request is incomplete.
    pub(super) async fn settled(&self) -> ReceivedRequest {
        loop {
            let changed = self.shared.changed.notified();
            let seen = self.seen();
            if seen.partial.values().all(Vec::is_empty) {
                return seen;
            }
            changed.await;
        }
    }

    /// Returns the records; incomplete requests count as truncated.
    pub(super) fn seen(&self) -> ReceivedRequest {
        let mut seen = self.shared.lock().seen.clone();
        let partial = seen.partial.values().filter(|bytes| !bytes.is_empty());
        seen.cut.extend(partial.cloned().collect::<Vec<_>>());
        seen
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn case(&self) -> usize {
        self.lock().case
    }

    /// Changes the records if the case is still current.
    fn see(&self, case: usize, change: impl FnOnce(&mut ReceivedRequest)) {
        let mut state = self.lock();
        if state.case == case {
            change(&mut state.seen);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    fn answer(&self, request: &Request) -> Answer {
        let mut state = self.lock();
        let is_probe = request.target == PROBE_TARGET;
        let usual = match request.method.as_str() {
            _ if is_probe => PROBE_ANSWER,
            "HEAD" => OK_TO_HEAD,
            _ => OK,
        };
        let mut answer = Answer {
            bytes: usual.to_vec(),
            closes: false,
        };
        if !is_probe && request.target != OWN_TARGET {
            let number = state.answered.min(state.answers.len().saturating_sub(1));
            state.answered += 1;
            if let Some(special) = state.answers.get(number) {
                answer = special.clone();
            }
        }
        answer
    }
}

/// One connection from the proxy.
struct Connection {
    stream: TcpStream,
    shared: Arc<Shared>,
    id: usize,
    /// Number of the case in which the current message began.
    case: usize,
    buffer: Vec<u8>,
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let id = {
        let mut state = shared.lock();
        state.connections += 1;
        state.connections
    };
    let mut connection = Connection {
        stream,
        case: shared.case(),
        shared,
        id,
        buffer: Vec::new(),
    };
    connection.talk().await;
    let Connection {
        shared,
        case,
        buffer,
        ..
    } = connection;
    shared.see(case, |seen| {
        seen.partial.remove(&id);
        if !buffer.is_empty() {
            seen.cut.push(buffer);
        }
    });
}

impl Connection {
    /// Responds to requests until either side closes.
    async fn talk(&mut self) {
        loop {
            let early = self.shared.lock().early;
            match strict::request(&self.buffer, early) {
                Read::Whole(request, len) => {
                    self.buffer.drain(..len);
                    let swallows = early && request.headers.has_framing();
                    if !self.answer(request, swallows).await {
                        return;
                    }
                    continue;
                }
                Read::Partial => {}
                Read::Malformed(reason) => {
                    let bytes = std::mem::take(&mut self.buffer);
                    let text = format!("{reason}: {:?}", String::from_utf8_lossy(&bytes));
                    return self.shared.see(self.case, |seen| seen.malformed.push(text));
                }
            }
            if self.buffer.is_empty() {
                if !self.fill().await {
                    return;
                }
                self.case = self.shared.case();
            } else if !self.fill().await {
                return;
            }
            let (id, bytes) = (self.id, self.buffer.clone());
            self.shared
                .see(self.case, |seen| drop(seen.partial.insert(id, bytes)));
        }
    }

    /// Responds to one request; returns whether another may follow.
    async fn answer(&mut self, request: Request, swallows: bool) -> bool {
        let answer = self.shared.answer(&request);
        let (id, rest) = (self.id, self.buffer.clone());
        self.shared.see(self.case, |seen| {
            if request.target != OWN_TARGET {
                seen.requests.push(request);
            }
            // An early response does not wait for the rest.
            let rest = if swallows { Vec::new() } else { rest };
            seen.partial.insert(id, rest);
        });
        if self.stream.write_all(&answer.bytes).await.is_err() {
            return false;
        }
        let switches = answer.bytes.starts_with(b"HTTP/1.1 101");
        if answer.closes {
            // Read the remaining bytes, so that no reset overtakes the response.
            let _ = self.stream.shutdown().await;
        }
        if answer.closes || switches || swallows {
            self.swallow(switches).await;
            return false;
        }
        true
    }

    /// Reads to the end; after a 101 the bytes are recorded.
    async fn swallow(&mut self, switched: bool) {
        loop {
            let bytes = std::mem::take(&mut self.buffer);
            if switched {
                self.shared.see(self.case, |seen| seen.tunnel.extend(bytes));
            }
            if !self.fill().await {
                return;
            }
        }
    }

    async fn fill(&mut self) -> bool {
        matches!(self.stream.read_buf(&mut self.buffer).await, Ok(len) if len > 0)
    }
}
