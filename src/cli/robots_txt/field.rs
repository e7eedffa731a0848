//! Fields of an answer.

/// Field of an answer that is about a file or how it was answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    Allowed,
    CrawlDelay,
    RequestRate,
    Sitemaps,
    Host,
    EffectiveUrl,
    CleanUrl,
    Access,
    /// Field of META tags and headers, by its name.
    Meta(&'static str),
}

/// Fields that META tags and `X-Robots-Tag` headers answer.
pub(super) const META: [&str; 11] = [
    "index",
    "follow",
    "archive",
    "snippet",
    "translate",
    "imageindex",
    "indexifembedded",
    "max_snippet",
    "max_video_preview",
    "max_image_preview",
    "unavailable_after",
];

impl Field {
    /// Fields that a file answers without a URL.
    pub(super) const ABOUT_FILE: [Self; 4] = [
        Self::CrawlDelay,
        Self::RequestRate,
        Self::Sitemaps,
        Self::Host,
    ];

    /// Returns the field of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "allowed" => Self::Allowed,
            "crawl_delay" => Self::CrawlDelay,
            "request_rate" => Self::RequestRate,
            "sitemaps" => Self::Sitemaps,
            "host" => Self::Host,
            "effective_url" => Self::EffectiveUrl,
            "clean_url" => Self::CleanUrl,
            "access" => Self::Access,
            _ => Self::Meta(META.into_iter().find(|field| *field == name)?),
        })
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::CrawlDelay => "crawl_delay",
            Self::RequestRate => "request_rate",
            Self::Sitemaps => "sitemaps",
            Self::Host => "host",
            Self::EffectiveUrl => "effective_url",
            Self::CleanUrl => "clean_url",
            Self::Access => "access",
            Self::Meta(name) => name,
        }
    }
}
