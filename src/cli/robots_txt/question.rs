//! A parsed input line of `robots-txt eval`.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::Deserialize;

use super::evaluator::Field;

/// Base64 decoder (RFC 4648 §4); padding is optional (§3.2), and unused bits are ignored (§3.5).
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// The query in one line of input; every field is optional.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Question {
    pub(super) dialect: Option<String>,
    robots_txt: Option<String>,
    robots_txt_b64: Option<String>,
    pub(super) robots_url: Option<String>,
    pub(super) user_agent: Option<String>,
    pub(super) url: Option<String>,
    pub(super) queries: Option<Vec<(String, String)>>,
    pub(super) status: Option<u16>,
    pub(super) redirects: Option<u32>,
    pub(super) html: Option<String>,
    pub(super) headers: Option<Vec<(String, String)>>,
    want: Option<Vec<String>>,
}

/// The fields that a query requests, and whether any of these fields are unknown.
#[derive(Debug, Default)]
pub(super) struct RequestedFields {
    pub(super) fields: Vec<Field>,
    pub(super) has_unknown: bool,
}

impl Question {
    /// Returns the bytes of the robots.txt file; empty if the query does not contain a file.
    pub(super) fn take_body(&mut self) -> Result<Vec<u8>, &'static str> {
        match (self.robots_txt.take(), self.robots_txt_b64.take()) {
            (Some(_), Some(_)) => {
                Err("both robots_txt and robots_txt_b64 are given; omit one of them")
            }
            (Some(text), None) => Ok(text.into_bytes()),
            (None, Some(text)) => {
                decode(&text).ok_or("robots_txt_b64 is not base64; encode the bytes of the file")
            }
            (None, None) => Ok(Vec::new()),
        }
    }

    /// Returns the fields listed in `want`; without `want`, the fields that the other inputs allow.
    pub(super) fn requested(&self) -> RequestedFields {
        let Some(names) = &self.want else {
            return RequestedFields {
                fields: self.implied_fields(),
                has_unknown: false,
            };
        };
        let fields: Vec<_> = names.iter().map(|name| Field::named(name)).collect();
        RequestedFields {
            has_unknown: fields.contains(&None),
            fields: fields.into_iter().flatten().collect(),
        }
    }

    fn implied_fields(&self) -> Vec<Field> {
        let mut fields = Vec::new();
        if self.url.is_some() || self.queries.is_some() {
            fields.push(Field::Allowed);
        }
        if self.status.is_some() {
            fields.push(Field::Access);
        }
        if self.html.is_some() || self.headers.is_some() {
            fields.extend(super::evaluator::META.map(Field::Meta));
        }
        let has_file = self.robots_txt.is_some() || self.robots_txt_b64.is_some();
        if fields.is_empty() && has_file {
            fields.extend(Field::ABOUT_FILE);
        }
        fields
    }
}

/// Decodes base64 text, with or without white space and padding.
fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end().trim_end_matches('=');
    let digits = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    BASE64.decode(digits.collect::<Vec<_>>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of RFC 4648 §10.
    #[test]
    fn test_vectors_of_rfc_4648_are_decoded() {
        for (text, octets) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(octets.as_bytes()), "{text}");
        }
        assert_eq!(decode("//79AA=="), Some(vec![0xff, 0xfe, 0xfd, 0]));
        assert_eq!(decode("Zm9v\nYg\n"), Some(b"foob".to_vec()));
    }

    #[test]
    fn invalid_base64_is_rejected() {
        for text in ["Z", "Zm9vY", "Zm9*", "Zm=9", "Zmé9"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
