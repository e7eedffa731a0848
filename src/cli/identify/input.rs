//! Reads files and standard input, one after another.

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::access_log::{Entry, Lines, Parser, open};
use crate::cli::output;

/// A consumer of log entries.
pub(super) trait EntrySink {
    /// Handles one line; `None` represents a line that does not match the log's format.
    fn entry(&mut self, entry: Option<Entry<'_>>) -> io::Result<()>;

    /// Handles a pause before a read that may block.
    ///
    /// Buffered results are written at this point, so that `tail -f access.log | identify` is not
    /// delayed.
    fn pause(&mut self) -> io::Result<()>;
}

/// The counts of the lines that were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadCounts {
    pub(super) lines: u64,
    pub(super) unreadable: u64,
    pub(super) without_user_agent: u64,
    /// The number of inputs that could not be read to the end.
    pub(super) failed: u64,
}

/// An input from which lines are read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::cli) enum Input {
    Stdin,
    File(PathBuf),
}

impl Input {
    /// Returns the inputs for file arguments; `-` and an empty list mean standard input.
    pub(in crate::cli) fn named(files: &[PathBuf]) -> Vec<Self> {
        if files.is_empty() {
            return vec![Self::Stdin];
        }
        let named = |file: &PathBuf| match file.to_str() {
            Some("-") => Self::Stdin,
            _ => Self::File(file.clone()),
        };
        files.iter().map(named).collect()
    }

    /// Returns the size of a regular file, in bytes.
    pub(super) fn size_bytes(&self) -> Option<u64> {
        let Self::File(path) = self else {
            return None;
        };
        let metadata = path.metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    pub(super) fn reader(&self, bar: &ProgressBar) -> io::Result<Box<dyn Read>> {
        match self {
            Self::Stdin => open(bar.wrap_read(io::stdin().lock())),
            Self::File(path) => open(bar.wrap_read(File::open(path)?)),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => f.write_str(&output::clean(&Path::display(path).to_string())),
        }
    }
}

/// Reads all inputs; if an input fails, reports the error and continues with the next input.
pub(super) fn read_all(
    inputs: &[Input],
    parser: &mut Parser,
    sink: &mut impl EntrySink,
    bar: &ProgressBar,
) -> io::Result<ReadCounts> {
    let mut counts = ReadCounts::default();
    for input in inputs {
        let failure = match input.reader(bar) {
            Ok(reader) => read(reader, parser, sink, &mut counts)?,
            Err(error) => Some(error),
        };
        if let Some(error) = failure {
            counts.failed += 1;
            // The progress bar is suspended, because it would otherwise be drawn over the line.
            bar.suspend(|| output::note(&format!("error: cannot read {input}: {error}")));
        }
    }
    Ok(counts)
}

/// Reads one input; returns the error that stopped reading, if any; fails if the sink fails.
fn read(
    reader: impl Read,
    parser: &mut Parser,
    sink: &mut impl EntrySink,
    counts: &mut ReadCounts,
) -> io::Result<Option<io::Error>> {
    let mut lines = Lines::new(reader);
    loop {
        while let Some(line) = lines.next_line() {
            let entry = parser.read(line);
            counts.lines += 1;
            match entry {
                None => counts.unreadable += 1,
                Some(entry) if entry.user_agent.is_none() => counts.without_user_agent += 1,
                Some(_) => {}
            }
            sink.entry(entry)?;
        }
        // Called before the next read, which may block indefinitely on a pipe.
        sink.pause()?;
        match lines.read_more() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// Returns a progress bar, which is hidden without a terminal or if results are printed to the
/// terminal.
pub(in crate::cli) fn bar(inputs: &[Input], is_summary: bool) -> ProgressBar {
    // A progress bar and results on the same terminal would overwrite each other.
    let is_free = is_summary || !io::stdout().is_terminal();
    if !is_free || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    // If the size of an input is unknown, as for a pipe, the bar does not show a percentage.
    let sizes: Option<u64> = inputs.iter().map(Input::size_bytes).sum();
    let (bar, style) = match sizes {
        Some(bytes) => (
            ProgressBar::new(bytes),
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

/// The progress of verification: the number of verified claims out of all claims found.
///
/// Each combination of robot and address is counted once. Reading pauses during verification, so a
/// bar that shows only bytes would appear to hang.
#[derive(Debug)]
pub(super) struct ProofProgress {
    bar: ProgressBar,
    found: usize,
    proven: usize,
}

impl ProofProgress {
    pub(super) fn new(bar: &ProgressBar) -> Self {
        Self {
            bar: bar.clone(),
            found: 0,
            proven: 0,
        }
    }

    /// Adds a number of claims to verify.
    pub(super) fn found(&mut self, more: usize) {
        self.found += more;
        self.show();
    }

    /// Counts a claim as finished, regardless of the verdict.
    pub(super) fn proven(&mut self) {
        self.proven += 1;
        self.show();
    }

    fn show(&self) {
        let Self { bar, found, proven } = self;
        bar.set_message(format!("{proven} of {found} robot addresses verified"));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access_log::{FieldPath, MAX_LINE_BYTES};
    use crate::cli::{context, identify::answer_writer::AnswerWriter};
    use crate::detect::Detector;

    fn answers(detector: &Detector, mut parser: Parser, input: &[u8], is_json: bool) -> String {
        let mut out = Vec::new();
        let mut counts = ReadCounts::default();
        let mut sink = AnswerWriter::new(detector, &mut out, is_json);
        assert!(
            read(input, &mut parser, &mut sink, &mut counts)
                .unwrap()
                .is_none()
        );
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count() as u64, counts.lines);
        text
    }

    fn user_agents(input: &[u8]) -> String {
        let detector = context::bundled_detector(true).unwrap();
        answers(&detector, Parser::user_agents(), input, false)
    }

    #[test]
    fn each_input_line_gives_one_output_line() {
        let input =
            b"Mozilla/5.0 (compatible; Googlebot/2.1)\r\n\nMozilla/5.0 (X11)\nGooglebot/2.1";
        assert_eq!(user_agents(input), "googlebot\n-\n-\ngooglebot\n");
        assert_eq!(user_agents(b""), "");
    }

    #[test]
    fn unterminated_line_is_not_kept_in_memory() {
        let mut input = vec![b'x'; 30 * MAX_LINE_BYTES];
        input.extend(b"\nGooglebot/2.1\n");
        assert_eq!(user_agents(&input), "-\ngooglebot\n");
    }

    #[test]
    fn inputs_are_standard_input_or_files() {
        let files = ["-", "./-", "a.log"].map(PathBuf::from);
        let [stdin, dash, log] = Input::named(&files).try_into().unwrap();
        assert_eq!(stdin, Input::Stdin);
        assert_eq!(dash, Input::File("./-".into()));
        assert_eq!(log.to_string(), "a.log");
        assert_eq!(Input::named(&[]), [Input::Stdin]);
        assert_eq!(Input::File("a\x1b[2J".into()).to_string(), "a\u{fffd}[2J");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn arbitrary_bytes_give_one_output_line_per_input_line(
            input in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'"'), Just(b'\\'), Just(b' '), any::<u8>()],
                0..400,
            ),
        ) {
            let detector = Detector::default();
            let json = Parser::json(FieldPath::usual_user_agents(), FieldPath::usual_bytes());
            let ended = input.strip_suffix(b"\n").unwrap_or(&input);
            let lines = match input.len() {
                0 => 0,
                _ => ended.split(|byte| *byte == b'\n').count(),
            };
            for parser in [Parser::user_agents(), Parser::combined(), json] {
                for is_json in [false, true] {
                    let text = answers(&detector, parser.clone(), &input, is_json);
                    prop_assert_eq!(text.lines().count(), lines);
                }
            }
        }
    }
}

#[cfg(test)]
mod progress_tests {
    use super::*;

    #[test]
    fn progress_bar_shows_verified_and_found_claims() {
        let bar = ProgressBar::hidden();
        let mut claims = ProofProgress::new(&bar);
        assert_eq!(bar.message(), "");
        claims.found(3);
        assert_eq!(bar.message(), "0 of 3 robot addresses verified");
        claims.proven();
        claims.found(2);
        claims.proven();
        assert_eq!(bar.message(), "2 of 5 robot addresses verified");
    }
}
