//! The configuration files for front proxies, each rendered from a template.

use askama::Template;
use clap::ValueEnum;

use crate::check::REDIRECT_PATH;
use crate::check::answer::{BECAUSE, DECIDED, FOLDED, IN_PLACE, TEXT};

use super::front::Front;
use super::place::{PlaceError, plain};

/// A configuration file for a front proxy, as printed by `proxy-config`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ProxyFile {
    /// nginx with `auth_request`
    Nginx,
    /// Caddy with `forward_auth`
    Caddy,
    /// Traefik with `forwardAuth`, for the file provider
    Traefik,
    /// HAProxy's main configuration, which loads the Lua file
    Haproxy,
    /// Lua file for HAProxy
    HaproxyLua,
    /// Envoy with `ext_authz` over HTTP
    Envoy,
    /// Apache with `RewriteMap`; --standalone: Apache in front of and behind robot-detection
    Apache,
    /// ingress-nginx, annotations with `auth-url`
    IngressNginx,
    /// Envoy Gateway with `SecurityPolicy`
    EnvoyGateway,
    /// Istio: mesh configuration, `AuthorizationPolicy` and `EnvoyFilter`
    Istio,
}

/// The place in nginx's configuration where the printed file is included.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum NginxPart {
    /// For the http { } block in nginx, included once
    Http,
    /// For each server { } block in nginx
    Server,
    /// For each block in nginx that sets `proxy_set_header`, `fastcgi_param` and the like
    Location,
    /// For each block in nginx that sets `add_header`
    Response,
}

/// Options for printing a front proxy's file.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions<'o> {
    /// Whether the file is a complete configuration; otherwise, an existing configuration includes
    /// it.
    pub standalone: bool,
    /// Place in nginx's configuration where the file is included, unless the file is standalone.
    pub part: Option<NginxPart>,
    /// Port on which the proxy listens, if the file is standalone.
    pub listen: &'o str,
    /// Whether requests are allowed while the decision endpoint is unavailable.
    pub fails_open: bool,
    /// Command that Apache starts, with absolute paths.
    pub map_command: &'o str,
}

/// Headers that nginx removes from requests before they reach a site; the first ten are defined by
/// this program.
static CLEARED: [&str; 28] = [
    "X-Robot-Detection-Request",
    "X-Robot-Detection-Client",
    "X-Robot-Detection-Scheme",
    "X-Robot-Detection-Page",
    "X-Robot-Detection-Token",
    "X-Robot-Detection-Decision",
    "X-Robot-Detection-Cause",
    "X-Robot-Detection-Answer",
    "X-Robot-Detection-Own",
    "X-Robot-Detection-Probe",
    "X-Forwarded-Port",
    "X-Forwarded-Server",
    "X-Forwarded-Prefix",
    "X-Forwarded-Uri",
    "X-Forwarded-Method",
    "X-Forwarded-User",
    "X-Forwarded-Groups",
    "X-Forwarded-Email",
    "X-Forwarded-Preferred-Username",
    "X-Forwarded-Ssl",
    "X-Forwarded-By",
    "X-Forwarded-Scheme",
    "Forwarded",
    "X-Original-URL",
    "X-Original-URI",
    "X-Original-Host",
    "X-Original-Method",
    "X-Original-For",
];

#[derive(Template)]
#[template(path = "proxy_config/nginx.txt", escape = "none")]
struct Nginx<'f> {
    front: &'f Front,
    /// Place in the configuration where the file is included; `None` for a standalone file.
    part: Option<NginxPart>,
    listen: &'f str,
    fails_open: bool,
}

impl Nginx<'_> {
    /// Redirect statuses, most common first. Each has its own line, because nginx's `return` does
    /// not accept a variable as status.
    const REDIRECTS: [u16; 5] = [302, 301, 303, 307, 308];
    const REFUSALS: [u16; 15] = [
        400, 401, 402, 404, 406, 410, 418, 421, 429, 451, 503, 508, 413, 414, 431,
    ];
    /// Statuses with which the endpoint's HTTP parser refuses a malformed or oversized query.
    const UNREAD: [u16; 4] = [400, 413, 414, 431];
    const IN_PLACE: &'static str = IN_PLACE;
    /// Request headers that this program defines and that never reach the site.
    const OURS: &'static [&'static str] = CLEARED.split_at(10).0;
    /// Request headers that are cleared: `OURS`, and headers that only the site's own configuration
    /// may set.
    const CLEARED: &'static [&'static str] = &CLEARED;
    /// Names of fields that are used only in logs or appear in few responses; each has its own
    /// regular expression.
    const ALONE: [&'static str; 3] = [DECIDED, BECAUSE, IN_PLACE];

    /// Returns the names of the variables that store headers of the first response, each with the
    /// header's name.
    fn kept(&self) -> Vec<(String, String)> {
        let always = [
            ("answer", "x_robot_detection_answer"),
            ("id", "x_robot_detection"),
            ("verdict", "x_robot_detection_verdict"),
            ("tag", "x_robots_tag"),
            ("vary", "vary"),
        ];
        let always = always.map(|(name, header)| (name.to_owned(), header.to_owned()));
        let given = self.front.given.iter().map(|header| {
            let name = format!("given_{}", header.number);
            (name, header.name.as_str().replace('-', "_"))
        });
        always.into_iter().chain(given).collect()
    }

    /// Returns the name of the CGI environment variable for a header.
    fn cgi(name: &str) -> String {
        format!("HTTP_{}", name.to_ascii_uppercase().replace('-', "_"))
    }

    /// Returns the regular expression that parses the status and most fields of a response. The
    /// fields share an expression, because running one costs nginx more than its captures.
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
    /// Address of the Traefik entry point for forwardAuth queries, through which Traefik can
    /// monitor the decision endpoint.
    const QUESTION: &'static str = "127.0.0.1:9149";
}

impl Caddy<'_> {
    /// Loopback port on which the proxy itself responds while the decision endpoint is unavailable.
    const AWAY_PORT: u16 = 9149;
    /// Prefixes of header names that CGI cannot distinguish from this program's headers or from
    /// forwarding headers.
    const ODD_PREFIXES: [&'static str; 8] = [
        "X_",
        "X.",
        "X-Robot_",
        "X-Robot.",
        "X-Forwarded_",
        "X-Forwarded.",
        "X-Real_",
        "X-Real.",
    ];
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

impl Envoy<'_> {
    /// Regular expressions for visitors' headers that must not reach the site; there are several,
    /// because Envoy limits an expression's size.
    const FORGED: [&'static str; 9] = [
        "x-robot-detection-([op].*)?",
        "x[^a-z0-9-]robot.*",
        "x-robot[^a-z0-9-].*",
        "x-robot-detection[^a-z0-9-].*",
        "x[^a-z0-9]original.*",
        "x[^a-z0-9]real[^a-z0-9]ip|forwarded",
        "x-forwarded-(host|method|port|prefix|server|uri)",
        "x[^a-z0-9-]forwarded.*",
        "x-forwarded[^a-z0-9-].*",
    ];
}

#[derive(Template)]
#[template(path = "proxy_config/apache.txt", escape = "none")]
struct Apache<'f> {
    front: &'f Front,
    standalone: bool,
    listen: &'f str,
    fails_open: bool,
    command: &'f str,
}

impl Apache<'_> {
    const REDIRECTS: [u16; 5] = Nginx::REDIRECTS;
    /// Refusal statuses that have their own line in Apache's file; other statuses become 403.
    const REFUSALS: [u16; 11] = [400, 401, 402, 404, 406, 410, 421, 429, 451, 503, 508];
    /// Headers that have their own field in the response, each with the word for the header in
    /// variable names.
    const FIELDS: [(&'static str, &'static str); 9] = [
        ("x-robot-detection", "ID"),
        ("x-robot-detection-verdict", "VERDICT"),
        ("vary", "VARY"),
        ("x-robots-tag", "TAG"),
        ("cache-control", "CACHE"),
        ("retry-after", "RETRY"),
        ("www-authenticate", "AUTHENTICATE"),
        ("link", "LINK"),
        ("accept-signature", "SIGN"),
    ];

    /// Returns the key of a map lookup, which contains the fields that the map program reads.
    fn key(front: &Front) -> String {
        let mut fields = vec![
            "%{REMOTE_ADDR}".to_owned(),
            "%{REQUEST_SCHEME}".to_owned(),
            "%{THE_REQUEST}".to_owned(),
            "%{HTTP:Host}".to_owned(),
            "%{SERVER_NAME}".to_owned(),
        ];
        let asked = front.required_headers(&["Cookie", "Authorization"]);
        fields.extend(asked.map(|name| format!("{name}: %{{HTTP:{name}}}")));
        fields.push("X-Robot-Detection-Connection: %{HTTP:Connection}".to_owned());
        for (name, variable) in [
            ("Cookie", "COOKIE"),
            ("Authorization", "AUTHORIZATION"),
            // Each of these headers causes a refusal, so a single name stands for all of them.
            ("X_Robot_Detection", "ODD"),
        ] {
            fields.push(format!("{name}: %{{ENV:ROBOT_DETECTION_{variable}}}"));
        }
        format!("{}\t{}", fields.len(), fields.join("\t"))
    }

    /// Returns regular expressions for header names that a server may confuse with this program's
    /// headers or with forwarding headers.
    fn odd_names(front: &Front) -> Vec<String> {
        let mut odd = vec![
            "^(?!x-robot-detection(?:-[a-z0-9]+)*$)x[^a-z0-9]robot[^a-z0-9]detection(?:[^a-z0-9]|$)".to_owned(),
            "^(?!x-(?:forwarded|original)(?:-[a-z0-9]+)*$)x[^a-z0-9](?:forwarded|original)[^a-z0-9]".to_owned(),
            "^(?!x-real-ip$)x[^a-z0-9]real[^a-z0-9]ip$".to_owned(),
        ];
        let header = front.client_header.as_deref();
        odd.extend(header.filter(|name| name.contains('-')).map(|name| {
            let spelled = name.replace(|c: char| !c.is_ascii_alphanumeric(), "[^a-z0-9]");
            format!("^(?!{}$){spelled}$", super::front::escaped(name))
        }));
        odd
    }

    fn own(front: &Front) -> Option<String> {
        let own: Vec<_> = front.own_paths().iter().map(|own| own.apache()).collect();
        (!own.is_empty()).then(|| own.join("|"))
    }

    fn fields(front: &Front) -> Vec<(String, String)> {
        let fields = Self::FIELDS.map(|(name, word)| (name.to_owned(), word.to_owned()));
        let given = front.given.iter().filter(|header| !header.is_of_answers());
        let given =
            given.map(|header| (header.name.to_string(), format!("GIVEN_{}", header.number)));
        fields.into_iter().chain(given).collect()
    }

    /// Returns the spellings of the identity headers that WSGI and similar interfaces treat as
    /// equal.
    fn identity_spellings() -> Vec<String> {
        let mut all = Vec::new();
        for words in [
            &["X", "Robot", "Detection"][..],
            &["X", "Robot", "Detection", "Verdict"],
        ] {
            let (first, rest) = words.split_at(1);
            let first = first.concat();
            all.extend(rest.iter().fold(vec![first], |names, word| {
                let with = |sign: char| move |name: &String| format!("{name}{sign}{word}");
                let hyphens = names.iter().map(with('-'));
                hyphens.chain(names.iter().map(with('_'))).collect()
            }));
        }
        all
    }

    /// Returns the names of the other headers that only this program may send.
    fn ours() -> impl Iterator<Item = &'static str> {
        let ours = CLEARED.into_iter();
        ours.filter(|name| name.starts_with("X-Robot-Detection-"))
    }

    /// Returns the names of headers that only a proxy in front of Apache may send.
    fn forwarding() -> impl Iterator<Item = &'static str> {
        let others = CLEARED.into_iter();
        let others = others.filter(|name| !name.starts_with("X-Robot-Detection-"));
        others.chain([
            "X-Forwarded-For",
            "X-Forwarded-Proto",
            "X-Forwarded-Host",
            "X-Real-IP",
        ])
    }
}

#[derive(Template)]
#[template(path = "proxy_config/ingress_nginx.txt", escape = "none")]
struct IngressNginx<'f> {
    front: &'f Front,
    token: &'f str,
}

impl IngressNginx<'_> {
    const REDIRECT_PATH: &'static str = REDIRECT_PATH;
}

#[derive(Template)]
#[template(path = "proxy_config/envoy_gateway.txt", escape = "none")]
struct EnvoyGateway<'f> {
    front: &'f Front,
    fails_open: bool,
}

#[derive(Template)]
#[template(path = "proxy_config/istio.txt", escape = "none")]
struct Istio<'f> {
    front: &'f Front,
    fails_open: bool,
}

/// Returns the names of the headers that Envoy includes in queries; Envoy requires an explicit
/// list.
fn envoy_headers(front: &Front) -> Vec<String> {
    let more = ["Cookie", "Authorization"].into_iter();
    let names = front.required_headers(&[]).chain(more);
    names.map(str::to_ascii_lowercase).collect()
}

/// Renders a front proxy's configuration file.
///
/// # Errors
///
/// Returns an error if the proxy does not support one of the options.
pub fn proxy_file(
    file: ProxyFile,
    front: &Front,
    options: FileOptions<'_>,
) -> Result<String, PlaceError> {
    let FileOptions {
        standalone,
        listen,
        fails_open,
        map_command,
        ..
    } = options;
    file.check(front, options)?;
    let token = front.token.as_deref().unwrap_or_default();
    let made = match file {
        ProxyFile::Nginx => Nginx {
            front,
            part: options.part,
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
        ProxyFile::HaproxyLua => HaproxyLua { front, fails_open }.render(),
        ProxyFile::Envoy => Envoy {
            front,
            standalone,
            listen,
            fails_open,
        }
        .render(),
        ProxyFile::Apache => Apache {
            front,
            standalone,
            listen,
            fails_open,
            command: plain_command(map_command)?,
        }
        .render(),
        ProxyFile::IngressNginx => IngressNginx { front, token }.render(),
        ProxyFile::EnvoyGateway => EnvoyGateway { front, fails_open }.render(),
        ProxyFile::Istio => Istio { front, fails_open }.render(),
    };
    let text = made.map_err(|error| PlaceError(format!("could not render the file: {error}")))?;
    Ok(format!("{}\n", text.trim()))
}

/// Returns the command if none of its words has a special meaning in a proxy's configuration file.
fn plain_command(command: &str) -> Result<&str, PlaceError> {
    command
        .split(' ')
        .try_for_each(|word| plain(word).map(drop))?;
    Ok(command)
}

/// Returns HAProxy's bind address; a port alone means all addresses.
fn bind(listen: &str) -> String {
    if is_port(listen) {
        format!(":{listen}")
    } else {
        listen.to_owned()
    }
}

fn is_port(listen: &str) -> bool {
    listen.bytes().all(|byte| byte.is_ascii_digit())
}

impl ProxyFile {
    /// Returns the file's name, as used in commands.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
            Self::Traefik => "traefik",
            Self::Haproxy => "haproxy",
            Self::HaproxyLua => "haproxy-lua",
            Self::Envoy => "envoy",
            Self::Apache => "apache",
            Self::IngressNginx => "ingress-nginx",
            Self::EnvoyGateway => "envoy-gateway",
            Self::Istio => "istio",
        }
    }

    fn check(self, front: &Front, options: FileOptions<'_>) -> Result<(), PlaceError> {
        let name = self.as_str();
        let error = |text: String| Err(PlaceError(text));
        let is_part = options.part.is_some();
        if self != Self::Nginx && is_part {
            return error(format!("--part is for nginx only; omit it for {name}"));
        }
        match self {
            Self::Nginx if !is_part && !options.standalone => error(
                "nginx includes four files: add --part http, server, location or response, or --standalone for a complete file"
                    .to_owned(),
            ),
            Self::IngressNginx | Self::EnvoyGateway | Self::Istio
                if front.check.is_unix() || front.own.is_unix() =>
            {
                error(format!(
                    "{name} does not support Unix sockets: set check.listen and server.listen to TCP addresses, and set check.token"
                ))
            }
            Self::IngressNginx if options.fails_open => error(format!(
                "{name} refuses visitors while the endpoint is unavailable: set check.fails to closed"
            )),
            Self::Nginx if let Some(h2c) = front.places_to_query(is_part).find(|place| place.is_h2c()) => error(
                format!("{name} does not support HTTP/2 without TLS ({h2c}): use http://"),
            ),
            Self::Traefik if let Some(unix) = front.places().find(|place| place.is_unix()) => {
                error(format!(
                    "{name} does not support {unix}: use TCP addresses, and set check.token"
                ))
            }
            Self::Caddy | Self::Envoy if !is_port(options.listen) => error(format!(
                "--listen {:?} is not a port: {name} needs a port such as 443",
                options.listen
            )),
            _ => Ok(()),
        }
    }
}
