//! Servers behind the proxy that support more than a raw server: HTTP/2, TLS, Unix sockets.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    convert::Infallible,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http::{Request, Response, request::Parts};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    sync::Notify,
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring::default_provider,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};
use tokio_util::task::TaskTracker;

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A running server; it stops accepting when dropped.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    connections: AtomicUsize,
    seen: Mutex<Vec<Parts>>,
    busiest: AtomicUsize,
    leave: Notify,
    max_streams: Option<u32>,
}

/// Certificate for `localhost`, and the authority that signed it.
#[derive(Debug)]
pub(crate) struct Certificate {
    directory: tempfile::TempDir,
    config: ServerConfig,
}

impl Upstream {
    pub(crate) async fn h2c<F>(handler: impl Handler<F>) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::h2c_with(None, handler).await
    }

    /// Serves HTTP/2 without TLS, with a limit of concurrent streams on a connection.
    pub(crate) async fn h2c_with<F>(max_streams: Option<u32>, handler: impl Handler<F>) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let (listener, shared) = (bind().await, shared(max_streams));
        let (addr, known) = (listener.local_addr().unwrap(), Arc::clone(&shared));
        let tasks = TaskTracker::new();
        let accepting = tasks.clone().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (known, handler) = (Arc::clone(&known), handler.clone());
                tasks.spawn(serve(stream, true, known, handler));
            }
        });
        Self {
            addr,
            shared,
            accepting,
        }
    }

    /// Serves over TLS with the protocol negotiated by client and server.
    pub(crate) async fn tls<F>(
        certificate: &Certificate,
        protocols: &[&str],
        handler: impl Handler<F>,
    ) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let mut config = certificate.config.clone();
        config.alpn_protocols = protocols
            .iter()
            .map(|one| one.as_bytes().to_vec())
            .collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (listener, shared) = (bind().await, shared(None));
        let (addr, known) = (listener.local_addr().unwrap(), Arc::clone(&shared));
        let tasks = TaskTracker::new();
        let accepting = tasks.clone().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (known, handler) = (Arc::clone(&known), handler.clone());
                let acceptor = acceptor.clone();
                tasks.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    serve(stream, is_http2, known, handler).await;
                });
            }
        });
        Self {
            addr,
            shared,
            accepting,
        }
    }

    /// Serves HTTP/1.1 on a Unix socket.
    pub(crate) fn unix<F>(path: &Path, handler: impl Handler<F>) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let (listener, shared) = (UnixListener::bind(path).unwrap(), shared(None));
        let (addr, known) = (([0, 0, 0, 0], 0).into(), Arc::clone(&shared));
        let tasks = TaskTracker::new();
        let accepting = tasks.clone().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (known, handler) = (Arc::clone(&known), handler.clone());
                tasks.spawn(serve(stream, false, known, handler));
            }
        });
        Self {
            addr,
            shared,
            accepting,
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the heads of the requests, in order.
    pub(crate) fn seen(&self) -> Vec<Parts> {
        self.shared.seen.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> Parts {
        self.seen().pop().expect("no request received")
    }

    /// Returns the highest number of concurrent requests on one connection.
    pub(crate) fn busiest(&self) -> usize {
        self.shared.busiest.load(Ordering::SeqCst)
    }

    /// Closes connections gracefully with GOAWAY: running requests get a response, new ones do not.
    pub(crate) fn leave(&self) {
        self.shared.leave.notify_waiters();
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let authority_key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority = params.self_signed(&authority_key).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), authority.pem()).unwrap();
        let issuer = rcgen::Issuer::from_params(&params, &authority_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Self { directory, config }
    }

    /// Returns the file with the authority's certificate.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }
}

/// Function that responds to requests.
pub(crate) trait Handler<F>:
    Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static
{
}

impl<F, H> Handler<F> for H where H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static {}

/// Reads the request, and responds with a description of it.
pub(crate) async fn echo(request: Request<Incoming>) -> Response<Body> {
    let body = request.into_body().collect().await;
    let body = body
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    Response::new(Full::new(body).boxed_unsync())
}

pub(crate) fn text(text: &'static str) -> Response<Body> {
    Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed_unsync())
}

async fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

fn shared(max_streams: Option<u32>) -> Arc<Shared> {
    Arc::new(Shared {
        max_streams,
        ..Shared::default()
    })
}

async fn serve<T, F>(stream: T, is_http2: bool, shared: Arc<Shared>, handler: impl Handler<F>)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    shared.connections.fetch_add(1, Ordering::SeqCst);
    let busy = Arc::<AtomicUsize>::default();
    let known = Arc::clone(&shared);
    let service = service_fn(move |request: Request<Incoming>| {
        let (known, busy, handler) = (Arc::clone(&known), Arc::clone(&busy), handler.clone());
        async move {
            let now = busy.fetch_add(1, Ordering::SeqCst) + 1;
            known.busiest.fetch_max(now, Ordering::SeqCst);
            let (parts, body) = request.into_parts();
            known.seen.lock().unwrap().push(parts.clone());
            let response = handler(Request::from_parts(parts, body)).await;
            busy.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, Infallible>(response)
        }
    });
    let io = TokioIo::new(stream);
    if is_http2 {
        let mut connection = std::pin::pin!(
            http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(shared.max_streams)
                .serve_connection(io, service)
        );
        tokio::select! {
            _ = connection.as_mut() => return,
            () = shared.leave.notified() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    } else {
        let connection = http1::Builder::new().serve_connection(io, service);
        let _ = connection.with_upgrades().await;
    }
}
