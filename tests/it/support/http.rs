//! Web server on loopback with scripted, also faulty, responses.
//!
//! The server uses plain HTTP/1.1 on its own threads, with one request for each connection, so that
//! a test controls every byte sent.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Request as the server received it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    head: String,
}

/// The server's reaction to a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Status line, headers, and the body with its length.
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// These bytes, then the end of the connection.
    Raw(Vec<u8>),
    /// These bytes one by one, with a pause after each.
    Drip(Vec<u8>, Duration),
    /// Nothing, until the client or the test ends.
    Hang,
    /// Reset of the TCP connection.
    Reset,
}

type Script = Arc<dyn Fn(&ReceivedRequest) -> Reply + Send + Sync>;

/// Test server; stops when dropped.
pub(crate) struct TestServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Mutex<Script>,
    seen: Mutex<Vec<ReceivedRequest>>,
    stopped: AtomicBool,
}

impl Reply {
    pub(crate) fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::typed("text/plain", body)
    }

    pub(crate) fn typed(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Answer {
            status: 200,
            headers: vec![("Content-Type", content_type.to_owned())],
            body: body.into(),
        }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn redirect(location: impl Into<String>) -> Self {
        Self::status(302).with("Location", location)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }
}

impl ReceivedRequest {
    /// Returns the value of a header, ignoring the case of its name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl TestServer {
    /// Starts a server with the same reply to every request.
    pub(crate) fn new(reply: Reply) -> Self {
        Self::with(move |_| reply.clone())
    }

    /// Starts a server with a reply chosen by the request.
    pub(crate) fn with(script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("failed to bind a loopback port");
        let address = listener
            .local_addr()
            .expect("failed to read the bound address");
        let shared = Arc::new(Shared {
            script: Mutex::new(Arc::new(script)),
            seen: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &for_thread));
        Self { address, shared }
    }

    /// Sets the reply to all later requests.
    pub(crate) fn set(&self, reply: Reply) {
        self.answer(move |_| reply.clone());
    }

    /// Sets a function that chooses the reply to later requests.
    pub(crate) fn answer(
        &self,
        script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) {
        *lock(&self.shared.script) = Arc::new(script);
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests so far.
    pub(crate) fn seen(&self) -> Vec<ReceivedRequest> {
        lock(&self.shared.seen).clone()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A disconnecting client ends only its own thread.
            let _ = serve(stream, &shared);
        });
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    let Some(seen) = read_head(&mut stream, shared) else {
        return Ok(());
    };
    let script = Arc::clone(&lock(&shared.script));
    let reply = script(&seen);
    lock(&shared.seen).push(seen);
    match reply {
        Reply::Answer {
            status,
            headers,
            body,
        } => stream.write_all(&answer(status, &headers, &body)),
        Reply::Raw(bytes) => stream.write_all(&bytes),
        Reply::Drip(bytes, pause) => {
            stream.set_read_timeout(Some(pause))?;
            for byte in bytes {
                stream.write_all(&[byte])?;
                // At most the end of the connection follows the last byte of the head.
                if matches!(stream.read(&mut [0; 2]), Ok(0)) {
                    return Ok(());
                }
            }
            Ok(())
        }
        Reply::Hang => {
            wait_for_the_end(&mut stream, shared);
            Ok(())
        }
        // Unread bytes make the kernel send a reset, so `read_head` leaves the last byte of the
        // head unread.
        Reply::Reset => return Ok(()),
    }?;
    drain(&mut stream)
}

/// Reads up to the last byte of the head, which stays unread.
fn read_head(stream: &mut TcpStream, shared: &Shared) -> Option<ReceivedRequest> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r") {
        match stream.read(&mut byte) {
            Ok(0) => return None,
            Ok(_) => head.push(byte[0]),
            Err(_) if shared.stopped.load(Ordering::SeqCst) => return None,
            Err(_) => {}
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Some(ReceivedRequest { path, head })
}

fn wait_for_the_end(stream: &mut TcpStream, shared: &Shared) {
    let mut bytes = [0; 64];
    while !shared.stopped.load(Ordering::SeqCst) {
        if matches!(stream.read(&mut bytes), Ok(0)) {
            return;
        }
    }
}

/// Closes the connection gracefully, without a reset.
fn drain(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 64];
    stream.shutdown(std::net::Shutdown::Write)?;
    while matches!(stream.read(&mut bytes), Ok(count) if count > 0) {}
    Ok(())
}

fn answer(status: u16, headers: &[(&str, String)], body: &[u8]) -> Vec<u8> {
    let mut lines = vec![format!("HTTP/1.1 {status} Test")];
    lines.push("Connection: close".to_owned());
    lines.extend(
        headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    if status != 304 {
        lines.push(format!("Content-Length: {}", body.len()));
    }
    let head = lines.join("\r\n") + "\r\n\r\n";
    [head.as_bytes(), body].concat()
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
