//! Place databases in the `MaxMind` format, from any provider.

use std::{collections::HashSet, net::IpAddr};

use maxminddb::{LookupResult, PathElement, Reader, path};

use super::place_file::PlaceKind;

/// The number of records for which one unreadable record is tolerated.
const FEW: usize = 1_000;

/// A place database in which every record has been checked.
#[derive(Debug)]
pub(super) struct PlaceReader {
    reader: Reader<Vec<u8>>,
    layout: Layout,
}

/// The location of the wanted value within a place database record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Layout {
    /// `autonomous_system_number = 64496`, as in databases from `MaxMind` and DB-IP.
    AsnNumber,
    /// `asn = "AS64496"`, as in databases from `IPinfo`.
    AsnText,
    /// `country = { iso_code = "DE" }`, as in country and city databases from `MaxMind` and DB-IP.
    CountryMap,
    /// `country_code = "DE"`, as in `IPinfo` Lite databases, in which `country` is a name.
    CountryCode,
    /// `country = "DE"`, as in databases from `IPinfo`.
    CountryText,
}

impl Layout {
    fn of(kind: PlaceKind) -> &'static [Self] {
        match kind {
            PlaceKind::Asn => &[Self::AsnNumber, Self::AsnText],
            PlaceKind::Country => &[Self::CountryMap, Self::CountryCode, Self::CountryText],
        }
    }

    /// Returns `true` if a record has the wanted value at this location.
    fn is_found_in(self, record: &Record<'_>) -> bool {
        match self {
            Self::AsnNumber | Self::AsnText => self.asn(record).is_some(),
            Self::CountryMap | Self::CountryCode | Self::CountryText => {
                self.country(record).is_some()
            }
        }
    }

    fn asn(self, record: &Record<'_>) -> Option<u32> {
        match self {
            Self::AsnNumber => {
                let path = path!["autonomous_system_number"];
                record.decode_path(&path).ok()?
            }
            Self::AsnText => {
                let text = text(record, &path!["asn"])?;
                text.strip_prefix("AS").unwrap_or(text).parse().ok()
            }
            _ => None,
        }
    }

    fn country(self, record: &Record<'_>) -> Option<[u8; 2]> {
        let text = match self {
            Self::CountryMap => text(record, &path!["country", "iso_code"]),
            Self::CountryCode => text(record, &path!["country_code"]),
            Self::CountryText => text(record, &path!["country"]),
            _ => None,
        };
        match text?.as_bytes() {
            [first, second] if first.is_ascii_alphabetic() && second.is_ascii_alphabetic() => {
                Some([first.to_ascii_uppercase(), second.to_ascii_uppercase()])
            }
            _ => None,
        }
    }
}

type Record<'r> = LookupResult<'r, Vec<u8>>;

fn text<'r>(record: &Record<'r>, path: &[PathElement<'_>]) -> Option<&'r str> {
    record.decode_path(path).ok()?
}

impl PlaceReader {
    /// Opens a database and reads all records, so that later lookups cannot encounter damaged
    /// records.
    ///
    /// Returns an error message if the database is damaged or of the wrong type.
    pub(super) fn open(kind: PlaceKind, bytes: Vec<u8>) -> Result<Self, String> {
        let damaged = |error: &dyn std::fmt::Display| {
            format!("the file is damaged or not in MaxMind format: {error}")
        };
        let reader = Reader::from_source(bytes).map_err(|error| damaged(&error))?;
        let mut layout = None;
        let (mut records, mut unreadable) = (HashSet::new(), 0_usize);
        let networks = reader.networks(maxminddb::WithinOptions::default());
        for record in networks.map_err(|error| damaged(&error))? {
            let record = record.map_err(|error| damaged(&error))?;
            // Many networks share a record.
            if !records.insert(record.offset()) {
                continue;
            }
            // Decodes the whole record, since a lookup does not report unreadable parts.
            if record.decode::<serde::de::IgnoredAny>().is_err() {
                unreadable += 1;
            }
            let mut layouts = Layout::of(kind).iter().copied();
            layout = layout.or_else(|| layouts.find(|layout| layout.is_found_in(&record)));
        }
        let all = records.len();
        if unreadable > 0 && unreadable.saturating_mul(FEW) >= all {
            return Err(format!(
                "the file is damaged: {unreadable} of {all} records cannot be read"
            ));
        }
        let Some(layout) = layout else {
            let of = &reader.metadata().database_type;
            let what = match kind {
                PlaceKind::Asn => "autonomous systems, such as GeoLite2-ASN",
                PlaceKind::Country => "countries, such as GeoLite2-Country",
            };
            return Err(format!(
                "wrong database type {of:?}; use a database of {what}"
            ));
        };
        Ok(Self { reader, layout })
    }

    pub(super) fn asn(&self, address: IpAddr) -> Option<u32> {
        self.layout.asn(&self.reader.lookup(address).ok()?)
    }

    pub(super) fn country(&self, address: IpAddr) -> Option<[u8; 2]> {
        self.layout.country(&self.reader.lookup(address).ok()?)
    }

    /// Returns the database type and date for display.
    pub(super) fn shown(&self) -> String {
        let metadata = self.reader.metadata();
        let kind: String = metadata.database_type.chars().take(60).collect();
        let built_ms = i64::try_from(metadata.build_epoch.saturating_mul(1_000));
        let built = built_ms
            .ok()
            .and_then(chrono::DateTime::from_timestamp_millis);
        match built {
            Some(built) => format!("{kind:?}, built on {}", built.format("%Y-%m-%d")),
            None => format!("{kind:?}"),
        }
    }
}
