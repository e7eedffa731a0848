//! The fields of a log line that are read.

/// A field of a log line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Slot {
    /// A field that is not read.
    Skip,
    Time,
    /// Date without a time of day.
    Date,
    Client,
    /// Address and port.
    ClientPort,
    /// `X-Forwarded-For`.
    Forwarded,
    Method,
    Target,
    Query,
    Host,
    Status,
    Bytes,
    Seconds,
    Millis,
    Micros,
    Referrer,
    UserAgent,
    /// Method, target and version.
    Request,
    /// Header values separated by `|`, one of which may be the User-Agent.
    Captured,
    /// Words before the time, which contain the client.
    Prefix,
    /// Fields after the User-Agent.
    Tail,
    Site,
    Decision,
    Verdict,
}

/// Number of slots.
pub(super) const SLOTS: usize = Slot::Verdict as usize + 1;

/// Fields of a log line as written in the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'l>([&'l [u8]; SLOTS]);

impl Default for Fields<'_> {
    fn default() -> Self {
        Self([b""; SLOTS])
    }
}

impl<'l> Fields<'l> {
    /// Returns a field; empty if it is missing or `-`.
    pub(super) fn get(&self, slot: Slot) -> &'l [u8] {
        let text = self.0.get(slot as usize).copied().unwrap_or_default();
        if text == b"-" { b"" } else { text }
    }

    pub(super) fn set(&mut self, slot: Slot, text: &'l [u8]) {
        if let Some(place) = self.0.get_mut(slot as usize) {
            *place = text;
        }
    }
}
