//! The proxy that the browser is given, which lets nothing pass.

use std::net::SocketAddr;

use tokio::{io::AsyncWriteExt as _, net::TcpListener, task::JoinSet};

/// Connections that are answered at once; more wait, and cost nothing.
const MAX_AT_ONCE: usize = 16;

/// Answer to whatever comes.
const REFUSED: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Proxy on this machine that refuses every request; it ends with this.
#[derive(Debug)]
pub(super) struct Wall {
    pub(super) address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Wall {
    pub(super) async fn build() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let mut serving = JoinSet::new();
        serving.spawn(refuse_all(listener));
        Ok(Self {
            address,
            _serving: serving,
        })
    }
}

async fn refuse_all(listener: TcpListener) {
    let mut refused = JoinSet::new();
    loop {
        while refused.try_join_next().is_some() {}
        if refused.len() >= MAX_AT_ONCE {
            let _ = refused.join_next().await;
        }
        // Where a connection cannot be had, the browser cannot have one either.
        let Ok((mut connection, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        refused.spawn(async move {
            let _ = connection.write_all(REFUSED).await;
            let _ = connection.shutdown().await;
        });
    }
}
