//! A writer of log lines that never blocks requests on disk I/O.

use std::{
    cell::RefCell,
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write},
    mem,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The maximum number of buffered bytes that wait to be written; further lines are dropped.
// Room for 64 wake-ups of a stalled disk, so that a short stall loses no lines.
const MAX_BUFFERED_BYTES: usize = 4 * 1024 * 1024;
/// The number of buffered bytes at which the writer is woken.
const WAKE_BYTES: usize = 64 * 1024;
/// The maximum time that a line stays in the buffer.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// The number of flushes between two reports of lost lines, so that reports do not fill the log.
const FLUSHES_BETWEEN_REPORTS: u32 = 60;
/// The maximum time for which closing waits until the last lines are written.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Permissions of a new log file, which contains visitors' addresses.
const FILE_MODE: u32 = 0o640;

/// A writer of lines to a file or to standard output, which runs in a separate thread.
///
/// Lines stay in memory for at most a second. Lines that arrive faster than they can be written are
/// dropped and counted, so that no request waits for a disk. A file that was moved or removed is
/// created again. Clones share the file.
#[derive(Clone)]
pub struct LineWriter {
    handle: Arc<Handle>,
}

struct Handle {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    /// Buffered lines; locked only to copy a line or to swap two buffers.
    buffer: Mutex<Vec<u8>>,
    lost: AtomicU64,
    reopen: AtomicBool,
    close: AtomicBool,
    closed: CancellationToken,
}

/// The destination of the written lines.
#[derive(Debug)]
enum Sink {
    Output,
    File { path: PathBuf, file: File },
}

#[derive(Debug)]
struct Job {
    shared: Arc<Shared>,
    sink: Sink,
    spare: Vec<u8>,
    is_failing: bool,
    reported: u64,
    flushes_until_report: u32,
}

impl LineWriter {
    /// Opens a file for appending, and creates the file if it does not exist; `-` stands for
    /// standard output.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened for writing, or if no thread can be started.
    pub fn open(path: &str) -> io::Result<Self> {
        let sink = Sink::open(path)?;
        let shared = Arc::<Shared>::default();
        let job = Job {
            shared: Arc::clone(&shared),
            sink,
            spare: Vec::new(),
            is_failing: false,
            reported: 0,
            flushes_until_report: 0,
        };
        let thread = thread::Builder::new()
            .name("access-log".to_owned())
            // The thread is never joined: a stalled disk must not prevent the process from ending.
            .spawn(move || job.run())?
            .thread()
            .clone();
        let handle = Arc::new(Handle { shared, thread });
        Ok(Self { handle })
    }

    /// Adds the line that `write` appends without a line ending, or drops the line if the buffer is
    /// full.
    pub fn line(&self, write: impl FnOnce(&mut Vec<u8>)) {
        thread_local! {
            static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        // A thread-local buffer, so that the lock is held only to copy a complete line.
        LINE.with_borrow_mut(|line| {
            line.clear();
            write(line);
            line.push(b'\n');
            self.add(line);
            // A single long line must not keep its memory allocated in every thread.
            line.shrink_to(WAKE_BYTES);
        });
    }

    /// Reopens the file after log rotation has moved the file; earlier lines are written first.
    pub fn reopen(&self) {
        // Release, so that the thread that sees the flag also sees the lines in the buffer.
        self.handle.shared.reopen.store(true, Ordering::Release);
        self.handle.thread.unpark();
    }

    /// Returns the number of lost lines, which were dropped or could not be written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.handle.shared.lost.load(Ordering::Relaxed)
    }

    fn add(&self, line: &[u8]) {
        let shared = &*self.handle.shared;
        let mut buffer = lock(&shared.buffer);
        let before = buffer.len();
        // Dropping a line is better than blocking a request until the disk recovers.
        if before + line.len() > MAX_BUFFERED_BYTES {
            drop(buffer);
            shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        buffer.extend_from_slice(line);
        // Only the line that crosses the mark wakes the thread, which saves system calls.
        let is_time = before < WAKE_BYTES && buffer.len() >= WAKE_BYTES;
        drop(buffer);
        if is_time {
            self.handle.thread.unpark();
        }
    }

    /// Writes the remaining lines and closes the writer, within five seconds.
    pub async fn close(&self) {
        self.handle.close();
        if timeout(CLOSE_TIMEOUT, self.handle.shared.closed.cancelled())
            .await
            .is_err()
        {
            warn!("could not write the last access log lines in time; these lines are lost");
        }
    }
}

impl fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter")
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}

impl Handle {
    fn close(&self) {
        self.shared.close.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl Job {
    fn run(mut self) {
        loop {
            // `unpark` during a write is remembered, and this call then returns immediately.
            thread::park_timeout(FLUSH_EVERY);
            // Read before the flush, so that lines added before the request to close are written.
            let closes = self.shared.close.load(Ordering::Acquire);
            let reopens = self.shared.reopen.swap(false, Ordering::AcqRel);
            self.flush();
            if reopens {
                self.sink.reopen();
            }
            if closes {
                self.shared.closed.cancel();
                return;
            }
        }
    }

    fn flush(&mut self) {
        mem::swap(&mut *lock(&self.shared.buffer), &mut self.spare);
        if !self.spare.is_empty() {
            // Checked once per flush and not for each line, because the check is a system call.
            self.sink.reopen_if_moved();
            self.write();
            self.spare.clear();
            // Releases the memory after a burst of lines.
            self.spare.shrink_to(2 * WAKE_BYTES);
        }
        self.report();
    }

    fn write(&mut self) {
        match self.sink.write(&self.spare) {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                let lines = memchr::memchr_iter(b'\n', &self.spare).count();
                let lines = u64::try_from(lines).unwrap_or(u64::MAX);
                self.shared.lost.fetch_add(lines, Ordering::Relaxed);
                // Logged once for each failure, not for each flush to a full disk.
                if !mem::replace(&mut self.is_failing, true) {
                    let sink = self.sink.name();
                    warn!(%error, "cannot write the access log to {sink}: {error}; lines are lost until writing succeeds");
                }
            }
        }
    }

    /// Logs the number of lost lines, at most once a minute.
    fn report(&mut self) {
        self.flushes_until_report = self.flushes_until_report.saturating_sub(1);
        let lost = self.shared.lost.load(Ordering::Relaxed);
        if lost > self.reported && self.flushes_until_report == 0 {
            let lines = lost - self.reported;
            warn!(
                lines,
                "lost {lines} access log lines, which could not be written or arrived too fast"
            );
            self.reported = lost;
            self.flushes_until_report = FLUSHES_BETWEEN_REPORTS;
        }
    }
}

impl Sink {
    fn open(path: &str) -> io::Result<Self> {
        if path == "-" {
            return Ok(Self::Output);
        }
        let path = PathBuf::from(path);
        Ok(Self::File {
            file: append_to(&path)?,
            path,
        })
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::Output => {
                let mut output = io::stdout().lock();
                output.write_all(lines)?;
                output.flush()
            }
            Self::File { file, .. } => file.write_all(lines),
        }
    }

    fn reopen(&mut self) {
        let Self::File { path, file } = self else {
            return;
        };
        match append_to(path) {
            Ok(opened) => *file = opened,
            Err(error) => {
                let path = path.display();
                warn!(%error, "cannot reopen the access log {path}: {error}; continuing with the old file");
            }
        }
    }

    fn reopen_if_moved(&mut self) {
        if let Self::File { path, file } = self
            && is_moved(path, file)
        {
            info!(
                "the access log file was moved: reopening {}",
                path.display()
            );
            self.reopen();
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Output => "standard output".to_owned(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        // Lines are appended at the end of the file even after a `copytruncate` of logrotate.
        .append(true)
        .mode(FILE_MODE)
        .open(path)
}

/// Returns `true` if the path now refers to another file, or to no file.
///
/// logrotate moves files without notification if no signal is configured.
fn is_moved(path: &Path, file: &File) -> bool {
    let Ok(open) = file.metadata() else {
        return false;
    };
    std::fs::metadata(path).map_or(true, |found| {
        (found.dev(), found.ino()) != (open.dev(), open.ino())
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(directory: &Path) -> (LineWriter, PathBuf) {
        let path = directory.join("access.log");
        let writer = LineWriter::open(path.to_str().unwrap()).unwrap();
        (writer, path)
    }

    #[tokio::test]
    async fn all_lines_are_written_before_closing() {
        let directory = tempfile::tempdir().unwrap();
        let (writer, path) = log(directory.path());
        thread::scope(|scope| {
            for thread in 0..4 {
                let writer = &writer;
                scope.spawn(move || {
                    for number in 0..1000 {
                        writer.line(|line| {
                            let _ = write!(line, "{thread} {number}");
                        });
                    }
                });
            }
        });
        writer.close().await;
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().count(), 4000);
        for thread in 0..4 {
            let of_thread = text
                .lines()
                .filter_map(|line| line.strip_prefix(&format!("{thread} ")));
            let numbers = of_thread.map(|number| number.parse::<usize>().unwrap());
            assert!(numbers.eq(0..1000), "in their order");
        }
        assert_eq!(writer.lost(), 0);
    }

    #[tokio::test]
    async fn moved_file_is_created_again() {
        let directory = tempfile::tempdir().unwrap();
        let (writer, path) = log(directory.path());
        let moved = directory.path().join("access.log.1");
        std::fs::rename(&path, &moved).unwrap();
        writer.line(|line| line.extend_from_slice(b"after"));
        writer.close().await;
        assert_eq!(std::fs::read_to_string(moved).unwrap(), "");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "after\n");
    }

    #[test]
    fn reopening_opens_the_file_with_the_same_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.log");
        let mut sink = Sink::open(path.to_str().unwrap()).unwrap();
        sink.write(b"old\n").unwrap();
        let moved = directory.path().join("access.log.1");
        std::fs::rename(&path, &moved).unwrap();
        sink.write(b"old\n").unwrap();
        sink.reopen();
        sink.write(b"new\n").unwrap();
        assert_eq!(std::fs::read_to_string(moved).unwrap(), "old\nold\n");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "new\n");
    }

    #[test]
    fn lines_are_dropped_and_counted_if_the_buffer_is_full() {
        // No thread runs, so these buffers are never emptied.
        let shared = Arc::<Shared>::default();
        let thread = thread::current();
        let handle = Arc::new(Handle { shared, thread });
        let writer = LineWriter { handle };
        let line = "x".repeat(1023);
        for _ in 0..MAX_BUFFERED_BYTES / 1024 {
            writer.line(|buffer| buffer.extend_from_slice(line.as_bytes()));
        }
        assert_eq!(writer.lost(), 0);
        writer.line(|buffer| buffer.extend_from_slice(b"one too many"));
        writer.line(|buffer| buffer.extend_from_slice(b"and another"));
        assert_eq!(writer.lost(), 2);
    }

    #[tokio::test]
    async fn unwritable_lines_are_dropped_and_counted() {
        // A device on which every write fails because there is no space.
        let writer = LineWriter::open("/dev/full").unwrap();
        writer.line(|line| line.extend_from_slice(b"a"));
        writer.line(|line| line.extend_from_slice(b"b"));
        writer.close().await;
        assert_eq!(writer.lost(), 2);
    }

    #[test]
    fn missing_directory_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/access.log");
        let error = LineWriter::open(path.to_str().unwrap()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
