//! The trap paths of a site.

use std::fmt::Write as _;

use ring::hmac;

/// Number of trap paths on a site.
const TRAPS: usize = 3;

/// Path segments that resemble the paths of an ordinary site.
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

/// The trap paths of one site.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TrapPaths(Vec<String>);

impl TrapPaths {
    /// Derives a site's trap paths from the installation's seed and from the site name.
    pub fn new(seed: [u64; 2], site: &str) -> Self {
        let seed = seed.map(u64::to_le_bytes);
        let key = hmac::Key::new(hmac::HMAC_SHA256, seed.as_flattened());
        let trap =
            |number| path(hmac::sign(&key, format!("trap {number} {site}").as_bytes()).as_ref());
        let mut paths = Vec::new();
        // Numbers that produce an existing path are skipped.
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

    /// Returns an iterator over the trap paths.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().map(String::as_str)
    }

    /// Returns the trap path to which the trap page at `path` links.
    pub fn next(&self, path: &str) -> Option<&str> {
        let place = self.iter().position(|trap| trap == path)?;
        self.iter().cycle().nth(place + 1)
    }

    /// Returns the HTML for a trap link that human visitors can neither see nor reach.
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
    fn trap_paths_differ_by_site_and_installation_and_are_stable() {
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
            // Characters that need no escaping in a robots.txt line or an attribute.
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-.".contains(c);
            assert!(
                path.starts_with('/') && path.chars().all(is_plain),
                "{path}"
            );
            assert!(!path.contains("trap"), "{path}");
        }
    }

    #[test]
    fn trap_pages_link_in_a_cycle() {
        let paths = TrapPaths::new([7, 7], "default");
        let all: Vec<_> = paths.iter().collect();
        let next: Vec<_> = all.iter().filter_map(|path| paths.next(path)).collect();
        assert_eq!(next, [all[1], all[2], all[0]]);
        assert_eq!(paths.next("/"), None);
        assert!(paths.snippet().contains(all[0]));
    }
}
