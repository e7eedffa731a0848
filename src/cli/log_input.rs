//! Access logs as input of commands: arguments, files, progress, and the check of the first lines.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::access_log::{FieldPath, Lines, LogFormat, LogLine, LogReader, open};
use crate::cli::output;

/// The number of bytes examined to recognise the format of a log.
const SAMPLE_BYTES: u64 = 256 * 1024;

/// Arguments that describe the lines of access logs.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct LogArgs {
    /// Format of the log lines, in the notation of nginx, Apache or GoAccess [default: recognised]
    #[arg(long, value_name = "NOTATION", conflicts_with_all = ["field", "bytes_field"])]
    log_format: Option<LogFormat>,
    /// User-Agent field in JSON lines, such as `request.headers.User-Agent` [default: common names]
    #[arg(long, value_name = "NAME")]
    field: Option<FieldPath>,
    /// Response size field in JSON lines [default: common names]
    #[arg(long, value_name = "NAME")]
    bytes_field: Option<FieldPath>,
}

impl LogArgs {
    /// Returns a reader for the described lines.
    pub(super) fn reader(&self) -> LogReader {
        match &self.log_format {
            Some(format) => LogReader::with_format(format.clone()),
            None => LogReader::with_fields(self.field.clone(), self.bytes_field.clone()),
        }
    }
}

/// The format and the fields of the first lines of a log.
#[derive(Debug)]
pub(super) struct Sample {
    format: &'static str,
    fields: BTreeSet<&'static str>,
    /// The earliest time, in seconds since 1970.
    pub(super) first_s: Option<i64>,
    is_empty: bool,
}

impl Sample {
    /// Reads the first lines of a log.
    pub(super) fn read(log: impl Read, mut reader: LogReader) -> io::Result<Self> {
        let mut lines = Lines::new(log.take(SAMPLE_BYTES));
        let (mut fields, mut first_s, mut is_empty) = (BTreeSet::new(), None, true);
        let mut format = "an unknown format";
        while lines.read_more()? {
            while let Some(line) = lines.next_line() {
                is_empty = false;
                let mut time_s = None;
                if let LogLine::Request(record) = reader.read(line) {
                    fields.extend(record.present());
                    time_s = record.time_s;
                }
                // The last line may be cut off.
                if let Some(time_s) = time_s {
                    first_s = Some(first_s.map_or(time_s, |first_s: i64| first_s.min(time_s)));
                    format = reader.format();
                }
            }
        }
        Ok(Self {
            format,
            fields,
            first_s,
            is_empty,
        })
    }

    /// Returns the reason why robots cannot be recognised in the log; `None` for an empty log.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        if self.is_empty {
            return None;
        }
        if !self.fields.contains("time") {
            return Some(
                "no line is in a known log format and contains a time; specify the format with --log-format",
            );
        }
        (!self.fields.contains("User-Agent"))
            .then_some("no line has a User-Agent: the common format does not contain it, but the combined format does; specify a JSON field with --field")
    }

    /// Returns `true` if only the User-Agent is missing.
    pub(super) fn lacks_user_agent(&self) -> bool {
        self.fields.contains("time") && !self.fields.contains("User-Agent")
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.fields.iter().copied().collect();
        f.write_str(self.format)?;
        if names.is_empty() {
            return Ok(());
        }
        write!(f, " with {}", names.join(", "))
    }
}

/// A log to read.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// The name without control characters.
    pub(super) name: String,
}

impl Input {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            name: output::clean(&path.display().to_string()),
        }
    }

    pub(super) fn reader(&self, bar: &ProgressBar) -> io::Result<Box<dyn Read>> {
        open(bar.wrap_read(File::open(&self.path)?))
    }

    pub(super) fn sample(&self, reader: LogReader) -> io::Result<Sample> {
        Sample::read(self.reader(&ProgressBar::hidden())?, reader)
    }

    /// Returns the size of a regular file, in bytes.
    pub(super) fn size_bytes(&self) -> Option<u64> {
        let metadata = self.path.metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns a progress bar for reading all inputs a number of times; hidden without a terminal.
pub(super) fn bar<'i>(inputs: impl IntoIterator<Item = &'i Input>, times: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    // If the size of an input is unknown, as for a pipe, the bar does not show a percentage.
    let sizes: Option<u64> = inputs.into_iter().map(Input::size_bytes).sum();
    let (bar, style) = match sizes {
        Some(bytes) => (
            ProgressBar::new(bytes.saturating_mul(times)),
            "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left  {msg}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {bytes}  {bytes_per_sec}  {msg}",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
