//! The least that `auth_request` can ask: hyper that says 204 to everything, at a Unix socket.
//!
//! `compare.py` starts it behind nginx: what our decision endpoint costs is told as so many times this.

use std::{convert::Infallible, env, error::Error};

use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::UnixListener, task::JoinSet};

async fn answer(_: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("usage: bare SOCKET")?;
    let listener = UnixListener::bind(path)?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
        connections.spawn(async move {
            // Who goes away ends its own connection alone.
            let _ = connection.await;
        });
        while connections.try_join_next().is_some() {}
    }
}
