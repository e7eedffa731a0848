//! Reader for the lines of all log formats.

use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use memchr::memchr;

use super::{
    FieldPath, InvalidNotation, Record,
    escapes::{unescape, unescape_url},
    extract::{
        Tail, captured_user_agent, client_and_host, forwarded_client, micros, number, split,
        split_url, without_port,
    },
    json::JsonFields,
    notation,
    pattern::Pattern,
    slot::{Fields, Slot},
    time::Times,
    wrapper::{self, Wrapped},
};

/// Names and notations of text formats, the most specific first.
///
/// The notation is that of nginx; `$_` is a field that is not read, `$client` an address with port,
/// `$prefix` the words before the time, `$tail` the fields after the User-Agent, and `$captured` the
/// captured headers.
const FORMATS: &str = r#"
HAProxy clf: $prefix [$time_local] "$request" $status $bytes_sent "" "" $_ $_ "$_" "$_" "$_" $captured
ingress-nginx: $prefix [$time_local] "$request" $status $bytes_sent "$http_referer" "$http_user_agent" $_ $request_time [$_] [$_] $_
Traefik: $prefix [$time_local] "$request" $status $bytes_sent "$http_referer" "$http_user_agent" $_ "$_" "$_" ${millis}ms
combined: $prefix [$time_local] "$request" $status $bytes_sent "$http_referer" "$http_user_agent"$tail
S3: $_ $_ [$time_local] $remote_addr $_ $_ $_ $_ "$request" $status $_ $bytes_sent $_ $_ $_ "$http_referer" "$http_user_agent"
ALB: $_ $time_iso8601 $_ $client $_ $_ $_ $_ $status $_ $_ $bytes_sent "$request" "$http_user_agent"
Istio: [$time_iso8601] "$request" $status $_ $_ $_ "$_" $_ $bytes_sent $millis $_ "$http_x_forwarded_for" "$http_user_agent" "$_" "$host"
Envoy: [$time_iso8601] "$request" $status $_ $_ $bytes_sent $millis $_ "$http_x_forwarded_for" "$http_user_agent" "$_" "$host"
HAProxy httplog: $client [$time_local] $_ $_ $_ $status $bytes_sent $_ $_ $_ $_ $_ {$captured} "$request"
HAProxy httplog: $client [$time_local] $_ $_ $_ $status $bytes_sent $_ $_ $_ $_ $_ "$request"
common: $prefix [$time_local] "$request" $status $bytes_sent
"#;

/// The formats of [`FORMATS`], compiled.
static PATTERNS: LazyLock<Vec<(&str, Pattern)>> = LazyLock::new(|| {
    let rows = FORMATS.lines().filter_map(|row| row.split_once(": "));
    let read = |(name, text)| Some((name, notation::parse(text).ok()?));
    rows.filter_map(read).collect()
});

/// Reader for the lines of an access log, called for each line in turn.
///
/// The format is recognised from the lines. Reading a line allocates nothing.
#[derive(Clone, Debug)]
pub struct LogReader {
    formats: Formats,
    /// Format of the last line.
    form: Form,
    json: Arc<JsonFields>,
    times: Times,
    /// Buffer for a line that is a JSON string.
    line: Vec<u8>,
    buffers: Buffers,
}

/// A log format in the notation of nginx (`log_format`), Apache (`LogFormat`) or GoAccess.
#[derive(Clone, Debug)]
pub struct LogFormat(Arc<Pattern>);

/// Formats that a reader accepts.
#[derive(Clone, Debug)]
enum Formats {
    /// Lines that consist of a User-Agent.
    UserAgents,
    All,
    One(LogFormat),
}

/// The format of a line.
#[derive(Clone, Debug, Default)]
enum Form {
    #[default]
    Unknown,
    Json,
    /// Position in [`PATTERNS`].
    Listed(usize),
    /// Format of a `#Fields:` line.
    W3c(Arc<Pattern>),
}

/// Buffers for unescaped fields, reused so that reading a line does not allocate.
#[derive(Clone, Debug, Default)]
struct Buffers {
    request: Vec<u8>,
    user_agent: Vec<u8>,
    referrer: Vec<u8>,
    host: Vec<u8>,
}

/// The content of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogLine<'a> {
    /// A request.
    Request(Record<'a>),
    /// No request, such as the header of a log in the W3C format.
    Header,
    /// A line in none of the formats, or a truncated line.
    Unreadable,
}

impl LogReader {
    /// Creates a reader for all formats.
    pub fn new() -> Self {
        Self::with(Formats::All, &[])
    }

    /// Creates a reader for lines that consist of a User-Agent only.
    pub fn user_agents() -> Self {
        Self::with(Formats::UserAgents, &[])
    }

    /// Creates a reader for all formats that reads the User-Agent and the size of JSON lines from
    /// the given fields.
    pub fn with_fields(user_agent: Option<FieldPath>, bytes: Option<FieldPath>) -> Self {
        let user_agent = user_agent.map(|path| (Slot::UserAgent, path));
        let bytes = bytes.map(|path| (Slot::Bytes, path));
        let own: Vec<_> = user_agent.into_iter().chain(bytes).collect();
        Self::with(Formats::All, &own)
    }

    /// Creates a reader for one format.
    pub fn with_format(format: LogFormat) -> Self {
        Self::with(Formats::One(format), &[])
    }

    fn with(formats: Formats, own: &[(Slot, FieldPath)]) -> Self {
        Self {
            formats,
            form: Form::default(),
            json: Arc::new(JsonFields::new(own)),
            times: Times::default(),
            line: Vec::new(),
            buffers: Buffers::default(),
        }
    }

    /// Returns the name of the format of the last line that was read.
    pub fn format(&self) -> &'static str {
        match (&self.formats, &self.form) {
            (Formats::UserAgents, _) => "user-agents",
            (Formats::One(_), _) => "the given format",
            (Formats::All, Form::Unknown) => "an unknown format",
            (Formats::All, Form::Json) => "JSON",
            (Formats::All, Form::W3c(_)) => "W3C extended",
            (Formats::All, Form::Listed(at)) => PATTERNS.get(*at).map_or("", |(name, _)| name),
        }
    }

    /// Reads a line.
    ///
    /// The time required is linear in the line's length.
    pub fn read<'a>(&'a mut self, line: &'a [u8]) -> LogLine<'a> {
        if matches!(self.formats, Formats::UserAgents) {
            return LogLine::Request(Record {
                user_agent: present(line),
                ..Record::default()
            });
        }
        if line.starts_with(b"#") {
            if let Some(pattern) = notation::w3c(line) {
                self.form = Form::W3c(Arc::new(pattern));
            }
            return LogLine::Header;
        }
        let line = match wrapper::unwrap(line) {
            Wrapped::Text(line) => line,
            Wrapped::Json(text) => {
                self.line.clear();
                unescape(text, &mut self.line);
                self.line.trim_ascii_end()
            }
        };
        let Some(fields) = fields(&self.formats, &mut self.form, &self.json, line) else {
            return LogLine::Unreadable;
        };
        let time_s = self.times.read(fields.get(Slot::Date), time_of(&fields));
        let is_encoded = matches!(self.form, Form::W3c(_));
        LogLine::Request(self.buffers.record(&fields, time_s, is_encoded))
    }
}

impl Default for LogReader {
    fn default() -> Self {
        Self::new()
    }
}

impl FromStr for LogFormat {
    type Err = InvalidNotation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        notation::parse(text).map(|pattern| Self(Arc::new(pattern)))
    }
}

/// Returns the fields of a line in the last format, or else in the first format that fits.
fn fields<'l>(
    formats: &Formats,
    form: &mut Form,
    json: &JsonFields,
    line: &'l [u8],
) -> Option<Fields<'l>> {
    if let Formats::One(format) = formats {
        return format.0.read(line);
    }
    if line.trim_ascii_start().starts_with(b"{") {
        let fields = json.read(line)?;
        *form = Form::Json;
        return Some(fields);
    }
    let found = match form {
        Form::W3c(pattern) => pattern.read(line),
        // A format without a User-Agent may also fit the lines of a format with one.
        Form::Listed(at) => (PATTERNS.get(*at))
            .filter(|(_, pattern)| pattern.has_user_agent())
            .and_then(|(_, pattern)| pattern.read(line)),
        Form::Json | Form::Unknown => None,
    };
    let found = found.filter(is_plausible);
    if found.is_some() {
        return found;
    }
    let mut all = PATTERNS.iter().enumerate();
    let (at, fields) = all.find_map(|(at, (_, pattern))| {
        let fields = pattern.read(line)?;
        let has_time =
            pattern.has(Slot::Prefix) || Times::default().read(b"", time_of(&fields)).is_some();
        (has_time && is_plausible(&fields)).then_some((at, fields))
    })?;
    *form = Form::Listed(at);
    Some(fields)
}

/// Returns `true` if the size and the duration are numbers: the words of one format may fit the fields
/// of another.
fn is_plausible(fields: &Fields<'_>) -> bool {
    let numbers = [Slot::Bytes, Slot::Millis].map(|slot| fields.get(slot));
    numbers
        .iter()
        .all(|text| text.is_empty() || number(text).is_some())
}

/// Returns the time of a line; a user name before the time may contain a bracket.
fn time_of<'l>(fields: &Fields<'l>) -> &'l [u8] {
    let time = fields.get(Slot::Time);
    memchr::memrchr(b'[', time).map_or(time, |at| time.get(at + 1..).unwrap_or_default())
}

impl Buffers {
    /// Returns the request that the fields describe; `is_encoded` fields are URL-encoded.
    fn record<'a>(
        &'a mut self,
        fields: &Fields<'a>,
        time_s: Option<i64>,
        is_encoded: bool,
    ) -> Record<'a> {
        let mut record = Record {
            time_s,
            status: number(fields.get(Slot::Status))
                .and_then(|it| u16::try_from(it).ok())
                .unwrap_or(0),
            bytes: number(fields.get(Slot::Bytes)),
            micros: micros(fields),
            site: fields.get(Slot::Site),
            decision: fields.get(Slot::Decision),
            verdict: fields.get(Slot::Verdict),
            ..Record::default()
        };
        let decode = |text, buffer| decoded(text, is_encoded, buffer);
        let mut user_agent = fields.get(Slot::UserAgent);
        let mut host = fields.get(Slot::Host);
        let mut client = fields.get(Slot::Client);
        if client.is_empty() {
            client = without_port(fields.get(Slot::ClientPort));
        }
        let prefix = fields.get(Slot::Prefix);
        if !prefix.is_empty() {
            (client, host) = client_and_host(prefix);
        }
        let captured = fields.get(Slot::Captured);
        if !captured.is_empty() {
            user_agent = captured_user_agent(captured);
        }
        let mut forwarded = fields.get(Slot::Forwarded);
        let tail = Tail::read(fields.get(Slot::Tail));
        if let Some([decision, verdict]) = tail.own {
            (record.decision, record.verdict) = (decision, verdict);
        }
        record.micros = record.micros.or(tail.micros);
        if !tail.forwarded.is_empty() {
            forwarded = tail.forwarded;
        }
        record.client = forwarded_client(client, forwarded);
        record.user_agent = present(decode(user_agent, &mut self.user_agent));
        record.referrer = decode(fields.get(Slot::Referrer), &mut self.referrer);
        let request = fields.get(Slot::Request);
        let (method, target) = if request.is_empty() {
            let (target, query) = (fields.get(Slot::Target), fields.get(Slot::Query));
            self.request.clear();
            (
                fields.get(Slot::Method),
                joined(target, query, is_encoded, &mut self.request),
            )
        } else {
            split(decode(request, &mut self.request))
        };
        record.method = method;
        (record.host, record.target) = split_url(decode(host, &mut self.host), target);
        record
    }
}

/// Returns a field without escape sequences, or without URL encoding if `is_encoded`.
fn decoded<'a>(text: &'a [u8], is_encoded: bool, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let is_plain = if is_encoded {
        memchr::memchr2(b'%', b'+', text).is_none()
    } else {
        memchr(b'\\', text).is_none()
    };
    if is_plain {
        return text;
    }
    buffer.clear();
    if is_encoded {
        unescape_url(text, buffer);
    } else {
        unescape(text, buffer);
    }
    buffer
}

/// Returns a path with its query, which may begin with a question mark.
fn joined<'a>(
    target: &'a [u8],
    query: &'a [u8],
    is_encoded: bool,
    buffer: &'a mut Vec<u8>,
) -> &'a [u8] {
    let query = query.strip_prefix(b"?").unwrap_or(query);
    if query.is_empty() && (is_encoded || memchr(b'\\', target).is_none()) {
        return target;
    }
    buffer.clear();
    if is_encoded {
        buffer.extend_from_slice(target);
    } else {
        unescape(target, buffer);
    }
    if !query.is_empty() {
        buffer.push(b'?');
        buffer.extend_from_slice(query);
    }
    buffer
}

/// Returns a field unless it is empty or `-`, which servers log for an absent header.
fn present(text: &[u8]) -> Option<&[u8]> {
    (!matches!(text, b"" | b"-")).then_some(text)
}

#[cfg(test)]
mod tests;
