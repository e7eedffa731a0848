//! Readers and writers for the access logs of web servers.
//!
//! [`open`] decompresses a log, [`Lines`] splits blocks of bytes into lines, and [`LogReader`]
//! returns the [`Record`] that each line describes. Reading a line allocates nothing, and memory
//! use does not grow with the log: a line longer than [`MAX_LINE_BYTES`] is truncated.
//!
//! # Formats
//!
//! The reader recognises the formats of nginx, Apache `httpd`, lighttpd, Varnish, Caddy, Traefik,
//! HAProxy, Envoy, Istio, ingress-nginx, IIS, CloudFront, ALB, S3, Cloudflare, Fastly, Google Cloud
//! and Azure Front Door, also in the envelopes of syslog, Docker and Kubernetes. A [`LogFormat`] is
//! a format in the notation of nginx, Apache or GoAccess.
//!
//! The text before the time may contain a virtual host, an IPv6 address, or a user name with
//! spaces. A quoted field ends at a quote without a backslash. Servers write `\"`, `\\`, `\n`,
//! `\xHH` and similar escape sequences for bytes that cannot appear in a log line; the reader
//! decodes these sequences. JSON is one object per line.
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
//! use robot_detection_traffic::access_log::{Lines, LogLine, LogReader, open};
//!
//! let log = br#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 512 "-" "Example/1.0""#;
//! let mut lines = Lines::new(open(log.as_slice())?);
//! let mut reader = LogReader::new();
//! while lines.read_more()? {
//!     while let Some(line) = lines.next_line() {
//!         let LogLine::Request(record) = reader.read(line) else {
//!             panic!("the line is in the combined format");
//!         };
//!         assert_eq!(record.user_agent, Some(b"Example/1.0".as_slice()));
//!         assert_eq!((record.target, record.bytes), (b"/a".as_slice(), Some(512)));
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

mod escapes;
mod extract;
mod field_path;
mod json;
mod lines;
mod notation;
mod pattern;
mod reader;
mod record;
mod scanner;
mod server;
mod slot;
mod time;
mod wrapper;

pub use field_path::{FieldPath, InvalidFieldPath};
pub use lines::{Lines, MAX_LINE_BYTES, is_compressed, open};
pub use notation::InvalidNotation;
pub use reader::{LogFormat, LogLine, LogReader};
pub use record::Record;
pub use server::{Line, LineFormat, LoggedAnswer, UnknownLineFormat};
