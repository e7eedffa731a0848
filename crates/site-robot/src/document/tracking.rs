//! Tracking parameters, which give the same page many URLs.

use url::Url;

/// Common parameters used by analytics and advertising services.
const USUAL: [&str; 24] = [
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "_openstat",
    "dclid",
    "fbclid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "srsltid",
    "ttclid",
    "twclid",
    "utm_*",
    "vero_id",
    "wbraid",
    "yclid",
];

/// Names of query parameters that do not affect the page. A trailing `*` matches any suffix, and
/// `usual` represents the common analytics and advertising parameters.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::document::TrackingParameters;
///
/// let url = "https://h.example/a?utm_source=x&b=1&gclid=7".parse().unwrap();
/// let without = TrackingParameters::default().remove_from(&url);
/// assert_eq!(without.unwrap().as_str(), "https://h.example/a?b=1");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TrackingParameters {
    names: Vec<String>,
}

impl TrackingParameters {
    /// Creates a list from parameter names, which are case-insensitive.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut all = Vec::new();
        for name in names {
            match name.as_ref().to_ascii_lowercase() {
                name if name == "usual" => all.extend(USUAL.map(str::to_owned)),
                name => all.push(name),
            }
        }
        Self { names: all }
    }

    /// Returns a URL without its tracking parameters, or `None` if the URL has none.
    pub fn remove_from(&self, url: &Url) -> Option<Url> {
        let query = url.query()?;
        let is_kept = |parameter: &&str| !self.has(parameter.split('=').next().unwrap_or_default());
        let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
        if kept.len() == query.split('&').count() {
            return None;
        }
        let kept = kept.join("&");
        let mut clean = url.clone();
        clean.set_query((!kept.is_empty()).then_some(&kept));
        Some(clean)
    }

    fn has(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.names
            .iter()
            .any(|known| match known.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => *known == name,
            })
    }
}

impl Default for TrackingParameters {
    fn default() -> Self {
        Self::new(["usual"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_parameters_are_removed() {
        let named = TrackingParameters::new(["usual", "Ref"]);
        for (url, told) in [
            ("https://a/p?utm_source=b", Some("https://a/p")),
            ("https://a/p?x=1&UTM_Medium=b&ref", Some("https://a/p?x=1")),
            ("https://a/p?&utm_a=1&", Some("https://a/p?&")),
            ("https://a/p?reference=1&x=utm_a", None),
            ("https://a/p", None),
        ] {
            let clean = named.remove_from(&url.parse().unwrap());
            assert_eq!(clean.as_ref().map(Url::as_str), told, "{url}");
        }
    }
}
