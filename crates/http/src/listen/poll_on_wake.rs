//! A future that is polled only if its own waker was called.
//!
//! A connection's deadlines share a task with the connection's I/O, which wakes the task far more
//! often. Without this type, each wake-up would also poll the timer and the shutdown token.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use pin_project_lite::pin_project;

pin_project! {
    /// A wrapper for a future that is not polled when something else wakes its task.
    pub(super) struct PollOnWake<F> {
        #[pin]
        future: F,
        wake_flag: Option<(Arc<WakeFlag>, Waker)>,
    }
}

/// A waker that remembers whether it was called.
#[derive(Debug)]
struct WakeFlag {
    is_woken: AtomicBool,
    task: Waker,
}

impl<F> PollOnWake<F> {
    pub(super) fn new(future: F) -> Self {
        Self {
            future,
            wake_flag: None,
        }
    }
}

impl<F: Future> Future for PollOnWake<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let (wake_flag, waker) = match this.wake_flag {
            Some(known) if known.0.task.will_wake(cx.waker()) => known,
            other => other.insert(WakeFlag::new(cx.waker())),
        };
        // A wake-up that is missed here is not lost, because the flag is set first and the task is
        // woken afterwards.
        if !wake_flag.is_woken.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        // The flag is cleared before the poll, because a wake-up during the poll must cause another
        // poll.
        wake_flag.is_woken.swap(false, Ordering::AcqRel);
        this.future.poll(&mut Context::from_waker(waker))
    }
}

impl WakeFlag {
    /// Creates a flag that is set initially, because the future must register the new waker.
    fn new(task: &Waker) -> (Arc<Self>, Waker) {
        let wake_flag = Arc::new(Self {
            is_woken: AtomicBool::new(true),
            task: task.clone(),
        });
        (Arc::clone(&wake_flag), Waker::from(wake_flag))
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The flag is set before the task is woken, because the task may immediately run on another
        // thread.
        self.is_woken.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin, sync::atomic::AtomicUsize};

    use tokio::sync::Notify;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn future_is_polled_only_when_woken() {
        let (notify, polls) = (Notify::new(), AtomicUsize::new(0));
        let mut notified = pin!(notify.notified());
        let counting = poll_fn(|cx| {
            polls.fetch_add(1, Ordering::Relaxed);
            notified.as_mut().poll(cx)
        });
        let mut poll_on_wake = pin!(PollOnWake::new(counting));
        let wakes = Arc::<Count>::default();
        let waker = Waker::from(Arc::clone(&wakes));
        for _ in 0..3 {
            let polled = poll_on_wake.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        notify.notify_one();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        let polled = poll_on_wake.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_ready());
    }

    #[test]
    fn new_task_is_woken_after_a_move() {
        let notify = Notify::new();
        let mut poll_on_wake = pin!(PollOnWake::new(notify.notified()));
        let counts = [(); 2].map(|()| Arc::<Count>::default());
        for count in &counts {
            let waker = Waker::from(Arc::clone(count));
            let polled = poll_on_wake.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        notify.notify_one();
        let [first, second] = counts.map(|count| count.0.load(Ordering::Relaxed));
        assert_eq!((first, second), (0, 1));
    }
}
