//! Reads and writes the access logs of web servers.
//!
//! [`open`] decompresses gzip, [`Lines`] splits blocks of bytes into lines, and [`Parser`] extracts
//! the User-Agent and the number of bytes sent from each line. Parsing a line allocates nothing,
//! and memory use does not grow with the log, because a line longer than [`MAX_LINE_BYTES`] is
//! truncated.
//!
//! # Formats
//!
//! *Common* and *combined* are the formats of Apache `httpd` and nginx:
//!
//! ```text
//! host ident user [time] "request" status bytes "referer" "user agent" more…
//! ```
//!
//! Text before the time is skipped, such as a virtual host, an IPv6 address or a user name with
//! spaces. A quoted field ends at a quote that does not follow a backslash. Servers write `\"`,
//! `\\`, `\n`, `\xHH` and similar escape sequences for bytes that cannot appear in a log line;
//! these sequences are decoded. The byte count may be `-`. A line in the common format has no
//! User-Agent.
//!
//! In the *JSON* format, each line is an object, as written by nginx, Caddy and Traefik.
//! [`FieldPath`]s specify the fields to read.
//!
//! # Output
//!
//! `serve` writes the same formats, with the same escaping as nginx. In the combined format,
//! additional quoted fields follow the User-Agent: the robot's ID, the kind of visitor (person,
//! listed or unlisted robot), the decision, and the verdict on the robot's claim (`-` for a person
//! or if nothing was verified). The last field is the duration in seconds. In the common format,
//! which has no quoted field after the request, these fields are words in which spaces are escaped.
//! JSON lines use nginx's names and contain only ASCII characters.
//!
//! # Example
//!
//! ```
//! use robot_detection_traffic::access_log::{Lines, Parser, open};
//!
//! let log = br#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 512 "-" "Example/1.0""#;
//! let mut lines = Lines::new(open(log.as_slice())?);
//! let mut parser = Parser::combined();
//! while lines.read_more()? {
//!     while let Some(line) = lines.next_line() {
//!         let entry = parser.read(line).expect("a line in the combined format");
//!         assert_eq!(entry.user_agent, Some(b"Example/1.0".as_slice()));
//!         assert_eq!(entry.bytes, 512);
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

mod combined;
mod escapes;
mod field_path;
mod json;
mod lines;
mod logged_request;
mod parser;
mod scanner;
mod server;

pub use field_path::{FieldPath, InvalidFieldPath};
pub use lines::open;
pub use lines::{Lines, MAX_LINE_BYTES};
pub use logged_request::LoggedRequest;
pub use parser::{Entry, Parser};
pub use server::{
    GZIP, Line, LoggedAnswer, LoggedClient, LoggedResponse, RecognisedFields, ResponseParser,
};
pub use server::{LineFormat, UnknownLineFormat};
