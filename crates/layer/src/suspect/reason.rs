//! Reasons to assume that a request does not come from the browser that its User-Agent claims.

use std::fmt;

/// The total weight of reasons at which a visitor becomes a suspect.
///
/// The value is based on measurements of requests from real browsers, including requests through
/// proxies that remove headers: the weights of the weak reasons in such requests add up to less.
pub const SUSPECT_WEIGHT: u32 = 10;

/// Declares the reasons, each with a code, a weight, the name of a header, and a sentence.
macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $Reason:ident = $code:literal, $weight:literal, $header:literal, $sentence:literal;)+) => {
        /// A reason to suspect that a client that claims to be a browser is automated.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $doc])+ $Reason,)+
        }

        impl Reason {
            /// All reasons for suspicion.
            pub const ALL: &'static [Self] = &[$(Self::$Reason),+];

            /// Returns the code of the reason used in settings, logs and JSON.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$Reason => $code,)+ }
            }

            /// Returns the weight of the reason; reasons with a total weight of [`SUSPECT_WEIGHT`]
            /// make a visitor suspect.
            #[must_use]
            pub const fn weight(self) -> u32 {
                match self { $(Self::$Reason => $weight,)+ }
            }

            /// Returns a sentence that explains the reason to an administrator.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$Reason => $sentence,)+ }
            }

            /// Returns the name of the header that reveals the reason.
            pub(super) const fn header(self) -> &'static str {
                match self { $(Self::$Reason => $header,)+ }
            }
        }
    };
}

reasons! {
    /// No release of the browser has such a User-Agent.
    VersionImpossible = "version-impossible", 10, "user-agent",
        "no release of this browser has such a User-Agent";
    /// Hardly anyone still uses this browser version.
    VersionOutdated = "version-outdated", 3, "user-agent",
        "hardly anyone still uses this browser version";
    /// The request contains a header that the browser version did not support.
    HeaderTooNew = "header-too-new", 7, "user-agent",
        "this browser version did not support the Sec-Fetch or Sec-CH-UA headers of the request";
    /// `Sec-CH-UA` is missing over HTTPS.
    ClientHintsMissing = "client-hints-missing", 4, "sec-ch-ua",
        "over HTTPS, this browser sends Sec-CH-UA";
    /// `Sec-CH-UA` and the User-Agent specify different versions.
    ClientHintsDiffer = "client-hints-differ", 10, "sec-ch-ua",
        "Sec-CH-UA and User-Agent specify different versions";
    /// `Sec-CH-UA` lists a headless browser.
    ClientHintsHeadless = "client-hints-headless", 10, "sec-ch-ua",
        "Sec-CH-UA lists a headless browser, which is controlled by a program";
    /// The `Sec-Fetch-*` headers are missing over HTTPS.
    FetchMetadataMissing = "fetch-metadata-missing", 4, "sec-fetch-mode",
        "over HTTPS, this browser sends Sec-Fetch headers";
    /// One or two of `Sec-Fetch-Site`, `Sec-Fetch-Mode` and `Sec-Fetch-Dest` are missing.
    FetchMetadataIncomplete = "fetch-metadata-incomplete", 7, "sec-fetch-mode",
        "browsers send Sec-Fetch-Site, Sec-Fetch-Mode and Sec-Fetch-Dest together";
    /// `Accept` is missing.
    AcceptMissing = "accept-missing", 5, "accept",
        "browsers send Accept with every request";
    /// `Accept` differs from the value that the browser sends to open a page.
    AcceptForeign = "accept-foreign", 5, "accept",
        "this browser opens pages with a different Accept header";
    /// `Accept-Language` is missing.
    LanguageMissing = "accept-language-missing", 4, "accept-language",
        "browsers send Accept-Language with every request";
    /// `Accept-Language` contains `*`.
    LanguageForeign = "accept-language-foreign", 5, "accept-language",
        "no browser sends * in Accept-Language";
    /// `Accept-Encoding` is missing.
    EncodingMissing = "accept-encoding-missing", 5, "accept-encoding",
        "browsers send Accept-Encoding with every request";
    /// `Accept-Encoding` has a value that browsers do not send.
    EncodingForeign = "accept-encoding-foreign", 4, "accept-encoding",
        "no browser lists these encodings in this order";
    /// `Accept-Encoding` lacks an encoding that the browser version supports.
    EncodingPoor = "accept-encoding-poor", 1, "accept-encoding",
        "over HTTPS, this browser version accepts br, or br and zstd";
    /// `Upgrade-Insecure-Requests` is missing from a request that opens a page.
    UpgradeMissing = "upgrade-insecure-requests-missing", 4, "upgrade-insecure-requests",
        "this browser opens pages with Upgrade-Insecure-Requests";
    /// The `Connection` header differs from the header that browsers send over HTTP/1.1.
    ConnectionForeign = "connection-foreign", 2, "connection",
        "over HTTP/1.1, browsers send Connection: keep-alive, in lower case";
    /// The headers are not in the order in which the browser sends them.
    HeaderOrder = "header-order", 5, "user-agent",
        "this browser sends its headers in a different order";
    /// A subresource was requested, but no header refers to a page.
    RequestBare = "request-bare", 4, "referer",
        "a subresource was requested, but no header refers to a page";
    /// Many addresses with the same User-Agent behave like a single robot (a fleet).
    Fleet = "fleet", 10, "user-agent",
        "thousands of requests with this User-Agent come from many networks and behave unlike human visitors";
    /// The address or network behaves unlike any human visitor.
    Conduct = "conduct", 10, "user-agent",
        "the address or network behaves unlike any human visitor";
    /// The application reported that the visitor is not human.
    UpstreamWord = "upstream-word", 10, "user-agent",
        "the application reported that the visitor is not human";
    /// The visitor requested a trap, which is not a sufficient reason on its own.
    Trap = "trap", 7, "user-agent",
        "the request was for a trap, which robots.txt disallows and human visitors cannot see";
}

/// Displays the code of the reason.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Reason {
    /// Returns the reason with the given code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|reason| reason.code() == code)
    }
}
