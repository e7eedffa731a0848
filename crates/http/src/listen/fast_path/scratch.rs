//! Buffers that the connections of a thread share, so that idle ones hold no memory.

use std::cell::{Cell, RefCell};

/// Bytes of one read; also the longest head that is parsed here.
pub(super) const READ_BYTES: usize = 8 * 1024;
/// Largest write buffer that a thread keeps: one huge response must not hold memory for ever.
const KEPT_BYTES: usize = 128 * 1024;

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WRITE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lends the buffer for one read.
pub(super) fn with_read_buffer<T>(read: impl FnOnce(&mut [u8]) -> T) -> T {
    READ.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(READ_BYTES, 0);
        }
        read(buffer)
    })
}

/// Takes the write buffer, which is empty.
///
/// A connection that waits for its client keeps it, and the next one gets a new one.
pub(super) fn take_write_buffer() -> Vec<u8> {
    WRITE.take()
}

/// Gives the write buffer back.
pub(super) fn return_write_buffer(mut out: Vec<u8>) {
    if out.capacity() <= KEPT_BYTES {
        out.clear();
        WRITE.set(out);
    }
}
