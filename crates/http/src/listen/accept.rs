use std::{
    future::poll_fn,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::{sync::Semaphore, time};
use tokio_util::task::TaskTracker;
use tracing::{debug, error, warn};

use super::{
    connection::{self, Shared},
    connection_permit::ConnectionPermit,
    eager_read,
    http_service::HttpService,
    open_files::ClientPermits,
    socket::{Acceptor, BoundSocket},
    stream::{AcceptedSocket, Peer, Transport},
    workers::{RuntimeHandle, Runtimes},
};

/// The delay after a connection could not be accepted for lack of file descriptors or memory. An
/// immediate retry would fail too.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(100);

/// The loop that accepts a listener's connections on every thread.
#[derive(Clone, Debug)]
pub(super) struct AcceptLoop {
    pub(super) socket: Arc<BoundSocket>,
    pub(super) runtimes: Runtimes,
    pub(super) shared: Arc<Shared>,
    /// The permits for connections; a thread that is waiting to accept a connection holds a permit.
    pub(super) permits: Arc<Semaphore>,
    /// The permits shared by the clients of all listeners, if the limit on open files requires
    /// them.
    pub(super) shared_permits: Option<ClientPermits>,
}

impl AcceptLoop {
    /// Accepts connections on all threads until `stop` is cancelled, then closes the socket.
    pub(super) async fn on_all<S: HttpService>(self, service: S) {
        let supervisors = TaskTracker::new();
        for runtime in self.runtimes.handles() {
            supervisors.spawn(self.clone().supervise(runtime.clone(), service.clone()));
        }
        supervisors.close();
        supervisors.wait().await;
        if !self.shared.stop.is_cancelled() {
            error!("all threads have stopped accepting connections; shutting down");
            self.shared.stop.cancel();
        }
    }

    /// Runs the accept task of a thread, and restarts the task if it ends.
    async fn supervise<S: HttpService>(self, runtime: RuntimeHandle, service: S) {
        loop {
            let accept_loop = self.clone().on(runtime.clone(), service.clone());
            let task = self.shared.tasks.spawn_on(accept_loop, &runtime.handle);
            match task.await {
                Ok(()) => return,
                Err(ended) if ended.is_panic() => {
                    error!("the accept task panicked and is being restarted: {ended}");
                    time::sleep(ACCEPT_BACK_OFF).await;
                }
                Err(ended) => {
                    error!("an accept thread has ended: {ended}");
                    runtime.retire();
                    return;
                }
            }
        }
    }

    async fn on<S: HttpService>(self, runtime: RuntimeHandle, service: S) {
        let shared = Arc::clone(&self.shared);
        tokio::select! {
            biased;
            () = self.accept_all(&runtime, service) => {}
            // Closing the socket resets the connections that are still in its queue.
            () = connection::after_grace_period(&shared.stop) => {}
        }
    }

    async fn accept_all<S: HttpService>(&self, runtime: &RuntimeHandle, service: S) {
        let acceptor = self.acceptor().await;
        // The memory of a connection that ended immediately, which is reused for the next
        // connection.
        let mut room = None;
        while let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await {
            let (accepted, peer) = accept(&acceptor).await;
            // The shared permit is taken after the accept, because a listener without clients must
            // not hold one.
            let shared_permit = match &self.shared_permits {
                Some(permits) => permits.acquire().await,
                None => None,
            };
            let (slot, other) = self.runtimes.assign(runtime);
            let permit = ConnectionPermit::new(permit, slot, self.shared.counts.accept());
            let permit = permit.with_shared(shared_permit);
            let (shared, service) = (Arc::clone(&self.shared), service.clone());
            let reads_eagerly = eager_read::should_read_eagerly();
            let stream = Transport::new(accepted, reads_eagerly);
            let connection = connection::serve(shared, stream, peer, permit, service);
            let mut connection = boxed(connection, room.take());
            // The connection is polled only on the thread that will own it, because the poll
            // registers the socket with that thread's runtime.
            if reads_eagerly && other.is_none() && finishes_on_first_poll(connection.as_mut()).await
            {
                room = Some(connection);
                continue;
            }
            let handle = &other.unwrap_or(runtime).handle;
            self.shared.tasks.spawn_on(connection, handle);
        }
    }

    async fn acceptor(&self) -> Acceptor {
        loop {
            match self.socket.acceptor() {
                Ok(acceptor) => return acceptor,
                Err(error) => {
                    warn!(%error, "cannot accept connections on this thread: {error}; raise the limit on open files");
                    time::sleep(ACCEPT_BACK_OFF).await;
                }
            }
        }
    }
}

/// Polls a connection once, and returns whether the connection has ended.
///
/// A client with a single request may have sent it before its connection is accepted. The response
/// is then sent without spawning a task, which would cost about as much as the response. A panic
/// ends the connection, as in a separate task.
async fn finishes_on_first_poll(mut connection: Pin<&mut impl Future<Output = ()>>) -> bool {
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| connection.as_mut().poll(cx)));
        Poll::Ready(!polled.is_ok_and(|polled| polled.is_pending()))
    })
    .await
}

/// Boxes a future, because an unboxed future is moved several times before its task runs and when
/// it ends.
fn boxed<F: Future>(future: F, room: Option<Pin<Box<F>>>) -> Pin<Box<F>> {
    match room {
        Some(mut room) => {
            room.set(future);
            room
        }
        None => Box::pin(future),
    }
}

/// Accepts one connection from the listening socket, and retries after failures.
async fn accept(acceptor: &Acceptor) -> (AcceptedSocket, Peer) {
    let mut failures = 0_u32;
    loop {
        match acceptor.accept().await {
            Ok(accepted) => return accepted,
            // The client has already disconnected; the next client can be accepted immediately.
            Err(error) if is_about_one_connection(&error) => {
                debug!(%error, "client disconnected before its connection was accepted");
            }
            Err(error) => {
                // Log one line in ten seconds: after the first failure and after every hundredth
                // delay.
                if failures.is_multiple_of(100) {
                    warn!(%error, "cannot accept connections: {error}; raise the limit on open files, or lower max_connections");
                }
                failures = failures.wrapping_add(1);
                time::sleep(ACCEPT_BACK_OFF).await;
            }
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn waiting_connection_is_open_and_panicking_one_has_ended() {
        assert!(finishes_on_first_poll(boxed(ready(()), None).as_mut()).await);
        assert!(!finishes_on_first_poll(boxed(pending(), None).as_mut()).await);
        let panics = async { panic!("told to") };
        assert!(finishes_on_first_poll(boxed(panics, None).as_mut()).await);
    }

    #[tokio::test]
    async fn memory_of_an_ended_connection_is_reused() {
        let first = boxed(ready(1), None);
        let permit: *const _ = &raw const *first;
        let second = boxed(ready(2), Some(first));
        assert_eq!(&raw const *second, permit);
        assert_eq!(second.await, 2);
    }
}
