//! Types of settings that accept a fixed set of words.

use robot_detection_site_robot::spelling::unknown_word;

use crate::access_log::LineFormat;
use crate::config::{
    Kind, Value,
    setting::{Item, Setting},
};
use crate::detect::{self, Verdict};
use crate::licensing::{Payment, Usage};
use crate::policy::{Action, EnforcementMode, RateKey, Refusal, Spoofed};
use crate::registry::{Format, Purpose, Source};
use crate::site_robot::Rendering;
use crate::store::AddressRetention;
use crate::suspect::Reason;
use crate::telemetry::LogFormat;
use crate::verify::Method;

robot_detection_layer::words! {
    /// How the site's server reads the names of query parameters.
    pub enum QueryNames {
        /// As received.
        Received = "received",
        /// As PHP does: dots and blanks become underscores.
        Php = "php",
    }
}

robot_detection_layer::words! {
    /// The enforcement mode, which specifies whether decisions are enforced.
    pub enum Mode {
        /// All decisions are enforced.
        On = "on",
        /// Decisions are only logged and counted; all requests pass.
        Report = "report",
    }
}

robot_detection_layer::words! {
    /// The source of heaven pages.
    pub enum HeavenSource {
        /// Pages are files in a directory.
        Files = "files",
        /// Pages are generated on request from the site robot's descriptions.
        Database = "database",
    }
}

robot_detection_layer::words! {
    /// Visitors that may read robot heaven.
    pub enum OpenTo {
        /// All visitors may read robot heaven.
        All = "all",
        /// Robots may read robot heaven; human visitors are redirected to the original pages.
        Robots = "robots",
        /// Verified robots may read robot heaven; other robots get only the title and summary of a
        /// page.
        Verified = "verified",
    }
}

robot_detection_layer::words! {
    /// The action for heaven pages that contain text missing from the original pages.
    pub enum ParityAction {
        /// Heaven pages that differ from their originals are reported.
        Report = "report",
        /// Differing heaven pages are hidden until their text matches the original pages again.
        Withdraw = "withdraw",
    }
}

robot_detection_layer::words! {
    /// The source of /robots.txt.
    pub enum RobotsTxtSource {
        /// The upstream's robots.txt is served.
        Pass = "pass",
        /// A local robots.txt file is served.
        File = "file",
        /// A robots.txt file generated from the settings is served.
        Settings = "settings",
        /// The settings are combined with the upstream's robots.txt.
        Merge = "merge",
    }
}

robot_detection_layer::words! {
    /// Whether a site permits AI training.
    pub enum TrainingTerms {
        /// Only other settings state it.
        Unstated = "unstated",
        /// It is not permitted.
        Reserved = "reserved",
    }
}

robot_detection_layer::words! {
    /// The behaviour of a front proxy while the decision endpoint does not respond.
    pub enum FailMode {
        /// The proxy refuses requests.
        Closed = "closed",
        /// The proxy passes requests to the site.
        Open = "open",
    }
}

robot_detection_layer::words! {
    /// The action to take for suspects.
    pub enum SuspectAction {
        /// Suspects are not detected.
        Off = "off",
        /// Suspects are only marked, in logs and metrics.
        Report = "report",
        /// Suspects are served heaven's copy of the requested page.
        Heaven = "heaven",
        /// Suspects are refused.
        Refuse = "refuse",
    }
}

/// Implements settings for types with a fixed set of words, given the type's name in errors.
macro_rules! words {
    ($($Type:ty: $what:literal;)*) => {$(
        impl Setting for $Type {
            const KIND: Kind = Kind::Word(|| Self::ALL.iter().map(|one| one.as_str()).collect());

            fn read(value: &Value) -> Result<Self, String> {
                Self::read_item(value.text()?)
            }
        }

        impl Item for $Type {
            const WORDS: Option<fn() -> Vec<&'static str>> =
                Some(|| Self::ALL.iter().map(|one| one.as_str()).collect());

            fn read_item(text: &str) -> Result<Self, String> {
                Self::from_word(text.trim()).ok_or_else(|| {
                    unknown_word($what, text, Self::ALL.iter().map(|one| one.as_str()))
                })
            }
        }
    )*};
}

words! {
    Mode: "mode";
    TrainingTerms: "statement";
    RobotsTxtSource: "source of robots.txt";
    QueryNames: "reading of names";
    EnforcementMode: "mode";
    Refusal: "refusal";
    Spoofed: "treatment";
    Method: "method";
    Verdict: "verdict";
    Action: "action";
    RateKey: "rate limit key";
    Format: "format";
    AddressRetention: "address format";
    Payment: "payment";
    Usage: "use";
    SuspectAction: "action";
    FailMode: "failure mode";
    OpenTo: "group of visitors";
    ParityAction: "action";
    Rendering: "rendering mode";
}

/// Implements settings for types whose parse error lists all words.
macro_rules! parsed_words {
    ($($Type:ty: [$($word:literal),+], $read:expr;)*) => {$(
        impl Setting for $Type {
            const KIND: Kind = Kind::Word(|| vec![$($word),+]);

            fn read(value: &Value) -> Result<Self, String> {
                $read(value.text()?)
            }
        }
    )*};
}

parsed_words! {
    HeavenSource: ["files", "database"], |word: &str| {
        Self::from_word(word).ok_or_else(|| format!("{word:?} is neither files nor database"))
    };
    LineFormat: ["common", "combined", "json"], parse::<LineFormat>;
    LogFormat: ["text", "json"], parse::<LogFormat>;
}

fn parse<T: std::str::FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

impl Item for Purpose {
    const WORDS: Option<fn() -> Vec<&'static str>> = Some(|| {
        Self::ROBOTS
            .iter()
            .map(|purpose| purpose.as_str())
            .collect()
    });

    fn read_item(word: &str) -> Result<Self, String> {
        match Self::from_word(word.trim()) {
            // The word `shared` is probably meant to exempt human visitors, but is not a purpose of
            // robots.
            Some(Self::Shared) => {
                let reason = "shared is not a purpose of robots; to match User-Agents that many people share, use a rule with visitors = [\"shared\"]";
                Err(reason.to_owned())
            }
            Some(purpose) => Ok(purpose),
            None => {
                let words = Self::ROBOTS.iter().map(|purpose| purpose.as_str());
                Err(unknown_word("purpose", word, words))
            }
        }
    }
}

impl Item for Reason {
    const WORDS: Option<fn() -> Vec<&'static str>> =
        Some(|| Self::ALL.iter().map(|reason| reason.code()).collect());

    fn read_item(code: &str) -> Result<Self, String> {
        Self::from_code(code.trim()).ok_or_else(|| {
            unknown_word("reason", code, Self::ALL.iter().map(|reason| reason.code()))
        })
    }
}

impl Item for Source {
    fn read_item(name: &str) -> Result<Self, String> {
        let source = name.trim().parse();
        source.map_err(|error| format!("{name:?}: {error}"))
    }
}

/// The kinds of visitors; `robots` means all kinds except people, and `all` means every kind.
///
/// Rules match human visitors only if their User-Agent is shared: other human visitors always pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Visitors(Vec<detect::Kind>);

impl Visitors {
    /// Returns the kinds of visitors.
    #[must_use]
    pub fn kinds(&self) -> &[detect::Kind] {
        &self.0
    }

    fn words() -> Vec<&'static str> {
        let kinds = detect::Kind::ALL.iter().map(|kind| kind.as_str());
        kinds.chain(["robots", "people", "all"]).collect()
    }
}

impl Setting for Visitors {
    const KIND: Kind = Kind::Words(Self::words);

    fn read(value: &Value) -> Result<Self, String> {
        use detect::Kind as Visitor;

        let mut kinds = Vec::new();
        for word in value.items()? {
            match word.trim() {
                "robots" => kinds.extend(Visitor::ROBOTS),
                "people" => kinds.extend(Visitor::PEOPLE),
                "all" => kinds.extend(Visitor::ALL),
                word => match Visitor::from_word(word) {
                    Some(kind) => kinds.push(kind),
                    None => return Err(unknown_word("visitor", word, Self::words())),
                },
            }
        }
        Ok(Self(kinds))
    }
}
