//! Descriptions as SOIF objects are written (RFC 2655).

use std::io::{self, Write};

use super::ResourceDescription;

/// Writes a description as a SOIF object, an empty line behind it.
///
/// A value's size counts bytes, so that it may hold anything. Spaces and
/// control characters of the URL are escaped, since a line ends it.
///
/// # Errors
///
/// Fails when `out` does.
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
