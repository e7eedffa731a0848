//! Access logs of web servers, read and written line by line.
//!
//! [`open`] unpacks gzip, [`Lines`] finds the lines in blocks of bytes,
//! [`Parser`] takes User-Agent and bytes sent out of each. A line costs no
//! allocation, and memory does not grow with the log: a line longer than
//! [`MAX_LINE_BYTES`] is cut, never kept.
//!
//! # Forms
//!
//! *Common* and *combined* are those of Apache `httpd` and nginx:
//!
//! ```text
//! host ident user [time] "request" status bytes "referer" "user agent" more…
//! ```
//!
//! Whatever stands before the time is read over: a virtual host, an IPv6
//! address, a user name with blanks. A quoted field ends at a quote without a
//! backslash. `\"`, `\\`, `\n`, `\xHH` and their like are what the servers
//! write for bytes that a log cannot hold; they are turned back. Bytes may be
//! `-`, and a line of the common form has no User-Agent.
//!
//! *JSON* is one object a line, as nginx, Caddy and Traefik write it, with the
//! fields that [`FieldPath`]s name.
//!
//! # Written
//!
//! `serve` writes the same forms, escaped as nginx does. The combined form has
//! quoted fields after the User-Agent: the robot's id, whether it is a person, a
//! listed or an unlisted robot, the decision, and the verdict on the robot's claim,
//! `-` for a person and where nobody proves claims; then the seconds that it took.
//! The common form, which has no quoted field after the request, has them as
//! words, with their blanks escaped. JSON has nginx's names, and is ASCII.
//!
//! # Example
//!
//! ```
//! use robot_detection_traffic::access_log::{Lines, Parser, open};
//!
//! let log = br#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 512 "-" "Example/1.0""#;
//! let mut lines = Lines::new(open(log.as_slice())?);
//! let mut parser = Parser::combined();
//! while lines.fill()? {
//!     while let Some(line) = lines.next_line() {
//!         let entry = parser.read(line).expect("a line of the combined form");
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
pub use server::{Asked, GZIP, Line, LoggedAnswer, RecognisedFields, Served, ServedLines};
pub use server::{LineFormat, UnknownLineFormat};
