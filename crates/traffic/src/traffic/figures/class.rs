//! Classes of requests, used in the same way by reports, pages and JSON.

use robot_detection_layer::{
    detect::{Kind, Verdict},
    registry::Purpose,
};
use robot_detection_store::store::TrafficKey;

use super::KnownRobots;
use crate::traffic::suspects::is_suspect;

robot_detection_layer::words! {
    /// The class of a request; each request belongs to exactly one class.
    ///
    /// A request that fits several classes belongs to the first.
    #[derive(Hash, Ord, PartialOrd)]
    pub enum Class {
        /// A request with a false claim to be a robot.
        Impostor = "impostor",
        /// A request that claims to be from a browser but looks automated.
        Suspect = "suspect",
        /// A robot of a search engine.
        Search = "search",
        /// A robot that collects text to train AI models.
        AiTraining = "ai-training",
        /// A robot that fetches pages for an AI assistant or its search.
        AiAssistant = "ai-assistant",
        /// A robot that fetches previews of links, or feeds.
        Preview = "preview",
        /// A robot that checks the availability or speed of sites.
        Monitor = "monitor",
        /// A robot for search engine optimization or advertising.
        Marketing = "marketing",
        /// A scanner for security vulnerabilities.
        Scanner = "scanner",
        /// Another listed robot.
        OtherListed = "other-listed",
        /// A robot that is not in any registry.
        Unlisted = "unlisted",
        /// A client that sends no User-Agent.
        Nameless = "nameless",
        /// A client whose User-Agent many human visitors share.
        Shared = "shared",
        /// A human visitor.
        People = "people",
    }
}

impl Class {
    /// Returns the class of a request.
    pub fn new(kind: Kind, purpose: Purpose, is_spoofed: bool, is_suspect: bool) -> Self {
        match (kind, purpose) {
            _ if is_spoofed => Self::Impostor,
            _ if is_suspect => Self::Suspect,
            (Kind::Unlisted, _) => Self::Unlisted,
            (Kind::Nameless, _) => Self::Nameless,
            (Kind::Shared, _) => Self::Shared,
            (Kind::Listed, Purpose::Search) => Self::Search,
            (Kind::Listed, Purpose::AiTraining) => Self::AiTraining,
            (Kind::Listed, Purpose::AiSearch | Purpose::AiUser) => Self::AiAssistant,
            (Kind::Listed, Purpose::Preview | Purpose::Feed) => Self::Preview,
            (Kind::Listed, Purpose::Monitoring) => Self::Monitor,
            (Kind::Listed, Purpose::Seo | Purpose::Advertising) => Self::Marketing,
            (Kind::Listed, Purpose::Scanner) => Self::Scanner,
            (Kind::Listed, _) => Self::OtherListed,
            _ => Self::People,
        }
    }

    /// Returns the class of counted requests.
    pub fn for_key(key: &TrafficKey, robots: &KnownRobots<'_>) -> Self {
        Self::new(
            Kind::from_word(&key.kind).unwrap_or(Kind::Person),
            robots
                .for_key(key)
                .map_or(Purpose::Unknown, |robot| robot.purpose),
            key.verdict == Verdict::Spoofed.as_str(),
            is_suspect(key),
        )
    }

    /// Returns `true` if requests of this class are from human visitors.
    pub fn is_human(self) -> bool {
        matches!(self, Self::Shared | Self::People)
    }

    /// Returns the class as a table heading or cell.
    pub fn label(self) -> &'static str {
        match self {
            Self::Impostor => "Impostors",
            Self::Suspect => "Suspects",
            Self::Search => "Search engines",
            Self::AiTraining => "AI training",
            Self::AiAssistant => "AI search and assistants",
            Self::Preview => "Previews and feeds",
            Self::Monitor => "Monitoring",
            Self::Marketing => "SEO and advertising",
            Self::Scanner => "Vulnerability scanners",
            Self::OtherListed => "Other listed robots",
            Self::Unlisted => "Unlisted robots",
            Self::Nameless => "Without a User-Agent",
            Self::Shared => "Shared User-Agents",
            Self::People => "People",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_matching_class_applies() {
        use {Class as C, Kind as K, Purpose as P};
        for (kind, purpose, is_spoofed, is_suspect, class) in [
            (K::Listed, P::Search, true, true, C::Impostor),
            (K::Person, P::Unknown, false, true, C::Suspect),
            (K::Listed, P::Search, false, false, C::Search),
            (K::Listed, P::AiUser, false, false, C::AiAssistant),
            (K::Listed, P::Library, false, false, C::OtherListed),
            (K::Unlisted, P::Search, false, false, C::Unlisted),
            (K::Shared, P::Shared, false, false, C::Shared),
            (K::Nameless, P::Unknown, false, false, C::Nameless),
            (K::Person, P::Unknown, false, false, C::People),
        ] {
            assert_eq!(Class::new(kind, purpose, is_spoofed, is_suspect), class);
        }
    }
}
