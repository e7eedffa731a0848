//! Settings of the site robot, as in robot.conf.

use std::{fmt, path::PathBuf, time::Duration};

use crate::filter::{FileErrors, Note, StartingPoint};

use super::{
    RobotConfFile, RobotKey,
    RobotKeyKind::{self, Boolean, Choice, Integer, Seconds, Secret, Text},
    values::Values,
};

/// Kind of the timeout keys: a whole number of seconds.
const TIMEOUT: RobotKeyKind = Integer(1, 86_400);
const HUNDRED: RobotKeyKind = Integer(1, 100);

/// Declares each key once, which defines its field in [`RobotConf`] and its row in [`KEYS`].
///
/// A row has the form `field as "key" or "alias": type = kind, default, factor;` and follows the
/// help text of the key. The alias is optional, and so is the factor that converts the unit used in
/// the file.
macro_rules! keys {
    ($(
        #[doc = $help:literal]
        $field:ident as $name:literal $(or $alias:literal)?: $type:ty = $kind:expr, $default:expr $(, $factor:literal)?;
    )+) => {
        /// Settings of the site robot: all robot.conf keys, with their types.
        ///
        /// # Example
        ///
        /// ```
        /// use std::time::Duration;
        /// use robot_detection_site_robot::site_robot::RobotConf;
        ///
        /// let conf = RobotConf::parse("robot.conf", "depth=3\nseed=http://h.example/ depth=1\n")?;
        /// assert_eq!(conf.depth, Some(3));
        /// assert_eq!(conf.seeds[0].depth, Some(1));
        /// assert_eq!(conf.connect_timeout, Duration::from_secs(120));
        /// # Ok::<(), robot_detection_site_robot::filter::FileErrors>(())
        /// ```
        #[derive(Clone, Debug, Eq, PartialEq)]
        #[non_exhaustive]
        pub struct RobotConf {
            $(
                #[doc = concat!("`", $name, "`:", $help)]
                pub $field: $type,
            )+
            /// Starting points (`seed=URL depth=N`, which can be repeated).
            pub seeds: Vec<StartingPoint>,
            values: Values,
        }

        /// All keys of robot.conf, in the same order as in Sun's reference.
        pub const KEYS: [RobotKey; 31] = [$(RobotKey {
            $(alias: Some($alias),)?
            ..RobotKey::new($name, $kind, $default, $help.trim_ascii_start())
        }),+];

        impl RobotConf {
            fn of(values: Values) -> Self {
                Self {
                    $($field: <$type as KeyValue>::read(&values, $name) $(* $factor)?,)+
                    seeds: values.seeds.clone(),
                    values,
                }
            }
        }
    };
}

keys! {
    /// HTTP proxy, or URL of a proxy.pac file
    auto_proxy as "auto-proxy": Option<String> = Text, "";
    /// directory placed first in the PATH of external programs
    bindir as "bindir": Option<PathBuf> = Text, "";
    /// program to run after a run that described pages
    cmd_hook as "cmd-hook": Option<String> = Text, "";
    /// port that accepts commands
    command_port as "command-port": Option<u16> = Integer(1, 65_535), "";
    /// connection timeout in seconds
    connect_timeout as "connect-timeout" or "command-timeout": Duration = TIMEOUT, "120";
    /// timeout for converting a document, in seconds
    convert_timeout as "convert-timeout": Duration = TIMEOUT, "600";
    /// maximum number of links to follow from a starting point; -1 for no limit
    depth as "depth": Option<u32> = Integer(-1, 4_294_967_295), "10";
    /// e-mail address of the operator, sent to servers
    email as "email": String = Text, "user@domain";
    /// whether to record the server's IP address in descriptions
    enable_ip as "enable-ip": bool = Boolean, "true";
    /// whether to request descriptions of pages from their servers
    enable_rdm_probe as "enable-rdm-probe": bool = Boolean, "false";
    /// whether to obey robots.txt
    enable_robots_txt as "enable-robots-txt": bool = Boolean, "true";
    /// number of resources filtered in parallel
    engine_concurrent as "engine-concurrent": usize = HUNDRED, "10";
    /// filter that extracts links
    enumeration_filter as "enumeration-filter": String = Text, "enumeration-default";
    /// filter that generates descriptions
    generation_filter as "generation-filter": String = Text, "generation-default";
    /// number of minutes between publications
    index_after as "index-after-ngenerated": Duration = Integer(1, 525_600), "256", 60;
    /// log level: 0 errors, 1 generation, 2 retrieval, 3 filtering, 4 spawning, 5 progress
    loglevel as "loglevel": u8 = Integer(0, 100), "1";
    /// number of parallel requests
    max_connections as "max-connections": usize = HUNDRED, "8";
    /// maximum size of a resource in kilobytes
    max_file_bytes as "max-filesize-kb": u64 = Integer(1, 1_048_576), "10240", 1024;
    /// maximum number of bytes of a resource kept in memory; larger resources are stored in tmpdir
    max_memory_per_url_bytes as "max-memory-per-url" or "max-memory": u64 = Integer(1, 1_073_741_824), "64000";
    /// maximum number of URLs in progress
    max_working as "max-working": usize = Integer(1, 1_000_000), "1024";
    /// action to take after a run
    on_completion as "onCompletion": OnCompletion = Choice(&["idle", "loop", "quit"]), "idle";
    /// password for servers that require a login
    password as "password": Option<Password> = Secret, "";
    /// Referer header sent to servers
    referer as "referer": Option<String> = Text, "";
    /// whether to accept commands from other hosts
    remote_access as "remote-access": bool = Boolean, "false";
    /// directory or database that stores the robot's state
    robot_state_dir as "robot-state-dir": Option<String> = Text, "";
    /// number of seconds between two requests to a site
    server_delay as "server-delay": Option<Duration> = Seconds, "";
    /// number of parallel requests to a single site
    site_max_connections as "site-max-connections": usize = HUNDRED, "2";
    /// whether to treat www123.example.com as www.example.com
    smart_host_heuristics as "smart-host-heuristics": bool = Boolean, "false";
    /// directory for temporary files
    tmpdir as "tmpdir": Option<PathBuf> = Text, "";
    /// User-Agent sent to servers
    user_agent as "user-agent": String = Text, concat!("robot-detection/", env!("CARGO_PKG_VERSION"));
    /// user name for servers that require a login
    username as "username": String = Text, "anonymous";
}

/// Action that the site robot takes after a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnCompletion {
    /// Wait for a command or for the next scheduled run.
    #[default]
    Idle,
    /// Start the next run after a run is complete.
    Loop,
    /// Exit after a run is complete.
    Quit,
}

impl RobotConf {
    /// Parses a robot.conf file; `name` is the file name that appears in messages.
    ///
    /// # Errors
    ///
    /// Returns an error that lists all unknown keys and invalid values.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileErrors> {
        let file = RobotConfFile::parse(text);
        FileErrors::check(name, file.notes())?;
        Ok(file.conf().clone())
    }

    /// Creates the settings from triples of line, key and value, for example from a table in
    /// another file.
    ///
    /// `seed` may be repeated. The notes contain errors and warnings; invalid values are ignored.
    pub fn from_pairs<'p>(
        pairs: impl IntoIterator<Item = (usize, &'p str, &'p str)>,
    ) -> (Self, Vec<Note>) {
        let mut values = Values::default();
        let mut notes = Vec::new();
        for (line, key, value) in pairs {
            values.set(line, key, value, &mut notes);
        }
        (Self::of(values), notes)
    }

    /// Allows a single site to use all connections, unless `site-max-connections` is set.
    ///
    /// This method is intended for runs that do not pause between visits.
    pub fn use_all_connections(&mut self) {
        if self.values.own("site-max-connections").is_none() {
            self.site_max_connections = self.max_connections;
        }
    }

    /// Returns `true` if a key is set, even if it is set to its default.
    pub fn has_own(&self, key: &str) -> bool {
        self.values.own(key).is_some()
    }

    /// Returns each key with its value, in the same order as in Sun's reference.
    pub fn rows(&self) -> Vec<RobotConfRow> {
        rows(&self.values)
    }
}

impl Default for RobotConf {
    fn default() -> Self {
        Self::of(Values::default())
    }
}

/// Type of a key's value, whose range has already been checked.
trait KeyValue: Sized {
    fn read(values: &Values, name: &str) -> Self;
}

impl KeyValue for String {
    fn read(values: &Values, name: &str) -> Self {
        values.text(name).unwrap_or_default()
    }
}

impl KeyValue for Option<String> {
    fn read(values: &Values, name: &str) -> Self {
        values.text(name)
    }
}

impl KeyValue for Option<PathBuf> {
    fn read(values: &Values, name: &str) -> Self {
        values.text(name).map(PathBuf::from)
    }
}

impl KeyValue for Option<Password> {
    fn read(values: &Values, name: &str) -> Self {
        values.text(name).map(Password)
    }
}

impl KeyValue for bool {
    fn read(values: &Values, name: &str) -> Self {
        values.text(name).as_deref() == Some("true")
    }
}

impl KeyValue for Duration {
    fn read(values: &Values, name: &str) -> Self {
        Self::from_secs(u64::read(values, name))
    }
}

impl KeyValue for Option<Duration> {
    fn read(values: &Values, name: &str) -> Self {
        let seconds = values.text(name)?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

impl KeyValue for OnCompletion {
    fn read(values: &Values, name: &str) -> Self {
        match values.text(name).as_deref() {
            Some("loop") => Self::Loop,
            Some("quit") => Self::Quit,
            _ => Self::Idle,
        }
    }
}

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl KeyValue for $type {
            fn read(values: &Values, name: &str) -> Self {
                Option::read(values, name).unwrap_or_default()
            }
        }

        impl KeyValue for Option<$type> {
            // -1 ("no limit") is the only value that the type cannot represent.
            fn read(values: &Values, name: &str) -> Self {
                values.text(name)?.parse().ok()
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, usize);

/// A key with its value, for display.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotConfRow {
    /// Name of the key.
    pub key: &'static str,
    /// Normalized value; `None` if the key has no value. Passwords are masked.
    pub value: Option<String>,
    /// Whether the key is unset, so that the value is the default.
    pub is_default: bool,
    /// Description of the key, including units.
    pub help: &'static str,
}

fn rows(values: &Values) -> Vec<RobotConfRow> {
    let row = |key: &RobotKey| {
        let shown = |value: String| match key.kind {
            Secret => "********".to_owned(),
            _ => value,
        };
        RobotConfRow {
            key: key.name,
            value: values.text(key.name).map(shown),
            is_default: values.own(key.name).is_none(),
            help: key.help,
        }
    };
    KEYS.iter().map(row).collect()
}

/// A password that is hidden in debug output and tables.
#[derive(Clone, Eq, PartialEq)]
pub struct Password(String);

impl Password {
    /// Returns the password.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
