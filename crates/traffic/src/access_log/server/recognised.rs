//! Recognizes the fields in the lines of a log whose format is unknown.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use super::served::{ResponseParser, STATUSES, TIMES, fields};
use crate::access_log::{
    FieldPath,
    combined::{RawEntry, after_request_at, next_quoted, quoted, read, request, word},
    json::Fields,
    logged_request::HOSTS,
};

/// Name of the User-Agent field; if this field is missing, every visitor is counted as nameless.
const USER_AGENT: &str = "User-Agent";

/// The fields recognized in the lines of a log.
#[derive(Clone, Debug, Default)]
pub struct RecognisedFields {
    form: &'static str,
    /// Name of the recognized field for each meaning, such as `status`.
    fields: BTreeMap<&'static str, String>,
    has_readable_line: bool,
}

impl RecognisedFields {
    /// Adds the fields found in a log line.
    pub fn add(&mut self, line: &[u8]) {
        self.has_readable_line |= ResponseParser::default().read(line).is_some();
        if line.trim_ascii_start().starts_with(b"{") {
            self.add_json(line);
        } else if let Some(whole) = response_fields(line) {
            let is_combined = whole.referrer.is_some();
            self.form = if is_combined { "combined" } else { "common" };
            let quoted = ["Referer", USER_AGENT].into_iter().filter(|_| is_combined);
            for meaning in ["time", "status", "bytes"].into_iter().chain(quoted) {
                self.fields.insert(meaning, String::new());
            }
        }
    }

    /// Returns `true` if at least one line was in a known format.
    pub fn has_readable_line(&self) -> bool {
        self.has_readable_line
    }

    /// Returns `true` if at least one line contains a User-Agent field, even an empty one.
    pub fn has_user_agent(&self) -> bool {
        self.fields.contains_key(USER_AGENT)
    }

    fn add_json(&mut self, line: &[u8]) {
        static TEXTS: LazyLock<[(&str, Fields); 5]> = LazyLock::new(|| {
            let usual = |of: &[FieldPath]| Fields::new(of.to_vec(), of.to_vec());
            [
                ("time", fields(TIMES, TIMES)),
                ("status", fields(STATUSES, STATUSES)),
                ("bytes", usual(&FieldPath::usual_bytes())),
                ("host", fields(HOSTS, &[])),
                (
                    USER_AGENT,
                    Fields::new(FieldPath::usual_user_agents(), Vec::new()),
                ),
            ]
        });
        self.form = "JSON";
        for (meaning, fields) in &*TEXTS {
            if let Some(path) = fields.matching_path(line) {
                let path = String::from_utf8_lossy(path.as_bytes()).into_owned();
                self.fields.entry(meaning).or_insert(path);
            }
        }
    }
}

/// Formats the recognized fields, for example `JSON with time (ts), status (status)`.
impl fmt::Display for RecognisedFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fields.is_empty() {
            return f.write_str("no known fields found");
        }
        write!(f, "{} with", self.form)?;
        for (number, (meaning, field)) in self.fields.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma} {meaning}")?;
            if !field.is_empty() {
                write!(f, " ({field})")?;
            }
        }
        Ok(())
    }
}

/// The fields of a log line that describe a response, in escaped form.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct ResponseFields<'a> {
    /// Time of the response, such as `01/Mar/2026:10:00:00 +0000`.
    pub(super) time: &'a [u8],
    pub(super) status: &'a [u8],
    pub(super) bytes: u64,
    /// Value of the `Referer` header; `None` in the common format.
    pub(super) referrer: Option<&'a [u8]>,
    pub(super) user_agent: &'a [u8],
    /// Quoted fields after the User-Agent.
    pub(super) more: [Option<&'a [u8]>; 4],
    /// Text after the last quoted field.
    pub(super) rest: &'a [u8],
}

/// Parses all fields of a log line; returns `None` for a line that [`read`] cannot parse.
pub(super) fn response_fields(line: &[u8]) -> Option<ResponseFields<'_>> {
    let RawEntry { user_agent, bytes } = read(line)?;
    let request = request(line)?;
    let (_, mut rest, end) = after_request_at(request)?;
    let status = request.get(end + 2..).map(word).unwrap_or_default().0;
    let before = line.get(..line.len() - request.len())?;
    // The request is preceded by `[time] "`.
    let time = before.strip_suffix(b"] \"")?;
    let time = time.get(memchr::memrchr(b'[', time)? + 1..)?;
    // The first two fields are Referer and User-Agent.
    let mut fields = [None; 6];
    for field in &mut fields {
        let Some((text, behind)) = next_quoted(rest).and_then(quoted) else {
            break;
        };
        (*field, rest) = (Some(text), behind);
    }
    let [referrer, _, more @ ..] = fields;
    Some(ResponseFields {
        time,
        status,
        bytes,
        referrer,
        user_agent,
        more,
        rest,
    })
}
