use std::{
    cell::RefCell,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use http::Response;

use crate::listen::fast_path::reuse;

use super::{dispatch::Message, proxy_body::ProxyBody, round_trip::RoundTrip};

/// The maximum number of boxes kept per thread, which is about the number of requests that wait for
/// responses at a time.
const MAX_KEPT: usize = 64;

thread_local! {
    #[expect(clippy::vec_box, reason = "the boxes themselves are reused")]
    static POOL: RefCell<Vec<Box<Allocation>>> = const { RefCell::new(Vec::new()) };
}

/// A boxed future that resolves to the response to a forwarded request.
///
/// The box keeps the futures that contain this future small, because they are moved. Each thread
/// reuses its boxes, because an allocation costs more than filling a box.
pub struct ForwardFuture {
    /// The box of the future; `None` once the box has been returned.
    allocation: Option<Box<Allocation>>,
    /// Whether the header map belongs to the listener's pool. Header values parsed by hyper share
    /// the memory of a whole read buffer and must not be kept.
    is_plain: bool,
}

/// The memory in which a request stays while it is being forwarded.
#[derive(Default)]
struct Allocation {
    message: Message,
    round_trip: Option<RoundTrip>,
}

// Allocators serve small sizes from a per-thread cache, which is several times as fast (mimalloc:
// up to 1,024 bytes, glibc: up to 1,032 bytes).
const _: () = assert!(size_of::<Allocation>() <= 1024);

impl ForwardFuture {
    /// Creates the future for a request that `fill` writes into an empty message.
    pub(super) fn new(
        round_trip: RoundTrip,
        is_plain: bool,
        fill: impl FnOnce(&mut Message),
    ) -> Self {
        let kept = POOL.with_borrow_mut(Vec::pop);
        let mut allocation = kept.unwrap_or_default();
        fill(&mut allocation.message);
        allocation.round_trip = Some(round_trip);
        Self {
            allocation: Some(allocation),
            is_plain,
        }
    }
}

impl Future for ForwardFuture {
    type Output = Response<ProxyBody>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response<ProxyBody>> {
        match self.get_mut().allocation.as_deref_mut() {
            Some(Allocation {
                message,
                round_trip: Some(round_trip),
            }) => round_trip.poll(cx, message),
            // A future is not polled after it was ready; this future would wait forever.
            _ => Poll::Pending,
        }
    }
}

impl Drop for ForwardFuture {
    fn drop(&mut self) {
        let Some(mut allocation) = self.allocation.take() else {
            return;
        };
        allocation.round_trip = None;
        if self.is_plain {
            reuse::recycle_request(mem::take(&mut allocation.message.parts.headers));
        }
        allocation.message.clear();
        // Thread-locals are unavailable when the thread ends; the box is then dropped.
        POOL.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < MAX_KEPT {
                kept.push(allocation);
            }
        })
        .ok();
    }
}

impl fmt::Debug for ForwardFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForwardFuture").finish_non_exhaustive()
    }
}
