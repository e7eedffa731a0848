//! A database, a detector and a refresher for tests.

use std::{fmt::Write, path::PathBuf, time::Duration};

use robot_detection::{
    clock::Clock,
    detect::SharedDetector,
    fetch::{FetchLimits, Fetcher},
    refresh::{RefreshError, RefreshOptions, Refresher, SourceSpec, Trigger},
    registry::{Format, Source},
    store::{RefreshOutcome, RefreshRecord, Store},
};
use tempfile::TempDir;

/// Start of the tests' clocks, in 2026.
pub(super) const START_MS: i64 = 1_790_000_000_000;
/// Twelve robots, enough for a valid registry.
pub(super) const DOZEN: [&str; 12] = [
    "Alphafetcher",
    "Bravofetcher",
    "Charliefetcher",
    "Deltafetcher",
    "Echofetcher",
    "Foxtrotfetcher",
    "Golffetcher",
    "Hotelfetcher",
    "Indiafetcher",
    "Juliettfetcher",
    "Kilofetcher",
    "Limafetcher",
];
pub(super) const DAY: Duration = Duration::from_hours(24);

/// A database file with one instance of the program.
pub(super) struct House {
    pub(super) store: Store,
    pub(super) detector: SharedDetector,
    pub(super) clock: Clock,
    pub(super) refresher: Refresher,
    room: TempDir,
}

impl House {
    /// Creates a house with the Web Robots Database at `url`.
    pub(super) async fn new(url: &str) -> Self {
        Self::with(vec![spec(url)], FetchLimits::default()).await
    }

    /// Creates a house with short timeouts.
    pub(super) async fn impatient(url: &str) -> Self {
        let limits = FetchLimits {
            timeout: Duration::from_millis(700),
            ..FetchLimits::default()
        };
        Self::with(vec![spec(url)], limits).await
    }

    pub(super) async fn with(sources: Vec<SourceSpec>, limits: FetchLimits) -> Self {
        let room = tempfile::tempdir().expect("failed to create a directory");
        let clock = Clock::manual(START_MS);
        let store = Store::connect(&database_url(&room))
            .await
            .expect("SQLite failed to open a file");
        let detector = SharedDetector::default();
        let fetcher = Fetcher::new(limits).expect("no limit is zero");
        let refresher = Refresher::new(
            store.clone(),
            fetcher,
            detector.clone(),
            clock.clone(),
            sources,
        );
        Self {
            store,
            detector,
            clock,
            refresher,
            room,
        }
    }

    /// Starts another instance with the same database and the same clock.
    pub(super) async fn neighbour(&self) -> (SharedDetector, Refresher) {
        self.neighbour_with(self.clock.clone()).await
    }

    /// Starts another instance with the same database and its own clock.
    pub(super) async fn neighbour_with(&self, clock: Clock) -> (SharedDetector, Refresher) {
        let store = Store::connect(&database_url(&self.room))
            .await
            .expect("SQLite failed to open a file again");
        let detector = SharedDetector::default();
        let refresher = Refresher::new(
            store,
            Fetcher::new(FetchLimits::default()).expect("no limit is zero"),
            detector.clone(),
            clock,
            self.refresher.sources(),
        );
        (detector, refresher)
    }

    pub(super) async fn refresh(&self) -> Result<RefreshRecord, RefreshError> {
        self.refresh_with(RefreshOptions::default()).await
    }

    pub(super) async fn force(&self) -> Result<RefreshRecord, RefreshError> {
        self.refresh_with(RefreshOptions {
            force: true,
            ..RefreshOptions::default()
        })
        .await
    }

    async fn refresh_with(&self, options: RefreshOptions) -> Result<RefreshRecord, RefreshError> {
        let source = Source::web_robots_db();
        self.refresher
            .refresh(&source, Trigger::Admin, options)
            .await
    }

    /// Refreshes, expecting that the rows are replaced.
    pub(super) async fn replace(&self) -> RefreshRecord {
        let record = self.refresh().await.expect("the refresh failed");
        assert_eq!(record.outcome, RefreshOutcome::Replaced);
        record
    }

    /// Refreshes, expecting a failure; returns its record.
    pub(super) async fn fail(&self) -> RefreshRecord {
        match self.refresh().await {
            Err(RefreshError::Failed(record) | RefreshError::Held(record)) => *record,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        knows(&self.detector, name)
    }

    /// Returns the sorted ids of a source's stored robots.
    pub(super) async fn ids(&self, source: &Source) -> Vec<String> {
        let rows = self.store.robots().list().await.expect("readable rows");
        let mut ids: Vec<String> = rows
            .into_iter()
            .filter(|row| row.robot.source == *source)
            .map(|row| row.robot.id)
            .collect();
        ids.sort();
        ids
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }
}

pub(super) fn spec(url: &str) -> SourceSpec {
    SourceSpec {
        source: Source::web_robots_db(),
        url: url.to_owned(),
        format: Format::WebRobotsDb,
        interval_days: 30,
    }
}

pub(super) fn source(name: &str) -> Source {
    name.parse().expect("invalid name of a source")
}

/// Writes a flat file with these robots.
pub(super) fn flat_file(names: &[&str]) -> String {
    names.iter().fold(String::new(), |mut text, name| {
        let id = name.to_lowercase();
        write!(
            text,
            "robot-id: {id}\nrobot-name: {name}\nrobot-useragent: {name}/1.0\n\n"
        )
        .expect("writing to a string cannot fail");
        text
    })
}

pub(super) fn dozen() -> String {
    flat_file(&DOZEN)
}

pub(super) fn knows(detector: &SharedDetector, name: &str) -> bool {
    let user_agent = format!("{name}/1.0 (+http://robots.example/)");
    let detector = detector.load();
    detector
        .identify(user_agent.as_bytes())
        .is_some_and(|claim| claim.id() == name.to_lowercase())
}

fn database_url(room: &TempDir) -> String {
    format!("sqlite://{}", room.path().join("robots.db").display())
}
