use std::{
    cell::RefCell,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use http::Response;

use crate::listen::header_map_pool;

use super::{dispatch::Message, proxy_body::ProxyBody, round_trip::RoundTrip};

/// Boxes that a thread keeps: about as many as requests wait for their responses at a time.
const MAX_KEPT: usize = 64;

thread_local! {
    #[expect(clippy::vec_box, reason = "a box is what is used again")]
    static POOL: RefCell<Vec<Box<Allocation>>> = const { RefCell::new(Vec::new()) };
}

/// Future of a forwarded request's response, in a box.
///
/// Futures around it are moved, and stay small so. A thread uses a box again, as
/// to ask for its memory anew costs more than to fill it.
pub struct ForwardFuture {
    /// Nothing once the box has been given back.
    allocation: Option<Box<Allocation>>,
    /// The headers go back to the listener, whose they are; others' may hold more than themselves.
    is_plain: bool,
}

/// Room for a request, where it stays as long as it is forwarded.
#[derive(Default)]
struct Allocation {
    message: Message,
    round_trip: Option<RoundTrip>,
}

// Allocators are several times as fast up to here.
const _: () = assert!(size_of::<Allocation>() <= 1024);

impl ForwardFuture {
    /// Puts a request on its way; `fill` puts it into an empty message.
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
            // Nobody polls what has ended; if so, it waits for ever.
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
            header_map_pool::recycle_request(mem::take(&mut allocation.message.parts.headers));
        }
        allocation.message.clear();
        // Where the thread ends there is nobody to keep it for.
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
