use std::{
    cell::RefCell,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use http::Response;

use crate::listen::header_maps;

use super::{exchange::Message, passage::Passage, proxy_body::ProxyBody};

/// Boxes that a thread keeps: about as many as requests wait for their responses at a time.
const MAX_KEPT: usize = 64;

thread_local! {
    #[expect(clippy::vec_box, reason = "a box is what is used again")]
    static KEPT: RefCell<Vec<Box<Room>>> = const { RefCell::new(Vec::new()) };
}

/// Future of a forwarded request's response, in a box.
///
/// Futures around it are moved, and stay small so. A thread uses a box again, as
/// to ask for its memory anew costs more than to fill it.
pub struct Forwarded {
    /// Nothing once the box has been given back.
    room: Option<Box<Room>>,
    /// The headers go back to the listener, whose they are; others' may hold more than themselves.
    is_plain: bool,
}

/// Room for a request, where it stays as long as it is forwarded.
#[derive(Default)]
struct Room {
    message: Message,
    passage: Option<Passage>,
}

// Allocators are several times as fast up to here.
const _: () = assert!(size_of::<Room>() <= 1024);

impl Forwarded {
    /// Puts a request on its way; `fill` puts it into an empty message.
    pub(super) fn new(passage: Passage, is_plain: bool, fill: impl FnOnce(&mut Message)) -> Self {
        let kept = KEPT.with_borrow_mut(Vec::pop);
        let mut room = kept.unwrap_or_default();
        fill(&mut room.message);
        room.passage = Some(passage);
        Self {
            room: Some(room),
            is_plain,
        }
    }
}

impl Future for Forwarded {
    type Output = Response<ProxyBody>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response<ProxyBody>> {
        match self.get_mut().room.as_deref_mut() {
            Some(Room {
                message,
                passage: Some(passage),
            }) => passage.poll(cx, message),
            // Nobody polls what has ended; if so, it waits for ever.
            _ => Poll::Pending,
        }
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        let Some(mut room) = self.room.take() else {
            return;
        };
        room.passage = None;
        if self.is_plain {
            header_maps::give_of_request(mem::take(&mut room.message.parts.headers));
        }
        room.message.clear();
        // Where the thread ends there is nobody to keep it for.
        KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < MAX_KEPT {
                kept.push(room);
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
