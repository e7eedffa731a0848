//! The paths of a site's traps.

use std::fmt::Write as _;

use ring::hmac;

/// Traps of a site.
const TRAPS: usize = 3;

/// What paths are made of, so that they look like any other.
const PLACES: [&str; 16] = [
    "archive", "library", "notes", "reports", "press", "topics", "series", "papers", "events",
    "projects", "records", "reviews", "guides", "letters", "studies", "issues",
];
const WORDS: [&str; 32] = [
    "amber", "autumn", "basin", "bridge", "cedar", "coast", "copper", "delta", "ember", "field",
    "garden", "harvest", "island", "juniper", "kestrel", "lantern", "maple", "meadow", "north",
    "orchard", "pebble", "quarry", "river", "saddle", "timber", "upland", "valley", "willow",
    "winter", "yarrow", "zenith", "summit",
];

/// Paths of the traps of one site.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TrapPaths(Vec<String>);

impl TrapPaths {
    /// Makes them from the seed of an installation and the name of a site.
    pub fn new(seed: [u64; 2], site: &str) -> Self {
        let seed = seed.map(u64::to_le_bytes);
        let key = hmac::Key::new(hmac::HMAC_SHA256, seed.as_flattened());
        let trap =
            |number| path(hmac::sign(&key, format!("trap {number} {site}").as_bytes()).as_ref());
        let mut paths = Vec::new();
        // A number for each that is there already is another one's.
        for path in (0..).map(trap) {
            if !paths.contains(&path) {
                paths.push(path);
            }
            if paths.len() == TRAPS {
                break;
            }
        }
        Self(paths)
    }

    /// Returns each of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().map(String::as_str)
    }

    /// Returns the one that the page of a trap links to.
    pub fn next(&self, path: &str) -> Option<&str> {
        let place = self.iter().position(|trap| trap == path)?;
        self.iter().cycle().nth(place + 1)
    }

    /// Returns the mark-up that a site may put into its pages: no person sees or reaches it.
    pub fn snippet(&self) -> String {
        let mut snippet = String::new();
        if let Some(path) = self.iter().next() {
            // Writing to memory never fails.
            let _ = write!(
                snippet,
                "<div hidden aria-hidden=\"true\"><a href=\"{path}\" rel=\"nofollow\" tabindex=\"-1\">Index</a></div>"
            );
        }
        snippet
    }
}

fn path(number: &[u8]) -> String {
    let mut numbers = number.iter().copied().map(usize::from);
    let mut of = |words: &[&'static str]| {
        let number = numbers.next().unwrap_or_default();
        words.get(number % words.len()).copied().unwrap_or_default()
    };
    let (place, first, second, third) = (of(&PLACES), of(&WORDS), of(&WORDS), of(&WORDS));
    let number = numbers.take(2).fold(0, |number, byte| number << 8 | byte);
    format!("/{place}/{first}-{second}/{third}-{number}.html")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_site_of_each_installation_has_its_own_and_they_stay() {
        let mut all = BTreeSet::new();
        for seed in [[1, 2], [2, 1], [u64::MAX, 0]] {
            for site in ["default", "shop", ""] {
                let paths = TrapPaths::new(seed, site);
                assert_eq!(paths, TrapPaths::new(seed, site));
                assert_eq!(paths.iter().count(), TRAPS);
                all.extend(paths.0);
            }
        }
        assert_eq!(all.len(), 9 * TRAPS);
        for path in all {
            // As it stands in a line of robots.txt, and in an attribute.
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-.".contains(c);
            assert!(
                path.starts_with('/') && path.chars().all(is_plain),
                "{path}"
            );
            assert!(!path.contains("trap"), "{path}");
        }
    }

    #[test]
    fn each_leads_to_another_and_the_last_to_the_first() {
        let paths = TrapPaths::new([7, 7], "default");
        let all: Vec<_> = paths.iter().collect();
        let next: Vec<_> = all.iter().filter_map(|path| paths.next(path)).collect();
        assert_eq!(next, [all[1], all[2], all[0]]);
        assert_eq!(paths.next("/"), None);
        assert!(paths.snippet().contains(all[0]));
    }
}
