//! Resource descriptions in JSON Lines format.

use std::io::{self, BufRead, Read, Write};

use super::{ReadError, ResourceDescription};

/// The maximum line length in bytes, excluding the line feed: enough for a description of the
/// maximum size in which every character is escaped.
const MAX_LINE_BYTES: u64 = 100 * 1024 * 1024;

/// Writes a description as one line: a JSON object with `url` and all attributes.
///
/// # Errors
///
/// Returns an error if writing to `out` fails.
///
/// # Example
///
/// ```
/// use robot_detection_store::description::{ResourceDescription, write_json_line};
///
/// let mut description = ResourceDescription::new("http://www.example.com/");
/// description.set("title", "Hello");
/// let mut out = Vec::new();
/// write_json_line(&description, &mut out)?;
/// assert_eq!(out, b"{\"url\":\"http://www.example.com/\",\"title\":\"Hello\"}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_json_line(description: &ResourceDescription, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, description).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// A reader for resource descriptions in JSON Lines format; empty lines are skipped.
///
/// An invalid line yields an error; reading then continues with the next line.
#[derive(Debug)]
pub struct JsonLinesReader<R> {
    input: R,
    line: u64,
    max_line_bytes: u64,
    is_over: bool,
}

impl<R: BufRead> JsonLinesReader<R> {
    /// Creates a reader for resource descriptions in JSON Lines format.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: 0,
            max_line_bytes: MAX_LINE_BYTES,
            is_over: false,
        }
    }

    /// Reads the next resource description. Returns `None` at the end of the input.
    fn read(&mut self) -> Result<Option<ResourceDescription>, ReadError> {
        let mut line = Vec::new();
        loop {
            line.clear();
            // Read one byte more than the limit: it is either the line feed, or proof that the line
            // is too long.
            let most = self.max_line_bytes.saturating_add(1);
            let mut limited = self.input.by_ref().take(most);
            if limited.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if line.len() as u64 == most && line.last() != Some(&b'\n') {
                self.input.skip_until(b'\n')?;
                return Err(self.wrong("the line is too long".to_owned()));
            }
            if !line.trim_ascii().is_empty() {
                break;
            }
        }
        let read = serde_json::from_slice(&line);
        read.map(Some).map_err(|error| self.wrong(reason(&error)))
    }

    fn wrong(&self, reason: String) -> ReadError {
        ReadError::Json {
            line: self.line,
            reason,
        }
    }
}

impl<R: BufRead> Iterator for JsonLinesReader<R> {
    type Item = Result<ResourceDescription, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = self.read();
        // Reading can continue after an invalid line, but not after an I/O error, which may repeat
        // forever.
        self.is_over = matches!(read, Ok(None) | Err(ReadError::Io(_)));
        read.transpose()
    }
}

/// Returns the JSON parser's error message, in which the position is a column of the line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // The parser receives one line at a time, so it always reports line 1.
    let (what, _) = text.rsplit_once(" at line ").unwrap_or((&text, ""));
    format!("{what} at column {}", error.column())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_line_does_not_stop_the_reader() {
        let lines =
            "\n{\"title\":\"x\"}\nnone\n\n{\"n\":1,\"list\":[\"a\"],\"no\":null,\"url\":\"u\"}";
        let all: Vec<_> = JsonLinesReader::new(lines.as_bytes()).collect();
        let [Err(first), Err(second), Ok(third)] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert!(
            first
                .to_string()
                .starts_with("invalid resource description on line 2: missing field `url`"),
            "{first}"
        );
        assert!(
            second
                .to_string()
                .starts_with("invalid resource description on line 3: "),
            "{second}"
        );
        assert_eq!(third.url(), "u");
        assert_eq!(third.value("n"), Some("1"));
        assert_eq!(third.value("list"), Some("[\"a\"]"));
        assert_eq!(third.value("no"), None);
    }

    #[test]
    fn line_feed_does_not_count_towards_the_line_limit() {
        let fits = "{\"url\":\"1234567\"}";
        let long = "{\"url\":\"12345678\"}";
        for (lines, expected) in [
            (format!("{fits}\n{fits}"), [true, true]),
            (format!("{fits}\n{long}"), [true, false]),
            (format!("{long}\n{fits}\n"), [false, true]),
            (format!("{long}\n{long}\n"), [false, false]),
        ] {
            let mut reader = JsonLinesReader::new(lines.as_bytes());
            reader.max_line_bytes = fits.len() as u64;
            let all: Vec<_> = reader.collect();
            let read: Vec<bool> = all.iter().map(Result::is_ok).collect();
            assert_eq!(read, expected, "{all:?}");
        }
    }

    proptest! {
        #[test]
        fn written_descriptions_can_be_read_back(
            url in any::<String>(),
            attributes in prop::collection::vec(("[a-t]{1,12}", any::<String>()), 0..12),
        ) {
            let mut description = ResourceDescription::new(url);
            for (name, value) in attributes {
                description.set(&name, value);
            }
            let mut lines = Vec::new();
            for _ in 0..2 {
                write_json_line(&description, &mut lines).unwrap();
            }
            prop_assert_eq!(lines.split(|byte| *byte == b'\n').count(), 3);
            let all: Vec<_> = JsonLinesReader::new(lines.as_slice()).map(Result::unwrap).collect();
            prop_assert_eq!(all, [description.clone(), description]);
        }
    }
}
