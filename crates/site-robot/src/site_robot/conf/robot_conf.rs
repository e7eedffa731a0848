//! The settings of the site robot.

use std::{fmt, path::PathBuf, time::Duration};

use crate::filter::{FileErrors, Note, StartingPoint};

use super::{KEYS, RobotConfFile, RobotKey, RobotKeyKind, values::Values};

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
#[expect(clippy::struct_excessive_bools, reason = "the file has these keys")]
pub struct RobotConf {
    /// Proxy, or URL of a proxy.pac (`auto-proxy`).
    pub auto_proxy: Option<String>,
    /// Directory put first in the `PATH` of programs (`bindir`).
    pub bindir: Option<PathBuf>,
    /// Program run after a run that described something (`cmd-hook`).
    pub cmd_hook: Option<String>,
    /// Port on which commands are accepted (`command-port`).
    pub command_port: Option<u16>,
    /// Time for a connection (`connect-timeout`; default 120 s).
    pub connect_timeout: Duration,
    /// Time for the conversion of a document (`convert-timeout`; default 600 s).
    pub convert_timeout: Duration,
    /// Links followed from a starting point, none: all (`depth`; default 10).
    pub depth: Option<u32>,
    /// Address of who runs the robot (`email`; default `user@domain`).
    pub email: String,
    /// Notes the server's address in descriptions (`enable-ip`; default true).
    pub enable_ip: bool,
    /// Asks servers for descriptions of their own (`enable-rdm-probe`; default false).
    pub enable_rdm_probe: bool,
    /// Obeys robots.txt (`enable-robots-txt`; default true).
    pub enable_robots_txt: bool,
    /// Resources filtered at a time (`engine-concurrent`; default 10).
    pub engine_concurrent: usize,
    /// Filter that takes links (`enumeration-filter`).
    pub enumeration_filter: String,
    /// Filter that describes (`generation-filter`).
    pub generation_filter: String,
    /// Time between publications (`index-after-ngenerated`; default 256 minutes).
    pub index_after: Duration,
    /// Level of logging, 0 to 5; a higher one is 5 (`loglevel`; default 1).
    pub loglevel: u8,
    /// Retrievals at a time (`max-connections`; default 8).
    pub max_connections: usize,
    /// Bytes of a resource at most (`max-filesize-kb`; default 10,240 kilobytes).
    pub max_file_bytes: u64,
    /// Bytes of a resource in memory (`max-memory-per-url`; default 64,000).
    pub max_memory_per_url_bytes: u64,
    /// URLs in work at a time (`max-working`; default 1,024).
    pub max_working: usize,
    /// Action after a run (`onCompletion`; default idle).
    pub on_completion: OnCompletion,
    /// Password for servers that ask for one (`password`).
    pub password: Option<Password>,
    /// `Referer` sent to servers (`referer`).
    pub referer: Option<String>,
    /// Accepts commands from other hosts (`remote-access`; default false).
    pub remote_access: bool,
    /// Directory or database of the robot's state (`robot-state-dir`).
    pub robot_state_dir: Option<String>,
    /// Time between two visits to a site (`server-delay`).
    pub server_delay: Option<Duration>,
    /// Retrievals at a time from one site (`site-max-connections`; default 2).
    pub site_max_connections: usize,
    /// Reads `www123.example.com` as `www.example.com` (`smart-host-heuristics`; default false).
    pub smart_host_heuristics: bool,
    /// Directory for temporary files (`tmpdir`).
    pub tmpdir: Option<PathBuf>,
    /// Name sent to servers (`user-agent`).
    pub user_agent: String,
    /// User for servers that ask for one (`username`; default `anonymous`).
    pub username: String,
    /// Starting points (`seed=URL depth=N`, as often as wished).
    pub seeds: Vec<StartingPoint>,
    values: Values,
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
    #[must_use]
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
    #[must_use]
    pub fn has_own(&self, key: &str) -> bool {
        self.values.own(key).is_some()
    }

    /// Returns each key with its value, in the order of the reference.
    #[must_use]
    pub fn rows(&self) -> Vec<RobotConfRow> {
        rows(&self.values)
    }

    fn of(values: Values) -> Self {
        let v = &values;
        Self {
            auto_proxy: v.text("auto-proxy"),
            bindir: v.text("bindir").map(PathBuf::from),
            cmd_hook: v.text("cmd-hook"),
            command_port: v.own("command-port").and_then(|port| port.parse().ok()),
            connect_timeout: v.seconds("connect-timeout"),
            convert_timeout: v.seconds("convert-timeout"),
            // -1, for all of them, is the one value that is no `u32`.
            depth: u32::try_from(v.number::<i64>("depth")).ok(),
            email: v.word("email"),
            enable_ip: v.is_true("enable-ip"),
            enable_rdm_probe: v.is_true("enable-rdm-probe"),
            enable_robots_txt: v.is_true("enable-robots-txt"),
            engine_concurrent: v.number("engine-concurrent"),
            enumeration_filter: v.word("enumeration-filter"),
            generation_filter: v.word("generation-filter"),
            index_after: v.seconds("index-after-ngenerated") * 60,
            loglevel: v.number::<u8>("loglevel").min(5),
            max_connections: v.number("max-connections"),
            max_file_bytes: v.number::<u64>("max-filesize-kb") * 1024,
            max_memory_per_url_bytes: v.number("max-memory-per-url"),
            max_working: v.number("max-working"),
            on_completion: OnCompletion::named(&v.word("onCompletion")),
            password: v.text("password").as_deref().map(Password::new),
            referer: v.text("referer"),
            remote_access: v.is_true("remote-access"),
            robot_state_dir: v.text("robot-state-dir"),
            server_delay: v
                .own("server-delay")
                .and_then(|seconds| seconds.parse().ok())
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            site_max_connections: v.number("site-max-connections"),
            smart_host_heuristics: v.is_true("smart-host-heuristics"),
            tmpdir: v.text("tmpdir").map(PathBuf::from),
            user_agent: v.word("user-agent"),
            username: v.word("username"),
            seeds: v.seeds.clone(),
            values,
        }
    }
}

impl Default for RobotConf {
    fn default() -> Self {
        Self::of(Values::default())
    }
}

impl OnCompletion {
    fn named(name: &str) -> Self {
        match name {
            "loop" => Self::Loop,
            "quit" => Self::Quit,
            _ => Self::Idle,
        }
    }
}

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
            RobotKeyKind::Secret => "********".to_owned(),
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
    pub(super) fn new(password: &str) -> Self {
        Self(password.to_owned())
    }

    /// Returns the password.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
