//! A writer of log lines that never blocks requests on disk I/O.

use std::{
    cell::RefCell,
    fmt,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Write as _},
    mem,
    os::{
        fd::AsFd as _,
        unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
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
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Default)]
struct Shared {
    /// Buffered lines; locked only to copy a line or to take all of them.
    buffer: Mutex<Vec<u8>>,
    lost: AtomicU64,
    close: CancellationToken,
    closed: CancellationToken,
}

struct Job {
    shared: Arc<Shared>,
    /// The path of the file; `None` for standard output.
    path: Option<PathBuf>,
    file: File,
    lines: Vec<u8>,
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
        let path = (path != "-").then(|| PathBuf::from(path));
        let file = match &path {
            Some(path) => append_to(path)?,
            None => io::stdout().as_fd().try_clone_to_owned()?.into(),
        };
        let shared = Arc::<Shared>::default();
        let job = Job {
            shared: Arc::clone(&shared),
            path,
            file,
            lines: Vec::new(),
            reported: 0,
            flushes_until_report: 0,
        };
        // Never joined: a stalled disk must not prevent the process from ending.
        let thread = thread::Builder::new().name("access-log".to_owned());
        let thread = thread.spawn(move || job.run())?.thread().clone();
        Ok(Self { shared, thread })
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

    fn add(&self, line: &[u8]) {
        let mut buffer = lock(&self.shared.buffer);
        let before = buffer.len();
        if before + line.len() > MAX_BUFFERED_BYTES {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        buffer.extend_from_slice(line);
        drop(buffer);
        // Only the line that crosses the mark wakes the thread, which saves system calls.
        if before < WAKE_BYTES && before + line.len() >= WAKE_BYTES {
            self.thread.unpark();
        }
    }

    /// Returns the number of lost lines, which were dropped or could not be written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Writes the remaining lines and closes the writer, within five seconds.
    pub async fn close(&self) {
        self.shared.close.cancel();
        self.thread.unpark();
        let closed = timeout(CLOSE_TIMEOUT, self.shared.closed.cancelled());
        if closed.await.is_err() {
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

impl Job {
    fn run(mut self) {
        loop {
            // `unpark` during a write is remembered, and this call then returns immediately.
            thread::park_timeout(FLUSH_EVERY);
            // Read before the flush, so that lines added before the request to close are written.
            let closes = self.shared.close.is_cancelled() || Arc::strong_count(&self.shared) == 1;
            self.flush();
            if closes {
                return self.shared.closed.cancel();
            }
        }
    }

    fn flush(&mut self) {
        mem::swap(&mut *lock(&self.shared.buffer), &mut self.lines);
        let reopened = self.reopen_if_moved();
        let written = self.file.write_all(&self.lines);
        if written.is_err() {
            let lines = memchr::memchr_iter(b'\n', &self.lines).count();
            self.shared.lost.fetch_add(lines as u64, Ordering::Relaxed);
        }
        self.lines.clear();
        // Releases the memory after a burst of lines.
        self.lines.shrink_to(2 * WAKE_BYTES);
        self.report(&reopened.and(written));
    }

    /// Logs errors and the number of lost lines, at most once a minute.
    fn report(&mut self, result: &io::Result<()>) {
        self.flushes_until_report = self.flushes_until_report.saturating_sub(1);
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let lines = lost - self.reported;
        if (lines > 0 || result.is_err()) && self.flushes_until_report == 0 {
            let why = result.as_ref().err().map(ToString::to_string);
            let why = why.unwrap_or_else(|| "lines arrived too fast".to_owned());
            warn!(
                lines,
                "cannot write the access log: {why}; {lines} lines were lost"
            );
            self.reported = lost;
            self.flushes_until_report = FLUSHES_BETWEEN_REPORTS;
        }
    }

    /// Opens the file again if its path now refers to another file, or to no file, because logrotate
    /// has moved it.
    fn reopen_if_moved(&mut self) -> io::Result<()> {
        if let Some(path) = &self.path
            && is_moved(path, &self.file)
        {
            self.file = append_to(path)?;
            info!("the access log file was moved: reopened {}", path.display());
        }
        Ok(())
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

fn is_moved(path: &Path, file: &File) -> bool {
    let id = |found: Metadata| (found.dev(), found.ino());
    file.metadata()
        .is_ok_and(|open| fs::metadata(path).ok().map(id) != Some(id(open)))
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
        let text = fs::read_to_string(path).unwrap();
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
        fs::rename(&path, &moved).unwrap();
        writer.line(|line| line.extend_from_slice(b"after"));
        writer.close().await;
        assert_eq!(fs::read_to_string(moved).unwrap(), "");
        assert_eq!(fs::read_to_string(path).unwrap(), "after\n");
    }

    #[test]
    fn lines_are_dropped_and_counted_if_the_buffer_is_full() {
        // No thread runs, so the buffer is never emptied.
        let (shared, thread) = (Arc::default(), thread::current());
        let writer = LineWriter { shared, thread };
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
