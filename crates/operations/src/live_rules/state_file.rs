//! A local copy of the live rules, for startup while the database is unavailable.

use std::{
    fmt, fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use robot_detection_store::store::{Store, StoredLiveRule, StoredLiveRules, StoredPause};

use super::{LiveRuleSet, RuleFields, StoredRule};

/// Version of the file format; files of other versions are not read.
const FORMAT: u32 = 1;

/// Maximum size of a file that is read; even hundreds of rules need only a tenth of this size.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// A file that contains a copy of an instance's live rules; clones share the last written content.
#[derive(Clone, Debug)]
pub struct StateFile {
    path: PathBuf,
    /// URL of the database, without its password.
    database: String,
    written: Arc<Mutex<Option<String>>>,
}

/// The error returned when the live rules file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct StateFileError {
    path: PathBuf,
    reason: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: u32,
    database: String,
    rules: Vec<RuleContent>,
    pause: Option<PauseContent>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RuleContent {
    id: i64,
    name: Option<String>,
    rule: RuleFields,
    created_ms: i64,
    created_by: String,
    ends_ms: Option<i64>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PauseContent {
    ends_ms: i64,
    begun_ms: i64,
    begun_by: String,
}

impl StateFile {
    /// Returns the state file for a database; by default, it is in the directory of an `SQLite`
    /// file.
    pub fn in_directory(directory: Option<PathBuf>, store: &Store) -> Option<Self> {
        let beside = || Some(store.file()?.parent()?.to_owned());
        Some(Self::new(&directory.or_else(beside)?, store.url()))
    }

    /// Returns the directory in which the instance stores its state.
    pub fn directory(&self) -> Option<&Path> {
        self.path.parent()
    }

    /// Creates a handle for the file of a database in a directory, without writing the file.
    fn new(directory: &Path, database: &str) -> Self {
        // Instances that use different databases may share a directory.
        let digest = hex::encode(Sha256::digest(database));
        let name = digest.get(..8).unwrap_or_default();
        Self {
            path: directory.join(format!("live-rules-{name}.json")),
            database: database.to_owned(),
            written: Arc::default(),
        }
    }

    /// Reads the rules from the file; returns `None` if the file does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is incomplete, or if it belongs to another database.
    pub async fn read(&self) -> Result<Option<LiveRuleSet>, StateFileError> {
        let path = self.path.clone();
        let text = blocking(move || read(&path)).await;
        let text = match text {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.error(&error)),
        };
        let content: Content = serde_json::from_str(&text).map_err(|error| self.error(&error))?;
        if content.format != FORMAT || content.database != self.database {
            return Err(self.error(&"the file belongs to another program or database"));
        }
        let set = LiveRuleSet::read(content.stored());
        match set.unreadable.first() {
            Some((id, reason)) => Err(self.error(&format!("live rule {id}: {reason}"))),
            None => Ok(Some(set)),
        }
    }

    /// Writes the rules to the file if they have changed; a missing file is not created without
    /// rules.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory is not writable; the existing file stays intact.
    pub async fn write(&self, set: &LiveRuleSet) -> Result<(), StateFileError> {
        let content = Content::new(&self.database, set);
        let text = serde_json::to_string_pretty(&content).map_err(|error| self.error(&error))?;
        let text = text + "\n";
        if self.written.lock().as_ref() == Some(&text) {
            return Ok(());
        }
        let (path, is_empty) = (self.path.clone(), content.is_empty());
        let kept = text.clone();
        let write = move || {
            if is_empty && !path.exists() {
                return Ok(());
            }
            write(&path, &text)
        };
        blocking(write).await.map_err(|error| self.error(&error))?;
        *self.written.lock() = Some(kept);
        Ok(())
    }

    fn error(&self, reason: &dyn fmt::Display) -> StateFileError {
        StateFileError {
            path: self.path.clone(),
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for StateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

impl Content {
    fn new(database: &str, set: &LiveRuleSet) -> Self {
        let rule = |kept: &StoredRule| RuleContent {
            id: kept.id,
            name: kept.name.clone(),
            rule: RuleFields::from(&kept.rule),
            created_ms: kept.created_ms,
            created_by: kept.created_by.clone(),
            ends_ms: kept.ends_ms,
        };
        Self {
            format: FORMAT,
            database: database.to_owned(),
            rules: set.rules.iter().map(rule).collect(),
            pause: set.pause.as_ref().map(|pause| PauseContent {
                ends_ms: pause.ends_ms,
                begun_ms: pause.begun_ms,
                begun_by: pause.begun_by.clone(),
            }),
        }
    }

    fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.pause.is_none()
    }

    fn stored(self) -> StoredLiveRules {
        let rules = self.rules.into_iter().map(|rule| StoredLiveRule {
            id: rule.id,
            name: rule.name,
            definition: serde_json::to_string(&rule.rule).unwrap_or_default(),
            created_ms: rule.created_ms,
            created_by: rule.created_by,
            ends_ms: rule.ends_ms,
        });
        let mut stored = StoredLiveRules::default();
        stored.rules = rules.collect();
        stored.pause = self.pause.map(|pause| StoredPause {
            ends_ms: pause.ends_ms,
            begun_ms: pause.begun_ms,
            begun_by: pause.begun_by,
        });
        stored
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn read(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let mut text = String::new();
    let length = file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if length as u64 > MAX_BYTES {
        return Err(io::Error::other("the file is too large"));
    }
    Ok(text)
}

/// Writes a new file and renames it, so that readers never see an incomplete file.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    // A killed process with the same ID may have left this file behind.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let exchanged = written.and_then(|()| fs::rename(&new, path));
    if exchanged.is_err() {
        drop(fs::remove_file(&new));
    }
    exchanged
}
