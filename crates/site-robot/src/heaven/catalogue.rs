//! Catalogue of all pages in robot heaven, without the text of the pages.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::Range,
    sync::Arc,
};

use super::{HeavenPath, HeavenSettings, date::Date, entry::Entry, sitemap, view::View};
use robot_detection_store::description::ResourceDescription;

/// Number of links on each page of an index.
pub(super) const PAGE_LINKS: usize = 100;

/// Number of pages listed in llms.txt.
const NEAREST_PAGES: usize = 200;

/// Maximum number of redirects followed from a URL to its page.
const MAX_STEPS: u32 = 10;

/// Catalogue of all pages in robot heaven, without their text; the catalogue needs a few hundred
/// bytes per page.
///
/// The catalogue is used for links between pages, and for indexes, sitemaps and feeds.
#[derive(Debug)]
pub struct Catalogue {
    /// Entries sorted by URL.
    entries: Vec<Entry>,
    /// Digest of each page's path, and the index of the page's entry.
    paths: Vec<(u64, u32)>,
    /// Alternative URLs of pages, each with the index of the page's entry.
    aliases: Vec<(Box<str>, u32)>,
    /// Current and former addresses of the site, which links in texts may contain.
    addresses: Vec<String>,
    /// Digests of the path and query of each page whose original is public, sorted.
    open: Vec<u64>,
    /// Indexes of the entries in each view, in the order of the view.
    orders: Vec<Vec<u32>>,
    /// Indexes of the entries nearest to the starting points.
    nearest: Vec<u32>,
    sitemaps: Vec<Range<usize>>,
    /// Date of the newest page in each sitemap.
    sitemap_dates: Vec<Option<Date>>,
}

/// Builder that creates a [`Catalogue`] from descriptions.
#[derive(Debug, Default)]
pub struct CatalogueBuilder {
    entries: Vec<Entry>,
    words: HashSet<Arc<str>>,
    aliases: BTreeMap<Box<str>, Box<str>>,
    addresses: Vec<String>,
}

/// A page of an index of robot heaven.
#[derive(Debug)]
pub(super) struct Listing<'c> {
    pub(super) view: View,
    /// Number of the index page, starting at 1.
    pub(super) number: usize,
    pub(super) last: usize,
    pub(super) total: usize,
    pub(super) entries: Vec<&'c Entry>,
}

/// Context for resolving the links in texts.
#[derive(Clone, Copy)]
pub(super) struct Site<'c> {
    pub(super) catalogue: &'c Catalogue,
    pub(super) settings: &'c HeavenSettings,
}

impl CatalogueBuilder {
    /// Adds the page of a description, unless the URL scheme or `noindex` excludes the page from
    /// robot heaven.
    pub fn add(&mut self, description: &ResourceDescription) {
        self.entries
            .extend(Entry::new(description, &mut self.words));
    }

    /// Adds alternative URLs, each mapped to the URL that it stands for; chains are allowed.
    pub fn add_aliases(&mut self, mut aliases: BTreeMap<Box<str>, Box<str>>) {
        self.aliases.append(&mut aliases);
    }

    /// Adds the current and former addresses of the site.
    pub(super) fn add_addresses(&mut self, addresses: Vec<String>) {
        self.addresses = addresses;
    }

    /// Builds the catalogue from the added pages.
    pub fn build(mut self, settings: &HeavenSettings) -> Catalogue {
        self.entries.sort_by(|a, b| a.url.cmp(&b.url));
        self.entries.dedup_by(|a, b| a.url == b.url);
        self.entries.truncate(u32::MAX as usize);
        // Spare capacity would otherwise remain allocated for the lifetime of the catalogue.
        self.entries.shrink_to_fit();
        let paths = (0_u32..).zip(&self.entries);
        let mut paths: Vec<_> = paths
            .map(|(at, entry)| (digest(settings.page(&entry.url).as_str()), at))
            .collect();
        paths.sort_unstable();
        let sitemaps = sitemap::parts(&self.entries, settings);
        let date = |range: &Range<usize>| {
            let entries = self.entries.get(range.clone()).unwrap_or_default();
            entries.iter().filter_map(|entry| entry.date).max()
        };
        let mut catalogue = Catalogue {
            sitemap_dates: sitemaps.iter().map(date).collect(),
            sitemaps,
            orders: orders(&self.entries),
            nearest: nearest(&self.entries),
            paths,
            entries: self.entries,
            aliases: Vec::new(),
            addresses: self.addresses,
            open: Vec::new(),
        };
        catalogue.open = open_pages(&catalogue.entries, settings);
        catalogue.aliases = resolve_aliases(self.aliases, &catalogue);
        catalogue
    }
}

impl Catalogue {
    /// Returns the number of pages in the catalogue.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if the catalogue has no pages.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns `true` if there is a page for a URL.
    pub fn contains(&self, url: &str) -> bool {
        self.find(url).is_some()
    }

    /// Returns the URL of the page to which a URL or alternative URL refers.
    pub(super) fn page_of(&self, url: &str, settings: &HeavenSettings) -> Option<&str> {
        let find = |url: &str| {
            let alias = || {
                let at = self
                    .aliases
                    .binary_search_by(|(alias, _)| (**alias).cmp(url));
                let (_, at) = self.aliases.get(at.ok()?)?;
                self.entries.get(*at as usize)
            };
            self.find(url).or_else(alias)
        };
        let entry = find(url).or_else(|| find(&settings.cleaned_url(url)?))?;
        Some(&entry.url)
    }

    /// Replaces a former address of the site in a URL with the site's current address.
    pub(super) fn settled<'u>(&self, url: &'u str, settings: &HeavenSettings) -> Cow<'u, str> {
        let below = |address: &String| {
            let below = url.strip_prefix(address.as_str())?;
            below.starts_with('/').then_some(below)
        };
        let mut former = self.addresses.iter().filter(|it| *it != settings.site());
        match former.find_map(below) {
            Some(below) => Cow::Owned(format!("{}{below}", settings.site())),
            None => Cow::Borrowed(url),
        }
    }

    /// Returns `true` if a path and query belong to a page with a public original.
    ///
    /// Hash collisions (1 in 2^64) can cause false positives.
    pub(super) fn may_be_open(&self, path_and_query: &str) -> bool {
        let is_one = |open: &[u64]| open.binary_search(&digest(path_and_query)).is_ok();
        !self.open.is_empty() && is_one(&self.open)
    }

    /// Returns the heaven path of the page with the given path and query if the original page is
    /// public.
    pub(super) fn open_page(
        &self,
        path_and_query: &str,
        settings: &HeavenSettings,
    ) -> Option<HeavenPath> {
        let url = format!("{}{path_and_query}", settings.site());
        let is_open = self.contains(&url) && !settings.is_members_only(&url);
        is_open.then(|| settings.page(&url))
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn find(&self, url: &str) -> Option<&Entry> {
        self.entries.get(self.position(url)?)
    }

    /// Returns the entries immediately before and after a URL.
    pub(super) fn neighbours(&self, url: &str) -> (Option<&Entry>, Option<&Entry>) {
        let Some(at) = self.position(url) else {
            return (None, None);
        };
        let before = at.checked_sub(1).and_then(|at| self.entries.get(at));
        (before, self.entries.get(at + 1))
    }

    /// Returns the entry of the page at a path below robot heaven.
    pub(super) fn find_by_path(&self, path: &str, settings: &HeavenSettings) -> Option<&Entry> {
        let digest = digest(path);
        let first = self.paths.partition_point(|(known, _)| *known < digest);
        let same = self.paths.get(first..)?.iter();
        // Two paths may have the same digest, so the paths themselves are compared.
        same.take_while(|(known, _)| *known == digest)
            .filter_map(|(_, at)| self.entries.get(*at as usize))
            .find(|entry| HeavenPath::for_url(&entry.url, settings.site()).as_str() == path)
    }

    /// Returns a page of an index, or `None` if the number is out of range.
    pub(super) fn listing(&self, view: View, number: usize) -> Option<Listing<'_>> {
        let order = self.order(view);
        let last = order.len().div_ceil(PAGE_LINKS);
        let start = number.checked_sub(1)?.checked_mul(PAGE_LINKS)?;
        let end = order.len().min(start.checked_add(PAGE_LINKS)?);
        let numbers = order
            .get(start..end)
            .filter(|numbers| !numbers.is_empty())?;
        Some(Listing {
            view,
            number,
            last,
            total: order.len(),
            entries: self.pick(numbers),
        })
    }

    /// Returns the number of pages in a view.
    pub(super) fn count(&self, view: View) -> usize {
        self.order(view).len()
    }

    /// Returns the newest pages that have a date.
    pub(super) fn newest(&self, limit: usize) -> Vec<&Entry> {
        let order = self.order(View::Date);
        self.pick(order.get(..limit.min(order.len())).unwrap_or_default())
    }

    /// Returns the pages nearest to the starting points, for llms.txt.
    pub(super) fn nearest(&self) -> Vec<&Entry> {
        self.pick(&self.nearest)
    }

    /// Returns the entries of each sitemap.
    pub(super) fn sitemaps(&self) -> impl ExactSizeIterator<Item = &[Entry]> {
        self.sitemaps
            .iter()
            .map(|range| self.entries.get(range.clone()).unwrap_or_default())
    }

    /// Returns the date of the newest page in each sitemap.
    pub(super) fn sitemap_dates(&self) -> &[Option<Date>] {
        &self.sitemap_dates
    }

    /// Returns the range of entries in a sitemap; the first sitemap has the number 0.
    pub(super) fn sitemap(&self, number: usize) -> Option<Range<usize>> {
        self.sitemaps.get(number).cloned()
    }

    fn position(&self, url: &str) -> Option<usize> {
        self.entries
            .binary_search_by(|entry| (*entry.url).cmp(url))
            .ok()
    }

    fn pick(&self, numbers: &[u32]) -> Vec<&Entry> {
        let entries = numbers.iter();
        entries
            .filter_map(|at| self.entries.get(*at as usize))
            .collect()
    }

    fn order(&self, view: View) -> &[u32] {
        self.orders.get(view as usize).map_or(&[], Vec::as_slice)
    }
}

impl Site<'_> {
    /// Returns the target of a link in robot heaven, or `None` if the link should become plain
    /// text.
    ///
    /// Links to described pages lead to the corresponding heaven pages. Other URLs in the members'
    /// area are not disclosed, because robots could not open them anyway.
    pub(super) fn target(self, url: &str) -> Option<Cow<'_, str>> {
        let url = self.catalogue.settled(url, self.settings);
        if let Some(page) = self.catalogue.page_of(&url, self.settings) {
            return Some(self.settings.link(page).into());
        }
        (!url.is_empty() && !self.settings.is_members_only(&url)).then_some(url)
    }

    /// Returns the target of a link as an absolute URL.
    pub(super) fn absolute_target(self, url: &str) -> Option<String> {
        let target = self.target(url)?;
        Some(if target.starts_with('/') {
            format!("{}{target}", self.settings.site())
        } else {
            target.into_owned()
        })
    }
}

impl Default for Catalogue {
    /// Creates the catalogue of a robot heaven without pages, which still has a start page and a
    /// sitemap.
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            paths: Vec::new(),
            aliases: Vec::new(),
            addresses: Vec::new(),
            open: Vec::new(),
            orders: Vec::new(),
            nearest: Vec::new(),
            sitemaps: std::iter::once(0..0).collect(),
            sitemap_dates: vec![None],
        }
    }
}

/// Resolves alternative URLs to page entries; URLs that cannot be resolved are dropped.
fn resolve_aliases(
    aliases: BTreeMap<Box<str>, Box<str>>,
    catalogue: &Catalogue,
) -> Vec<(Box<str>, u32)> {
    let page = |url: &str| {
        let mut url = aliases.get(url)?;
        for _ in 0..MAX_STEPS {
            if let Some(at) = catalogue.position(url) {
                return u32::try_from(at).ok();
            }
            url = aliases.get(url)?;
        }
        None
    };
    let pages: Vec<_> = aliases.keys().map(|url| page(url)).collect();
    let pages = aliases.into_keys().zip(pages);
    pages.filter_map(|(url, page)| Some((url, page?))).collect()
}

/// Returns the entry indexes in the order of each view.
fn orders(entries: &[Entry]) -> Vec<Vec<u32>> {
    let numbered = (0_u32..).zip(entries);
    let mut by_title: Vec<_> = numbered
        .map(|(at, entry)| (entry.label().to_lowercase(), at, entry))
        .collect();
    // Entries with the same title remain sorted by URL.
    by_title.sort_by(|(title, ..), (other, ..)| title.cmp(other));
    let by_title: Vec<_> = by_title
        .into_iter()
        .map(|(_, at, entry)| (at, entry))
        .collect();
    let order = |view: &View| {
        let listed = by_title.iter().filter(|(_, entry)| view.lists(entry));
        let mut listed: Vec<_> = listed.copied().collect();
        listed.sort_by(|(_, a), (_, b)| view.compare(a, b));
        listed.into_iter().map(|(at, _)| at).collect()
    };
    View::ALL.iter().map(order).collect()
}

/// Returns the indexes of the entries nearest to the starting points, newest first.
fn nearest(entries: &[Entry]) -> Vec<u32> {
    let key =
        |(at, entry): &(u32, &Entry)| (entry.depth.unwrap_or(u32::MAX), Reverse(entry.date), *at);
    let mut nearest: Vec<_> = (0_u32..).zip(entries).collect();
    // It is faster to select the pages before sorting, because only a few of many pages are needed.
    if nearest.len() > NEAREST_PAGES {
        nearest.select_nth_unstable_by_key(NEAREST_PAGES, key);
        nearest.truncate(NEAREST_PAGES);
    }
    nearest.sort_unstable_by_key(key);
    nearest.into_iter().map(|(at, _)| at).collect()
}

fn open_pages(entries: &[Entry], settings: &HeavenSettings) -> Vec<u64> {
    let mut open: Vec<_> = entries
        .iter()
        .filter(|entry| !settings.is_members_only(&entry.url))
        .filter_map(|entry| entry.url.strip_prefix(settings.site()))
        .map(digest)
        .collect();
    open.sort_unstable();
    open
}

/// Returns a hash that is identical in every process.
fn digest(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(pages: &[(&str, &[(&str, &str)])]) -> (Catalogue, HeavenSettings) {
        let settings = HeavenSettings::new("https://a.example").unwrap();
        let mut builder = CatalogueBuilder::default();
        for (path, attributes) in pages {
            let mut description = ResourceDescription::new(format!("https://a.example{path}"));
            for (name, value) in *attributes {
                description.set(name, *value);
            }
            builder.add(&description);
        }
        (builder.build(&settings), settings)
    }

    fn labels(catalogue: &Catalogue, view: View) -> Vec<&str> {
        let listing = catalogue.listing(view, 1);
        let entries = listing.map(|listing| listing.entries).unwrap_or_default();
        entries.iter().map(|entry| entry.label()).collect()
    }

    #[test]
    fn each_view_sorts_and_filters_its_entries() {
        let (catalogue, _) = catalogue(&[
            (
                "/1",
                &[("title", "beta"), ("author", "Zoe"), ("depth", "2")],
            ),
            (
                "/2",
                &[("title", "Alpha"), ("author", "Ada"), ("depth", "1")],
            ),
            (
                "/3",
                &[
                    ("title", "gamma"),
                    ("last-modified", "Sun, 01 Mar 2026 12:30:05 GMT"),
                ],
            ),
            (
                "/4",
                &[
                    ("title", "delta"),
                    ("last-modified", "Mon, 02 Mar 2026 12:30:05 GMT"),
                ],
            ),
        ]);
        assert_eq!(
            labels(&catalogue, View::Title),
            ["Alpha", "beta", "delta", "gamma"]
        );
        assert_eq!(labels(&catalogue, View::Author), ["Alpha", "beta"]);
        assert_eq!(labels(&catalogue, View::Depth), ["Alpha", "beta"]);
        assert_eq!(labels(&catalogue, View::Date), ["delta", "gamma"]);
        assert!(catalogue.listing(View::Classification, 1).is_none());
        assert_eq!(catalogue.newest(1)[0].label(), "delta");
        assert_eq!(catalogue.nearest()[1].label(), "beta");
    }

    #[test]
    fn index_has_a_hundred_links_per_page() {
        let paths: Vec<_> = (0..250).map(|number| format!("/{number}")).collect();
        let pages: Vec<(&str, &[(&str, &str)])> = paths
            .iter()
            .map(|path| (path.as_str(), [].as_slice()))
            .collect();
        let (catalogue, _) = catalogue(&pages);
        let sizes = [1, 2, 3].map(|number| {
            let listing = catalogue.listing(View::Title, number).unwrap();
            assert_eq!((listing.last, listing.total), (3, 250));
            listing.entries.len()
        });
        assert_eq!(sizes, [100, 100, 50]);
        for none in [0, 4, usize::MAX] {
            assert!(catalogue.listing(View::Title, none).is_none());
        }
    }

    #[test]
    fn page_is_found_by_path_and_by_url() {
        let (catalogue, settings) = catalogue(&[("/b", &[]), ("/a/", &[]), ("/c?d", &[])]);
        assert_eq!(
            &*catalogue
                .find_by_path("a/index.html", &settings)
                .unwrap()
                .url,
            "https://a.example/a/"
        );
        assert!(catalogue.find_by_path("a", &settings).is_none());
        assert!(catalogue.contains("https://a.example/c?d"));
        assert!(!catalogue.contains("https://a.example/c"));
        let (before, behind) = catalogue.neighbours("https://a.example/b");
        assert_eq!(&*before.unwrap().url, "https://a.example/a/");
        assert_eq!(&*behind.unwrap().url, "https://a.example/c?d");
    }

    #[test]
    fn alternative_url_resolves_to_its_page() {
        let settings = HeavenSettings::new("https://a.example").unwrap();
        let mut builder = CatalogueBuilder::default();
        let url = |path: &str| format!("https://a.example{path}");
        for path in ["/page", "/other?b=1"] {
            builder.add(&ResourceDescription::new(url(path)));
        }
        let aliases = [
            ("/old", "/older"),
            ("/older", "/page"),
            ("/other?b=1", "/page"),
            ("/gone", "/nowhere"),
            ("/ring", "/round"),
            ("/round", "/ring"),
        ];
        let aliases = aliases.map(|(alias, of)| (url(alias).into(), url(of).into()));
        builder.add_aliases(BTreeMap::from(aliases));
        let catalogue = builder.build(&settings);
        for (asked, page) in [
            ("/page", Some("/page")),
            ("/old", Some("/page")),
            ("/old?utm_source=x", Some("/page")),
            ("/page;jsessionid=1?gclid=7", Some("/page")),
            ("/other?utm_a=1&b=1", Some("/other?b=1")),
            ("/other?b=2", None),
            ("/gone", None),
            ("/ring", None),
        ] {
            let found = catalogue.page_of(&url(asked), &settings);
            assert_eq!(found.map(str::to_owned), page.map(url), "{asked}");
        }
        assert!(!catalogue.contains(&url("/old")));
    }

    #[test]
    fn duplicate_url_has_one_page() {
        let (catalogue, _) =
            catalogue(&[("/a", &[]), ("/a", &[]), ("/b", &[("robots", "noindex")])]);
        assert_eq!(catalogue.len(), 1);
    }
}
