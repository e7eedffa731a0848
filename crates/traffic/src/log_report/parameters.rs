//! Names of the query parameters that robots use. Values are never kept.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::net::IpAddr;

use foldhash::fast::{FixedState, RandomState};
use url::form_urlencoded;

/// The maximum numbers of names in all folders, and in one.
const MAX_NAMES: usize = 5_000;
const MAX_NAMES_IN_FOLDER: usize = 64;

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// The number of networks that must use a name before it is shown: a name that only one visitor
/// uses may be personal.
const NETWORKS: usize = 3;

/// The length of a part of a name that may be a token, and the number of changes between digits,
/// small and capital letters that make it one.
const TOKEN_BYTES: usize = 16;
const TOKEN_CHANGES: usize = 4;

/// The parameters of the pages in each folder.
#[derive(Debug, Default)]
pub struct Parameters {
    folders: HashMap<Box<[u8]>, Folder, RandomState>,
    names: usize,
}

#[derive(Debug, Default)]
struct Folder {
    requests: u64,
    names: HashMap<Box<str>, Usage, RandomState>,
}

#[derive(Debug, Default)]
struct Usage {
    requests: u64,
    values: Distinct,
    pages: Distinct,
    networks: HashSet<u64, RandomState>,
}

/// The use of a parameter by robots.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'p> {
    /// The folder of the pages.
    pub folder: &'p [u8],
    /// Name of the parameter.
    pub name: &'p str,
    /// Number of robots' requests with this parameter.
    pub requests: u64,
    /// Share of the robots' requests in the folder, from 0 to 1.
    pub share: f64,
    /// Approximate number of different values.
    pub values: u64,
    /// Approximate number of different pages.
    pub pages: u64,
}

impl Parameters {
    /// Counts a robot's request.
    pub(super) fn add(&mut self, folder: &[u8], target: &[u8], client: Option<IpAddr>) {
        let (page, query) =
            match memchr::memchr(b'?', target).and_then(|at| target.split_at_checked(at)) {
                Some((page, query)) => (page, query.get(1..).unwrap_or_default()),
                None => (target, &b""[..]),
            };
        if !self.folders.contains_key(folder) {
            // A folder whose pages have no parameters needs no place.
            if query.is_empty() || self.folders.len() >= MAX_NAMES {
                return;
            }
            self.folders.insert(folder.into(), Folder::default());
        }
        let Some(counted) = self.folders.get_mut(folder) else {
            return;
        };
        counted.requests += 1;
        let query = query.split(|byte| *byte == b'#').next().unwrap_or_default();
        let (page, network) = (hash(page), client.map(network));
        let mut seen = HashSet::new();
        for (name, value) in form_urlencoded::parse(query) {
            let name = name.split('[').next().unwrap_or_default();
            if !counted.names.contains_key(name) {
                let has_room = self.names < MAX_NAMES && counted.names.len() < MAX_NAMES_IN_FOLDER;
                if !has_room || !is_shown(name) {
                    continue;
                }
                self.names += 1;
                counted.names.insert(name.into(), Usage::default());
            }
            if let Some(usage) = counted.names.get_mut(name) {
                usage.requests += u64::from(seen.insert(hash(name.as_bytes())));
                usage.values.add(hash(value.as_bytes()));
                usage.pages.add(page);
                if usage.networks.len() < NETWORKS {
                    usage.networks.extend(network);
                }
            }
        }
    }

    /// Returns the names that at least three networks used, the most frequent ones first.
    pub fn sorted(&self) -> Vec<Parameter<'_>> {
        let all = self.folders.iter().flat_map(|(folder, counted)| {
            let used = counted.names.iter();
            let used = used.filter(|(_, usage)| usage.networks.len() >= NETWORKS);
            used.map(|(name, usage)| Parameter {
                folder,
                name,
                requests: usage.requests,
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a share is printed with one digit"
                )]
                share: usage.requests as f64 / counted.requests.max(1) as f64,
                values: usage.values.count(),
                pages: usage.pages.count(),
            })
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|one| (std::cmp::Reverse(one.requests), one.folder, one.name));
        all
    }
}

/// Returns `true` for a name that a program can use, and that is not a token or an address.
fn is_shown(name: &str) -> bool {
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

fn network(client: IpAddr) -> u64 {
    match client {
        IpAddr::V4(client) => u64::from(client.to_bits() >> 8),
        IpAddr::V6(client) => hash(client.octets().get(..6).unwrap_or_default()),
    }
}

fn hash(bytes: &[u8]) -> u64 {
    FixedState::default().hash_one(bytes)
}

/// An estimate of the number of different items, from the smallest of their hashes.
#[derive(Debug, Default)]
struct Distinct(BTreeSet<u64>);

impl Distinct {
    /// The number of hashes; the estimate is exact below it, and off by an eighth above.
    const KEPT: usize = 64;

    fn add(&mut self, hash: u64) {
        let is_full = self.0.len() >= Self::KEPT;
        if is_full && self.0.last().is_some_and(|last| *last <= hash) {
            return;
        }
        if self.0.insert(hash) && is_full {
            self.0.pop_last();
        }
    }

    fn count(&self) -> u64 {
        let kept = self.0.len() as u64;
        match self.0.last() {
            Some(last) if self.0.len() >= Self::KEPT => {
                let range = u128::from(u64::MAX) * u128::from(kept - 1);
                u64::try_from(range / u128::from((*last).max(1))).unwrap_or(u64::MAX)
            }
            _ => kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u32) -> IpAddr {
        IpAddr::V4((number << 8).into())
    }

    #[test]
    fn names_are_counted_with_values_and_pages() {
        let mut parameters = Parameters::default();
        for number in 0..3_000 {
            let target = format!(
                "/shop/a{}?tags={number}&tags[]=x&page={}",
                number % 10,
                number % 2
            );
            parameters.add(b"/shop/", target.as_bytes(), Some(client(number)));
        }
        parameters.add(b"/shop/", b"/shop/b", Some(client(1)));
        let all = parameters.sorted();
        assert_eq!(
            all.iter().map(|one| one.name).collect::<Vec<_>>(),
            ["page", "tags"]
        );
        let tags = all[1];
        assert_eq!((tags.requests, tags.pages), (3_000, 10));
        assert!((2_000..4_000).contains(&tags.values), "{tags:?}");
        assert!((tags.share - 3_000.0 / 3_001.0).abs() < 1e-9);
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
                parameters.add(b"/", format!("/?{query}").as_bytes(), Some(client(number)));
            }
            // One visitor alone uses this name.
            parameters.add(b"/", b"/?mine=1", Some(client(1)));
            parameters.add(
                b"/",
                b"/?filter_brand_and_color=1&PHPSESSID=a1b2",
                Some(client(number)),
            );
        }
        let names: Vec<_> = parameters.sorted().iter().map(|one| one.name).collect();
        assert_eq!(names, ["PHPSESSID", "filter_brand_and_color"]);
    }

    #[test]
    fn memory_is_limited() {
        let mut parameters = Parameters::default();
        for number in 0..20_000 {
            let target = format!("/{}/?n{number}", number % 500);
            let folder = format!("/{}/", number % 500);
            parameters.add(folder.as_bytes(), target.as_bytes(), Some(client(1)));
        }
        assert_eq!(parameters.names, MAX_NAMES);
        parameters.add(b"/x/", b"/x/?n", Some(client(1)));
        assert_eq!(parameters.names, MAX_NAMES);
    }
}
