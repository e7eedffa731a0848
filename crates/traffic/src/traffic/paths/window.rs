//! A limited number of paths, with the number of requests for each path.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    hash::BuildHasher,
    sync::Arc,
};

use robot_detection_store::store::{
    CountedPaths, PathCount, PathKey, PathOmissions, parent_pattern, path_pattern,
};

use super::OTHER;

/// Maximum number of separately counted paths and patterns, which take about two hundred bytes
/// each.
const MAX_ENTRIES: usize = 4_096;

/// Maximum number of rows that are written to the database for one site and minute.
const MAX_OF_SITE: usize = 512;

/// A sketch of the paths requested in a period.
///
/// If the window is full, paths are folded into the entries of their patterns: entries with the
/// smallest counts first, and paths before patterns. No request is lost, so sums are exact. The
/// actual number of requests for a path exceeds its count by at most the path's [`PathOmissions`].
#[derive(Debug, Default)]
pub struct Window {
    entries: HashMap<Entry, PathCount>,
    cuts: BTreeMap<Arc<str>, PathOmissions>,
}

/// The site, robot and path for which requests are counted.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
struct Entry {
    site: Arc<str>,
    /// ID of the robot; empty for people.
    robot: Arc<str>,
    path: Box<str>,
}

impl Window {
    /// Counts requests for a path or, if the requests are from people, for a pattern.
    pub fn add(&mut self, site: &Arc<str>, robot: &Arc<str>, path: &str, count: PathCount) {
        let entry = Entry {
            site: Arc::clone(site),
            robot: Arc::clone(robot),
            path: path.into(),
        };
        *self.entries.entry(entry).or_default() += count;
        if self.entries.len() > MAX_ENTRIES {
            // Half of the entries are folded, so that not every further path sorts all entries.
            self.fold(|_| true, MAX_ENTRIES / 2);
        }
    }

    /// Counts requests with an unknown path.
    pub fn skip(&mut self, site: &Arc<str>, requests: u64) {
        if requests > 0 {
            self.cut(site).skipped += requests;
        }
    }

    /// Adds the counts from another window.
    pub fn merge(&mut self, counted: CountedPaths) {
        let mut names = HashSet::<Arc<str>>::new();
        for (key, count) in counted.rows {
            let [site, robot] = [&key.site, &key.robot].map(|name| shared_name(&mut names, name));
            self.add(&site, &robot, &key.path, count);
        }
        for (site, cut) in counted.cuts {
            *self.cut(&shared_name(&mut names, &site)) += cut;
        }
    }

    /// Returns `true` if no requests were counted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.cuts.is_empty()
    }

    /// Returns the number of separately counted paths and patterns.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Empties the window, and returns the rows to store for a minute, given in minutes since 1970.
    pub fn take(&mut self, minute: i64) -> CountedPaths {
        let mut sites = HashMap::<Arc<str>, usize>::new();
        for entry in self.entries.keys() {
            *sites.entry(Arc::clone(&entry.site)).or_default() += 1;
        }
        for (site, entries) in sites {
            if entries > MAX_OF_SITE {
                self.fold(|entry| entry.site == site, MAX_OF_SITE);
            }
        }
        let mut rows: Vec<_> = std::mem::take(&mut self.entries)
            .into_iter()
            .map(|(entry, count)| (entry.key(), count))
            .collect();
        // Instances that add to the same rows must use the same order.
        rows.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let cuts = std::mem::take(&mut self.cuts).into_iter();
        CountedPaths {
            minute,
            rows,
            cuts: cuts.map(|(site, cut)| (site.to_string(), cut)).collect(),
        }
    }

    /// Folds the smallest selected entries into their patterns until `left` entries remain.
    fn fold(&mut self, is_of: impl Fn(&Entry) -> bool, left: usize) {
        loop {
            let entries = self.entries.iter().filter(|(entry, _)| is_of(entry));
            let (paths, patterns): (Vec<_>, Vec<_>) = entries
                .map(|(entry, count)| (entry.clone(), count.requests))
                .partition(|(entry, _)| entry.is_path());
            let too_many = (paths.len() + patterns.len()).saturating_sub(left);
            // Patterns get half of the entries, and any that paths do not need.
            let room = left - paths.len().min(left / 2);
            let patterns_left = patterns.len().min(room);
            let of_patterns = patterns.len() - patterns_left;
            let folded = self.fold_smallest(patterns, of_patterns, |cut| &mut cut.patterns)
                + self.fold_smallest(paths, too_many - of_patterns, |cut| &mut cut.paths);
            // Patterns created by folding also need entries.
            if folded == 0 {
                return;
            }
        }
    }

    /// Folds the `number` smallest entries, and returns the number of entries that were folded.
    fn fold_smallest(
        &mut self,
        entries: Vec<(Entry, u64)>,
        number: usize,
        cut_of: impl Fn(&mut PathOmissions) -> &mut u64,
    ) -> usize {
        if number == 0 {
            return 0;
        }
        let entries = entries.into_iter().filter_map(|(entry, requests)| {
            let (above, depth) = (entry.folded()?, entry.depth());
            Some((Reverse(depth), requests, entry, above))
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable();
        entries.truncate(number);
        let mut most = BTreeMap::<Arc<str>, u64>::new();
        let folded = entries.len();
        for (_, _, entry, above) in entries {
            if let Some(count) = self.entries.remove(&entry) {
                let most = most.entry(Arc::clone(&entry.site)).or_default();
                *most = count.requests.max(*most);
                *self.entries.entry(above).or_default() += count;
            }
        }
        for (site, most) in most {
            *cut_of(self.cut(&site)) += most;
        }
        folded
    }

    fn cut(&mut self, site: &Arc<str>) -> &mut PathOmissions {
        self.cuts.entry(Arc::clone(site)).or_default()
    }
}

impl Entry {
    fn is_path(&self) -> bool {
        path_pattern(self.path.as_bytes(), false) != *self.path
    }

    /// Returns the number of patterns that are more general than this entry's pattern; 0 if the
    /// entry is a path.
    fn depth(&self) -> usize {
        if self.is_path() {
            return 0;
        }
        std::iter::successors(parent_pattern(&self.path), |path| parent_pattern(path)).count()
    }

    /// Returns the entry into which this entry is folded; `None` if this entry cannot be folded.
    fn folded(&self) -> Option<Self> {
        if let Some(pattern) = parent_pattern(&self.path) {
            let path = pattern.into();
            return Some(Self {
                path,
                ..self.clone()
            });
        }
        // Requests from people are never counted together with requests from robots.
        let is_last = self.robot.is_empty() || *self.robot == *OTHER;
        let robot = || Self {
            robot: OTHER.into(),
            ..self.clone()
        };
        (!is_last).then(robot)
    }

    fn key(&self) -> PathKey {
        PathKey {
            site: self.site.to_string(),
            robot: self.robot.to_string(),
            path: self.path.to_string(),
        }
    }
}

/// Returns the shared copy of a name; for a new name, the copy is created.
pub fn shared_name<S: BuildHasher>(names: &mut HashSet<Arc<str>, S>, name: &str) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return Arc::clone(known);
    }
    let name: Arc<str> = name.into();
    names.insert(Arc::clone(&name));
    name
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn add(window: &mut Window, robot: &str, path: &str) {
        window.add(&"site".into(), &robot.into(), path, PathCount::for_class(2));
    }

    fn requests(counted: &CountedPaths) -> u64 {
        counted.rows.iter().map(|(_, count)| count.requests).sum()
    }

    #[test]
    fn million_paths_use_bounded_memory_and_no_request_is_lost() {
        let mut window = Window::default();
        for number in 0..1_000_000_u64 {
            let path = format!("/shop/item/{number}/{}", "x".repeat(80));
            add(&mut window, "bot", &path);
            if number % 100 == 0 {
                add(&mut window, "bot", "/shop/item/best");
            }
            assert!(window.len() <= MAX_ENTRIES);
        }
        let counted = window.take(0);
        assert!(counted.rows.len() <= MAX_OF_SITE);
        assert_eq!(requests(&counted), 1_010_000);
        let of = |path: &str| {
            let found = counted.rows.iter().find(|(key, _)| key.path == path);
            found.map_or(0, |(_, count)| count.requests)
        };
        assert_eq!(of("/shop/item/best"), 10_000);
        assert!(of("/shop/item/*") > 999_000);
        assert!(window.is_empty());
    }

    #[test]
    fn robots_beyond_the_limit_are_counted_as_other() {
        let mut window = Window::default();
        for robot in 0..10_000 {
            add(&mut window, &format!("bot-{robot}"), "/");
            add(&mut window, "", &format!("/a{}/b/*", robot % 3_000));
        }
        assert!(window.len() <= MAX_ENTRIES);
        let counted = window.take(7);
        assert_eq!((counted.minute, requests(&counted)), (7, 20_000));
        assert!(counted.rows.len() <= MAX_OF_SITE);
        let mut people = counted.rows.iter().filter(|(key, _)| key.robot.is_empty());
        let first: u64 = people.by_ref().map(|(_, count)| count.requests).sum();
        assert_eq!(first, 10_000, "people are counted as robots");
        assert!(counted.rows.iter().any(|(key, _)| key.robot == OTHER));
    }

    /// Generates requests for a few frequent paths and many rare ones.
    fn asked() -> impl Strategy<Value = Vec<(u8, u16)>> {
        let path = prop_oneof![0..20_u16, 0..3_000_u16];
        prop::collection::vec((0..3_u8, path), 0..20_000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn counts_and_cuts_cover_all_requests(asked in asked(), writers in 1..4_usize) {
            let mut exact = BTreeMap::<PathKey, u64>::new();
            let mut whole = Window::default();
            let size = asked.len().div_ceil(writers).max(1);
            for (minute, asked) in (0..).zip(asked.chunks(size)) {
                let mut window = Window::default();
                for (robot, path) in asked {
                    let (robot, path) = (format!("bot-{robot}"), format!("/a{}/b/page-{path}", path % 7));
                    add(&mut window, &robot, &path);
                    let pattern = path_pattern(path.as_bytes(), false);
                    for path in [path, pattern] {
                        let key = PathKey { site: "site".to_owned(), robot: robot.clone(), path };
                        *exact.entry(key).or_default() += 1;
                    }
                }
                whole.merge(window.take(minute));
            }
            let counted = whole.take(0);
            prop_assert_eq!(requests(&counted), asked.len() as u64);
            let cut = counted.cuts.first().map(|(_, cut)| *cut).unwrap_or_default();
            for (key, truth) in exact {
                let is_it = |one: &PathKey| one.robot == key.robot
                    && (one.path == key.path || parent_pattern(&one.path).as_ref() == Some(&key.path));
                let rows = counted.rows.iter().filter(|(one, _)| is_it(one));
                let shown: u64 = rows.map(|(_, count)| count.requests).sum();
                let is_path = parent_pattern(&key.path).is_some_and(|above| above.ends_with("b/*"));
                let most = if is_path { cut.paths } else { cut.patterns };
                prop_assert!(shown <= truth && truth <= shown + most, "{:?}: {} {} {}", key, shown, truth, most);
            }
        }
    }
}
