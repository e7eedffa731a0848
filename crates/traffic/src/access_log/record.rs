//! One request as a log line describes it.

use std::borrow::Cow;
use std::net::IpAddr;

/// Fields of a log line, without the escape sequences of the log.
///
/// A missing text is empty.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Record<'a> {
    /// Time of the request, in seconds since 1970.
    pub time_s: Option<i64>,
    /// Client address, as text.
    pub client: &'a [u8],
    /// HTTP method.
    pub method: &'a [u8],
    /// Path and query; starts with a slash, unless the line contains another target.
    pub target: &'a [u8],
    /// Requested host.
    pub host: &'a [u8],
    /// Status of the response; 0 if the line has no status.
    pub status: u16,
    /// Size of the response in bytes, if the line contains the size.
    pub bytes: Option<u64>,
    /// Duration in microseconds, if the line contains the duration.
    pub micros: Option<u64>,
    /// Referring page.
    pub referrer: &'a [u8],
    /// User-Agent as sent by the client; `None` if it is absent, empty or `-`.
    pub user_agent: Option<&'a [u8]>,
    /// Site of the request, in logs of this program.
    pub site: &'a [u8],
    /// Decision for the request, in logs of this program.
    pub decision: &'a [u8],
    /// Verdict on the robot's claim, in logs of this program.
    pub verdict: &'a [u8],
}

impl Record<'_> {
    /// Returns the client address.
    pub fn address(&self) -> Option<IpAddr> {
        str::from_utf8(self.client).ok()?.parse().ok()
    }

    /// Returns the names of the fields that the line contains.
    pub fn present(&self) -> impl Iterator<Item = &'static str> {
        let fields = [
            ("time", self.time_s.is_some()),
            ("client", !self.client.is_empty()),
            ("method", !self.method.is_empty()),
            ("path", !self.target.is_empty()),
            ("host", !self.host.is_empty()),
            ("status", self.status > 0),
            ("bytes", self.bytes.is_some()),
            ("duration", self.micros.is_some()),
            ("Referer", !self.referrer.is_empty()),
            ("User-Agent", self.user_agent.is_some()),
        ];
        fields
            .into_iter()
            .filter_map(|(name, is_present)| is_present.then_some(name))
    }

    /// Returns a field as text; `None` if the field is missing.
    pub fn text(field: &[u8]) -> Option<Cow<'_, str>> {
        (!field.is_empty()).then(|| String::from_utf8_lossy(field))
    }
}
