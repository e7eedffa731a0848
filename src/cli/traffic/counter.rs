//! Counts the requests in log lines.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::access_log::{LogLine, LogReader, Record};
use crate::app::SiteIndex;
use crate::clock::Clock;
use crate::config::Loaded;
use crate::detect::{Claim, Detector, Kind};
use crate::policy::Action;
use crate::store::{
    CountedPaths, MinuteCounts, PathCount, Store, TrafficCount, TrafficImport, TrafficKey,
    TrafficSpan,
};
use crate::traffic::{ShortPath, Window, shared_name};

/// The cause recorded for imported requests, whose decisions were made by other servers.
const IMPORTED: &str = "imported";

/// The word stored for a request without a verdict.
const NO_VERDICT: &str = "none";

/// The number of minutes added to the retention time, because an import takes some time.
const MARGIN: i64 = 24 * 60;

/// The maximum response size accepted from one line, so that a forged line cannot distort the
/// total.
const MAX_BYTES: u64 = 1 << 40;

/// The numbers of log lines that were counted or skipped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineCounts {
    pub(super) requests: u64,
    pub(super) unreadable: u64,
    /// The number of requests skipped because a server had already counted their minute.
    pub(super) live: u64,
}

/// Sites for which lines are counted.
#[derive(Debug)]
pub(super) struct Sites {
    /// The index of the sites by host; `None` if the site was specified by name.
    index: Option<SiteIndex>,
    names: Vec<String>,
}

/// A counter of log lines.
pub(super) struct Counter<'c> {
    detector: &'c Detector,
    store: &'c Store,
    sites: Sites,
    /// `None` while a line is counted.
    reader: Option<LogReader>,
    counts: BTreeMap<(i64, TrafficKey), TrafficCount>,
    /// Counted paths by hour or day; `None` if paths are not stored.
    paths: Option<BTreeMap<i64, Window>>,
    /// Interned names of sites and robots.
    shared: HashSet<Arc<str>>,
    /// Minutes that a server has already counted, by site.
    live: HashMap<String, Vec<Range<i64>>>,
    told: LineCounts,
    was_read: bool,
    /// The current minute, in minutes since 1970.
    now: i64,
}

impl Sites {
    pub(super) fn new(loaded: &Loaded, name: Option<&str>) -> anyhow::Result<Self> {
        if let Some(name) = name {
            return Ok(Self {
                index: None,
                names: vec![name.to_owned()],
            });
        }
        let index = SiteIndex::new(loaded)?;
        Ok(Self {
            names: index.names().to_vec(),
            index: Some(index),
        })
    }

    fn of<'s>(&'s self, record: &'s Record<'_>) -> &'s str {
        let number = match &self.index {
            Some(index) => index.find(Record::text(record.host).as_deref(), "/"),
            None => 0,
        };
        let own = str::from_utf8(record.site).ok();
        let own = own.filter(|own| !own.is_empty() && self.index.is_some());
        let found = own.or_else(|| self.names.get(number).map(String::as_str));
        found.unwrap_or_default()
    }
}

impl<'c> Counter<'c> {
    pub(super) fn new(
        detector: &'c Detector,
        store: &'c Store,
        sites: Sites,
        keeps_paths: bool,
        reader: LogReader,
    ) -> Self {
        Self {
            detector,
            store,
            sites,
            reader: Some(reader),
            counts: BTreeMap::new(),
            paths: keeps_paths.then(BTreeMap::new),
            shared: HashSet::new(),
            live: HashMap::new(),
            told: LineCounts::default(),
            was_read: false,
            now: Clock::system().now_ms().div_euclid(60_000),
        }
    }

    /// Counts the request in a log line.
    pub(super) async fn line(&mut self, line: &[u8]) -> anyhow::Result<()> {
        // The text is the end of a line that was counted before its line break was written.
        if line.is_empty() {
            self.was_read = true;
            return Ok(());
        }
        let mut reader = self.reader.take().unwrap_or_default();
        let counted = self.count(reader.read(line)).await;
        self.reader = Some(reader);
        counted
    }

    async fn count(&mut self, line: LogLine<'_>) -> anyhow::Result<()> {
        let timed = match line {
            LogLine::Request(record) => record.time_s.map(|time_s| (record, time_s)),
            LogLine::Header | LogLine::Unreadable => None,
        };
        self.was_read = timed.is_some() || line == LogLine::Header;
        let Some((record, time_s)) = timed else {
            self.told.unreadable += u64::from(!self.was_read);
            return Ok(());
        };
        let minute = time_s.div_euclid(60);
        let site = self.sites.of(&record);
        if !self.live.contains_key(site) {
            let live = self
                .store
                .traffic()
                .live_minutes(site, i64::MIN..i64::MAX)
                .await?;
            self.live.insert(site.to_owned(), live);
        }
        let live = self.live.get(site).into_iter().flatten();
        if live.into_iter().any(|live| live.contains(&minute)) {
            self.told.live += 1;
            return Ok(());
        }
        let key = key(self.detector, site, &record);
        let count = TrafficCount {
            requests: 1,
            bytes: record.bytes.unwrap_or(0).min(MAX_BYTES),
            micros: record.micros.unwrap_or(0),
        };
        self.add_path(record.target, minute, &key);
        let began = self.shortest(minute).start(minute);
        *self.counts.entry((began, key)).or_default() += count;
        self.told.requests += 1;
        Ok(())
    }

    /// Returns `true` if the most recent line could be read.
    pub(super) fn was_read(&self) -> bool {
        self.was_read
    }

    /// Discards the count of the most recent line, which is then treated as unreadable.
    pub(super) fn take_back(&mut self) {
        self.told.unreadable -= 1;
    }

    /// Returns the number of counts and paths in memory.
    pub(super) fn len(&self) -> usize {
        let paths = self.paths.iter().flat_map(BTreeMap::values);
        self.counts.len() + paths.map(Window::len).sum::<usize>()
    }

    /// Returns the paths and removes them from the counter.
    pub(super) fn take_paths(&mut self) -> Vec<CountedPaths> {
        let paths = self.paths.as_mut().map(std::mem::take);
        let windows = paths.into_iter().flatten();
        windows
            .map(|(hour, mut window)| window.take(hour))
            .collect()
    }

    /// Returns all counts and removes them from the counter.
    pub(super) fn take(&mut self) -> Vec<MinuteCounts> {
        let counts = std::mem::take(&mut self.counts).into_iter();
        let counted = |((minute, key), count)| MinuteCounts { minute, key, count };
        counts.map(counted).collect()
    }

    /// Returns the shortest span for which counters for the given minute are still stored.
    ///
    /// Counters with a shorter span would be deleted an hour later.
    fn shortest(&self, minute: i64) -> TrafficSpan {
        let age = self.now.saturating_sub(minute);
        let kept = |span: &TrafficSpan| {
            span.retention_minutes()
                .is_none_or(|kept| age <= kept + MARGIN)
        };
        let mut spans = TrafficSpan::ALL.into_iter();
        spans.find(kept).unwrap_or(TrafficSpan::Day)
    }

    /// Counts the path in a line in the same way as a server.
    fn add_path(&mut self, target: &[u8], minute: i64, key: &TrafficKey) {
        // Hourly path counters are stored as long as other counters by the minute.
        let span = match self.shortest(minute) {
            TrafficSpan::Minute => TrafficSpan::Hour,
            _ => TrafficSpan::Day,
        };
        let Some(paths) = &mut self.paths else { return };
        let target = String::from_utf8_lossy(target);
        let target = if target.starts_with('/') {
            &*target
        } else {
            "*"
        };
        let note = ShortPath::new(target.split(['?', '#']).next().unwrap_or_default());
        let path = note.kept_text(key.robot.is_empty());
        let [site, robot] = [&key.site, &key.robot].map(|name| shared_name(&mut self.shared, name));
        let window = paths.entry(span.start(minute)).or_default();
        window.add(&site, &robot, &path, PathCount::for_class(key.status));
    }

    pub(super) fn counts(&self) -> LineCounts {
        self.told
    }
}

fn key(detector: &Detector, site: &str, record: &Record<'_>) -> TrafficKey {
    // A client without a User-Agent is nameless, whatever else the request contains.
    let claim = detector.claim(record.user_agent.unwrap_or_default());
    let kind = claim.as_ref().map_or(Kind::Person, Claim::kind);
    let robot = match kind {
        Kind::Person | Kind::Shared => "",
        _ => claim.as_ref().map_or("", |claim| claim.id()),
    };
    let text =
        |field, missing: &str| Record::text(field).map_or(missing.to_owned(), Cow::into_owned);
    TrafficKey {
        site: site.to_owned(),
        kind: kind.as_str().to_owned(),
        robot: robot.to_owned(),
        verdict: text(record.verdict, NO_VERDICT),
        decision: text(record.decision, Action::Pass.as_str()),
        cause: IMPORTED.to_owned(),
        status: class(record.status),
    }
}

fn class(status: u16) -> u8 {
    let class = status / 100;
    u8::try_from(class)
        .ok()
        .filter(|class| *class <= 5)
        .unwrap_or_default()
}

/// The number of bytes that identify a log: a few lines, whose times make them unique to the log.
const HEAD_BYTES: usize = 4 * 1024;

/// The beginning of a log, in whole lines.
#[derive(Debug)]
pub(super) struct Head {
    bytes: Vec<u8>,
    first_line: String,
    hash: String,
}

impl Head {
    /// Reads the beginning of a log; returns `None` if there is no complete line.
    pub(super) fn read(log: impl Read) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        log.take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
        let is_end = |byte: &u8| *byte == b'\n';
        let (Some(first), Some(last)) = (
            bytes.iter().position(is_end),
            bytes.iter().rposition(is_end),
        ) else {
            // A single unterminated or very long line is used as a whole.
            let hash = hash(&bytes);
            return Ok((!bytes.is_empty()).then(|| Self {
                first_line: hash.clone(),
                bytes,
                hash,
            }));
        };
        bytes.truncate(last + 1);
        Ok(Some(Self {
            first_line: hash(bytes.get(..first).unwrap_or_default()),
            hash: hash(&bytes),
            bytes,
        }))
    }

    /// Returns the hash of the log's first line.
    pub(super) fn first_line(&self) -> &str {
        &self.first_line
    }

    /// Returns the length and the hash of the beginning of the log.
    pub(super) fn whole(&self) -> (u64, &str) {
        (self.bytes.len() as u64, &self.hash)
    }

    /// Returns `true` if an imported log begins in the same way as this log.
    pub(super) fn matches_import(&self, known: &TrafficImport) -> bool {
        let length = usize::try_from(known.head_bytes).unwrap_or(usize::MAX);
        let begun = self.bytes.get(..length);
        begun.is_some_and(|begun| hash(begun) == known.head)
    }
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        Head::read(text.as_bytes()).unwrap().unwrap()
    }

    fn known(head: &Head) -> TrafficImport {
        let (head_bytes, hash) = head.whole();
        TrafficImport {
            import_id: hash.to_owned(),
            first_line: head.first_line().to_owned(),
            head_bytes,
            head: hash.to_owned(),
            name: String::new(),
            counted: 0,
            requests: 0,
        }
    }

    #[test]
    fn grown_log_is_recognised() {
        let short = head("a\nb\n");
        let long = format!("a\nb\n{}", "c\n".repeat(5_000));
        assert!(head(&long).matches_import(&known(&short)));
        assert!(head("a\nb\nhalf a li").matches_import(&known(&short)));
        assert_eq!(head(&long).first_line(), short.first_line());
        for other in ["a\nc\n", "a\n", "b\nb\n", ""] {
            let other = Head::read(other.as_bytes()).unwrap();
            assert!(!other.is_some_and(|other| other.matches_import(&known(&short))));
        }
    }
}
