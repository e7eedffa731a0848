use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::BytesMut;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use tokio::{
    io::AsyncReadExt,
    time::{self, Instant},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use super::{
    client_addr::{ClientAddr, Origin, TrustedProxies},
    connection_permit::{AddressLimits, ConnectionPermit},
    counts::{ConnectionCounts, UnservedReason},
    fast_path::{End, Plain, PlainIo},
    http_service::HttpService,
    hyper_connection,
    idle::{Activity, IdleAction, IdleWatch},
    peer_table::PeerTable,
    poll_on_wake::PollOnWake,
    proxy_protocol::{self, ProxySource},
    service::ConnectionService,
    settings::ListenSettings,
    stream::{Peer, Stream, Transport},
};

/// The time allowed at shutdown for receiving requests that clients have already sent. Closing
/// immediately would reset connections and lose requests in the system's buffer.
const GRACE_PERIOD: Duration = Duration::from_millis(100);
/// The size of the first read, which determines the protocol; most requests are smaller.
const SNIFFED_BYTES: usize = 1024;
// RFC 9113 §3.4.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The state shared by all connections of a listener.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: ListenSettings,
    pub(super) trusted_proxies: Arc<TrustedProxies>,
    /// A table of the forwarding headers that each trusted proxy sets.
    pub(super) forwarding_proxies: PeerTable,
    /// Whether a message about a trusted proxy with contradictory headers has been logged.
    pub(super) has_warned_of_ambiguous: AtomicBool,
    pub(super) addresses: Arc<AddressLimits>,
    pub(super) counts: Arc<ConnectionCounts>,
    /// The token that starts draining: no new requests are accepted, and requests in flight are
    /// completed.
    pub(super) stop: CancellationToken,
    /// The token that ends draining: the remaining connections are closed immediately.
    pub(super) cut: CancellationToken,
    pub(super) tasks: TaskTracker,
    /// Whether a message about a peer that is not allowed to send PROXY headers has been logged.
    pub(super) has_warned_of_untrusted: AtomicBool,
    pub(super) refusal_observer: Option<Box<dyn RefusalObserver>>,
}

/// A request that the listener itself refused because it is not HTTP or exceeds a limit.
#[derive(Debug)]
pub struct RefusedRequest<'r> {
    /// The address of the peer, or the client address in the peer's PROXY header.
    pub client: IpAddr,
    /// The status of the response to the refused request.
    pub status: StatusCode,
    /// The refused request; `None` if its head could not be parsed.
    pub request: Option<&'r Request<Incoming>>,
}

/// An observer of the requests that a listener refuses.
pub trait RefusalObserver: fmt::Debug + Send + Sync {
    /// Records a request that was refused.
    fn refused(&self, refused: &RefusedRequest<'_>);
}

impl Shared {
    /// Counts and reports a request that ended its connection because it could not be parsed.
    fn ended(&self, error: &hyper::Error, origin: Origin) {
        if let Some(status) = refused_status(error) {
            self.report_refusal(&RefusedRequest {
                client: origin.peer.ip(),
                status,
                request: None,
            });
        }
    }

    /// Returns `true` if the client may have forged the headers that report its address.
    ///
    /// `is_misspelt` is set if a misspelt header was removed that other servers would treat as a
    /// proxy's header.
    pub(super) fn is_forged(&self, client: ClientAddr, is_misspelt: bool) -> bool {
        if client.is_ambiguous && !self.has_warned_of_ambiguous.swap(true, Relaxed) {
            let peer = client.peer.ip();
            warn!(%peer, "refused a request from the trusted proxy {peer}: its X-Forwarded-For and Forwarded headers contain different client addresses, and the client may have sent one of them; set server.client_address_header to the header that the proxy sets");
        }
        client.is_ambiguous || is_misspelt && !client.trusted
    }

    /// Counts and reports a request that the listener refused.
    pub(super) fn report_refusal(&self, refused: &RefusedRequest<'_>) {
        self.counts.count_refused(refused.status);
        if let Some(log) = &self.refusal_observer {
            log.refused(refused);
        }
    }
}

/// A connection that is ready to receive its first request.
struct EstablishedConnection {
    stream: Stream,
    /// The bytes already read from the connection.
    first: BytesMut,
    origin: Origin,
    permit: ConnectionPermit,
    is_http2: bool,
}

/// Serves one connection until the connection ends, is idle for too long, or is drained.
pub(super) async fn serve<S: HttpService>(
    shared: Arc<Shared>,
    stream: Transport,
    peer: Peer,
    permit: ConnectionPermit,
    service: S,
) {
    let opened = tokio::select! {
        biased;
        opened = open(&shared, stream, peer, permit) => opened,
        // This is an `async` block, so that no timer is created if the first bytes have already
        // arrived.
        () = async { time::sleep(shared.settings.header_timeout).await } => {
            shared.counts.count_unserved(UnservedReason::Timeout);
            return debug!(?peer, "closed the connection: no request arrived in time");
        }
        () = after_grace_period(&shared.stop) => return,
    };
    let EstablishedConnection {
        stream,
        mut first,
        origin,
        permit,
        is_http2,
    } = match opened {
        Ok(opened) => opened,
        Err(error) => {
            shared.counts.count_unserved(UnservedReason::from(&error));
            return debug!(?peer, %error, "connection ended before its first request: {error}");
        }
    };
    let activity = Arc::new(Activity::new(is_http2));
    let mut service = ConnectionService {
        service,
        origin,
        shared: Arc::clone(&shared),
        activity: Arc::clone(&activity),
    };
    let mut deadlines = Deadlines::new(&shared, &activity);
    let mut io = PlainIo::new(stream, Arc::clone(&activity));
    if S::TAKES_BODILESS && shared.settings.fast_path && !is_http2 {
        let plain = pin!(Plain::new(&mut service, &mut io, &mut first));
        if drive(plain, Plain::finish, &mut deadlines).await != Some(End::Odd) {
            return;
        }
    }
    // The future is boxed, because a connection with only plain requests never needs its memory.
    let connection = Box::pin(hyper_connection::serve(
        service,
        io.stream,
        first,
        permit,
        &mut deadlines,
    ));
    if let Some(Err(error)) = connection.await {
        shared.ended(&error, origin);
        // The client or its network is at fault, and operators cannot do anything about it.
        debug!(
            ?peer,
            error = &error as &dyn Error,
            "connection ended with an error"
        );
    }
}

/// Prepares a connection: reads the PROXY header, checks the limit per address, performs the TLS
/// handshake, and detects the protocol.
///
/// The order matters: the PROXY header contains the address to which the limit applies, and a
/// handshake is not worth its cost for connections beyond the limit.
async fn open(
    shared: &Shared,
    mut stream: Transport,
    peer: Peer,
    permit: ConnectionPermit,
) -> io::Result<EstablishedConnection> {
    let mut origin = Origin {
        peer: peer.addr(),
        trusted: shared.trusted_proxies.trusts(peer),
        https: shared.settings.tls.is_some(),
    };
    // A proxy's address stands for all of its clients, and a Unix socket has no address that could
    // be counted.
    let mut is_counted = !origin.trusted && peer != Peer::Unix;
    if shared.settings.proxy_protocol {
        // The future is boxed, because few listeners use the PROXY protocol and its state would
        // enlarge all connections.
        let client = Box::pin(proxied_client(shared, &mut stream, origin)).await?;
        // Forwarding headers from a client without an address are not trusted.
        origin.trusted = client.is_some_and(|client| shared.trusted_proxies.contains(client.ip()));
        origin.peer = client.unwrap_or(origin.peer);
        is_counted = client.is_some() && !origin.trusted;
    }
    let permit = if is_counted {
        let address = shared.addresses.acquire(origin.peer.ip());
        permit.with_address(address.map_err(|_| ErrorKind::QuotaExceeded)?)
    } else {
        permit
    };
    let (stream, first, is_http2) = if let Some(tls) = &shared.settings.tls {
        let stream = Box::new(Box::pin(tls.accept(stream)).await?);
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        (Stream::Tls(stream), BytesMut::new(), is_http2)
    } else {
        let (first, is_http2) = sniff(&mut stream).await?;
        (Stream::Plain(stream), first, is_http2)
    };
    Ok(EstablishedConnection {
        stream,
        first,
        origin,
        permit,
        is_http2,
    })
}

/// Returns the client that a trusted peer reports in its PROXY header, if any.
async fn proxied_client(
    shared: &Shared,
    stream: &mut Transport,
    origin: Origin,
) -> io::Result<Option<SocketAddr>> {
    if !origin.trusted {
        let peer = origin.peer;
        if !shared.has_warned_of_untrusted.swap(true, Relaxed) {
            warn!(%peer, "closed a connection from {peer}, whose PROXY header is not trusted; add the proxy to trusted_proxies");
        }
        return Err(ErrorKind::PermissionDenied.into());
    }
    let (source, rest) = proxy_protocol::read(stream).await?;
    stream.put_back(rest);
    Ok(match source {
        ProxySource::Client(addr) => Some(Peer::Tcp(addr).addr()),
        ProxySource::Unknown | ProxySource::Local => None,
    })
}

/// Serves a connection until it ends or its deadlines pass; returns `None` if the connection was
/// closed by a deadline.
pub(super) async fn drive<C: Future>(
    mut connection: Pin<&mut C>,
    finish: impl Fn(Pin<&mut C>),
    deadlines: &mut Deadlines<'_>,
) -> Option<C::Output> {
    let action = tokio::select! {
        // The connection is polled first, so that a ready response is sent even if the deadline has
        // just passed.
        biased;
        output = &mut connection => return Some(output),
        action = PollOnWake::new(deadlines.until_finish()) => action,
    };
    if action == IdleAction::Cut {
        return None;
    }
    finish(connection.as_mut());
    tokio::select! {
        biased;
        output = &mut connection => Some(output),
        () = PollOnWake::new(deadlines.until_cut()) => None,
    }
}

/// The deadlines of a connection: for draining, for being idle, and for finishing.
pub(super) struct Deadlines<'c> {
    shared: &'c Shared,
    activity: &'c Activity,
    watch: IdleWatch,
    /// Whether the connection has stopped accepting requests.
    pub(super) is_finishing: bool,
}

impl<'c> Deadlines<'c> {
    fn new(shared: &'c Shared, activity: &'c Activity) -> Self {
        let ListenSettings {
            header_timeout,
            idle_timeout,
            ..
        } = shared.settings;
        let now = Instant::now();
        Self {
            shared,
            activity,
            watch: IdleWatch::new(header_timeout, idle_timeout, now),
            is_finishing: false,
        }
    }

    /// Waits until the connection must stop accepting requests or be closed immediately.
    async fn until_finish(&mut self) -> IdleAction {
        if self.is_finishing {
            return IdleAction::Close;
        }
        let action = self.next_action().await;
        self.is_finishing = action == IdleAction::Close;
        action
    }

    async fn next_action(&mut self) -> IdleAction {
        let mut order = pin!(after_grace_period(&self.shared.stop));
        loop {
            if time::timeout(self.watch.period(), &mut order).await.is_ok() {
                return IdleAction::Close;
            }
            match self.watch.check(self.activity, Instant::now()) {
                IdleAction::Keep => {}
                IdleAction::Close => {
                    // A request in transit still gets a response; closing immediately would reset
                    // the connection (RFC 9112 §9.6).
                    time::sleep(GRACE_PERIOD).await;
                    return IdleAction::Close;
                }
                IdleAction::Cut => return IdleAction::Cut,
            }
        }
    }

    /// Waits until the time that a connection has for finishing is over.
    async fn until_cut(&mut self) {
        let mut order = pin!(self.shared.cut.cancelled());
        while time::timeout(self.watch.period(), &mut order)
            .await
            .is_err()
        {
            if self.watch.check(self.activity, Instant::now()) != IdleAction::Keep {
                return;
            }
        }
    }
}

/// Waits for the cancellation of the token, and then for the grace period, in which data sent
/// earlier may arrive.
pub(super) async fn after_grace_period(order: &CancellationToken) {
    order.cancelled().await;
    time::sleep(GRACE_PERIOD).await;
}

/// Reads from a connection until it is clear whether the client uses HTTP/2.
async fn sniff(stream: &mut Transport) -> io::Result<(BytesMut, bool)> {
    let mut start = BytesMut::with_capacity(SNIFFED_BYTES);
    loop {
        if stream.read_buf(&mut start).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let is_http2 = start.starts_with(HTTP2_PREFACE);
        if is_http2 || !HTTP2_PREFACE.starts_with(&start) {
            return Ok((start, is_http2));
        }
    }
}

/// Returns the status of the response that was sent before a connection ended with an error, if
/// any.
fn refused_status(error: &hyper::Error) -> Option<StatusCode> {
    if error.is_parse_too_large() {
        // hyper has one error kind for a long target and a long head; only the error texts differ.
        let is_target = error.to_string().starts_with("URI");
        return Some(if is_target {
            StatusCode::URI_TOO_LONG
        } else {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        });
    }
    error.is_parse().then_some(StatusCode::BAD_REQUEST)
}
