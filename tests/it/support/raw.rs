//! HTTP/1.1 byte by byte: a server that records requests, and a client that sends arbitrary bytes.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::task::TaskTracker;

/// Time limit of a response, which none exceeds unless something is wrong.
pub(crate) const LONG: Duration = Duration::from_mins(2);

/// Waits for the future; panics at the time limit.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    timeout(LONG, future).await.expect("timed out")
}

/// A server on a free port that passes each connection to a function.
#[derive(Debug)]
pub(crate) struct RawServer {
    pub(crate) addr: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

/// One connection of a [`RawServer`].
#[derive(Debug)]
pub(crate) struct RawConnection {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl RawServer {
    pub(crate) async fn start<F>(serve: impl Fn(RawConnection) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::with(TcpListener::bind("127.0.0.1:0").await.unwrap(), serve)
    }

    pub(crate) fn with<F>(
        listener: TcpListener,
        serve: impl Fn(RawConnection) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let addr = listener.local_addr().unwrap();
        let connections = Arc::<AtomicUsize>::default();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let (count, record) = (Arc::clone(&connections), Arc::clone(&requests));
        let tasks = TaskTracker::new();
        let accepting = tasks.clone().spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                tasks.spawn(serve(RawConnection {
                    stream,
                    buffer: Vec::new(),
                    requests: Arc::clone(&record),
                }));
            }
        });
        Self {
            addr,
            connections,
            requests,
            accepting,
        }
    }

    /// Starts a server that sends the same bytes to every request, and keeps connections open.
    pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |mut connection| {
            let answer = answer.clone();
            async move {
                while connection.request().await.is_some() {
                    connection.send(&answer).await;
                }
            }
        })
        .await
    }

    /// Returns the received requests, each as one text with head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn last_request(&self) -> String {
        self.requests().pop().expect("no request received")
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl RawConnection {
    /// Reads and records one request; returns `None` at the end of the connection.
    pub(crate) async fn request(&mut self) -> Option<String> {
        let request = read_message(&mut self.stream, &mut self.buffer).await?;
        self.requests.lock().unwrap().push(request.clone());
        Some(request)
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The other side may be gone; the test notices that there.
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Waits for the end of the connection.
    pub(crate) async fn closed(&mut self) {
        let mut rest = vec![0; 4096];
        while matches!(self.stream.read(&mut rest).await, Ok(len) if len > 0) {}
    }
}

/// A client's connection.
#[derive(Debug)]
pub(crate) struct RawClient {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

impl RawClient {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        Self {
            stream: TcpStream::connect(addr).await.unwrap(),
            buffer: Vec::new(),
        }
    }

    /// Wraps a connection that was made without a runtime.
    pub(crate) fn from_std(stream: std::net::TcpStream) -> Self {
        stream.set_nonblocking(true).unwrap();
        Self {
            stream: TcpStream::from_std(stream).unwrap(),
            buffer: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads one response with its body.
    pub(crate) async fn response(&mut self) -> String {
        soon(read_message(&mut self.stream, &mut self.buffer))
            .await
            .expect("a response")
    }

    /// Reads one response with its body; returns `None` if the connection ends before.
    pub(crate) async fn next_response(&mut self) -> Option<String> {
        soon(read_message(&mut self.stream, &mut self.buffer)).await
    }

    /// Reads one head, without a body.
    pub(crate) async fn head(&mut self) -> String {
        let head = soon(read_head(&mut self.stream, &mut self.buffer)).await;
        String::from_utf8(head.expect("a head")).unwrap()
    }

    /// Reads until the other side closes.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.buffer);
        // A reset counts as an end too.
        let _ = soon(self.stream.read_to_end(&mut rest)).await;
        rest
    }

    /// Reads until the text has arrived.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        soon(async {
            loop {
                let received = String::from_utf8_lossy(&self.buffer).into_owned();
                if received.contains(text) {
                    self.buffer.clear();
                    return received;
                }
                assert!(
                    fill(&mut self.stream, &mut self.buffer).await,
                    "closed before {text:?}: {received:?}"
                );
            }
        })
        .await
    }
}

/// Sends bytes on a new connection; returns one response.
pub(crate) async fn exchange(addr: SocketAddr, request: impl AsRef<[u8]>) -> String {
    let mut client = RawClient::connect(addr).await;
    client.send(request).await;
    client.response().await
}

pub(crate) fn status(response: &str) -> u16 {
    response
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_else(|| panic!("no status line: {response:?}"))
}

/// Returns all values of a header, ignoring the case of its name.
pub(crate) fn header(message: &str, name: &str) -> Vec<String> {
    let head = message.split("\r\n\r\n").next().unwrap();
    head.lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .filter(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}

pub(crate) fn body(message: &str) -> &str {
    message.split_once("\r\n\r\n").unwrap().1
}

async fn read_message(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<String> {
    let head = read_head(stream, buffer).await?;
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let is_chunked = text.contains("\r\ntransfer-encoding: chunked\r\n");
    let len = text
        .split("\r\ncontent-length: ")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next())
        .map_or(0, |len| len.parse().unwrap());
    let mut message = head;
    if is_chunked {
        // The whole body as sent, including the trailers.
        loop {
            let end = chunked_end(buffer);
            if let Some(end) = end {
                message.extend(buffer.drain(..end));
                break;
            }
            if !fill(stream, buffer).await {
                return None;
            }
        }
    } else {
        while buffer.len() < len {
            if !fill(stream, buffer).await {
                return None;
            }
        }
        message.extend(buffer.drain(..len));
    }
    Some(String::from_utf8_lossy(&message).into_owned())
}

fn chunked_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let line = bytes[at..].windows(2).position(|pair| pair == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..at + line]).unwrap();
        let size = usize::from_str_radix(size.split(';').next().unwrap().trim(), 16).unwrap();
        at += line + 2;
        if size == 0 {
            let rest = &bytes[at..];
            if rest.starts_with(b"\r\n") {
                return Some(at + 2);
            }
            let end = rest.windows(4).position(|four| four == b"\r\n\r\n")?;
            return Some(at + end + 4);
        }
        at += size + 2;
        if bytes.len() < at {
            return None;
        }
    }
}

async fn read_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            return Some(buffer.drain(..end + 4).collect());
        }
        if !fill(stream, buffer).await {
            return None;
        }
    }
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    let mut bytes = vec![0; 64 * 1024];
    match stream.read(&mut bytes).await {
        Ok(len) if len > 0 => {
            buffer.extend_from_slice(&bytes[..len]);
            true
        }
        _ => false,
    }
}
