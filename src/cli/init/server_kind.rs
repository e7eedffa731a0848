//! Recognises servers that read paths differently.

use std::time::Duration;

use http::{HeaderMap, Method};
use url::Url;

use crate::fetch::{DirectClient, DirectSettings};

/// How long a server has to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a page that are received: only the headers matter.
const MAX_BYTES: u64 = 1024;

/// Names of headers, each with words that servers of a kind write into it.
type Signs = &'static [(&'static str, &'static [&'static str])];

/// Setting for each kind of server, and the signs of the kind.
const KINDS: [(&str, Signs); 2] = [
    (
        "path_parameters",
        &[
            (
                "server",
                &[
                    "Apache-Coyote",
                    "Tomcat",
                    "Jetty",
                    "WildFly",
                    "Undertow",
                    "GlassFish",
                    "Payara",
                    "WebLogic",
                ],
            ),
            ("x-powered-by", &["Servlet", "JSP", "Undertow"]),
            ("set-cookie", &["JSESSIONID="]),
        ],
    ),
    (
        "ignore_case",
        &[
            ("server", &["Microsoft-IIS", "Microsoft-HTTPAPI"]),
            ("x-powered-by", &["ASP.NET"]),
        ],
    ),
];

/// Returns the setting for paths that a server needs, and the word by which the server is recognised.
pub(super) async fn path_setting(upstream: &str) -> Option<(&'static str, &'static str)> {
    let url = Url::parse(upstream).ok()?;
    let client = DirectClient::new(DirectSettings {
        timeout: TIMEOUT,
        ..DirectSettings::default()
    });
    let sent = client.ok()?;
    let sent = sent.send_beginning(Method::GET, &url, HeaderMap::new(), MAX_BYTES);
    // A server without an HTTP answer is not recognised.
    let headers = sent.await.ok()?.headers;
    KINDS.into_iter().find_map(|(setting, signs)| {
        let mut signs = signs.iter();
        let word = signs.find_map(|(name, words)| {
            let lines = headers.get_all(*name).iter();
            let mut lines = lines.filter_map(|line| line.to_str().ok());
            lines.find_map(|line| words.iter().find(|word| line.contains(**word)))
        });
        Some((setting, *word?))
    })
}
