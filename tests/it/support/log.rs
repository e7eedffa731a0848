//! Log messages of the library in this process.
//!
//! All tests share one subscriber: with one for each test, a message that another test's thread
//! emits first may be disabled for good. A test finds its own messages by unique text, such as its
//! server's address.

use std::{
    io::{self, Write},
    sync::{Mutex, Once, PoisonError},
};

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static START: Once = Once::new();

/// Starts collecting warnings and errors; call this before code that may log.
pub(crate) fn keep() {
    START.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .with_writer(|| Keeper)
            .init();
    });
}

/// Returns the collected lines that contain `text`.
pub(crate) fn lines_with(text: &str) -> Vec<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&lines)
        .lines()
        .filter(|line| line.contains(text))
        .map(str::to_owned)
        .collect()
}

struct Keeper;

impl Write for Keeper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        lines.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
