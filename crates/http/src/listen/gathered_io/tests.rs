use std::{future::poll_fn, task::Waker};

use super::*;

/// A test peer that records each write, and accepts only a given number of writes.
#[derive(Debug)]
struct Peer {
    writes: Arc<Mutex<Vec<usize>>>,
    takes: usize,
    fails: bool,
}

impl Read for Peer {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl Write for Peer {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.fails {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.takes == 0 {
            return Poll::Pending;
        }
        self.takes -= 1;
        self.writes.lock().push(buf.len());
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Polls a connection once that runs `work`, and returns the peer's writes and the results.
fn poll_once<T: Unpin>(
    takes: usize,
    fails: bool,
    mut work: impl FnMut(Pin<&mut GatheredIo<Peer>>, &mut Context<'_>) -> T,
) -> (Vec<usize>, T, Option<io::Error>) {
    let writes = Arc::<Mutex<Vec<usize>>>::default();
    let peer = Peer {
        writes: Arc::clone(&writes),
        takes,
        fails,
    };
    let mut got = None;
    let mut cx = Context::from_waker(Waker::noop());
    let mut connection = Box::pin(Gathered::new(peer, |mut io| {
        let got = &mut got;
        poll_fn(move |cx| {
            *got = Some(work(Pin::new(&mut io), cx));
            Poll::<()>::Pending
        })
    }));
    assert!(connection.as_mut().poll(&mut cx).is_pending());
    let failure = connection.io.0.lock().failure.take();
    drop(connection);
    let writes = writes.lock().clone();
    (writes, got.unwrap(), failure)
}

#[test]
fn writes_and_flushes_during_a_poll_are_sent_together() {
    let (writes, (), _) = poll_once(9, false, |mut io, cx| {
        for _ in 0..8 {
            assert!(io.as_mut().poll_write(cx, b"head").is_ready());
            let parts = [IoSlice::new(b"frame"), IoSlice::new(b"body")];
            assert!(io.as_mut().poll_write_vectored(cx, &parts).is_ready());
            assert!(io.as_mut().poll_flush(cx).is_ready());
        }
    });
    assert_eq!(writes, [8 * (4 + 5 + 4)]);
}

#[test]
fn more_than_a_record_is_sent_directly_in_order() {
    let large = vec![0; MAX_GATHERED_BYTES + 1];
    let (writes, (), _) = poll_once(9, false, |mut io, cx| {
        assert!(io.as_mut().poll_write(cx, b"head").is_ready());
        assert!(io.as_mut().poll_write(cx, &large).is_ready());
        assert!(io.as_mut().poll_write(cx, b"end").is_ready());
    });
    assert_eq!(writes, [4, MAX_GATHERED_BYTES + 1, 3]);
}

#[test]
fn slow_client_stops_its_connection_from_writing() {
    let page = vec![0; MAX_GATHERED_BYTES];
    let (writes, (first, second), _) = poll_once(0, false, |mut io, cx| {
        let first = io.as_mut().poll_write(cx, &page).is_ready();
        (first, io.as_mut().poll_write(cx, &page).is_ready())
    });
    assert!(writes.is_empty() && first && !second);
}

#[test]
fn shutdown_sends_gathered_bytes_first() {
    let (writes, is_shut_down, _) = poll_once(9, false, |mut io, cx| {
        assert!(io.as_mut().poll_write(cx, b"GOAWAY").is_ready());
        io.as_mut().poll_shutdown(cx).is_ready()
    });
    assert!(is_shut_down);
    assert_eq!(writes, [6]);
}

#[test]
fn write_error_after_a_poll_is_reported_to_the_connection() {
    let (_, (), failure) = poll_once(0, true, |mut io, cx| {
        assert!(matches!(
            io.as_mut().poll_write(cx, b"page"),
            Poll::Ready(Ok(4))
        ));
    });
    assert_eq!(failure.unwrap().kind(), io::ErrorKind::BrokenPipe);
}
