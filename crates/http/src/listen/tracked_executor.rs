//! The executor of connections over HTTP/2, those of clients and those to servers.

use hyper::rt::Executor;
use tokio_util::task::TaskTracker;

/// Executor whose tasks are waited for at shutdown.
#[derive(Clone, Debug)]
pub(crate) struct TrackedExecutor(pub(crate) TaskTracker);

impl<F> Executor<F> for TrackedExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
