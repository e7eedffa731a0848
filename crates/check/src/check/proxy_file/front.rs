//! The setup behind a front proxy: the configured sites, and the paths that this program serves on
//! them.

use super::{
    place::{Place, PlaceError, plain},
    rule_header::RuleHeader,
};

/// The data from which a front proxy's file is rendered.
#[derive(Clone, Debug)]
pub struct Front {
    /// Server that provides the decision endpoint.
    pub check: Place,
    /// Token that identifies the front proxy.
    pub token: Option<String>,
    /// Server that provides this program's own pages.
    pub own: Place,
    /// Sites, ordered by number, starting with 1.
    pub sites: Vec<FrontSite>,
    /// Headers that rules add to responses.
    pub given: Vec<RuleHeader>,
    /// Names of the headers that conditions of rules use.
    pub read: Vec<String>,
    /// Sentences about parts of rules that have no effect behind a proxy that sends one query per
    /// request.
    pub unjudged: Vec<String>,
    /// Header in which a trusted proxy sends the visitor's address, if configured.
    pub client_header: Option<String>,
}

/// Headers needed to recognise robots and suspects, for proxies that forward only listed headers.
const ASKED: [&str; 28] = [
    "User-Agent",
    "Accept",
    "Accept-Language",
    "Accept-Encoding",
    "Upgrade-Insecure-Requests",
    "Referer",
    "Origin",
    "Range",
    "Via",
    "From",
    "Content-Type",
    "Sec-CH-UA",
    "Sec-CH-UA-Mobile",
    "Sec-CH-UA-Platform",
    "Sec-Fetch-Site",
    "Sec-Fetch-Mode",
    "Sec-Fetch-Dest",
    "Sec-Fetch-User",
    "Sec-WebSocket-Key",
    "Signature",
    "Signature-Input",
    "Signature-Agent",
    "Content-Digest",
    "Date",
    "X-Robot-Detection",
    "X-Robot-Detection-Verdict",
    "X-Robot-Detection-Own",
    "X-Robot-Detection-Probe",
];

/// A site behind a front proxy.
#[derive(Clone, Debug)]
pub struct FrontSite {
    /// Number of the site's upstream.
    pub number: usize,
    /// Host names of the site; empty if the site serves all other hosts.
    pub hosts: Vec<String>,
    /// Path prefix without a trailing slash; empty if the site covers all paths.
    pub path: String,
    /// Servers of the site's upstream.
    pub servers: Vec<Place>,
    /// Whether the visitor's `Host` is forwarded to the upstream.
    pub preserve_host: bool,
    /// Paths that this program serves itself.
    pub own: Vec<OwnPath>,
}

/// A path that this program serves itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OwnPath {
    path: String,
    /// Whether the path is a prefix, which ends with a slash.
    is_prefix: bool,
    pub(super) what: &'static str,
}

/// A group of hosts that have the same sites.
#[derive(Clone, Debug)]
pub(super) struct HostGroup<'f> {
    pub(super) number: usize,
    names: Vec<&'f str>,
    /// Sites on the group's hosts, longest path first.
    pub(super) sites: Vec<&'f FrontSite>,
    /// Numbers of the other host groups; used by the group for all other hosts, which excludes
    /// them.
    others: Vec<usize>,
}

impl OwnPath {
    /// Creates an exact path.
    ///
    /// # Errors
    ///
    /// Returns an error if the path contains characters that are not supported in proxies' files.
    pub fn exact(path: &str, what: &'static str) -> Result<Self, PlaceError> {
        Ok(Self {
            path: plain(path)?.to_owned(),
            is_prefix: false,
            what,
        })
    }

    /// Creates a path with and without a trailing slash, including all paths below it.
    ///
    /// # Errors
    ///
    /// Returns an error if the path contains characters that are not supported in proxies' files.
    pub fn tree(path: &str, what: &'static str) -> Result<[Self; 2], PlaceError> {
        let path = format!("/{}", path.trim_matches('/'));
        let below = Self {
            path: format!("{}/", plain(&path)?),
            is_prefix: true,
            what,
        };
        Ok([Self::exact(&path, what)?, below])
    }

    pub(super) fn nginx(&self) -> String {
        if self.is_prefix {
            format!("^~ {}", self.path)
        } else {
            format!("= {}", self.path)
        }
    }

    pub(super) fn caddy(&self) -> String {
        if self.is_prefix {
            format!("{}*", self.path)
        } else {
            self.path.clone()
        }
    }

    pub(super) fn haproxy(&self) -> String {
        let how = if self.is_prefix { "beg" } else { "str" };
        format!("path,url_dec -m {how} {}", self.path)
    }

    /// Returns the regular expression for the path, without the initial `^`.
    pub(super) fn apache(&self) -> String {
        let end = if self.is_prefix { "" } else { "$" };
        format!("{}{end}", escaped(&self.path))
    }

    pub(super) fn kubernetes(&self) -> String {
        let how = if self.is_prefix { "Prefix" } else { "Exact" };
        format!("path: \"{}\", pathType: {how}", self.path)
    }

    pub(super) fn gateway(&self) -> String {
        let how = if self.is_prefix {
            "PathPrefix"
        } else {
            "Exact"
        };
        format!("path: {{ type: {how}, value: \"{}\" }}", self.path)
    }

    pub(super) fn istio(&self) -> String {
        let end = if self.is_prefix { "*" } else { "" };
        format!("{}{end}", self.path)
    }

    pub(super) fn envoy(&self) -> String {
        let how = if self.is_prefix { "prefix" } else { "path" };
        format!("{{ {how}: \"{}\" }}", self.path)
    }

    fn traefik(&self) -> String {
        let how = if self.is_prefix { "PathPrefix" } else { "Path" };
        format!("{how}(`{}`)", self.path)
    }
}

impl FrontSite {
    /// Creates a site with the configured upstream servers.
    ///
    /// # Errors
    ///
    /// Returns an error if a value contains characters that are not supported in proxies' files.
    pub fn new(
        number: usize,
        hosts: &[String],
        path: &str,
        upstream: &[String],
    ) -> Result<Self, PlaceError> {
        let hosts = hosts
            .iter()
            .map(|host| Ok(plain(host.trim())?.to_ascii_lowercase()));
        let path = path.trim_end_matches('/');
        Ok(Self {
            number,
            hosts: hosts.collect::<Result<_, PlaceError>>()?,
            path: if path.is_empty() {
                String::new()
            } else {
                plain(path)?.to_owned()
            },
            servers: upstream
                .iter()
                .map(|url| Place::parse(url))
                .collect::<Result<_, _>>()?,
            preserve_host: true,
            own: Vec::new(),
        })
    }

    pub(super) fn scheme(&self) -> &'static str {
        let is_tls = self.servers.first().is_some_and(Place::is_tls);
        if is_tls { "https" } else { "http" }
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.servers
    }

    pub(super) fn is_unix(&self) -> bool {
        self.servers.iter().any(Place::is_unix)
    }

    pub(super) fn name(&self) -> String {
        format!("robot_detection_site_{}", self.number)
    }

    pub(super) fn nginx_prefixes(&self) -> Vec<String> {
        if self.path.is_empty() {
            vec!["/".to_owned()]
        } else {
            vec![format!("= {}", self.path), format!("{}/", self.path)]
        }
    }

    pub(super) fn caddy(&self) -> String {
        let path = &self.path;
        if path.is_empty() {
            return String::new();
        }
        // A single matcher covers both paths.
        format!("@robot_detection_site_{} ", self.number)
    }

    pub(super) fn caddy_servers(&self) -> String {
        let servers = self.servers.iter().map(Place::caddy);
        servers.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn haproxy_path(&self) -> Option<String> {
        let path = &self.path;
        (!path.is_empty()).then(|| format!("path,url_dec -m reg ^{}(/|$)", escaped(path)))
    }

    /// Returns the HAProxy condition that selects the site's requests.
    pub(super) fn haproxy_condition(&self, group: &HostGroup<'_>) -> String {
        let host = group.haproxy_condition();
        let path = (!self.path.is_empty()).then(|| format!("robot_detection_site_{}", self.number));
        let both: Vec<_> = host.into_iter().chain(path).collect();
        if both.is_empty() {
            String::new()
        } else {
            format!(" if {}", both.join(" "))
        }
    }

    /// Returns the upstream server's own `Host` if the visitor's `Host` is not forwarded.
    pub(super) fn own_host(&self) -> Option<String> {
        let first = self.servers.first().filter(|_| !self.preserve_host)?;
        let url = first.url();
        url.split_once("://").map(|(_, host)| host.to_owned())
    }

    pub(super) fn traefik(&self, group: &HostGroup<'_>) -> String {
        let path = (!self.path.is_empty())
            .then(|| format!("(Path(`{0}`) || PathPrefix(`{0}/`))", self.path));
        group.traefik(path)
    }

    pub(super) fn envoy(&self) -> String {
        if self.path.is_empty() {
            "{ prefix: \"/\" }".to_owned()
        } else {
            format!("{{ path_separated_prefix: \"{}\" }}", self.path)
        }
    }
}

impl Front {
    /// Returns the hosts grouped by their sites; the group for all other hosts comes last.
    pub(super) fn hosts(&self) -> Vec<HostGroup<'_>> {
        let default = self.sites.iter().find(|site| site.hosts.is_empty());
        let mut groups: Vec<HostGroup<'_>> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for name in self.sites.iter().flat_map(|site| &site.hosts) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        // Host names take precedence over patterns, and longer patterns over shorter ones.
        names.sort_by_key(|name| (name.starts_with('*'), usize::MAX - name.len()));
        for name in names {
            let is_on = |site: &&FrontSite| site.hosts.iter().any(|host| host == name);
            let mut sites: Vec<_> = self.sites.iter().filter(is_on).collect();
            if sites.iter().all(|site| !site.path.is_empty()) {
                sites.extend(default);
            }
            sites.sort_by_key(|site| usize::MAX - site.path.len());
            let numbers =
                |sites: &[&FrontSite]| -> Vec<_> { sites.iter().map(|site| site.number).collect() };
            let same = |group: &&mut HostGroup<'_>| numbers(&group.sites) == numbers(&sites);
            match groups.iter_mut().find(same) {
                Some(group) => group.names.push(name),
                None => groups.push(HostGroup {
                    number: groups.len() + 1,
                    names: vec![name],
                    sites,
                    others: Vec::new(),
                }),
            }
        }
        if let Some(default) = default {
            groups.push(HostGroup {
                number: groups.len() + 1,
                names: Vec::new(),
                sites: vec![default],
                others: groups.iter().map(|group| group.number).collect(),
            });
        }
        groups
    }

    /// Returns the names of headers needed for decisions, except those in `without`.
    pub(super) fn required_headers<'n>(
        &'n self,
        without: &'n [&str],
    ) -> impl Iterator<Item = &'n str> {
        let is_known = move |name: &&str| {
            let mut known = ASKED.iter().chain(without).chain(["Host"].iter());
            known.any(|known| known.eq_ignore_ascii_case(name))
        };
        let read = self.read.iter().map(String::as_str);
        ASKED
            .into_iter()
            .chain(read.filter(move |name| !is_known(name)))
    }

    pub(super) fn check_places(&self) -> [&Place; 1] {
        [&self.check]
    }

    pub(super) fn own_places(&self) -> [&Place; 1] {
        [&self.own]
    }

    /// Returns all servers, including this program's servers.
    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.places_to_query(false)
    }

    /// Returns the servers of this program and, unless `only_own` is `true`, the servers of the
    /// sites.
    pub(super) fn places_to_query(&self, only_own: bool) -> impl Iterator<Item = &Place> {
        let sites = self.sites.iter().filter(move |_| !only_own);
        let servers = sites.flat_map(|site| &site.servers);
        [&self.check, &self.own].into_iter().chain(servers)
    }

    /// Returns the paths that this program serves on any host, without duplicates.
    pub(super) fn own_paths(&self) -> Vec<&OwnPath> {
        each_once(self.sites.iter())
    }
}

impl<'f> HostGroup<'f> {
    pub(super) fn is_named(&self) -> bool {
        !self.names.is_empty()
    }

    /// Returns the paths that this program serves on the group's hosts, without duplicates.
    pub(super) fn own_locations(&self) -> Vec<&'f OwnPath> {
        each_once(self.sites.iter().copied())
    }

    /// Returns the host names for ingress rules; `None` means all hosts.
    pub(super) fn ingress_names(&self) -> Vec<Option<&'f str>> {
        if self.is_named() {
            self.names.iter().copied().map(Some).collect()
        } else {
            vec![None]
        }
    }

    pub(super) fn has_own_paths(&self) -> bool {
        !self.own_locations().is_empty()
    }

    pub(super) fn nginx(&self) -> String {
        if self.is_named() {
            self.names.join(" ")
        } else {
            "_".to_owned()
        }
    }

    pub(super) fn caddy(&self, listen: &str) -> String {
        // Caddy treats a name with a trailing dot as a different name; no certificate contains such
        // a name.
        let sites = |name: &&str| match listen {
            "443" => format!("https://{name}"),
            _ => format!("http://{name}:{listen}, http://{name}.:{listen}"),
        };
        if self.is_named() {
            self.names.iter().map(sites).collect::<Vec<_>>().join(", ")
        } else {
            format!(":{listen}")
        }
    }

    pub(super) fn haproxy(&self) -> Vec<String> {
        let acl = |name: &&str| match name.strip_prefix('*') {
            Some(suffix) => format!("req.hdr(host),host_only,rtrim(.) -m end -i {suffix}"),
            None => format!("req.hdr(host),host_only,rtrim(.) -m str -i {name}"),
        };
        self.names.iter().map(acl).collect()
    }

    pub(super) fn haproxy_condition(&self) -> Option<String> {
        if self.is_named() {
            return Some(format!("robot_detection_host_{}", self.number));
        }
        let others = self
            .others
            .iter()
            .map(|number| format!("!robot_detection_host_{number}"));
        let others = others.collect::<Vec<_>>().join(" ");
        (!others.is_empty()).then_some(others)
    }

    pub(super) fn traefik_own(&self) -> String {
        let own = self.own_locations();
        let own: Vec<_> = own.iter().map(|own| own.traefik()).collect();
        // Traefik does not decode encoded slashes, but this program's listener does.
        let within = r"!PathRegexp(`/\.\.(/|$)`)";
        self.traefik(Some(format!("({}) && {within}", own.join(" || "))))
    }

    fn traefik(&self, path: Option<String>) -> String {
        let host = |name: &&str| match name.strip_prefix("*.") {
            Some(suffix) => format!("HostRegexp(`^.+\\.{}$`)", escaped(suffix)),
            None => format!("Host(`{name}`)"),
        };
        let hosts: Vec<_> = self.names.iter().map(host).collect();
        let hosts = self.is_named().then(|| format!("({})", hosts.join(" || ")));
        let both: Vec<_> = hosts.into_iter().chain(path).collect();
        if both.is_empty() {
            "PathPrefix(`/`)".to_owned()
        } else {
            both.join(" && ")
        }
    }

    pub(super) fn envoy(&self) -> String {
        // Envoy treats a name with a trailing dot as a different name.
        let quoted = |name: &&str| format!("\"{name}\", \"{name}.\"");
        let names: Vec<_> = if self.is_named() {
            self.names.iter().map(quoted).collect()
        } else {
            vec!["\"*\"".to_owned()]
        };
        format!("[{}]", names.join(", "))
    }
}

fn each_once<'f>(sites: impl Iterator<Item = &'f FrontSite>) -> Vec<&'f OwnPath> {
    let mut all: Vec<&OwnPath> = Vec::new();
    for own in sites.flat_map(|site| &site.own) {
        if !all.iter().any(|known| known.path == own.path) {
            all.push(own);
        }
    }
    all
}

/// Escapes the characters of a text that are special in regular expressions.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() && !"/-_~=@:,".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
