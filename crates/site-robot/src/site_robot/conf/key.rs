//! Every key of robot.conf, in one table.

use crate::filter::boolean;
use crate::spelling::{nearest, quoted};

/// Key of robot.conf: what it is called, what it may be, what it is without being set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotKey {
    /// Name, as the reference writes it; upper and lower case are the same.
    pub name: &'static str,
    /// Another name for it in the reference.
    pub alias: Option<&'static str>,
    /// Kind of its values.
    pub kind: RobotKeyKind,
    /// Default; empty for none.
    pub default: &'static str,
    /// Meaning, with units.
    pub help: &'static str,
}

/// Kind of a key's values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RobotKeyKind {
    /// Text.
    Text,
    /// Text that is never shown.
    Secret,
    /// Whole number in a range.
    Integer(i64, i64),
    /// Seconds from 0 on, with decimals.
    Seconds,
    /// `true`, `yes`, `false` or `no`.
    Boolean,
    /// One of several words.
    Choice(&'static [&'static str]),
}

use RobotKeyKind::{Boolean, Choice, Integer, Seconds, Secret, Text};

/// Seconds of a time-out.
const TIMEOUT: RobotKeyKind = Integer(1, 86_400);
/// Counts from one to a hundred.
const HUNDRED: RobotKeyKind = Integer(1, 100);

const fn key(
    name: &'static str,
    kind: RobotKeyKind,
    default: &'static str,
    help: &'static str,
) -> RobotKey {
    RobotKey {
        name,
        alias: None,
        kind,
        default,
        help,
    }
}

const fn alias(alias: &'static str, key: RobotKey) -> RobotKey {
    RobotKey {
        alias: Some(alias),
        ..key
    }
}

/// All keys, in the order of the reference.
pub const KEYS: [RobotKey; 31] = [
    key("auto-proxy", Text, "", "proxy, or URL of a proxy.pac"),
    key(
        "bindir",
        Text,
        "",
        "directory put first in the PATH of programs",
    ),
    key(
        "cmd-hook",
        Text,
        "",
        "program run after a run that described something",
    ),
    key(
        "command-port",
        Integer(1, 65_535),
        "",
        "port on which commands are accepted",
    ),
    alias(
        "command-timeout",
        key(
            "connect-timeout",
            TIMEOUT,
            "120",
            "seconds for a connection",
        ),
    ),
    key(
        "convert-timeout",
        TIMEOUT,
        "600",
        "seconds for the conversion of a document",
    ),
    key(
        "depth",
        Integer(-1, 4_294_967_295),
        "10",
        "links followed from a starting point; -1: all",
    ),
    key(
        "email",
        Text,
        "user@domain",
        "address of who runs the robot, sent to servers",
    ),
    key(
        "enable-ip",
        Boolean,
        "true",
        "notes the server's address in descriptions",
    ),
    key(
        "enable-rdm-probe",
        Boolean,
        "false",
        "asks servers for descriptions of their own",
    ),
    key("enable-robots-txt", Boolean, "true", "obeys robots.txt"),
    key(
        "engine-concurrent",
        HUNDRED,
        "10",
        "resources filtered at a time",
    ),
    key(
        "enumeration-filter",
        Text,
        "enumeration-default",
        "filter that takes links",
    ),
    key(
        "generation-filter",
        Text,
        "generation-default",
        "filter that describes",
    ),
    key(
        "index-after-ngenerated",
        Integer(1, 525_600),
        "256",
        "minutes between publications",
    ),
    key(
        "loglevel",
        Integer(0, 100),
        "1",
        "0 errors, 1 generation, 2 retrieval, 3 filtering, 4 spawning, 5 progress",
    ),
    key("max-connections", HUNDRED, "8", "retrievals at a time"),
    key(
        "max-filesize-kb",
        Integer(1, 1_048_576),
        "10240",
        "kilobytes of a resource at most",
    ),
    alias(
        "max-memory",
        key(
            "max-memory-per-url",
            Integer(1, 1_073_741_824),
            "64000",
            "bytes of a resource in memory; more go to tmpdir",
        ),
    ),
    key(
        "max-working",
        Integer(1, 1_000_000),
        "1024",
        "URLs in work at a time",
    ),
    key(
        "onCompletion",
        Choice(&["idle", "loop", "quit"]),
        "idle",
        "what comes after a run",
    ),
    key(
        "password",
        Secret,
        "",
        "password for servers that ask for one",
    ),
    key("referer", Text, "", "Referer sent to servers"),
    key(
        "remote-access",
        Boolean,
        "false",
        "accepts commands from other hosts",
    ),
    key(
        "robot-state-dir",
        Text,
        "",
        "directory or database of the robot's state",
    ),
    key(
        "server-delay",
        Seconds,
        "",
        "seconds between two visits to a site",
    ),
    key(
        "site-max-connections",
        HUNDRED,
        "2",
        "retrievals at a time from one site",
    ),
    key(
        "smart-host-heuristics",
        Boolean,
        "false",
        "reads www123.example.com as www.example.com",
    ),
    key("tmpdir", Text, "", "directory for temporary files"),
    key(
        "user-agent",
        Text,
        concat!("robot-detection/", env!("CARGO_PKG_VERSION")),
        "name sent to servers",
    ),
    key(
        "username",
        Text,
        "anonymous",
        "user for servers that ask for one",
    ),
];

impl RobotKey {
    /// Returns the key of that name or alias; `_` is `-`, upper and lower case are the same.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.replace('_', "-");
        let same = |known: &str| known.eq_ignore_ascii_case(&name);
        KEYS.iter()
            .find(|key| same(key.name) || key.alias.is_some_and(same))
    }

    /// Returns what to say of a name that is no key.
    pub(super) fn unknown(name: &str) -> String {
        let name_shown = quoted(name);
        match nearest(name, KEYS.iter().map(|key| key.name).chain(["seed"])) {
            Some(near) => format!("{name_shown} is no key of robot.conf; did you mean {near:?}?"),
            None => format!("{name_shown} is no key of robot.conf"),
        }
    }

    /// Returns a value in its normal form.
    ///
    /// # Errors
    ///
    /// Fails where the key may not have the value.
    pub fn normalise(&self, value: &str) -> Result<String, String> {
        let value = value.trim();
        let found = match self.kind {
            Text | Secret => Some(value.to_owned()),
            Integer(min, max) => value
                .parse::<i64>()
                .ok()
                .filter(|number| (min..=max).contains(number))
                .map(|number| number.to_string()),
            Seconds => value
                .parse::<f64>()
                .ok()
                .filter(|seconds| (0.0..=86_400.0).contains(seconds))
                .map(|seconds| seconds.to_string()),
            Boolean => boolean(value).map(|value| value.to_string()),
            Choice(words) => words
                .iter()
                .find(|word| word.eq_ignore_ascii_case(value))
                .map(|word| (*word).to_owned()),
        };
        found.ok_or_else(|| {
            format!(
                "{}={} is not {}",
                self.name,
                quoted(value),
                self.kind.text()
            )
        })
    }
}

impl RobotKeyKind {
    fn text(self) -> String {
        match self {
            Text | Secret => "a text".to_owned(),
            Integer(min, max) => format!("a whole number from {min} to {max}"),
            Seconds => "a number of seconds from 0 to 86400".to_owned(),
            Boolean => "true, yes, false or no".to_owned(),
            Choice(words) => format!("one of {}", words.join(", ")),
        }
    }
}
