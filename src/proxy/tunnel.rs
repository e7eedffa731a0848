//! Bytes both ways after the protocols have been switched.

use std::{io, time::Duration};

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy, split},
    time,
};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// Time for one side to end after the other has.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Copies both ways until both sides have ended, or `stop`.
///
/// A tunnel may be quiet for as long as it likes. When one side ends, the
/// other is told and has half a minute to end too.
pub(super) async fn run(client: OnUpgrade, upstream: OnUpgrade, stop: CancellationToken) {
    let tunnel = async {
        let (client, upstream) = tokio::try_join!(client, upstream).map_err(io::Error::other)?;
        copy_both_ways(client, upstream).await
    };
    let ended = tokio::select! {
        ended = tunnel => ended,
        () = stop.cancelled() => return,
    };
    if let Err(error) = ended {
        // One of the two went away: that is how most tunnels end.
        debug!(%error, "tunnel ended: {error}");
    }
}

async fn copy_both_ways(client: Upgraded, upstream: Upgraded) -> io::Result<()> {
    let (from_client, to_client) = split(TokioIo::new(client));
    let (from_upstream, to_upstream) = split(TokioIo::new(upstream));
    let mut up = std::pin::pin!(copy_one_way(from_client, to_upstream));
    let mut down = std::pin::pin!(copy_one_way(from_upstream, to_client));
    tokio::select! {
        ended = &mut up => {
            ended?;
            within_close_timeout(down).await
        }
        ended = &mut down => {
            ended?;
            within_close_timeout(up).await
        }
    }
}

async fn copy_one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    copy(&mut from, &mut to).await?;
    to.shutdown().await
}

async fn within_close_timeout(other: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    time::timeout(CLOSE_TIMEOUT, other)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}
