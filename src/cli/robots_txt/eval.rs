//! `robots-txt eval`: prints a JSON object for each line of standard input.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::ExitCode;

use memchr::memchr;
use serde_json::{Value, json};

use super::evaluator::Evaluator;

/// The number of bytes to read or write with one system call.
const BUFFER_BYTES: usize = 256 * 1024;

pub(super) fn run() -> anyhow::Result<ExitCode> {
    let input = BufReader::with_capacity(BUFFER_BYTES, io::stdin().lock());
    let output = BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock());
    eval(input, output)?;
    Ok(ExitCode::SUCCESS)
}

fn eval<R: io::Read>(mut input: BufReader<R>, mut output: impl Write) -> io::Result<()> {
    let mut evaluator = Evaluator::default();
    let mut line = Vec::new();
    loop {
        // Flushed, because the querying program may wait for the answer before sending the next
        // query.
        if input.buffer().is_empty() {
            output.flush()?;
        }
        let answer = match next_line(&mut input, &mut line)? {
            NextLine::Line => evaluator.answer(&line),
            NextLine::TooLong => json!({"error": "the line is longer than 64 MiB"}),
            NextLine::End => return output.flush(),
        };
        write(&mut output, &answer)?;
    }
}

fn write(output: &mut impl Write, answer: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")
}

/// The maximum length of a line; longer lines are skipped to limit memory use.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// The result of reading a line of input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NextLine {
    /// A line was read into the buffer.
    Line,
    /// A line was longer than 64 MiB and was skipped.
    TooLong,
    End,
}

/// Clears the buffer, and reads a line into the buffer without the newline.
pub(super) fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<NextLine> {
    line.clear();
    let mut is_too_long = false;
    let mut is_empty = true;
    loop {
        let read = reader.fill_buf()?;
        if read.is_empty() {
            return Ok(match (is_empty, is_too_long) {
                (true, _) => NextLine::End,
                (false, true) => NextLine::TooLong,
                (false, false) => NextLine::Line,
            });
        }
        is_empty = false;
        let end = memchr(b'\n', read);
        let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
        // Remains set until the line ends, so that the rest of the line is not read as a new line.
        is_too_long |= line.len() + part.len() > MAX_LINE_BYTES;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(if is_too_long {
                NextLine::TooLong
            } else {
                NextLine::Line
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_read_and_too_long_lines_are_skipped() {
        let mut input = b"a\n\n".to_vec();
        input.resize(input.len() + MAX_LINE_BYTES + 1, b'x');
        input.extend(b"\nb\r\nc");
        let mut reader = input.as_slice();
        let (mut line, mut seen) = (Vec::new(), Vec::new());
        loop {
            match next_line(&mut reader, &mut line).unwrap() {
                NextLine::End => break,
                NextLine::TooLong => seen.push("too long".to_owned()),
                NextLine::Line => seen.push(String::from_utf8(line.clone()).unwrap()),
            }
        }
        assert_eq!(seen, ["a", "", "too long", "b\r", "c"]);
    }
}
