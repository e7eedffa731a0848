use std::{
    cell::RefCell,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http::Response;

use super::{passage::Passage, proxy_body::ProxyBody};

/// Boxes that a thread keeps: about as many as requests wait for their responses at a time.
const MAX_KEPT: usize = 64;

type Kept = RefCell<Vec<Box<Option<Passage>>>>;

thread_local! {
    static KEPT: Kept = const { RefCell::new(Vec::new()) };
}

/// Future of a forwarded request's response, in a box.
///
/// Futures around it are moved, and stay small so. A thread uses a box again, as
/// to ask for its memory anew costs more than to fill it.
pub(crate) struct Forwarded {
    /// Nothing once the box has been given back.
    passage: Option<Box<Option<Passage>>>,
}

impl Forwarded {
    pub(super) fn new(passage: Passage) -> Self {
        let kept = KEPT.with_borrow_mut(Vec::pop);
        let passage = match kept {
            Some(mut kept) => {
                *kept = Some(passage);
                kept
            }
            None => Box::new(Some(passage)),
        };
        Self {
            passage: Some(passage),
        }
    }
}

impl Future for Forwarded {
    type Output = Response<ProxyBody>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response<ProxyBody>> {
        match self.get_mut().passage.as_deref_mut() {
            Some(Some(passage)) => Pin::new(passage).poll(cx),
            // Nobody polls what has ended; if so, it waits for ever.
            _ => Poll::Pending,
        }
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        let Some(mut passage) = self.passage.take() else {
            return;
        };
        *passage = None;
        // Where the thread ends there is nobody to keep it for.
        KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < MAX_KEPT {
                kept.push(passage);
            }
        })
        .ok();
    }
}

impl fmt::Debug for Forwarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarded").finish_non_exhaustive()
    }
}
