//! Floods: the server's memory is bounded, and other clients are served meanwhile.

use std::io;

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::support::{program::Server, raw::RawServer};

use super::{
    frames::{
        ACK, CONTINUATION, DATA, END_STREAM, GET, HEADERS, PADDED, PING, POST, PREFACE, PRIORITY,
        SETTINGS, block, data, frame, get, headers, integer, post, reset, settings, window_update,
    },
    wire::Wire,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// Number of concurrent attacking connections.
const ATTACKERS: usize = 4;
/// Number of times each attacker sends, with other clients checked in between.
const WAVES: usize = 5;
const ROUNDS: u32 = 60;
/// Number of small frames in one round.
const BATCH: usize = 20;
/// Memory limit of an attack.
const LIMIT_KIB: u64 = 32 * 1024;

pub(super) const SMALL: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/small"),
    (":authority", "site.example"),
];

/// A server in a separate process, whose memory can be measured.
pub(super) struct Target {
    pub(super) server: Server,
    _upstream: RawServer,
    _directory: TempDir,
}

impl Target {
    pub(super) async fn start(upstream: RawServer) -> Self {
        let directory = TempDir::new().unwrap();
        let url = format!("http://{}", upstream.addr);
        let server = Server::start(
            directory.path(),
            &["--database", "sqlite::memory:", "serve", "--upstream", &url],
        );
        let target = Self {
            server,
            _upstream: upstream,
            _directory: directory,
        };
        for _ in 0..3 {
            target.is_served().await;
        }
        target
    }

    /// Asserts that another client gets its page.
    pub(super) async fn is_served(&self) {
        let mut wire = Wire::connect(self.server.addr).await;
        wire.send(headers(1, END_STREAM, &SMALL)).await;
        assert_eq!(wire.outcome(1).await.to_string(), "200");
    }

    pub(super) fn assert_bounded(&self, name: &str, before_kib: u64) {
        let grown = self.server.peak_memory_kib().saturating_sub(before_kib);
        assert!(grown < LIMIT_KIB, "{name}: memory grew by {grown} KiB");
    }
}

/// One connection that sends as much as possible without waiting.
struct Attacker {
    stream: TcpStream,
    /// Bytes that are not yet sent.
    pending: Vec<u8>,
    round: u32,
    is_cut: bool,
}

impl Attacker {
    async fn connect(target: &Target) -> Self {
        let stream = TcpStream::connect(target.server.addr).await.unwrap();
        Self {
            stream,
            pending: [PREFACE, &settings(&[])].concat(),
            round: 0,
            is_cut: false,
        }
    }

    /// Sends rounds until the server accepts no more for now.
    fn push(&mut self, rounds: u32, flood: &dyn Fn(u32) -> Vec<u8>) {
        for _ in 0..rounds {
            if self.pending.is_empty() {
                self.pending = flood(self.round);
                self.round += 1;
            }
            match self.stream.try_write(&self.pending) {
                Ok(len) => drop(self.pending.drain(..len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.is_cut = true;
                    return;
                }
            }
        }
    }

    /// Reads and discards received bytes.
    fn pull(&mut self) {
        let mut bytes = [0; 16 * 1024];
        loop {
            match self.stream.try_read(&mut bytes) {
                Ok(0) => {
                    self.is_cut = true;
                    return;
                }
                Ok(_) => {}
                Err(error) => {
                    self.is_cut |= error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }
}

/// Bytes and properties of one attack.
struct Flood {
    name: &'static str,
    /// Whether the client reads responses, so that the server can continue.
    reads: bool,
    /// Whether the server closes such connections.
    is_cut: bool,
    rounds: Box<dyn Fn(u32) -> Vec<u8>>,
}

fn flood(name: &'static str, rounds: impl Fn(u32) -> Vec<u8> + 'static) -> Flood {
    Flood {
        name,
        reads: true,
        is_cut: false,
        rounds: Box::new(rounds),
    }
}

fn repeated(name: &'static str, frames: &[u8]) -> Flood {
    let many = frames.repeat(BATCH);
    flood(name, move |_| many.clone())
}

impl Flood {
    fn unread(self) -> Self {
        let reads = false;
        Self { reads, ..self }
    }

    fn cut(self) -> Self {
        let is_cut = true;
        Self { is_cut, ..self }
    }

    /// Attacks over many connections, with other clients served between the waves.
    async fn run(&self, target: &Target) {
        let before_kib = target.server.memory_kib();
        let mut attackers = Vec::new();
        for _ in 0..ATTACKERS {
            attackers.push(Attacker::connect(target).await);
        }
        let mut cut = false;
        for _ in 0..WAVES {
            for attacker in &mut attackers {
                attacker.push(ROUNDS, &self.rounds);
                if self.reads {
                    attacker.pull();
                }
                if attacker.is_cut {
                    cut = true;
                    *attacker = Attacker::connect(target).await;
                }
            }
            target.is_served().await;
        }
        target.assert_bounded(self.name, before_kib);
        assert!(cut || !self.is_cut, "{}: none was closed", self.name);
    }
}

async fn run(floods: Vec<Flood>) {
    let target = Target::start(RawServer::answering(OK).await).await;
    for flood in &floods {
        flood.run(&target).await;
    }
}

/// Number of the stream that a round opens.
fn stream(round: u32) -> u32 {
    round * 2 + 1
}

#[tokio::test]
async fn floods_of_streams_are_bounded() {
    let made_to_reset = |name, fault: fn(u32) -> Vec<u8>| {
        flood(name, move |round| {
            let length = [&POST[..], &[("content-length", "1")]].concat();
            let streams = (0..50).map(|at| stream(round * 50 + at));
            streams
                .flat_map(|stream| [headers(stream, 0, &length), fault(stream)].concat())
                .collect()
        })
        .cut()
    };
    run(vec![
        // CVE-2023-44487.
        flood("streams that are reset at once", |round| {
            let streams = (0..50).map(|at| stream(round * 50 + at));
            streams
                .flat_map(|stream| [get(stream), reset(stream, 8)].concat())
                .collect()
        })
        .cut(),
        // CVE-2025-8671: each fault makes the server itself reset a stream.
        made_to_reset("windows beyond the limit", |stream| {
            window_update(stream, (1 << 31) - 1)
        }),
        made_to_reset("bodies longer than they say", |stream| {
            data(stream, END_STREAM, "too long")
        }),
        made_to_reset("trailers that do not end", |stream| {
            headers(stream, 0, &[("x-late", "1")])
        }),
        flood("streams without an end", |round| post(stream(round))),
        flood("priorities of streams that never come", |round| {
            let streams = (0..20).map(|at| stream(round * 20 + at));
            streams
                .flat_map(|stream| frame(PRIORITY, 0, stream, [0, 0, 0, 0, 9]))
                .collect()
        }),
    ])
    .await;
}

#[tokio::test]
async fn floods_of_heads_are_bounded() {
    let without_end = |name, piece: Vec<u8>| {
        flood(name, move |round| match round {
            0 => frame(HEADERS, END_STREAM, 1, block(&GET)),
            _ => frame(CONTINUATION, 0, 1, &piece).repeat(BATCH),
        })
        .cut()
    };
    let value = "v".repeat(4000);
    let entry = [
        &[0x40, 1, b'x'][..],
        &integer(0, 7, value.len()),
        value.as_bytes(),
    ]
    .concat();
    // One table entry, referenced (index 62) repeatedly: each byte expands to 4 KB.
    let bomb = [&block(&GET)[..], &entry, &[0xbe; 10_000]].concat();
    run(vec![
        // CVE-2024-27316.
        without_end("heads of many fields", block(&[("x-a", "b"); 100])),
        without_end("heads of empty parts", Vec::new()),
        without_end("heads of changes to the table", vec![0x20]),
        flood("heads that grow when decoded", move |round| {
            frame(HEADERS, 4 | END_STREAM, stream(round), &bomb)
        }),
        flood("tables that are turned over", |round| {
            let name = format!("{:03}", round % 1000);
            let entry = [&[0x40, 3][..], name.as_bytes(), &[1, b'v']].concat();
            let block = [&block(&GET)[..], &entry.repeat(50)].concat();
            frame(HEADERS, 4 | END_STREAM, stream(round), block)
        }),
    ])
    .await;
}

#[tokio::test]
async fn floods_of_small_frames_are_bounded() {
    let upload = |name, nothing: Vec<u8>| {
        flood(name, move |round| match round {
            0 => post(1),
            _ => nothing.repeat(BATCH),
        })
    };
    run(vec![
        repeated("pings, their answers unread", &frame(PING, 0, 0, [7; 8])).unread(),
        repeated("settings, their answers unread", &settings(&[])).unread(),
        repeated(
            "windows opened and closed",
            &settings(&[(4, 1), (4, 65_535)]),
        )
        .unread(),
        repeated("tables grown and shrunk", &settings(&[(1, 0), (1, 4096)])).unread(),
        repeated("priorities", &frame(PRIORITY, 0, 1, [0, 0, 0, 3, 9])),
        repeated("answers to no ping", &frame(PING, ACK, 0, [7; 8])),
        repeated("answers to no settings", &frame(SETTINGS, ACK, 0, "")),
        repeated("frames that nobody knows", &frame(0x42, 0, 0, [0; 100])),
        repeated("windows opened by one byte", &window_update(0, 1)),
        upload("uploads of nothing", data(1, 0, "")),
        upload("uploads of padding", frame(DATA, PADDED, 1, b"\x03\0\0\0")),
        upload("uploads byte by byte", data(1, 0, "x")),
    ])
    .await;
}
