//! Listeners: threads, sockets, TLS, PROXY protocol, limits, the client's address.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

#[cfg(feature = "acme")]
mod acme;
pub(crate) mod client_addr;
mod counts;
mod limits;
mod pipelines;
mod program;
mod proxy_protocol;
mod tls;
mod tls_requests;
mod unix;
mod workers;

use std::convert::Infallible;

use http::{Request, Response};
use hyper::body::Incoming;
use robot_detection::listen::{ClientAddr, ListenSettings, TrustedProxies};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::support::{
    front::{ProxyServer, listen_settings},
    raw::soon,
};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// Responds with the client's address and scheme as the service sees them.
async fn echo(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let addr = request.extensions().get::<ClientAddr>().unwrap();
    let ClientAddr {
        client,
        direct,
        https,
        trusted,
        ..
    } = addr;
    Ok(Response::new(format!(
        "client={client} direct={direct} https={https} trusted={trusted}"
    )))
}

fn trusting(networks: &[&str]) -> ListenSettings {
    ListenSettings {
        trusted_proxies: TrustedProxies::parse(networks).unwrap(),
        ..listen_settings()
    }
}

async fn serve_echo(settings: ListenSettings) -> ProxyServer {
    ProxyServer::serve(settings, tower::service_fn(echo)).await
}

/// Sends bytes; returns the response, which is empty if the connection was closed.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: impl AsRef<[u8]>) -> String {
    let mut answer = Vec::new();
    // The other side may have closed; the response shows it.
    let _ = stream.write_all(bytes.as_ref()).await;
    let _ = stream.flush().await;
    let _ = soon(stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}
