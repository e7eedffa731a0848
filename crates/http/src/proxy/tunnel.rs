//! Tunnels, which transfer bytes in both directions after a protocol switch (RFC 9110 §7.8).

use std::{io, pin::pin, time::Duration};

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy, split},
    time,
};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// The time that one side has to close after the other side has closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Copies data in both directions until both sides have ended, or until `stop` is cancelled.
///
/// A tunnel may be idle for any length of time. When one side closes, the other side is closed for
/// writing and has half a minute to close as well.
pub(super) async fn run(
    client: OnUpgrade,
    upstream: impl AsyncRead + AsyncWrite,
    stop: CancellationToken,
) {
    let tunnel = async {
        let client = client.await.map_err(io::Error::other)?;
        copy_both_ways(TokioIo::new(client), upstream).await
    };
    let ended = tokio::select! {
        ended = tunnel => ended,
        () = stop.cancelled() => return,
    };
    if let Err(error) = ended {
        // One side has disconnected, which is the way that most tunnels end.
        debug!(%error, "tunnel ended: {error}");
    }
}

async fn copy_both_ways(
    client: impl AsyncRead + AsyncWrite,
    upstream: impl AsyncRead + AsyncWrite,
) -> io::Result<()> {
    let (from_client, to_client) = split(client);
    let (from_upstream, to_upstream) = split(upstream);
    let mut up = pin!(copy_one_way(from_client, to_upstream));
    let mut down = pin!(copy_one_way(from_upstream, to_client));
    tokio::select! {
        ended = &mut up => ended.and(within_close_timeout(down).await),
        ended = &mut down => ended.and(within_close_timeout(up).await),
    }
}

/// Copies data until the end or an error, then shuts the other side down.
///
/// A side that accepts no more data may already have sent a last message, such as the reason for
/// closing (RFC 6455 §5.5.1), so the other direction continues.
async fn copy_one_way(from: impl AsyncRead, to: impl AsyncWrite) -> io::Result<()> {
    let (mut from, mut to) = (pin!(from), pin!(to));
    let copied = copy(&mut from, &mut to).await;
    let told = to.shutdown().await;
    copied.and(told)
}

async fn within_close_timeout(other: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    time::timeout(CLOSE_TIMEOUT, other)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex, join};

    use super::*;

    /// Returns the peer's end of each side of a tunnel, and the tunnel itself.
    fn tunnel() -> (
        DuplexStream,
        DuplexStream,
        impl Future<Output = io::Result<()>>,
    ) {
        let (client, client_side) = duplex(64);
        let (upstream, upstream_side) = duplex(64);
        (client, upstream, copy_both_ways(client_side, upstream_side))
    }

    #[tokio::test]
    async fn last_message_passes_although_writes_fail() {
        let (mut client, client_side) = duplex(64);
        let (mut upstream, from_upstream) = duplex(64);
        // The peer accepts no more data, so every write fails.
        let (gone, to_upstream) = duplex(64);
        drop(gone);
        client.write_all(b"more").await.unwrap();
        let both = join(from_upstream, to_upstream);
        let mut tunnel = pin!(copy_both_ways(client_side, both));
        tokio::select! {
            biased;
            _ = &mut tunnel => panic!("the last message is not waited for"),
            () = tokio::task::yield_now() => {}
        }
        upstream.write_all(b"why").await.unwrap();
        drop(upstream);
        let mut heard = String::new();
        let (ended, _) = tokio::join!(tunnel, client.read_to_string(&mut heard));
        assert!(ended.is_err());
        assert_eq!(heard, "why");
    }

    #[tokio::test(start_paused = true)]
    async fn side_that_does_not_close_is_cut_after_the_other() {
        let (mut client, _upstream, tunnel) = tunnel();
        client.shutdown().await.unwrap();
        let start = time::Instant::now();
        let error = tunnel.await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), CLOSE_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_tunnels_stay_open() {
        let (_client, _upstream, tunnel) = tunnel();
        let day = Duration::from_hours(24);
        assert!(time::timeout(day, tunnel).await.is_err());
    }
}
