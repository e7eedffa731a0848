//! The settings of the site robot.

use std::{fmt, path::PathBuf, time::Duration};

use crate::filter::{FileErrors, Note, StartingPoint};

use super::{
    RobotConfFile, RobotKey,
    RobotKeyKind::{self, Boolean, Choice, Integer, Seconds, Secret, Text},
    values::Values,
};

/// Seconds of a time-out.
const TIMEOUT: RobotKeyKind = Integer(1, 86_400);
/// Counts from one to a hundred.
const HUNDRED: RobotKeyKind = Integer(1, 100);

/// Declares each key once: its field in [`RobotConf`] and its row in [`KEYS`].
///
/// A row is `field as "key" or "alias": type = kind, default, factor;` below the key's help;
/// the alias and the factor from the unit of the file to that of the field are optional.
macro_rules! keys {
    ($(
        #[doc = $help:literal]
        $field:ident as $name:literal $(or $alias:literal)?: $type:ty = $kind:expr, $default:expr $(, $factor:literal)?;
    )+) => {
        /// Settings of the site robot: each key of robot.conf, typed.
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
            /// Starting points (`seed=URL depth=N`, as often as wished).
            pub seeds: Vec<StartingPoint>,
            values: Values,
        }

        /// All keys, in the order of the reference.
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
    /// proxy, or URL of a proxy.pac
    auto_proxy as "auto-proxy": Option<String> = Text, "";
    /// directory put first in the PATH of programs
    bindir as "bindir": Option<PathBuf> = Text, "";
    /// program run after a run that described something
    cmd_hook as "cmd-hook": Option<String> = Text, "";
    /// port on which commands are accepted
    command_port as "command-port": Option<u16> = Integer(1, 65_535), "";
    /// seconds for a connection
    connect_timeout as "connect-timeout" or "command-timeout": Duration = TIMEOUT, "120";
    /// seconds for the conversion of a document
    convert_timeout as "convert-timeout": Duration = TIMEOUT, "600";
    /// links followed from a starting point; -1: all
    depth as "depth": Option<u32> = Integer(-1, 4_294_967_295), "10";
    /// address of who runs the robot, sent to servers
    email as "email": String = Text, "user@domain";
    /// notes the server's address in descriptions
    enable_ip as "enable-ip": bool = Boolean, "true";
    /// asks servers for descriptions of their own
    enable_rdm_probe as "enable-rdm-probe": bool = Boolean, "false";
    /// obeys robots.txt
    enable_robots_txt as "enable-robots-txt": bool = Boolean, "true";
    /// resources filtered at a time
    engine_concurrent as "engine-concurrent": usize = HUNDRED, "10";
    /// filter that takes links
    enumeration_filter as "enumeration-filter": String = Text, "enumeration-default";
    /// filter that describes
    generation_filter as "generation-filter": String = Text, "generation-default";
    /// minutes between publications
    index_after as "index-after-ngenerated": Duration = Integer(1, 525_600), "256", 60;
    /// 0 errors, 1 generation, 2 retrieval, 3 filtering, 4 spawning, 5 progress
    loglevel as "loglevel": u8 = Integer(0, 100), "1";
    /// retrievals at a time
    max_connections as "max-connections": usize = HUNDRED, "8";
    /// kilobytes of a resource at most
    max_file_bytes as "max-filesize-kb": u64 = Integer(1, 1_048_576), "10240", 1024;
    /// bytes of a resource in memory; more go to tmpdir
    max_memory_per_url_bytes as "max-memory-per-url" or "max-memory": u64 = Integer(1, 1_073_741_824), "64000";
    /// URLs in work at a time
    max_working as "max-working": usize = Integer(1, 1_000_000), "1024";
    /// what comes after a run
    on_completion as "onCompletion": OnCompletion = Choice(&["idle", "loop", "quit"]), "idle";
    /// password for servers that ask for one
    password as "password": Option<Password> = Secret, "";
    /// Referer sent to servers
    referer as "referer": Option<String> = Text, "";
    /// accepts commands from other hosts
    remote_access as "remote-access": bool = Boolean, "false";
    /// directory or database of the robot's state
    robot_state_dir as "robot-state-dir": Option<String> = Text, "";
    /// seconds between two visits to a site
    server_delay as "server-delay": Option<Duration> = Seconds, "";
    /// retrievals at a time from one site
    site_max_connections as "site-max-connections": usize = HUNDRED, "2";
    /// reads www123.example.com as www.example.com
    smart_host_heuristics as "smart-host-heuristics": bool = Boolean, "false";
    /// directory for temporary files
    tmpdir as "tmpdir": Option<PathBuf> = Text, "";
    /// name sent to servers
    user_agent as "user-agent": String = Text, concat!("robot-detection/", env!("CARGO_PKG_VERSION"));
    /// user for servers that ask for one
    username as "username": String = Text, "anonymous";
}

/// Action of the robot after a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnCompletion {
    /// Waits for a command or the schedule.
    #[default]
    Idle,
    /// Starts again.
    Loop,
    /// Ends.
    Quit,
}

impl RobotConf {
    /// Reads a file; `name` is its name for messages.
    ///
    /// # Errors
    ///
    /// Fails with all unknown keys and wrong values.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileErrors> {
        let file = RobotConfFile::parse(text);
        FileErrors::check(name, file.notes())?;
        Ok(file.conf().clone())
    }

    /// Reads lines, keys and values of another source, such as a table of another file.
    ///
    /// `seed` may come as often as wished. What is wrong or doubtful is in the
    /// notes; a wrong value leaves the default.
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

    /// Allows one site all connections, unless `site-max-connections` is set.
    ///
    /// For runs without a pause between visits.
    pub fn use_all_connections(&mut self) {
        if self.values.own("site-max-connections").is_none() {
            self.site_max_connections = self.max_connections;
        }
    }

    /// Returns `true` if a key is set, to whatever value.
    pub fn has_own(&self, key: &str) -> bool {
        self.values.own(key).is_some()
    }

    /// Returns each key with its value, in the order of the reference.
    pub fn rows(&self) -> Vec<RobotConfRow> {
        rows(&self.values)
    }
}

impl Default for RobotConf {
    fn default() -> Self {
        Self::of(Values::default())
    }
}

/// Type of a key's value, which reading has proved to be in its range.
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
            // -1, for all of them, is the one value that is none of these.
            fn read(values: &Values, name: &str) -> Self {
                values.text(name)?.parse().ok()
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, usize);

/// One key and what it is.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotConfRow {
    /// The key.
    pub key: &'static str,
    /// Its value in its normal form; none where it has none; a password is not shown.
    pub value: Option<String>,
    /// Whether that is the default, because nothing was set.
    pub is_default: bool,
    /// Meaning, with units.
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

/// Password, which debug output and tables do not show.
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
