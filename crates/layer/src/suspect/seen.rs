//! Extraction of the request headers that distinguish browsers, in one pass.

use http::HeaderMap;

/// A header that is extracted from requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    UserAgent,
    Accept,
    Language,
    Encoding,
    Connection,
    // The positions of this header and of the headers below do not matter.
    Upgrade,
    Hints,
    FetchSite,
    FetchMode,
    FetchDest,
    Referer,
    Origin,
    Range,
    Via,
    /// A header that belongs to a handshake for another protocol.
    Handshake,
    /// A header that belongs to a report sent by the network stack of the browser.
    Report,
}

/// Number of headers whose order is relevant.
const PLACED: usize = 5;

/// The extracted headers of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BrowserHeaders<'h> {
    fields: u32,
    /// The position of the first field of each header, starting at 0.
    places: [u8; PLACED],
    pub(super) accept: &'h [u8],
    pub(super) language: &'h [u8],
    pub(super) encoding: &'h [u8],
    pub(super) connection: &'h [u8],
    pub(super) hints: &'h [u8],
    pub(super) mode: &'h [u8],
    pub(super) dest: &'h [u8],
}

impl Field {
    /// Returns the header with the given name, if its order is relevant.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "user-agent" => Self::UserAgent,
            "accept" => Self::Accept,
            "accept-language" => Self::Language,
            "accept-encoding" => Self::Encoding,
            "connection" => Self::Connection,
            _ => return None,
        })
    }

    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl<'h> BrowserHeaders<'h> {
    pub(super) fn from_headers(headers: &'h HeaderMap) -> Self {
        let mut seen = Self::default();
        for (place, (name, value)) in headers.iter().enumerate() {
            let value = value.as_bytes();
            let name = name.as_str();
            let field = match name.len() {
                3 if name == "via" => Field::Via,
                5 if name == "range" => Field::Range,
                6 if name == "accept" => {
                    seen.accept = value;
                    Field::Accept
                }
                6 if name == "origin" => Field::Origin,
                7 if name == "referer" => Field::Referer,
                7 if name == "upgrade" => Field::Handshake,
                9 if name == "sec-ch-ua" => {
                    seen.hints = value;
                    Field::Hints
                }
                10 if name == "user-agent" => Field::UserAgent,
                10 if name == "connection" => {
                    seen.connection = value;
                    Field::Connection
                }
                12 if name == "content-type" && value.starts_with(b"application/reports") => {
                    Field::Report
                }
                14 if name == "sec-fetch-site" => Field::FetchSite,
                14 if name == "sec-fetch-mode" => {
                    seen.mode = value;
                    Field::FetchMode
                }
                14 if name == "sec-fetch-dest" => {
                    seen.dest = value;
                    Field::FetchDest
                }
                15 if name == "accept-language" => {
                    seen.language = value;
                    Field::Language
                }
                15 if name == "accept-encoding" => {
                    seen.encoding = value;
                    Field::Encoding
                }
                17 if name == "sec-websocket-key" => Field::Handshake,
                25 if name == "upgrade-insecure-requests" => Field::Upgrade,
                _ => continue,
            };
            seen.note(field, place);
        }
        seen
    }

    /// Returns a bit for each header that is present.
    pub(super) fn fields(&self) -> u32 {
        self.fields
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.fields & field.bit() != 0
    }

    /// Returns `true` if any of the headers is present.
    pub(super) fn has_any(&self, fields: &[Field]) -> bool {
        fields.iter().any(|field| self.has(*field))
    }

    /// Returns `true` if the headers that are present are in the given order.
    pub(super) fn are_in_order(&self, order: &[Field]) -> bool {
        let mut last = 0;
        order.iter().filter(|field| self.has(**field)).all(|field| {
            let place = self.places.get(*field as usize).copied();
            let place = place.unwrap_or_default();
            let is_behind = place >= last;
            last = place;
            is_behind
        })
    }

    fn note(&mut self, field: Field, place: usize) {
        if !self.has(field)
            && let Some(noted) = self.places.get_mut(field as usize)
        {
            *noted = u8::try_from(place).unwrap_or(u8::MAX);
        }
        self.fields |= field.bit();
    }
}
