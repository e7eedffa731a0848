//! The robots.txt in force on each host.

use std::{collections::HashMap, fmt, ops::Deref, sync::Arc};

use arc_swap::{ArcSwap, Guard};

use robot_detection_robots_txt::RobotsTxt;

use super::{
    RefusedRobots,
    host::{self, Host},
};

/// Files of robots.txt by host: what is served there and held against robots.
pub type RobotsFiles = HostMap<RobotsTxt>;

/// Files of robots.txt that can be replaced while requests are judged.
#[derive(Clone, Debug, Default)]
pub struct SharedRobotsFiles {
    current: Arc<ArcSwap<FilesInForce>>,
}

/// Files as they are in force, with whom each site refuses whatever they say.
#[derive(Debug, Default)]
pub(super) struct FilesInForce {
    pub(super) files: RobotsFiles,
    pub(super) refused: HostMap<RefusedRobots>,
}

/// Files in force at the moment of the question.
#[derive(Debug)]
pub struct LoadedRobotsFiles(Guard<Arc<FilesInForce>>);

/// Values of which each host has one.
///
/// Hosts are compared as HTTP does: in any case, and with or without the port
/// that `http` or `https` implies.
#[derive(Clone, Debug)]
pub struct HostMap<T> {
    everywhere: Option<T>,
    by_host: HashMap<Box<str>, T>,
}

/// Name of a host, with a port where that is not the default.
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
    /// Creates the values of a site that has the same one on every host.
    #[must_use]
    pub fn everywhere(value: T) -> Self {
        Self {
            everywhere: Some(value),
            by_host: HashMap::new(),
        }
    }

    /// Sets the value of every host that has none of its own.
    #[must_use]
    pub fn other(mut self, value: T) -> Self {
        self.everywhere = Some(value);
        self
    }

    /// Adds the value of one host.
    #[must_use]
    pub fn host(mut self, host: &str, value: T) -> Self {
        if let Some(host) = host::spelling(host) {
            self.by_host.insert(host.into(), value);
        }
        self
    }

    /// Returns the value of a host as its `Host` header spells it.
    ///
    /// A host that has none of its own has that of every host.
    #[must_use]
    pub fn of(&self, host: Option<&str>) -> Option<&T> {
        let own = host.filter(|_| !self.by_host.is_empty()).and_then(|host| {
            // Nearly all clients spell it so already, and no copy is made.
            let known = self.by_host.get(host);
            known.or_else(|| self.by_host.get(&*host::spelling(host)?))
        });
        own.or(self.everywhere.as_ref())
    }

    /// Returns every value with its host; without one, that of every other host.
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
    /// Reads `name` or `name:port`.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        Host::parse(text).map(|host| Self { host })
    }

    /// Returns `true` if both are one host, its default port said or not.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        host::spelling(&self.to_string()) == host::spelling(&other.to_string())
    }
}

/// Writes the name as a `Host` line has it: port 80 goes without saying.
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
    /// Returns the files in force.
    #[must_use]
    pub fn load(&self) -> LoadedRobotsFiles {
        LoadedRobotsFiles(self.current.load())
    }

    /// Replaces the files; nobody is refused but by what they say.
    pub fn replace(&self, files: RobotsFiles) {
        self.replace_with(files, HostMap::default());
    }

    /// Replaces the files, and whom each site refuses whatever its file says.
    ///
    /// A site that refuses robots has a file; what is `refused` on hosts without one
    /// does not count.
    pub fn replace_with(&self, files: RobotsFiles, refused: HostMap<RefusedRobots>) {
        self.current
            .store(Arc::new(FilesInForce { files, refused }));
    }

    pub(super) fn in_force(&self) -> Guard<Arc<FilesInForce>> {
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
    fn each_host_has_its_own_and_others_that_of_every_host() {
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
            assert_eq!(values.of(host), Some(&value), "{host:?}");
        }
        assert_eq!(values.iter().count(), 3);
        assert_eq!(HostMap::<u8>::default().of(Some("a")), None);
    }
}
