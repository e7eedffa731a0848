//! Names of the query parameters that robots use. Values are never kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::BuildHasher as _,
    net::IpAddr,
    ops::Range,
};

use foldhash::fast::FixedState;
use robot_detection_store::store::{Store, StoreError, parent_pattern};
use serde::{Deserialize, Serialize};
use tracing::warn;
use url::form_urlencoded;

use super::ShortPath;

/// The maximum numbers of names in all groups, and in one.
const MAX_NAMES: usize = 5_000;
const MAX_NAMES_IN_GROUP: usize = 64;

/// The number of groups under one pattern at which most of them are combined under the pattern, and
/// the number of groups that stay, which are those with the most requests.
const MAX_GROUPS: usize = 32;
const GROUPS_LEFT: usize = 8;

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// The number of networks that must use a name before it is shown: a name that only one visitor
/// uses may be personal.
const NETWORKS: usize = 3;

/// The length of a part of a name that may be a token, and the number of changes between digits,
/// small and capital letters that make it one.
const TOKEN_BYTES: usize = 16;
const TOKEN_CHANGES: usize = 4;

/// The name under which all names are counted that are not kept.
const OTHER: &str = "";

/// The query parameters that robots use, by robot and path pattern.
#[derive(Debug, Default)]
pub struct Parameters {
    robots: BTreeMap<String, RobotQueries>,
    names: usize,
}

#[derive(Debug, Default)]
struct RobotQueries {
    groups: BTreeMap<String, Group>,
    /// Whether a request was counted since the groups were last packed.
    is_changed: bool,
}

/// The requests for the paths that match a pattern.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Group {
    /// Number of requests with and without a query since the first one with a query.
    requests: u64,
    with_query: u64,
    names: BTreeMap<String, Usage>,
    /// Whether other groups were combined in this group, which then counts all new pages.
    #[serde(skip)]
    is_combined: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Usage {
    requests: u64,
    values: Distinct,
    pages: Distinct,
    /// Networks that used the name, of which at most [`NETWORKS`] are kept.
    #[serde(skip)]
    networks: BTreeSet<u64>,
    is_shown: bool,
}

/// The use of a parameter by a robot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameter<'p> {
    /// ID of the robot.
    pub robot: &'p str,
    /// Pattern of the pages.
    pub path: &'p str,
    /// Name of the parameter; empty for all names that are not kept.
    #[serde(rename = "parameter")]
    pub name: &'p str,
    /// Number of the robot's requests with this parameter.
    pub requests: u64,
    /// Number of all requests of the robot for the pages.
    pub all_requests: u64,
    /// Share of all requests of the robot for the pages, from 0 to 1.
    pub share: f64,
    /// Approximate number of different values.
    pub values: u64,
    /// Approximate number of different pages.
    pub pages: u64,
}

impl Parameters {
    /// Counts the query of a robot's request; `network` is the [network](client_network) of the
    /// client.
    pub fn add(&mut self, robot: &str, page: &str, query: &[u8], network: Option<u64>) {
        let Some(queries) = self.robots.get_mut(robot) else {
            // A robot without a query needs no room.
            if !query.is_empty() && self.robots.len() < MAX_NAMES {
                self.robots
                    .insert(robot.to_owned(), RobotQueries::default());
                self.add(robot, page, query, network);
            }
            return;
        };
        if query.is_empty() {
            return;
        }
        queries.is_changed = true;
        let (path, freed) = queries.place(page);
        self.names = self.names.saturating_sub(freed);
        let group = queries.groups.entry(path).or_default();
        group.with_query += 1;
        let mut seen = Vec::new();
        for (name, value) in form_urlencoded::parse(query) {
            let mut name = name.split('[').next().unwrap_or_default();
            if !group.names.contains_key(name) {
                let has_room = self.names < MAX_NAMES && group.names.len() < MAX_NAMES_IN_GROUP;
                if has_room && may_be_shown(name) {
                    self.names += 1;
                } else {
                    name = OTHER;
                }
                group.names.entry(name.to_owned()).or_default();
            }
            let Some(usage) = group.names.get_mut(name) else {
                continue;
            };
            let name_hash = hash(name.as_bytes());
            if !seen.contains(&name_hash) {
                seen.push(name_hash);
                usage.requests += 1;
            }
            usage.values.add(hash(value.as_bytes()));
            usage.pages.add(hash(page.as_bytes()));
            if usage.networks.len() < NETWORKS {
                usage.networks.extend(network);
            }
            usage.is_shown = name == OTHER || usage.networks.len() >= NETWORKS;
        }
    }

    /// Counts requests with and without queries for a page or a pattern of pages.
    pub fn add_requests(&mut self, robot: &str, path: &str, requests: u64) {
        if let Some(queries) = self.robots.get_mut(robot)
            && let Some(path) = queries.find(&ShortPath::new(path).kept_text(true))
            && let Some(group) = queries.groups.get_mut(&path)
        {
            group.requests += requests;
            queries.is_changed = true;
        }
    }

    /// Returns the names that may be shown, the most frequent ones first.
    pub fn sorted(&self) -> Vec<Parameter<'_>> {
        let mut all = Vec::new();
        for (robot, queries) in &self.robots {
            for (path, group) in &queries.groups {
                let shown = group.names.iter().filter(|(_, usage)| usage.is_shown);
                let all_requests = group.requests.max(group.with_query);
                all.extend(shown.map(|(name, usage)| Parameter {
                    robot,
                    path,
                    name,
                    requests: usage.requests,
                    all_requests,
                    #[expect(
                        clippy::cast_precision_loss,
                        reason = "a share is printed with one digit"
                    )]
                    share: usage.requests as f64 / all_requests.max(1) as f64,
                    values: usage.values.count(),
                    pages: usage.pages.count(),
                }));
            }
        }
        all.sort_by_key(|one| {
            (
                std::cmp::Reverse(one.requests),
                one.robot,
                one.path,
                one.name,
            )
        });
        all
    }

    /// Returns the counts of each robot that changed since the previous call, as text to store.
    ///
    /// The text contains neither networks nor names that may not be shown.
    pub(super) fn packed(&mut self) -> Vec<(String, String)> {
        let mut packed = Vec::new();
        for (robot, queries) in &mut self.robots {
            if std::mem::take(&mut queries.is_changed) {
                let groups = queries
                    .groups
                    .iter()
                    .map(|(path, group)| (path, group.shown()));
                let groups: BTreeMap<_, _> = groups
                    .filter(|(_, group)| !group.names.is_empty())
                    .collect();
                // Texts and numbers can always be written as JSON.
                let text = serde_json::to_string(&groups).unwrap_or_default();
                packed.push((robot.clone(), text));
            }
        }
        packed
    }

    /// Reads the parameters of whole days from the database.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be read.
    pub async fn read(
        store: &Store,
        minutes: &Range<i64>,
        site: Option<&str>,
        robot: Option<&str>,
    ) -> Result<Self, StoreError> {
        let mut all = Self::default();
        for row in store.traffic().parameters(minutes, site, robot).await? {
            if let Err(error) = all.merge(&row.key.robot, &row.packed) {
                warn!(%error, "could not read stored query parameters: {error}");
            }
        }
        Ok(all)
    }

    /// Adds counts that were [packed](Self::packed).
    fn merge(&mut self, robot: &str, packed: &str) -> Result<(), serde_json::Error> {
        let groups: BTreeMap<String, Group> = serde_json::from_str(packed)?;
        let known = &mut self.robots.entry(robot.to_owned()).or_default().groups;
        for (path, group) in groups {
            known.entry(path).or_default().merge(group);
        }
        Ok(())
    }
}

impl RobotQueries {
    /// Returns the pattern under which a page is counted, and the number of names that no longer
    /// need room.
    ///
    /// This is the pattern of the page or, if there are many similar pages, a more general pattern.
    fn place(&mut self, page: &str) -> (String, usize) {
        let own = ShortPath::new(page).kept_text(true);
        if let Some(path) = self.find(&own) {
            return (path, 0);
        }
        let above = std::iter::successors(parent_pattern(&own), |path| parent_pattern(path));
        let freed = above.map(|parent| self.combine(&parent)).sum();
        (self.find(&own).unwrap_or(own), freed)
    }

    /// Returns the pattern under which the pages of a pattern are counted, if any.
    fn find(&self, own: &str) -> Option<String> {
        let mut all = std::iter::successors(Some(own.to_owned()), |path| parent_pattern(path));
        all.find(|path| {
            let group = self.groups.get(path);
            group.is_some_and(|group| group.is_combined || path == own)
        })
    }

    /// Combines the groups under a pattern if there are too many, and returns the number of names
    /// that no longer need room.
    fn combine(&mut self, parent: &str) -> usize {
        let is_below = |path: &str| parent_pattern(path).as_deref() == Some(parent);
        let below = self.groups.iter().filter(|(path, _)| is_below(path));
        let mut below: Vec<_> = below
            .map(|(path, group)| (group.with_query, path.clone()))
            .collect();
        if below.len() < MAX_GROUPS {
            return 0;
        }
        below.sort_unstable();
        below.truncate(below.len() - GROUPS_LEFT);
        let names = |groups: &BTreeMap<_, Group>| -> usize {
            groups.values().map(|group| group.names.len()).sum()
        };
        let before = names(&self.groups);
        for (_, path) in below {
            if let Some(group) = self.groups.remove(&path) {
                let into = self.groups.entry(parent.to_owned()).or_default();
                into.is_combined = true;
                into.merge(group);
            }
        }
        before.saturating_sub(names(&self.groups))
    }
}

impl Group {
    /// Returns the group with only the names that may be shown.
    fn shown(&self) -> Self {
        let names = self.names.iter().filter(|(_, usage)| usage.is_shown);
        Self {
            names: names
                .map(|(name, usage)| (name.clone(), usage.clone()))
                .collect(),
            ..*self
        }
    }

    fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.with_query += other.with_query;
        for (name, usage) in other.names {
            let has_room = self.names.contains_key(&name) || self.names.len() < MAX_NAMES_IN_GROUP;
            let name = if has_room { name } else { OTHER.to_owned() };
            self.names.entry(name).or_default().merge(usage);
        }
    }
}

impl Usage {
    fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.values.merge(&other.values);
        self.pages.merge(&other.pages);
        self.networks.extend(other.networks);
        self.is_shown |= other.is_shown || self.networks.len() >= NETWORKS;
    }
}

/// Returns `true` for a name that a program can use, and that is not a token or an address.
fn may_be_shown(name: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(is_name)
        && !name.as_bytes().windows(TOKEN_BYTES).any(is_token)
}

fn is_token(part: &[u8]) -> bool {
    let class = |byte: &u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let changes = part.windows(2).filter(|pair| match pair {
        [first, second] => class(first) != class(second),
        _ => false,
    });
    part.iter().all(u8::is_ascii_alphanumeric) && changes.count() >= TOKEN_CHANGES
}

/// Returns a number for the network of a client, whose address it does not reveal entirely.
pub fn client_network(client: IpAddr) -> u64 {
    match client {
        IpAddr::V4(client) => u64::from(client.to_bits() >> 8),
        IpAddr::V6(client) => hash(client.octets().get(..6).unwrap_or_default()),
    }
}

fn hash(bytes: &[u8]) -> u64 {
    FixedState::default().hash_one(bytes)
}

/// An estimate of the number of different items, from the smallest of their hashes in order.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
struct Distinct(Vec<u32>);

impl Distinct {
    /// The number of hashes; the estimate is exact below it, and off by an eighth above.
    const KEPT: usize = 64;

    fn add(&mut self, hash: u64) {
        let hash = (hash >> 32) as u32;
        if let Err(place) = self.0.binary_search(&hash)
            && place < Self::KEPT
        {
            self.0.truncate(Self::KEPT - 1);
            self.0.insert(place.min(self.0.len()), hash);
        }
    }

    fn merge(&mut self, other: &Self) {
        for hash in &other.0 {
            self.add(u64::from(*hash) << 32);
        }
    }

    fn count(&self) -> u64 {
        let kept = self.0.len() as u64;
        match self.0.last() {
            Some(last) if self.0.len() >= Self::KEPT => {
                (kept - 1).saturating_mul(1 << 32) / u64::from(*last).max(1)
            }
            _ => kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(parameters: &mut Parameters, target: &str, network: u64) {
        let (page, query) = target.split_once('?').unwrap_or((target, ""));
        parameters.add("bot", page, query.as_bytes(), Some(network));
        parameters.add_requests("bot", page, 1);
    }

    fn names(parameters: &Parameters) -> Vec<&str> {
        parameters.sorted().iter().map(|one| one.name).collect()
    }

    #[test]
    fn names_are_counted_with_values_and_pages() {
        let mut parameters = Parameters::default();
        for number in 0..3_000 {
            let page = number % 10;
            let target = format!("/shop/a{page}?tags={number}&tags[]=x&page={}", number % 2);
            add(&mut parameters, &target, number);
        }
        add(&mut parameters, "/shop/a1", 1);
        assert_eq!(parameters.sorted().len(), 20);
        let all = parameters.sorted();
        let tags = all
            .iter()
            .find(|one| (one.path, one.name) == ("/shop/a1", "tags"));
        let tags = tags.unwrap();
        assert_eq!((tags.requests, tags.pages), (300, 1));
        assert!((230..400).contains(&tags.values), "{tags:?}");
        assert!((tags.share - 300.0 / 301.0).abs() < 1e-9);
    }

    #[test]
    fn many_similar_pages_are_combined() {
        let mut parameters = Parameters::default();
        for number in 0..20_000 {
            let target = format!("/shop/product-{}?color=c{number}", number % 1_000);
            add(&mut parameters, &target, number);
            add(&mut parameters, "/shop/best?color=red", number);
        }
        let all = parameters.sorted();
        assert!(all.len() <= 1 + GROUPS_LEFT, "{all:?}");
        assert_eq!((all[0].path, all[0].requests), ("/shop/best", 20_000));
        assert_eq!(all[1].path, "/shop/*");
        assert!(
            all[1].requests > 19_000 && all[1].share > 0.99,
            "{:?}",
            all[1]
        );
        assert!((800..1_250).contains(&all[1].pages), "{:?}", all[1]);
        assert_eq!(all.iter().map(|one| one.requests).sum::<u64>(), 40_000);
        assert_eq!(parameters.names, all.len());
    }

    #[test]
    fn packed_counts_of_several_programs_are_added() {
        let mut whole = Parameters::default();
        for program in 0..3 {
            let mut parameters = Parameters::default();
            for number in 0..1_000 {
                add(
                    &mut parameters,
                    &format!("/a?x={number}&mine{program}=1"),
                    number % 4 * program,
                );
            }
            let packed = parameters.packed();
            assert_eq!(parameters.packed(), []);
            assert!(!packed[0].1.contains("mine0"), "{packed:?}");
            for (robot, text) in packed {
                whole.merge(&robot, &text).unwrap();
            }
        }
        let found = whole.sorted();
        let x = found.iter().find(|one| one.name == "x").unwrap();
        assert_eq!(x.requests, 2_000);
        assert!((800..1_250).contains(&x.values), "{x:?}");
        assert!(whole.merge("bot", "[1]").is_err());
    }

    #[test]
    fn personal_names_are_not_shown() {
        let mut parameters = Parameters::default();
        for number in 0..5 {
            for query in [
                "jo@example.com=1",
                "jo%40example.com",
                "9f8a7b6c5d4e3f2a1b0c=1",
                "sK3jd9Qm2Lp7Xv4T",
                "a%20b=1",
                "=1",
                &"long".repeat(11),
                "caf%C3%A9",
            ] {
                add(&mut parameters, &format!("/?{query}"), number);
            }
            // One visitor alone uses this name.
            add(&mut parameters, "/?mine=1", 1);
            add(
                &mut parameters,
                "/?filter_brand_and_color=1&PHPSESSID=a1b2",
                number,
            );
        }
        assert_eq!(
            names(&parameters),
            ["", "PHPSESSID", "filter_brand_and_color"]
        );
    }

    #[test]
    fn memory_is_limited() {
        let mut parameters = Parameters::default();
        for number in 0..40_000 {
            let robot = format!("bot-{}", number % 40);
            let (page, name) = (format!("/p{}", number % 6_000), format!("n{number}"));
            parameters.add(&robot, &page, name.as_bytes(), Some(1));
        }
        let robots = parameters.robots.values();
        let kept =
            robots.flat_map(|robot| robot.groups.values().flat_map(|group| group.names.keys()));
        let kept = kept.filter(|name| !name.is_empty()).count();
        assert!(kept <= MAX_NAMES && kept > 1_000, "{kept}");
    }
}
