//! Resource descriptions in SOIF format (RFC 2655).

use std::io::{self, BufRead, Read, Write};

use super::{
    ReadError, ResourceDescription,
    resource_description::{MAX_ATTRIBUTES, MAX_VALUE_BYTES},
};

/// The maximum length of a URL, an attribute name or a size, in bytes.
const MAX_WORD_BYTES: usize = 8 * 1024;

/// Writes a description as a SOIF object, followed by an empty line.
///
/// Each value is preceded by its size in bytes, so it may contain any text. Spaces and control
/// characters in the URL are escaped, because a line feed ends the URL.
///
/// # Errors
///
/// Returns an error if writing to `out` fails.
///
/// # Example
///
/// ```
/// use robot_detection_store::description::{ResourceDescription, write_soif};
///
/// let mut description = ResourceDescription::new("http://www.example.com/");
/// description.set("title", "Zürich");
/// let mut out = Vec::new();
/// write_soif(&description, &mut out)?;
/// let expected = "@DOCUMENT { http://www.example.com/\ntitle{7}:\tZürich\n}\n\n";
/// assert_eq!(out, expected.as_bytes());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_soif(description: &ResourceDescription, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"@DOCUMENT { ")?;
    write_url(description.url(), out)?;
    out.write_all(b"\n")?;
    for attribute in description.attributes() {
        let (name, value) = (attribute.name(), attribute.value());
        writeln!(out, "{name}{{{}}}:\t{value}", value.len())?;
    }
    out.write_all(b"}\n\n")
}

/// A reader for resource descriptions in SOIF format.
///
/// Text between objects is skipped. After an invalid object, reading continues with the next line
/// that begins with `@`. An object that has more than 1,024 attributes or is larger than 16 MiB is
/// rejected; invalid UTF-8 is replaced.
///
/// # Example
///
/// ```
/// use robot_detection_store::description::SoifReader;
///
/// let soif = b"@DOCUMENT { http://www.example.com/\ntitle{5}:\tHello\n}\n";
/// let mut reader = SoifReader::new(&soif[..]);
/// let description = reader.next().unwrap()?;
/// assert_eq!(description.title(), "Hello");
/// assert!(reader.next().is_none());
/// # Ok::<(), robot_detection_store::description::ReadError>(())
/// ```
#[derive(Debug)]
pub struct SoifReader<R> {
    input: R,
    at: u64,
    /// Whether the last byte read was a line feed.
    is_line_start: bool,
    is_over: bool,
}

impl<R: BufRead> SoifReader<R> {
    /// Creates a reader for resource descriptions in SOIF format.
    pub fn new(input: R) -> Self {
        Self {
            input,
            at: 0,
            is_line_start: true,
            is_over: false,
        }
    }

    fn object(&mut self) -> Result<ResourceDescription, ReadError> {
        let is_end = |byte| matches!(byte, b'{' | b'\n');
        self.word(is_end, "object type too long or not terminated")?;
        self.expect(b'{')?;
        self.skip(|byte| byte == b' ' || byte == b'\t')?;
        let is_line_end = |byte| byte == b'\n';
        let url = self.word(is_line_end, "object URL too long or not terminated")?;
        let url = url.trim();
        if url.is_empty() {
            return Err(self.wrong("an object has no URL"));
        }
        let mut description = ResourceDescription::new(url);
        let mut bytes = 0;
        // One iteration more than the maximum number of attributes, since the last iteration finds
        // the `}`.
        for _ in 0..=MAX_ATTRIBUTES {
            self.skip(|byte| byte.is_ascii_whitespace())?;
            match self.peek()? {
                None => return Err(self.wrong("an object does not end with }")),
                Some(b'}') => {
                    self.take_byte()?;
                    return Ok(description);
                }
                Some(_) => self.attribute(&mut description, &mut bytes)?,
            }
        }
        Err(self.wrong("an object has more than 1,024 attributes"))
    }

    fn attribute(
        &mut self,
        description: &mut ResourceDescription,
        bytes: &mut usize,
    ) -> Result<(), ReadError> {
        let is_end = |byte| matches!(byte, b'{' | b'\n');
        let name = self.word(is_end, "attribute name too long or not terminated")?;
        self.expect(b'{')?;
        let is_end = |byte: u8| !byte.is_ascii_digit();
        let size = self.word(is_end, "attribute size too long or not terminated")?;
        for byte in *b"}:" {
            self.expect(byte)?;
        }
        // SOIF requires a tab after the colon; a space is tolerated.
        if matches!(self.peek()?, Some(b'\t' | b' ')) {
            self.take_byte()?;
        }
        let size: usize = size
            .parse()
            .map_err(|_| self.wrong("an attribute has no size"))?;
        // Sizes are added up before the values are read, so that a false size costs nothing.
        *bytes = bytes.saturating_add(size);
        if *bytes > MAX_VALUE_BYTES {
            return Err(self.wrong("an object is larger than 16 MiB"));
        }
        let value = self.value(size)?;
        description.set(&name, value);
        Ok(())
    }

    /// Reads an attribute value. Memory use grows with the data received, not with the size stated
    /// in the object.
    fn value(&mut self, size: usize) -> Result<String, ReadError> {
        let mut value = Vec::new();
        let limit = size as u64;
        let read = self.input.by_ref().take(limit).read_to_end(&mut value)?;
        self.at += read as u64;
        if let Some(last) = value.last() {
            self.is_line_start = *last == b'\n';
        }
        if read < size {
            return Err(self.wrong("unexpected end of file within a value"));
        }
        // Invalid UTF-8 does not invalidate the whole description.
        Ok(String::from_utf8(value)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Skips to the next `@` at the start of a line, and consumes the `@`.
    fn find_object(&mut self) -> io::Result<bool> {
        while let Some(byte) = self.peek()? {
            let is_found = byte == b'@' && self.is_line_start;
            self.take_byte()?;
            if is_found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads up to a delimiter, without consuming the delimiter.
    fn word(
        &mut self,
        is_end: impl Fn(u8) -> bool,
        wrong: &'static str,
    ) -> Result<String, ReadError> {
        let mut word = Vec::new();
        while let Some(byte) = self.peek()? {
            if is_end(byte) {
                return Ok(String::from_utf8_lossy(&word).into_owned());
            }
            if word.len() >= MAX_WORD_BYTES {
                break;
            }
            word.push(byte);
            self.take_byte()?;
        }
        Err(self.wrong(wrong))
    }

    fn expect(&mut self, expected: u8) -> Result<(), ReadError> {
        if self.peek()? != Some(expected) {
            return Err(self.wrong(match expected {
                b'{' => "missing {",
                b'}' => "missing } after a size",
                _ => "missing : after a size",
            }));
        }
        self.take_byte()?;
        Ok(())
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) -> io::Result<()> {
        while self.peek()?.is_some_and(&is_skipped) {
            self.take_byte()?;
        }
        Ok(())
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Ok(buffer) => return Ok(buffer.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take_byte(&mut self) -> io::Result<()> {
        if let Some(byte) = self.peek()? {
            self.input.consume(1);
            self.at += 1;
            self.is_line_start = byte == b'\n';
        }
        Ok(())
    }

    fn wrong(&self, reason: &'static str) -> ReadError {
        ReadError::Syntax {
            at: self.at,
            reason,
        }
    }
}

impl<R: BufRead> Iterator for SoifReader<R> {
    type Item = Result<ResourceDescription, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = match self.find_object() {
            Ok(true) => self.object(),
            Ok(false) => {
                self.is_over = true;
                return None;
            }
            Err(error) => Err(error.into()),
        };
        self.is_over = matches!(read, Err(ReadError::Io(_)));
        Some(read)
    }
}

fn write_url(url: &str, out: &mut impl Write) -> io::Result<()> {
    for byte in url.bytes() {
        if byte <= b' ' || byte == 0x7f {
            write!(out, "%{byte:02X}")?;
        } else {
            out.write_all(&[byte])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(soif: &[u8]) -> Vec<Result<ResourceDescription, String>> {
        SoifReader::new(soif)
            .map(|read| read.map_err(|error| error.to_string()))
            .collect()
    }

    #[test]
    fn sizes_are_in_bytes_and_values_contain_any_text() {
        let soif = "junk\n@FILE { http://www.example.com/\n\
                    Time-to-Live{6}:\t345600\ntitle{9}:\t}\n@A { ü\nempty{0}:\t\n}\n";
        let all = read(soif.as_bytes());
        let [Ok(description)] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert_eq!(description.value("time-to-live"), Some("345600"));
        assert_eq!(description.title(), "}\n@A { ü");
        assert_eq!(description.value("empty"), Some(""));
    }

    #[test]
    fn invalid_object_does_not_stop_the_reader() {
        let good = "@DOCUMENT { http://b.example/\n}\n";
        for (bad, at) in [
            ("@DOCUMENT { \n", 12),
            ("@DOCUMENT http://a.example/\n", 27),
            ("@DOCUMENT { http://a.example/\ntitle: x\n}\n", 38),
            ("@DOCUMENT { http://a.example/\ntitle{}:\tx\n}\n", 39),
            ("@DOCUMENT { http://a.example/\ntitle{1:\tx\n}\n", 37),
            (
                "@DOCUMENT { http://a.example/\ntitle{99999999}:\tx\n}\n",
                47,
            ),
        ] {
            let all = read(format!("{bad}{good}").as_bytes());
            let error = all[0].as_ref().unwrap_err();
            assert!(
                error.starts_with(&format!("invalid resource description at byte {at}: ")),
                "{bad:?}: {error}"
            );
            assert_eq!(
                all[1].as_ref().unwrap().url(),
                "http://b.example/",
                "{bad:?}"
            );
        }
    }

    #[test]
    fn file_may_end_anywhere() {
        let whole = "@DOCUMENT { http://a.example/\ntitle{2}:\tab\n}";
        assert_eq!(read(whole.as_bytes()).len(), 1);
        for end in 1..whole.len() {
            let all = read(&whole.as_bytes()[..end]);
            assert!(matches!(all.as_slice(), [Err(_)]), "{end}");
        }
    }

    #[test]
    fn too_many_attributes_are_rejected() {
        let attributes = "a{1}:\tx\n".repeat(MAX_ATTRIBUTES + 1);
        let all = read(format!("@DOCUMENT {{ http://a.example/\n{attributes}}}\n").as_bytes());
        assert!(all[0].as_ref().unwrap_err().contains("1,024"));
    }

    proptest! {
        #[test]
        fn written_descriptions_can_be_read_back(
            url in "http://[a-z]{1,8}/[a-zé}{@:%]{0,20}",
            attributes in prop::collection::vec(("[ -~]{1,12}", any::<String>()), 0..12),
            junk in "[a-z \n]{0,20}",
        ) {
            let mut description = ResourceDescription::new(url);
            for (name, value) in attributes {
                description.set(&name, value);
            }
            let mut soif = junk.into_bytes();
            soif.push(b'\n');
            for _ in 0..2 {
                write_soif(&description, &mut soif).unwrap();
            }
            let all: Vec<_> = SoifReader::new(soif.as_slice()).map(Result::unwrap).collect();
            prop_assert_eq!(all, [description.clone(), description]);
        }

        #[test]
        fn arbitrary_bytes_are_read_to_the_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let soif = [b"@D { u\na{3}:\t", bytes.as_slice()].concat();
            prop_assert!(SoifReader::new(soif.as_slice()).count() <= bytes.len() + 1);
        }
    }
}
