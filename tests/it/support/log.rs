//! What the library logs in this process.
//!
//! One subscriber serves all tests: with one for each, a line that another
//! test's thread meets first may be switched off for good. A test finds its
//! own lines by what only it can have said, such as its server's address.

use std::{
    io::{self, Write},
    sync::{Mutex, Once, PoisonError},
};

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static START: Once = Once::new();

/// Starts to keep warnings and errors; call it before what may log.
pub(crate) fn keep() {
    START.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .with_writer(|| Keeper)
            .init();
    });
}

/// Returns the lines kept so far that contain `text`.
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
