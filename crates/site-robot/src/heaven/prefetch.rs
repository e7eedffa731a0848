//! Work that has begun before anybody waits for it.

use std::{future::Future, pin::Pin, task::Poll};

/// Future that goes on by itself once it was asked for, as a question to the database does.
///
/// Until it is awaited, no task is woken for each row of the answer.
pub(super) enum Prefetch<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
}

impl<F: Future> Prefetch<F> {
    /// Begins, and does not wait.
    pub(super) async fn begin(future: F) -> Self {
        let mut future = Box::pin(future);
        let polled = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        match polled.await {
            Poll::Ready(done) => Self::Done(done),
            Poll::Pending => Self::Running(future),
        }
    }

    /// Waits for the end.
    pub(super) async fn end(self) -> F::Output {
        match self {
            Self::Running(future) => future.await,
            Self::Done(done) => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn what_has_begun_is_waited_for_later() {
        let steps = Cell::new(0);
        let ahead = Prefetch::begin(async {
            steps.set(1);
            tokio::task::yield_now().await;
            steps.set(2);
            "done"
        });
        let ahead = ahead.await;
        assert_eq!(steps.get(), 1);
        assert_eq!((ahead.end().await, steps.get()), ("done", 2));
        assert_eq!(Prefetch::begin(async { 7 }).await.end().await, 7);
    }
}
