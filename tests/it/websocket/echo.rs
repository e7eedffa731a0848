//! An echo server, frames for it, and the received bytes as text.

use std::{fmt::Write as _, net::SocketAddr};

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_tungstenite::tungstenite::{
    Error,
    protocol::{CloseFrame, frame::coding::CloseCode},
};
use tokio_util::task::TaskTracker;

use crate::support::{front::ProxyServer, raw::soon};

pub(super) const CONTINUATION: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;
/// The last frame of its message.
pub(super) const FIN: u8 = 0x80;

/// Any key, because a client's frames are masked (RFC 6455 §5.3).
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// Bytes of a client and their expected result.
#[derive(Debug)]
pub(super) struct Case {
    name: String,
    sent: Vec<u8>,
    /// Number of bytes in one write; `None` sends all at once.
    chop: Option<usize>,
    expected: Vec<String>,
}

impl Case {
    /// Returns a case with the expected frames, after which the client closes.
    pub(super) fn answered(
        name: impl Into<String>,
        frames: &[Vec<u8>],
        expected: &[impl AsRef<str>],
    ) -> Self {
        let mut case = Self::ended(name, frames, expected, "close 1000 eof");
        case.sent.extend(close(1000, b""));
        case
    }

    /// Returns a case for which the server closes the connection.
    pub(super) fn ended(
        name: impl Into<String>,
        frames: &[Vec<u8>],
        expected: &[impl AsRef<str>],
        end: &str,
    ) -> Self {
        let expected = expected.iter().map(AsRef::as_ref);
        Self {
            name: name.into(),
            sent: frames.concat(),
            chop: None,
            expected: expected.chain([end]).map(str::to_owned).collect(),
        }
    }

    /// Returns a case that violates the protocol immediately.
    pub(super) fn refused(name: impl Into<String>, frames: &[Vec<u8>]) -> Self {
        Self::ended(name, frames, &[""; 0], "close 1002 eof")
    }

    /// Sends a number of bytes in each write.
    pub(super) fn chopped(self, bytes: usize) -> Self {
        Self {
            chop: Some(bytes),
            ..self
        }
    }
}

pub(super) fn whole(opcode: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(FIN | opcode, payload)
}

/// Returns a frame that another frame of its message follows.
pub(super) fn part(opcode: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(opcode, payload)
}

pub(super) fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    close_of(&[&code.to_be_bytes(), reason].concat())
}

pub(super) fn close_of(payload: &[u8]) -> Vec<u8> {
    whole(CLOSE, payload)
}

/// Returns a masked frame with any first byte and the shortest length encoding.
pub(super) fn frame(first: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let len = payload.len();
    let mut frame = match (u8::try_from(len), u16::try_from(len)) {
        (Ok(len @ ..=125), _) => vec![first, 0x80 | len],
        (_, Ok(len)) => [&[first, 0xfe][..], &len.to_be_bytes()].concat(),
        _ => [&[first, 0xff][..], &(len as u64).to_be_bytes()].concat(),
    };
    frame.extend(MASK);
    frame.extend(masked(payload));
    frame
}

pub(super) fn masked(payload: &[u8]) -> impl Iterator<Item = u8> {
    payload
        .iter()
        .zip(MASK.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
}

/// Server that echoes every message.
#[derive(Debug)]
pub(super) struct Echo {
    addr: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Echo {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let tasks = TaskTracker::new();
        let accepting = tasks.clone().spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tasks.spawn(echo(stream));
            }
        });
        Self { addr, accepting }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Echoes messages, sends the reason for a close, and reads to the end to avoid a reset.
async fn echo(stream: TcpStream) {
    let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
    let error = loop {
        match socket.next().await {
            Some(Ok(message)) if message.is_text() || message.is_binary() => {
                if let Err(error) = socket.send(message).await {
                    break Some(error);
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => break Some(error),
            None => break None,
        }
    };
    let code = match error {
        Some(Error::Utf8(_)) => Some(CloseCode::Invalid),
        Some(Error::Capacity(_)) => Some(CloseCode::Size),
        Some(Error::Protocol(_)) => Some(CloseCode::Protocol),
        _ => None,
    };
    if let Some(code) = code {
        let reason = "".into();
        let _ = socket.close(Some(CloseFrame { code, reason })).await;
    }
    let mut stream = socket.into_inner();
    let _ = stream.shutdown().await;
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

/// Runs each case with and without the proxy: both must receive the same, expected bytes.
pub(super) async fn check(cases: Vec<Case>) {
    let echo = Echo::start().await;
    let front = ProxyServer::proxy(echo.addr).await;
    for case in &cases {
        let direct = soon(run(echo.addr, case)).await;
        let (name, expected) = (&case.name, case.expected.join(" "));
        assert_eq!(direct.shown(), expected, "without the proxy: {name}");
        let proxied = soon(run(front.addr, case)).await;
        assert_eq!(proxied.shown(), expected, "through the proxy: {name}");
        assert!(direct == proxied, "other bytes through the proxy: {name}");
    }
}

/// Bytes received after the switch, and the way the connection ended.
#[derive(Debug, Eq, PartialEq)]
struct Transcript {
    accept: String,
    bytes: Vec<u8>,
    end: &'static str,
}

pub(super) const HANDSHAKE: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

async fn run(addr: SocketAddr, case: &Case) -> Transcript {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream.write_all(HANDSHAKE.as_bytes()).await.unwrap();
    let accept = accepted(&mut stream).await;
    let (mut from, mut to) = stream.split();
    let mut bytes = Vec::new();
    let ((), ended) = tokio::join!(
        async {
            for piece in case.sent.chunks(case.chop.unwrap_or(usize::MAX)) {
                // The server may have closed already.
                if to.write_all(piece).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        },
        from.read_to_end(&mut bytes)
    );
    let end = if ended.is_ok() { "eof" } else { "reset" };
    Transcript { accept, bytes, end }
}

async fn accepted(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let accept = crate::support::raw::header(&head, "sec-websocket-accept");
    accept.concat()
}

impl Transcript {
    fn shown(&self) -> String {
        let mut shown = String::new();
        let mut rest = &self.bytes[..];
        while let Some((frame, after)) = split_frame(rest) {
            let _ = write!(shown, "{frame} ");
            rest = after;
        }
        if !rest.is_empty() {
            let _ = write!(shown, "{rest:?} ");
        }
        shown + self.end
    }
}

/// Returns the first frame as text, and the rest.
fn split_frame(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<2>()?;
    let (len, rest) = match head[1] {
        126 => {
            let (len, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes(*len)), rest)
        }
        127 => {
            let (len, rest) = rest.split_first_chunk()?;
            (usize::try_from(u64::from_be_bytes(*len)).ok()?, rest)
        }
        len => (usize::from(len), rest),
    };
    let (payload, rest) = rest.split_at_checked(len)?;
    let kind = match head[0] {
        0x81 => "text",
        0x82 => "binary",
        0x88 => return Some((shown_close(payload), rest)),
        0x8a => "pong",
        _ => return Some((format!("{:#04x}", head[0]), rest)),
    };
    Some((shown(kind, payload), rest))
}

/// Returns a frame in the notation of [`Case`]: short ones with their content.
pub(super) fn shown(kind: &str, payload: &[u8]) -> String {
    if payload.len() > 64 {
        format!("{kind}[{}]", payload.len())
    } else {
        format!("{kind}:{}", payload.escape_ascii())
    }
}

fn shown_close(payload: &[u8]) -> String {
    match payload.split_first_chunk() {
        Some((code, _)) => format!("close {}", u16::from_be_bytes(*code)),
        None => "close".to_owned(),
    }
}
