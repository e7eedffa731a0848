use std::{
    error::Error,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1},
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use tokio::{net::TcpStream, time};
use tokio_util::{io::InspectReader, task::TaskTracker};
use tower::ServiceExt as _;
use tracing::debug;

use super::{body::RequestBody, error::chain, upstream::Upstream};

/// Bytes of a response's head, and of what is buffered beyond it.
const MAX_HEAD_BYTES: usize = 256 * 1024;

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;
type BoxError = Box<dyn Error + Send + Sync>;

/// Sends requests over one connection.
#[derive(Debug)]
pub(super) struct Sender {
    sender: http1::SendRequest<RequestBody>,
    /// How often something came from the upstream.
    reads: Arc<AtomicUsize>,
}

impl Sender {
    pub(super) fn try_send_request(
        &mut self,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<Request<RequestBody>>>> + use<>
    {
        self.sender.try_send_request(request)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    pub(super) fn reads(&self) -> usize {
        self.reads.load(Ordering::Acquire)
    }
}

/// Connector that makes connections to one upstream.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    kind: Kind,
    timeout: Duration,
    tasks: TaskTracker,
}

#[derive(Clone, Debug)]
enum Kind {
    Plain(HttpConnector),
    Tls(HttpsConnector<HttpConnector>),
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum ConnectError {
    Timeout(Duration),
    Failed(BoxError),
}

impl Connector {
    /// # Errors
    ///
    /// Fails for an HTTPS upstream when the system has no trusted certificates.
    pub(super) fn new(is_https: bool, timeout: Duration, tasks: TaskTracker) -> io::Result<Self> {
        let mut http = HttpConnector::new();
        http.set_nodelay(true);
        http.enforce_http(false);
        http.set_keepalive(Some(Duration::from_mins(1)));
        let kind = if is_https {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let builder = HttpsConnectorBuilder::new()
                .with_provider_and_native_roots(provider)?
                .https_only()
                .enable_http1();
            Kind::Tls(builder.wrap_connector(http))
        } else {
            Kind::Plain(http)
        };
        Ok(Self {
            kind,
            timeout,
            tasks,
        })
    }

    /// Connects, and starts the task that drives the connection.
    pub(super) async fn connect(&self, upstream: &Upstream) -> Result<Sender, ConnectError> {
        let stream = self.stream(upstream).await?;
        let reads = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&reads);
        let counted = InspectReader::new(TokioIo::new(stream), move |bytes: &[u8]| {
            counter.fetch_add(usize::from(!bytes.is_empty()), Ordering::Release);
        });
        let (sender, connection) = http1::Builder::new()
            .writev(false)
            .max_buf_size(MAX_HEAD_BYTES)
            .handshake(TokioIo::new(counted))
            .await
            .map_err(|error| ConnectError::Failed(error.into()))?;
        self.tasks.spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                // The request in flight, if there was one, has been told.
                debug!("connection to the upstream ended: {}", chain(&error));
            }
        });
        Ok(Sender { sender, reads })
    }

    /// Connects, with the TLS handshake.
    pub(super) async fn stream(&self, upstream: &Upstream) -> Result<Stream, ConnectError> {
        let uri = upstream.uri.clone();
        let connecting = async {
            match &self.kind {
                Kind::Plain(connector) => connector
                    .clone()
                    .oneshot(uri)
                    .await
                    .map(MaybeHttpsStream::Http)
                    .map_err(BoxError::from),
                Kind::Tls(connector) => connector.clone().oneshot(uri).await,
            }
        };
        match time::timeout(self.timeout, connecting).await {
            Ok(connected) => connected.map_err(ConnectError::Failed),
            Err(_) => Err(ConnectError::Timeout(self.timeout)),
        }
    }
}
