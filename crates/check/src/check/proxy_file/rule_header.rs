//! Response headers that rules add, as rendered in a proxy's file.

use axum::http::{HeaderName, header};

use robot_detection_layer::policy::ResponseHeaders;

use super::place::plain;

/// A response header that rules add.
#[derive(Clone, Debug)]
pub struct RuleHeader {
    pub(super) number: usize,
    pub(super) name: HeaderName,
}

impl RuleHeader {
    /// Returns the headers with these names, without duplicates and without headers that every file
    /// already contains.
    pub fn from_names<'n>(names: impl Iterator<Item = &'n str>) -> Vec<Self> {
        // The configuration rejects headers that rules are not allowed to add.
        let names = names.filter_map(|name| HeaderName::try_from(plain(name.trim()).ok()?).ok());
        let carried = |name: &HeaderName| *name == header::RETRY_AFTER || name == "x-robots-tag";
        let mut names: Vec<_> = names.filter(|name| !carried(name)).collect();
        names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup();
        let numbered = names.into_iter().zip(1..);
        let numbered = numbered.map(|(name, number)| Self { number, name });
        numbered.collect()
    }

    /// Returns `true` if the header is added next to the site's header of the same name instead of
    /// replacing that header.
    pub(super) fn is_added(&self) -> bool {
        ResponseHeaders::is_list(&self.name)
    }

    /// Returns `true` if every proxy's file already copies the header into responses to refused
    /// visitors.
    pub(super) fn is_of_answers(&self) -> bool {
        self.name == header::LINK || self.name == header::WWW_AUTHENTICATE
    }

    /// Returns the header's name as Caddy spells it in placeholders, such as `Content-Usage`.
    pub(super) fn canonical(&self) -> String {
        let words = self.name.as_str().split('-').map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_ascii_uppercase() + rest
        });
        words.collect::<Vec<_>>().join("-")
    }

    /// Returns the nginx variable that contains this header of the site's response.
    pub(super) fn nginx(&self) -> String {
        format!("$upstream_http_{}", self.name.as_str().replace('-', "_"))
    }
}
