//! Upstream that records what it gets, and answers what the case says.

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
/// Target of the request that follows a case, and the answer that is for it only.
pub(super) const PROBE_TARGET: &[u8] = b"/probe";
pub(super) const PROBE_ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nX-Probe: yes\r\nContent-Length: 5\r\n\r\nprobe";

/// Request of the program's own, which comes when it likes.
const OWN_TARGET: &[u8] = b"/robots.txt";

/// A running upstream.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What has come since the case began.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Whole requests, the probe too.
    pub(super) requests: Vec<Request>,
    /// Why bytes are no request, with the bytes.
    pub(super) malformed: Vec<String>,
    /// Requests that broke off.
    pub(super) cut: Vec<Vec<u8>>,
    /// Bytes after a 101.
    pub(super) tunnel: Vec<u8>,
    /// Bytes on each open connection that are no whole request yet.
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
    /// Cases that have begun: what belongs to an older one is not recorded.
    case: usize,
    answered: usize,
    connections: usize,
    seen: Seen,
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

    /// Forgets what has come, and answers from now on as the case says.
    pub(super) fn play(&self, case: &Case) {
        let mut state = self.shared.lock();
        state.answers.clone_from(&case.answers);
        state.early = case.early;
        state.case += 1;
        state.answered = 0;
        state.seen = Seen::default();
    }

    /// Returns what has come, once no request is half there.
    pub(super) async fn settled(&self) -> Seen {
        loop {
            let changed = self.shared.changed.notified();
            let seen = self.seen();
            if seen.partial.values().all(Vec::is_empty) {
                return seen;
            }
            changed.await;
        }
    }

    /// Returns what has come; what is half there is cut.
    pub(super) fn seen(&self) -> Seen {
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

    /// Changes what is seen of a case, if it is still that one.
    fn see(&self, case: usize, change: impl FnOnce(&mut Seen)) {
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

/// One connection of the proxy's.
struct Connection {
    stream: TcpStream,
    shared: Arc<Shared>,
    id: usize,
    /// Case in which the message began that is being read.
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
    /// Answers requests until one of the sides has enough.
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

    /// Answers one request; returns whether there may be another.
    async fn answer(&mut self, request: Request, swallows: bool) -> bool {
        let answer = self.shared.answer(&request);
        let (id, rest) = (self.id, self.buffer.clone());
        self.shared.see(self.case, |seen| {
            if request.target != OWN_TARGET {
                seen.requests.push(request);
            }
            // What comes early is not waited for.
            let rest = if swallows { Vec::new() } else { rest };
            seen.partial.insert(id, rest);
        });
        if self.stream.write_all(&answer.bytes).await.is_err() {
            return false;
        }
        let switches = answer.bytes.starts_with(b"HTTP/1.1 101");
        if answer.closes {
            // What is still to come is read, lest a reset overtakes the answer.
            let _ = self.stream.shutdown().await;
        }
        if answer.closes || switches || swallows {
            self.swallow(switches).await;
            return false;
        }
        true
    }

    /// Reads to the end; after a 101 it is recorded.
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
