//! Settings that are one of several words, each word listed once.

use robot_detection_site_robot::spelling::unknown;

use crate::access_log::LineFormat;
use crate::config::{
    Kind, Value,
    setting::{Item, Setting},
};
use crate::detect::{self, Verdict};
use crate::licensing::{Payment, Usage};
use crate::policy::{Action, Enforce, RateKey, Refusal, Spoofed};
use crate::registry::{Format, Purpose, Source};
use crate::site_robot::Rendering;
use crate::store::KeptAddresses;
use crate::suspect::Reason;
use crate::telemetry::LogFormat;
use crate::verify::Method;

robot_detection_layer::words! {
    /// Whether decisions are carried out.
    pub enum Mode {
        /// They are.
        On = "on",
        /// They are told and counted, and everything passes.
        Report = "report",
    }
}

robot_detection_layer::words! {
    /// Where the pages of robot heaven come from.
    pub enum HeavenSource {
        /// From a directory.
        Files = "files",
        /// From the site robot's descriptions, made as they are asked for.
        Database = "database",
    }
}

robot_detection_layer::words! {
    /// Who may read robot heaven.
    pub enum OpenTo {
        /// Whoever asks.
        Everybody = "everybody",
        /// Robots; people are sent to the originals.
        Robots = "robots",
        /// Robots that are proven; others get the lead of a page.
        Verified = "verified",
    }
}

robot_detection_layer::words! {
    /// What becomes of pages of heaven that say more than their originals.
    pub enum ParityAction {
        /// They are told.
        Report = "report",
        /// They are not shown until they agree again.
        Withdraw = "withdraw",
    }
}

robot_detection_layer::words! {
    /// What /robots.txt is.
    pub enum RobotsTxtSource {
        /// The upstream's own.
        Pass = "pass",
        /// A file.
        File = "file",
        /// Made from the settings.
        Settings = "settings",
        /// Made from the settings, over the upstream's.
        Merge = "merge",
    }
}

robot_detection_layer::words! {
    /// Treatment of requests by a proxy while the decision endpoint does not answer.
    pub enum FailMode {
        /// Refuse them.
        Closed = "closed",
        /// Pass them to the site.
        Open = "open",
    }
}

robot_detection_layer::words! {
    /// What is done with suspects.
    pub enum SuspectAction {
        /// Nobody is looked at.
        Off = "off",
        /// They are marked.
        Report = "report",
        /// They get robot heaven's copy of a page in its place.
        Heaven = "heaven",
        /// They are refused.
        Refuse = "refuse",
    }
}

/// Declares the words of a type, and what an error calls it.
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
    Enforce: "mode";
    Refusal: "refusal";
    Spoofed: "treatment";
    Method: "method";
    Verdict: "verdict";
    Action: "action";
    RateKey: "key of a pace";
    Format: "format";
    KeptAddresses: "part of addresses";
    Payment: "payment";
    Usage: "use";
    SuspectAction: "action";
    FailMode: "way to fail";
    OpenTo: "group of readers";
    ParityAction: "action";
    Rendering: "way to read pages";
}

/// The same for types whose error tells all words by itself.
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
            // Who writes it wants to spare people, and would as a purpose of robots achieve
            // nothing.
            Some(Self::Shared) => {
                let reason = "shared is no purpose of robots: it marks User-Agents that stand for many people, which rules name as visitors = [\"shared\"]";
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

/// Kinds of visitors; `robots` stands for all that are no people, `all` for everybody.
///
/// Of people a rule is about those alone that share a User-Agent: a person always passes.
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
