//! The files themselves: one template for each.

use askama::Template;

use crate::check::answer::{BECAUSE, DECIDED, FOLDED, IN_PLACE, TEXT};

use super::front::Front;
use super::place::PlaceError;

/// File that is printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ProxyFile {
    Nginx,
    Caddy,
    Traefik,
    Haproxy,
    /// The file in Lua that HAProxy's loads.
    HaproxyLua,
    Envoy,
}

/// Part of nginx's configuration that includes a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NginxPart {
    /// Once, inside `http { }`.
    Http,
    /// Inside each `server { }`.
    Server,
    /// Inside each location that sets headers itself.
    Location,
}

/// How a file is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileOptions<'o> {
    /// `true`: a whole file that works alone; `false`: what an existing configuration includes.
    pub(crate) standalone: bool,
    /// Where nginx includes the file, unless it is standalone.
    pub(crate) part: Option<NginxPart>,
    /// Port at which a standalone file's proxy listens.
    pub(crate) listen: &'o str,
    /// Whether requests pass while the decision endpoint does not answer.
    pub(crate) fails_open: bool,
}

/// Headers of a visitor that could be taken for what this program or a proxy says.
pub(super) const FORGED: [&str; 17] = [
    "X-Robot-Detection",
    "X-Robot-Detection-Verdict",
    "X-Robot-Detection-Request",
    "X-Robot-Detection-Client",
    "X-Robot-Detection-Scheme",
    "X-Robot-Detection-Page",
    "X-Robot-Detection-Token",
    "X-Robot-Detection-Decision",
    "X-Robot-Detection-Cause",
    "X-Robot-Detection-Answer",
    "X-Original-URL",
    "X-Original-URI",
    "X-Original-Host",
    "X-Original-Method",
    "X-Original-For",
    "X-Forwarded-Prefix",
    "Forwarded",
];

#[derive(Template)]
#[template(path = "proxy_config/nginx.txt", escape = "none")]
struct Nginx<'f> {
    front: &'f Front,
    listen: &'f str,
    fails_open: bool,
}

impl Nginx<'_> {
    /// nginx's `return` takes no variable for the status; the one that most answers have is first.
    const REDIRECTS: [u16; 5] = [302, 301, 303, 307, 308];
    const REFUSALS: [u16; 12] = [400, 401, 402, 404, 406, 410, 418, 421, 429, 451, 503, 508];
    /// Fields that only logs read, or few answers have, each under its own name.
    const ALONE: [&'static str; 3] = [DECIDED, BECAUSE, IN_PLACE];

    /// Returns the expression that reads the status of an answer, and whatever else stands in the
    /// answer to the visitor: one for all, as each costs nginx more than what it finds.
    fn answer() -> String {
        let passed_over = [DECIDED, BECAUSE].map(|field| format!(r"(?:\t{field}=[^\t]*+)?"));
        let read =
            |field: &str, word: &str| format!(r"(?:\t{field}=(?<robot_detection_{word}>[^\t]*+))?");
        let folded = FOLDED.map(|(name, word)| read(name.as_str(), word));
        let fields = passed_over.into_iter().chain(folded);
        let fields: String = fields.chain([read(TEXT, TEXT)]).collect();
        format!(r"^(\d+){fields}")
    }
}

#[derive(Template)]
#[template(path = "proxy_config/caddy.txt", escape = "none")]
struct Caddy<'f> {
    front: &'f Front,
    standalone: bool,
    listen: &'f str,
    fails_open: bool,
}

#[derive(Template)]
#[template(path = "proxy_config/traefik.txt", escape = "none")]
struct Traefik<'f> {
    front: &'f Front,
    standalone: bool,
    fails_open: bool,
}

impl Traefik<'_> {
    const FORGED: [&'static str; 17] = FORGED;
}

impl Caddy<'_> {
    const FORGED: [&'static str; 17] = FORGED;
}

#[derive(Template)]
#[template(path = "proxy_config/haproxy.txt", escape = "none")]
struct Haproxy<'f> {
    front: &'f Front,
    standalone: bool,
    listen: &'f str,
    lua: &'f str,
    fails_open: bool,
}

#[derive(Template)]
#[template(path = "proxy_config/haproxy_lua.txt", escape = "none")]
struct HaproxyLua<'f> {
    front: &'f Front,
    standalone: bool,
    fails_open: bool,
}

#[derive(Template)]
#[template(path = "proxy_config/envoy.txt", escape = "none")]
struct Envoy<'f> {
    front: &'f Front,
    standalone: bool,
    listen: &'f str,
    fails_open: bool,
}

/// Makes a file.
///
/// # Errors
///
/// Fails on what the proxy cannot do.
pub(crate) fn proxy_file(
    file: ProxyFile,
    front: &Front,
    options: FileOptions<'_>,
) -> Result<String, PlaceError> {
    let FileOptions {
        standalone,
        listen,
        fails_open,
        ..
    } = options;
    file.check(front, options)?;
    let made = match file {
        ProxyFile::Nginx => Nginx {
            front,
            listen,
            fails_open,
        }
        .render(),
        ProxyFile::Caddy => Caddy {
            front,
            standalone,
            listen,
            fails_open,
        }
        .render(),
        ProxyFile::Traefik => Traefik {
            front,
            standalone,
            fails_open,
        }
        .render(),
        ProxyFile::Haproxy => Haproxy {
            front,
            standalone,
            listen: &bind(listen),
            lua: "/etc/haproxy/robot-detection.lua",
            fails_open,
        }
        .render(),
        ProxyFile::HaproxyLua => HaproxyLua {
            front,
            standalone,
            fails_open,
        }
        .render(),
        ProxyFile::Envoy => Envoy {
            front,
            standalone,
            listen,
            fails_open,
        }
        .render(),
    };
    let text = made.map_err(|error| PlaceError(format!("the file cannot be made: {error}")))?;
    Ok(format!("{}\n", text.trim()))
}

/// A port alone is one of every address.
fn bind(listen: &str) -> String {
    if listen.bytes().all(|byte| byte.is_ascii_digit()) {
        format!(":{listen}")
    } else {
        listen.to_owned()
    }
}

impl ProxyFile {
    /// Returns the word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
            Self::Traefik => "traefik",
            Self::Haproxy => "haproxy",
            Self::HaproxyLua => "haproxy-lua",
            Self::Envoy => "envoy",
        }
    }

    fn check(self, front: &Front, options: FileOptions<'_>) -> Result<(), PlaceError> {
        let name = self.as_str();
        let error = |text: String| Err(PlaceError(text));
        let is_part = options.part.is_some();
        if self != Self::Nginx && is_part {
            return error(format!("--part is for nginx only: leave it out for {name}"));
        }
        match self {
            Self::Nginx if !is_part && !options.standalone => error(
                "nginx includes three files: add --part http, --part server or --part location; or --standalone for a whole file"
                    .to_owned(),
            ),
            Self::Nginx if let Some(h2c) = front.places().find(|place| place.is_h2c()) => error(
                format!("{name} does not speak HTTP/2 with {h2c}: use http://"),
            ),
            Self::Traefik if let Some(unix) = front.places().find(|place| place.is_unix()) => {
                error(format!(
                    "{name} does not reach {unix}: it needs addresses with ports, with check.token for check.listen"
                ))
            }
            Self::Traefik if options.fails_open => error(format!(
                "{name} refuses visitors while nobody answers it: set check.fails to closed"
            )),
            _ => Ok(()),
        }
    }
}
