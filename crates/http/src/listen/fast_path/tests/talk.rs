//! Test connections, from the client's side.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    sync::Semaphore,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    super::super::{
        client_addr::TrustedProxies,
        connection::{self, Shared},
        connection_permit::{AddressLimits, ConnectionPermit},
        counts::ConnectionCounts,
        peer_table::PeerTable,
        settings::ListenSettings,
        stream::{AcceptedSocket, Peer},
        workers::Runtimes,
    },
    PATIENCE,
    site::{ReceivedRequest, Site},
};

/// A test connection, from the client's side.
pub(super) struct TestConnection {
    client: UnixStream,
    pub(super) seen: Arc<ReceivedRequest>,
    pub(super) stop: CancellationToken,
    pub(super) done: JoinHandle<()>,
}

impl TestConnection {
    fn begin<const IS_PLAIN: bool>(settings: ListenSettings) -> Self {
        let (client, server) = std::os::unix::net::UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        server.set_nonblocking(true).unwrap();
        let site = Site::<IS_PLAIN>::default();
        let seen = Arc::clone(&site.0);
        let shared = shared(settings);
        let stop = shared.stop.clone();
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let runtimes = Runtimes::current();
        let (slot, _) = runtimes.assign(&runtimes.handles()[0]);
        let permit = ConnectionPermit::new(permit, slot, shared.counts.accept());
        let stream = AcceptedSocket::Unix(server).into();
        let serving = connection::serve(Arc::clone(&shared), stream, Peer::Unix, permit, site);
        Self {
            client: UnixStream::from_std(client).unwrap(),
            seen,
            stop,
            done: shared.tasks.spawn(serving),
        }
    }

    pub(super) fn plain() -> Self {
        Self::begin::<true>(ListenSettings::default())
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) {
        // The requests of a refused client may not be read to the end.
        let _ = self.client.write_all(bytes).await;
    }

    /// Reads and returns all data until the end of the connection.
    pub(super) async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let reading = self.client.read_to_end(&mut bytes);
        let _ = timeout(PATIENCE, reading).await.expect("connection ends");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads and returns data until the received bytes end with `end`.
    pub(super) async fn until(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            let read = self.client.read_buf(&mut bytes);
            let read = timeout(PATIENCE, read)
                .await
                .expect("data arrives")
                .unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&bytes));
        }
        String::from_utf8(bytes).unwrap()
    }

    pub(super) async fn end(self) {
        drop(self.client);
        timeout(PATIENCE, self.done)
            .await
            .expect("connection ends")
            .unwrap();
    }

    pub(super) fn plain_requests(&self) -> usize {
        self.seen.plain.load(SeqCst)
    }
}

fn shared(settings: ListenSettings) -> Arc<Shared> {
    Arc::new(Shared {
        trusted_proxies: Arc::new(TrustedProxies::default()),
        forwarding_proxies: PeerTable::default(),
        has_warned_of_ambiguous: AtomicBool::new(false),
        addresses: Arc::new(AddressLimits::new(0)),
        settings,
        counts: Arc::new(ConnectionCounts::default()),
        stop: CancellationToken::new(),
        cut: CancellationToken::new(),
        tasks: TaskTracker::new(),
        has_warned_of_untrusted: AtomicBool::new(false),
        refusal_observer: None,
    })
}

/// Returns the data that the client received, without dates, and the number of plain requests.
pub(super) async fn said<const IS_PLAIN: bool>(input: &str, piece: usize) -> (String, usize) {
    let mut talk = TestConnection::begin::<IS_PLAIN>(ListenSettings::default());
    for bytes in input.as_bytes().chunks(piece) {
        talk.send(bytes).await;
        if piece < input.len() {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
    }
    let said = talk.rest().await;
    let plain = talk.plain_requests();
    talk.end().await;
    let mut lines = Vec::new();
    for line in said.split("\r\n") {
        lines.push(if line.starts_with("date: ") {
            format!("date of {} bytes", line.len())
        } else {
            line.to_owned()
        });
    }
    (lines.join("\r\n"), plain)
}

pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

pub(super) fn same_as_hyper(input: &str, piece: usize) -> usize {
    run(async {
        let (ours, plain) = said::<true>(input, piece).await;
        let (hypers, _) = said::<false>(input, piece).await;
        assert_eq!(ours, hypers, "{input:?} in pieces of {piece}");
        plain
    })
}
