//! Access log lines, as written by this server.

use std::{io::Write as _, net::IpAddr, str::FromStr, time::Duration};

use time::OffsetDateTime;

use robot_detection_layer::suspect::Reasons;

use super::escape::{json, quoted, word};

/// Maximum length of the target in bytes, including escape sequences; a longer target is truncated.
///
/// The sum of the maximum lengths of all fields is below
/// [`MAX_LINE_BYTES`](crate::access_log::MAX_LINE_BYTES), so that every line can be read back.
const MAX_TARGET_BYTES: usize = 24 * 1024;
const MAX_USER_AGENT_BYTES: usize = 16 * 1024;
const MAX_REFERER_BYTES: usize = 8 * 1024;
const MAX_NAME_BYTES: usize = 1024;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The format in which access log lines are written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LineFormat {
    /// The common log format, followed by additional words.
    Common,
    /// The combined log format, followed by additional quoted fields.
    #[default]
    Combined,
    /// A JSON object on each line.
    Json,
}

/// The error for an unknown access log format.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown access log format {0:?}: expected common, combined or json")]
pub struct UnknownLineFormat(String);

impl FromStr for LineFormat {
    type Err = UnknownLineFormat;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "common" => Ok(Self::Common),
            "combined" => Ok(Self::Combined),
            "json" => Ok(Self::Json),
            _ => Err(UnknownLineFormat(word.to_owned())),
        }
    }
}

/// A request to be written to the access log.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Address of the client.
    pub client: IpAddr,
    /// Time at which the request was received, in milliseconds since 1970.
    pub received_ms: i64,
    /// Requested host.
    pub host: Option<&'a [u8]>,
    /// HTTP method; empty, like the target and version, if the request head could not be parsed.
    pub method: &'a str,
    /// Path and query of the request.
    pub target: &'a str,
    /// HTTP version of the request.
    pub version: &'a str,
    /// Response to the request; `None` if another server responded.
    pub answer: Option<LoggedAnswer>,
    /// Value of the `Referer` header.
    pub referer: Option<&'a [u8]>,
    /// Value of the `User-Agent` header.
    pub user_agent: Option<&'a [u8]>,
    /// Name of the site.
    pub site: &'a str,
    /// ID of the robot; `None` for a person.
    pub robot: Option<&'a str>,
    /// Kind of visitor: `person`, `listed` or `unlisted`; `-` for an administrator and the site
    /// robot.
    pub visitor: &'a str,
    /// Decision on the request, even if the decision was not enforced (dry run).
    pub decision: &'a str,
    /// Reason for the decision.
    pub cause: &'a str,
    /// Verdict on the robot's claim, if the claim was verified.
    pub verdict: Option<&'a str>,
    /// Reasons why the visitor is a suspect.
    pub reasons: Reasons,
}

/// The response to a request, as written to the access log.
#[derive(Clone, Copy, Debug)]
pub struct LoggedAnswer {
    /// HTTP status of the response.
    pub status: u16,
    /// Number of body bytes sent.
    pub body_bytes: u64,
    /// Time from the start of the request to the end of the response body.
    pub duration: Duration,
}

impl Line<'_> {
    /// Appends the log line, without a line ending.
    pub fn write(&self, format: LineFormat, out: &mut Vec<u8>) {
        match format {
            LineFormat::Common => {
                self.write_common(out);
                self.write_words(out);
            }
            LineFormat::Combined => {
                self.write_common(out);
                self.write_quoted(out);
            }
            LineFormat::Json => self.write_json(out),
        }
    }

    fn write_common(&self, out: &mut Vec<u8>) {
        let at = moment(self.received_ms);
        let month = usize::from(u8::from(at.month())).saturating_sub(1);
        let month = MONTHS.get(month).copied().unwrap_or_default();
        // Writing to memory never fails.
        let _ = write!(
            out,
            // The two unknown fields are the user names from identd and from HTTP authentication.
            "{} - - [{:02}/{month}/{:04}:{:02}:{:02}:{:02} +0000] \"",
            self.client,
            at.day(),
            at.year(),
            at.hour(),
            at.minute(),
            at.second(),
        );
        if self.method.is_empty() {
            out.push(b'-');
        } else {
            quoted(self.method.as_bytes(), MAX_NAME_BYTES, out);
            out.push(b' ');
            quoted(self.target.as_bytes(), MAX_TARGET_BYTES, out);
            let _ = write!(out, " {}", self.version);
        }
        let _ = match self.answer {
            Some(answer) => write!(out, "\" {:03} {}", answer.status, answer.body_bytes),
            None => write!(out, "\" - -"),
        };
    }

    fn write_words(&self, out: &mut Vec<u8>) {
        let robot = self.robot.unwrap_or("-");
        let verdict = self.verdict.unwrap_or("-");
        for text in [robot, self.visitor, self.decision, verdict] {
            out.push(b' ');
            word(text.as_bytes(), MAX_NAME_BYTES, out);
        }
        self.write_seconds(out);
    }

    fn write_quoted(&self, out: &mut Vec<u8>) {
        for (text, limit) in [
            (self.referer, MAX_REFERER_BYTES),
            (self.user_agent, MAX_USER_AGENT_BYTES),
            (self.robot.map(str::as_bytes), MAX_NAME_BYTES),
            (Some(self.visitor.as_bytes()), MAX_NAME_BYTES),
            (Some(self.decision.as_bytes()), MAX_NAME_BYTES),
            (self.verdict.map(str::as_bytes), MAX_NAME_BYTES),
        ] {
            out.extend_from_slice(b" \"");
            quoted(text.unwrap_or(b"-"), limit, out);
            out.push(b'"');
        }
        self.write_seconds(out);
    }

    fn write_seconds(&self, out: &mut Vec<u8>) {
        let _ = match self.answer {
            Some(answer) => write!(out, " {:.6}", answer.duration.as_secs_f64()),
            None => write!(out, " -"),
        };
    }

    /// Appends a JSON object that uses the names of nginx's variables where possible.
    fn write_json(&self, out: &mut Vec<u8>) {
        let at = moment(self.received_ms);
        let _ = write!(
            out,
            "{{\"time\":\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z\",\"remote_addr\":\"{}\"",
            at.year(),
            u8::from(at.month()),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
            at.millisecond(),
            self.client,
        );
        member("host", self.host, MAX_NAME_BYTES, out);
        for (name, text, limit) in [
            ("request_method", self.method, MAX_NAME_BYTES),
            ("request_uri", self.target, MAX_TARGET_BYTES),
            ("server_protocol", self.version, MAX_NAME_BYTES),
        ] {
            let text = Some(text.as_bytes()).filter(|text| !text.is_empty());
            member(name, text, limit, out);
        }
        let _ = match self.answer {
            Some(answer) => write!(
                out,
                ",\"status\":{},\"body_bytes_sent\":{},\"request_time\":{:.6}",
                answer.status,
                answer.body_bytes,
                answer.duration.as_secs_f64()
            ),
            None => write!(
                out,
                ",\"status\":null,\"body_bytes_sent\":null,\"request_time\":null"
            ),
        };
        member("http_referer", self.referer, MAX_REFERER_BYTES, out);
        let user_agent = self.user_agent;
        member("http_user_agent", user_agent, MAX_USER_AGENT_BYTES, out);
        for (name, text) in [
            ("site", Some(self.site)),
            ("robot", self.robot),
            ("visitor", Some(self.visitor)),
            ("decision", Some(self.decision)),
            ("cause", Some(self.cause)),
            ("verdict", self.verdict),
        ] {
            member(name, text.map(str::as_bytes), MAX_NAME_BYTES, out);
        }
        // Written without an allocation, because the codes are plain words.
        if self.reasons.is_empty() {
            out.extend_from_slice(b",\"suspect\":null}");
        } else {
            let _ = write!(out, ",\"suspect\":\"{}\"}}", self.reasons);
        }
    }
}

/// Appends a member to an object that already contains members; `None` is written as `null`.
fn member(name: &str, text: Option<&[u8]>, limit: usize, out: &mut Vec<u8>) {
    let _ = write!(out, ",\"{name}\":");
    match text {
        Some(text) => {
            out.push(b'"');
            json(text, limit, out);
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
}

fn moment(time_ms: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(time_ms) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests;
