//! The minimal backend for `auth_request`: hyper on a Unix socket, with 204 to every request.
//!
//! `compare.py` runs it behind nginx, and reports the decision endpoint's cost as a multiple.

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
            // A client that disconnects ends only its own connection.
            let _ = connection.await;
        });
        while connections.try_join_next().is_some() {}
    }
}
