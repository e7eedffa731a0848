//! Types of settings with a fixed set of words.

use robot_detection_site_robot::spelling::unknown;

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
    /// Mode of enforcement.
    pub enum Mode {
        /// Decisions are enforced.
        On = "on",
        /// Decisions are logged and counted, and all requests pass.
        Report = "report",
    }
}

robot_detection_layer::words! {
    /// Origin of heaven pages.
    pub enum HeavenSource {
        /// Files of a directory.
        Files = "files",
        /// Pages generated on request from the site robot's descriptions.
        Database = "database",
    }
}

robot_detection_layer::words! {
    /// Visitors that may read robot heaven.
    pub enum OpenTo {
        /// All visitors.
        All = "all",
        /// Robots; human visitors are redirected to the originals.
        Robots = "robots",
        /// Verified robots; others get only the summary of a page.
        Verified = "verified",
    }
}

robot_detection_layer::words! {
    /// Action for heaven pages with text that their originals do not have.
    pub enum ParityAction {
        /// Pages are reported.
        Report = "report",
        /// Pages are hidden until they agree again.
        Withdraw = "withdraw",
    }
}

robot_detection_layer::words! {
    /// Origin of /robots.txt.
    pub enum RobotsTxtSource {
        /// The upstream's file.
        Pass = "pass",
        /// A file.
        File = "file",
        /// Generated from the settings.
        Settings = "settings",
        /// The settings, combined with the upstream's file.
        Merge = "merge",
    }
}

robot_detection_layer::words! {
    /// Behaviour of a front proxy while the decision endpoint does not respond.
    pub enum FailMode {
        /// Refuse requests.
        Closed = "closed",
        /// Pass requests to the site.
        Open = "open",
    }
}

robot_detection_layer::words! {
    /// Action for suspects.
    pub enum SuspectAction {
        /// Suspects are not detected.
        Off = "off",
        /// Suspects are marked.
        Report = "report",
        /// Suspects get heaven's copy of the requested page.
        Heaven = "heaven",
        /// Suspects are refused.
        Refuse = "refuse",
    }
}

/// Declares the words of a type, and the type's name in errors.
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
                    unknown($what, text, Self::ALL.iter().map(|one| one.as_str()))
                })
            }
        }
    )*};
}

words! {
    Mode: "mode";
    RobotsTxtSource: "way to serve it";
    EnforcementMode: "mode";
    Refusal: "refusal";
    Spoofed: "treatment";
    Method: "method";
    Verdict: "verdict";
    Action: "action";
    RateKey: "key of a pace";
    Format: "format";
    AddressRetention: "part of addresses";
    Payment: "payment";
    Usage: "use";
    SuspectAction: "action";
    FailMode: "way to fail";
    OpenTo: "group of readers";
    ParityAction: "action";
    Rendering: "way to read pages";
}

/// Declares the words of types whose parse error lists all words.
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
            // This word is probably meant to exempt human visitors, but has no effect as a purpose
            // of robots.
            Some(Self::Shared) => {
                let reason = "shared is not a purpose of robots: it marks User-Agents used for many people, which rules match with visitors = [\"shared\"]";
                Err(reason.to_owned())
            }
            Some(purpose) => Ok(purpose),
            None => {
                let words = Self::ROBOTS.iter().map(|purpose| purpose.as_str());
                Err(unknown("purpose", word, words))
            }
        }
    }
}

impl Item for Reason {
    const WORDS: Option<fn() -> Vec<&'static str>> =
        Some(|| Self::ALL.iter().map(|reason| reason.code()).collect());

    fn read_item(code: &str) -> Result<Self, String> {
        Self::from_code(code.trim())
            .ok_or_else(|| unknown("reason", code, Self::ALL.iter().map(|reason| reason.code())))
    }
}

impl Item for Source {
    fn read_item(name: &str) -> Result<Self, String> {
        let source = name.trim().parse();
        source.map_err(|error| format!("{name:?}: {error}"))
    }
}

/// Kinds of visitors; `robots` means all kinds except people, `all` means every kind.
///
/// Of people, a rule matches only those with a shared User-Agent: a person always passes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Visitors(Vec<detect::Kind>);

impl Visitors {
    /// Returns the kinds.
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
                    None => return Err(unknown("visitor", word, Self::words())),
                },
            }
        }
        Ok(Self(kinds))
    }
}
