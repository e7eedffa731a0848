//! Why a request is none that the browser would send which its User-Agent names.

use std::fmt;

/// Weight from which on a visitor is suspect.
///
/// Measured on requests of real browsers, through proxies that take headers off too: the weak
/// reasons that come together there stay below it.
pub const SUSPECT_WEIGHT: u32 = 10;

/// Declares the reasons: each a code, what to weigh it, the header that it is about, and a sentence.
macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $Reason:ident = $code:literal, $weight:literal, $header:literal, $sentence:literal;)+) => {
        /// Reason to take somebody who says that he is a browser for a program.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $doc])+ $Reason,)+
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$Reason),+];

            /// Returns the code for it, for settings, logs and JSON.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$Reason => $code,)+ }
            }

            /// Returns how much it weighs; from [`SUSPECT_WEIGHT`] on all together make a suspect.
            #[must_use]
            pub const fn weight(self) -> u32 {
                match self { $(Self::$Reason => $weight,)+ }
            }

            /// Returns the sentence that an administrator reads.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$Reason => $sentence,)+ }
            }

            /// Returns the name of the header that it is seen by.
            pub(super) const fn header(self) -> &'static str {
                match self { $(Self::$Reason => $header,)+ }
            }
        }
    };
}

reasons! {
    /// No release of that browser writes its User-Agent so.
    VersionImpossible = "version-impossible", 10, "user-agent",
        "no release of that browser writes its User-Agent so";
    /// The browser has the age of one that hardly anybody runs.
    VersionOutdated = "version-outdated", 3, "user-agent",
        "hardly anybody runs that version any more";
    /// The version that is named did not know a header that came.
    HeaderTooNew = "header-too-new", 7, "user-agent",
        "that version did not know Sec-Fetch or Sec-CH-UA headers, and they came";
    /// `Sec-CH-UA` is missing over HTTPS.
    ClientHintsMissing = "client-hints-missing", 4, "sec-ch-ua",
        "over HTTPS that browser says its brand";
    /// `Sec-CH-UA` names another version than the User-Agent.
    ClientHintsDiffer = "client-hints-differ", 10, "sec-ch-ua",
        "brand and User-Agent name different versions";
    /// `Sec-CH-UA` says that nobody sits before the browser.
    ClientHintsHeadless = "client-hints-headless", 10, "sec-ch-ua",
        "the brand is that of a browser that a program drives";
    /// `Sec-Fetch-*` are missing over HTTPS.
    FetchMetadataMissing = "fetch-metadata-missing", 4, "sec-fetch-mode",
        "over HTTPS that browser says what a request is for";
    /// Some of `Sec-Fetch-Site`, `-Mode` and `-Dest` came, and others did not.
    FetchMetadataIncomplete = "fetch-metadata-incomplete", 7, "sec-fetch-mode",
        "of Sec-Fetch-Site, Sec-Fetch-Mode and Sec-Fetch-Dest a browser sends all";
    /// `Accept` is missing.
    AcceptMissing = "accept-missing", 5, "accept",
        "browsers say with every request what they accept";
    /// `Accept` is none that the browser sends when it opens a page.
    AcceptForeign = "accept-foreign", 5, "accept",
        "that browser opens pages with another Accept";
    /// `Accept-Language` is missing.
    LanguageMissing = "accept-language-missing", 4, "accept-language",
        "browsers say their languages with every request";
    /// `Accept-Language` is any language.
    LanguageForeign = "accept-language-foreign", 5, "accept-language",
        "no browser asks for any language";
    /// `Accept-Encoding` is missing.
    EncodingMissing = "accept-encoding-missing", 5, "accept-encoding",
        "browsers offer encodings with every request";
    /// `Accept-Encoding` is none that a browser sends.
    EncodingForeign = "accept-encoding-foreign", 4, "accept-encoding",
        "no browser offers these encodings in this order";
    /// `Accept-Encoding` lacks what the version knows.
    EncodingPoor = "accept-encoding-poor", 1, "accept-encoding",
        "over HTTPS that version offers br, or br and zstd";
    /// `Upgrade-Insecure-Requests` is missing where a page is opened.
    UpgradeMissing = "upgrade-insecure-requests-missing", 4, "upgrade-insecure-requests",
        "that browser opens pages with Upgrade-Insecure-Requests";
    /// `Connection` is not as browsers have it over HTTP/1.1.
    ConnectionForeign = "connection-foreign", 2, "connection",
        "over HTTP/1.1 browsers ask to keep the connection, with keep-alive in lower case";
    /// The headers come in an order that the browser does not have.
    HeaderOrder = "header-order", 5, "user-agent",
        "that browser sends its headers in another order";
    /// No page is opened, and none is named that would need what is asked for.
    RequestBare = "request-bare", 4, "referer",
        "part of a page is asked for, and no header tells of the page";
    /// Many addresses do the same under its User-Agent.
    Fleet = "fleet", 10, "user-agent",
        "thousands of requests under its User-Agent come from all over, and do what no people do";
    /// Its address or network does what no person does.
    Conduct = "conduct", 10, "user-agent",
        "its address or network does what no person does";
    /// The application says that this is no person.
    UpstreamWord = "upstream-word", 10, "user-agent",
        "the application has said that this is no person";
    /// A path was asked for that no person is shown; it weighs too little to mark alone.
    Trap = "trap", 7, "user-agent",
        "a trap was asked for, which no person is shown and robots.txt closes";
}

/// Shows the code.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Reason {
    /// Returns the reason that a code names.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|reason| reason.code() == code)
    }
}
