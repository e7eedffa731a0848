//! Client that sends arbitrary bytes and parses responses strictly.

use std::{net::SocketAddr, path::PathBuf};

use tokio::{
    io::{
        AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf, split,
    },
    net::{TcpStream, UnixStream},
};

use super::strict::{self, Read, Response};

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Address of a server.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A client's connection, and the bytes received over it.
pub(super) struct Client {
    from: ReadHalf<Box<dyn Stream>>,
    to: WriteHalf<Box<dyn Stream>>,
    methods: Vec<String>,
    received: Vec<u8>,
    /// Whether the other side has finished sending.
    pub(super) ended: bool,
}

/// Messages received so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    /// Final responses.
    pub(super) responses: Vec<Response>,
    /// Number of interim responses.
    pub(super) interim: usize,
    /// Remaining bytes: a part of a response, or bytes of a tunnel.
    pub(super) rest: Vec<u8>,
    pub(super) malformed: Option<&'static str>,
}

impl Client {
    pub(super) async fn connect(place: &Place, methods: &[String]) -> Self {
        let stream: Box<dyn Stream> = match place {
            Place::Tcp(addr) => Box::new(TcpStream::connect(addr).await.unwrap()),
            Place::Unix(path) => Box::new(UnixStream::connect(path).await.unwrap()),
        };
        let (from, to) = split(stream);
        Self {
            from,
            to,
            methods: methods.to_vec(),
            received: Vec::new(),
            ended: false,
        }
    }

    /// Sends bytes while reading, so that neither side waits for ever.
    pub(super) async fn send(&mut self, bytes: &[u8]) {
        let Self {
            from,
            to,
            received,
            ended,
            ..
        } = self;
        let sending = async {
            // The other side may have stopped reading.
            let _ = to.write_all(bytes).await;
            let _ = to.flush().await;
        };
        let reading = async {
            while !*ended {
                *ended = !fill(from, received).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = sending => {}
            () = reading => {}
        }
    }

    pub(super) async fn end(&mut self) {
        let _ = self.to.shutdown().await;
    }

    /// Reads until a number of messages have arrived, or the connection has ended.
    pub(super) async fn messages(&mut self, count: usize) {
        while !self.ended {
            let received = self.received();
            if received.malformed.is_some() || received.responses.len() + received.interim >= count
            {
                return;
            }
            self.read().await;
        }
    }

    /// Reads until a number of final responses have arrived, or the connection has ended.
    pub(super) async fn responses(&mut self, count: usize) {
        while !self.ended {
            let received = self.received();
            if received.malformed.is_some() || received.responses.len() >= count {
                return;
            }
            self.read().await;
        }
    }

    pub(super) async fn until_end(&mut self) {
        while !self.ended {
            self.read().await;
        }
    }

    async fn read(&mut self) {
        self.ended = !fill(&mut self.from, &mut self.received).await;
    }

    pub(super) fn received(&self) -> Received {
        let mut received = Received::default();
        let mut rest = &self.received[..];
        while !rest.is_empty() {
            let method = self
                .methods
                .get(received.responses.len())
                .map_or("GET", String::as_str);
            match strict::response(rest, method, self.ended) {
                Read::Whole(response, len) => {
                    rest = &rest[len..];
                    let switches = response.status == 101;
                    if switches || !(100..200).contains(&response.status) {
                        received.responses.push(response);
                    } else {
                        received.interim += 1;
                    }
                    if switches {
                        break;
                    }
                }
                Read::Partial => break,
                Read::Malformed(reason) => {
                    received.malformed = Some(reason);
                    break;
                }
            }
        }
        received.rest = rest.to_vec();
        received
    }
}

/// A reset counts as an end too.
async fn fill(from: &mut ReadHalf<Box<dyn Stream>>, received: &mut Vec<u8>) -> bool {
    matches!(from.read_buf(received).await, Ok(len) if len > 0)
}
