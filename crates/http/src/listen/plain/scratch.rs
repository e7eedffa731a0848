//! Memory that the connections of a thread use in turns, so that idle ones hold none.

use std::cell::{Cell, RefCell};

/// Bytes that are read at once.
pub(super) const READ_BYTES: usize = 8 * 1024;
/// Room that a thread keeps for what is written.
const KEPT_BYTES: usize = 128 * 1024;

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WRITE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lends room for one read.
pub(super) fn with_read_buffer<T>(read: impl FnOnce(&mut [u8]) -> T) -> T {
    READ.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(READ_BYTES, 0);
        }
        read(buffer)
    })
}

/// Takes the room for what is written; it is empty.
pub(super) fn take_write_buffer() -> Vec<u8> {
    WRITE.take()
}

/// Gives back the room for what is written.
pub(super) fn return_write_buffer(mut out: Vec<u8>) {
    if out.capacity() <= KEPT_BYTES {
        out.clear();
        WRITE.set(out);
    }
}
