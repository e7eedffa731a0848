//! The active robots.txt files of all hosts.

use std::{collections::HashMap, fmt, ops::Deref, sync::Arc};

use arc_swap::{ArcSwap, Guard};

use robot_detection_robots_txt::RobotsTxt;

use super::{
    RefusedRobots,
    host::{self, Host},
};

/// The active robots.txt files by host, which are both served and enforced.
pub type RobotsFiles = HostMap<RobotsTxt>;

/// The active robots.txt files, which can be replaced while requests are being handled.
#[derive(Clone, Debug, Default)]
pub struct SharedRobotsFiles {
    current: Arc<ArcSwap<ActiveFiles>>,
}

/// The active robots.txt files, with the robots that each site refuses regardless of its file.
#[derive(Debug, Default)]
pub(super) struct ActiveFiles {
    pub(super) files: RobotsFiles,
    pub(super) refused: HostMap<RefusedRobots>,
}

/// The files that were active when this value was created.
#[derive(Debug)]
pub struct LoadedRobotsFiles(Guard<Arc<ActiveFiles>>);

/// A map with a value for each host.
///
/// Hosts are compared as in HTTP: case-insensitively, and with or without the default port of
/// `http` or `https`.
#[derive(Clone, Debug)]
pub struct HostMap<T> {
    everywhere: Option<T>,
    by_host: HashMap<Box<str>, T>,
}

/// A host name, with a port unless it is the default port.
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::HostName;
///
/// assert_eq!(HostName::parse("WWW.Example.com:80")?.to_string(), "www.example.com");
/// assert_eq!(HostName::parse("www.example.com:8081")?.to_string(), "www.example.com:8081");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostName {
    host: Host,
}

impl<T> HostMap<T> {
    /// Creates a map with the same value for every host.
    #[must_use]
    pub fn everywhere(value: T) -> Self {
        Self {
            everywhere: Some(value),
            by_host: HashMap::new(),
        }
    }

    /// Sets the value for all hosts that have no specific value.
    #[must_use]
    pub fn with_default(mut self, value: T) -> Self {
        self.everywhere = Some(value);
        self
    }

    /// Sets the value for one host.
    #[must_use]
    pub fn host(mut self, host: &str, value: T) -> Self {
        if let Some(host) = host::canonical_host(host) {
            self.by_host.insert(host.into(), value);
        }
        self
    }

    /// Returns the value for a host, specified as in a `Host` header.
    ///
    /// If the host has no specific value, the value for all other hosts is returned.
    #[must_use]
    pub fn get(&self, host: Option<&str>) -> Option<&T> {
        let own = host.filter(|_| !self.by_host.is_empty()).and_then(|host| {
            // Nearly all clients send the canonical spelling, which requires no copy.
            let known = self.by_host.get(host);
            known.or_else(|| self.by_host.get(&*host::canonical_host(host)?))
        });
        own.or(self.everywhere.as_ref())
    }

    /// Returns all values with their hosts; `None` stands for all other hosts.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&str>, &T)> {
        let own = self.by_host.iter();
        let everywhere = self.everywhere.iter().map(|value| (None, value));
        everywhere.chain(own.map(|(host, value)| (Some(host.as_ref()), value)))
    }
}

impl<T> Default for HostMap<T> {
    fn default() -> Self {
        Self {
            everywhere: None,
            by_host: HashMap::new(),
        }
    }
}

impl HostName {
    /// Parses a host name, `name` or `name:port`.
    ///
    /// # Errors
    ///
    /// If the name is invalid, returns the reason and a correction.
    pub fn parse(text: &str) -> Result<Self, String> {
        Host::parse(text).map(|host| Self { host })
    }

    /// Returns `true` if both names refer to the same host, with or without a default port.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        host::canonical_host(&self.to_string()) == host::canonical_host(&other.to_string())
    }
}

/// Displays the name as in a `Host` header, without port 80.
impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.host.name())?;
        match self.host.port() {
            None | Some(80) => Ok(()),
            Some(port) => write!(f, ":{port}"),
        }
    }
}

impl SharedRobotsFiles {
    /// Returns the active robots.txt files.
    #[must_use]
    pub fn load(&self) -> LoadedRobotsFiles {
        LoadedRobotsFiles(self.current.load())
    }

    /// Replaces the files, and clears the set of robots that are refused regardless of a file.
    pub fn replace(&self, files: RobotsFiles) {
        self.replace_with(files, HostMap::default());
    }

    /// Replaces the files and the robots that each site refuses regardless of its file.
    ///
    /// Entries in `refused` for hosts without a file have no effect.
    pub fn replace_with(&self, files: RobotsFiles, refused: HostMap<RefusedRobots>) {
        self.current.store(Arc::new(ActiveFiles { files, refused }));
    }

    pub(super) fn active_files(&self) -> Guard<Arc<ActiveFiles>> {
        self.current.load()
    }
}

impl Deref for LoadedRobotsFiles {
    type Target = RobotsFiles;

    fn deref(&self) -> &RobotsFiles {
        &self.0.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_value_or_else_the_common_one() {
        let values = HostMap::everywhere(0)
            .host("www.example.com", 1)
            .host("Example.com:8081", 2);
        for (host, value) in [
            (Some("www.example.com"), 1),
            (Some("WWW.EXAMPLE.COM:443"), 1),
            (Some("www.example.com:8081"), 0),
            (Some("example.com:8081"), 2),
            (Some("example.com"), 0),
            (Some("../../etc/passwd"), 0),
            (Some("www.example.com:x"), 0),
            (Some(""), 0),
            (None, 0),
        ] {
            assert_eq!(values.get(host), Some(&value), "{host:?}");
        }
        assert_eq!(values.iter().count(), 3);
        assert_eq!(HostMap::<u8>::default().get(Some("a")), None);
    }
}
