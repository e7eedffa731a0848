//! A connection that sends arbitrary frames and reports their outcome.

use std::{fmt, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::raw::soon;

use super::frames::{
    ACK, DATA, END_STREAM, GOAWAY, HEADERS, PREFACE, RST_STREAM, SETTINGS, settings,
};

#[derive(Debug)]
pub(super) struct Wire {
    pub(super) stream: TcpStream,
}

/// A received frame.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

/// Outcome of a stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    /// A complete response with this status.
    Status(u16),
    /// The stream was reset with this code.
    Reset(u32),
    /// The connection ended with this code.
    GoAway(u32),
    /// The connection ended without a `GOAWAY`.
    Closed,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{status}"),
            Self::Reset(code) => write!(f, "reset {}", error_name(*code)),
            Self::GoAway(code) => write!(f, "goaway {}", error_name(*code)),
            Self::Closed => f.write_str("closed"),
        }
    }
}

fn error_name(code: u32) -> &'static str {
    match code {
        0 => "NO_ERROR",
        1 => "PROTOCOL_ERROR",
        3 => "FLOW_CONTROL_ERROR",
        5 => "STREAM_CLOSED",
        6 => "FRAME_SIZE_ERROR",
        7 => "REFUSED_STREAM",
        9 => "COMPRESSION_ERROR",
        11 => "ENHANCE_YOUR_CALM",
        _ => "another code",
    }
}

impl Wire {
    /// Connects, and asks the server for header blocks without a dynamic table.
    pub(super) async fn connect(addr: SocketAddr) -> Self {
        Self::with_settings(addr, &[(1, 0)]).await
    }

    pub(super) async fn with_settings(addr: SocketAddr, values: &[(u16, u32)]) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut wire = Self { stream };
        wire.send([PREFACE, &settings(values)].concat()).await;
        wire
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The server may have closed the connection; the received frames show the reason.
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Reads one frame; returns `None` at the end of the connection.
    pub(super) async fn next(&mut self) -> Option<Received> {
        soon(async {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).await.ok()?;
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; len as usize];
            self.stream.read_exact(&mut payload).await.ok()?;
            Some(Received {
                kind: head[3],
                flags: head[4],
                stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
                payload,
            })
        })
        .await
    }

    /// Reads until a number of responses have begun.
    pub(super) async fn until_responses(&mut self, mut count: usize) {
        while count > 0 {
            let received = self.next().await.expect("a response");
            count -= usize::from(received.kind == HEADERS);
        }
    }

    /// Reads until the stream or the connection has ended; acknowledges `SETTINGS`.
    pub(super) async fn outcome(&mut self, stream: u32) -> Outcome {
        let mut status = None;
        while let Some(received) = self.next().await {
            match received.kind {
                SETTINGS if received.flags & ACK == 0 => {
                    self.send(super::frames::frame(SETTINGS, ACK, 0, "")).await;
                }
                GOAWAY => {
                    let code = received.payload[4..8].try_into().unwrap();
                    return Outcome::GoAway(u32::from_be_bytes(code));
                }
                RST_STREAM if received.stream == stream => {
                    let code = received.payload[..4].try_into().unwrap();
                    // After a complete response the server no longer needs the rest of the request.
                    return Outcome::Reset(u32::from_be_bytes(code));
                }
                HEADERS if received.stream == stream && status.is_none() => {
                    status = Some(read_status(&received.payload));
                }
                _ => {}
            }
            let ends = received.flags & END_STREAM != 0 && received.stream == stream;
            if let Some(status) = status.filter(|_| ends && matches!(received.kind, HEADERS | DATA))
            {
                return Outcome::Status(status);
            }
        }
        Outcome::Closed
    }
}

/// Reads the status at the start of a block (RFC 7541 §6, appendices A and B).
fn read_status(block: &[u8]) -> u16 {
    let block = match block {
        // Skip an update of the table's size.
        [0x20..=0x3f, rest @ ..] => rest,
        block => block,
    };
    match *block {
        [indexed @ 0x88..=0x8e, ..] => {
            [200, 204, 206, 304, 400, 404, 500][usize::from(indexed - 0x88)]
        }
        [0x08 | 0x18 | 0x48, 3, a, b, c, ..] => {
            let text = [a, b, c];
            std::str::from_utf8(&text).unwrap().parse().unwrap()
        }
        [0x08 | 0x18 | 0x48, coded, ref rest @ ..] => {
            huffman_digits(&rest[..usize::from(coded & 0x7f)])
        }
        _ => panic!("no status: {block:x?}"),
    }
}

fn huffman_digits(bytes: &[u8]) -> u16 {
    let bits: Vec<u16> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| u16::from(byte >> at & 1)))
        .collect();
    let (mut at, mut number) = (0, 0);
    for _ in 0..3 {
        let value = |len: usize| bits[at..at + len].iter().fold(0, |all, bit| all * 2 + bit);
        let short = value(5);
        let digit = if short < 3 {
            at += 5;
            short
        } else {
            let long = value(6);
            at += 6;
            long - 0x19 + 3
        };
        number = number * 10 + digit;
    }
    number
}
