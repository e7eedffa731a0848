//! The public URL of a site, for a site robot that visits the site's upstream.

use url::Url;

use crate::assembly::site_url;
use crate::config::{Settings, SiteUrl};
use crate::site_robot::{move_to_site, source::FormLogin};

use super::starts::{Start, is_of};

/// The public URL of a site, and the addresses of its upstream.
#[derive(Clone, Debug)]
pub(super) struct PublicUrl {
    pub(super) url: Url,
    /// URLs of the upstream, which are replaced by the site's public URL.
    pub(super) aliases: Vec<Url>,
    /// The first alias whose host differs from the public URL's host.
    server: Option<Url>,
}

impl PublicUrl {
    /// Replaces the upstream's address in starting points with the site's public URL.
    ///
    /// This applies to starting points at a server of `server.upstream`, to the same starting
    /// points with the other scheme and, if the public URL is set, to all that are not on the
    /// site's hosts.
    pub(super) fn apply(settings: &Settings, starts: &mut [Start]) -> Option<Self> {
        let mut public = Self {
            url: public_url(settings)?,
            aliases: Vec::new(),
            server: None,
        };
        for start in starts {
            let Some(alias) = SiteUrl::parse(start.url.as_str()).map(SiteUrl::into_url) else {
                continue;
            };
            if alias == public.url || !public.is_alias(settings, &start.url) {
                continue;
            }
            if alias.host_str() != public.url.host_str() {
                public.server.get_or_insert_with(|| alias.clone());
            }
            if !public.aliases.contains(&alias) {
                public.aliases.push(alias);
            }
            move_to_site(&mut start.url, &public.url);
            start.is_configured = true;
        }
        (!public.aliases.is_empty()).then_some(public)
    }

    /// Returns the server to send requests to, and the hosts that the server replaces; without a
    /// server, returns `known`.
    pub(super) fn upstream(&self, known: Option<(Url, Vec<String>)>) -> Option<(Url, Vec<String>)> {
        let Some(address) = self.server.clone() else {
            return known;
        };
        let host = self.url.host_str()?.to_owned();
        let hosts = match known {
            // An empty list means all hosts.
            Some((_, hosts)) if hosts.is_empty() => hosts,
            Some((_, hosts)) => hosts.into_iter().chain([host]).collect(),
            None => vec![host],
        };
        Some((address, hosts))
    }

    fn is_alias(&self, settings: &Settings, url: &Url) -> bool {
        let is_at = |server: &String| {
            SiteUrl::parse(server).is_some_and(|server| server.url().origin() == url.origin())
        };
        let is_same_host = url.host_str() == self.url.host_str();
        let servers = &settings.server.upstream;
        if servers.iter().any(is_at) {
            return true;
        }
        if is_same_host && url.scheme() != self.url.scheme() {
            // The upstream returns the same page for either scheme.
            return !servers.is_empty() && !settings.heaven.url.is_empty();
        }
        // A public URL implies that starting points elsewhere are other addresses of the site.
        let is_public = is_same_host || is_of(url, &settings.server.hosts);
        settings.site_robot.public_url.is_some() && !is_public
    }
}

fn public_url(settings: &Settings) -> Option<Url> {
    let set = settings.site_robot.public_url.clone();
    let public = set.or_else(|| SiteUrl::parse(&site_url(settings)?));
    public.map(SiteUrl::into_url)
}

/// Replaces the upstream's address in a login form's URL, as in starting points.
pub(super) fn move_login(settings: &Settings, login: FormLogin) -> FormLogin {
    let Some(url) = public_url(settings) else {
        return login;
    };
    let (mut moved, aliases, server) = (login.url().clone(), Vec::new(), None);
    let public = PublicUrl {
        url,
        aliases,
        server,
    };
    if public.is_alias(settings, &moved) {
        move_to_site(&mut moved, &public.url);
    }
    login.at(moved)
}

#[cfg(test)]
mod tests {
    use crate::config::Loader;
    use crate::site_robots::{SiteRobotChanges, SiteRobotSettings};

    const UPSTREAM: &str = "[server]\nupstream = 'http://127.0.0.1:3000'\n";
    const HEAVEN: &str = "[heaven]\nurl = 'https://www.example.com/'\n";

    /// Returns the robot's starting points, and the server that requests are sent to.
    fn begins(text: &str, urls: &[&str]) -> (Vec<String>, Option<String>) {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        let changes = SiteRobotChanges {
            urls: urls.iter().map(|&url| url.to_owned()).collect(),
            ..SiteRobotChanges::default()
        };
        let settings = SiteRobotSettings::new(&loaded, "default", &changes);
        let settings = settings.unwrap().unwrap();
        let starts = settings.starts.iter().map(|start| start.url.to_string());
        let upstream = settings.upstream.map(|(url, _)| url.to_string());
        (starts.collect(), upstream)
    }

    fn at(url: &str, upstream: Option<&str>) -> (Vec<String>, Option<String>) {
        (vec![url.to_owned()], upstream.map(str::to_owned))
    }

    #[test]
    fn upstream_server_becomes_the_site_of_heaven() {
        let urls = ["http://127.0.0.1:3000/a?b"];
        let public = at(
            "https://www.example.com/a?b",
            Some("http://127.0.0.1:3000/"),
        );
        assert_eq!(begins(&format!("{UPSTREAM}{HEAVEN}"), &urls), public);
        let hosts = format!("{UPSTREAM}hosts = 'www.example.com'\nadmin.secure_cookies = true\n");
        let hosts = hosts.replace("admin.", "[admin]\n");
        assert_eq!(begins(&hosts, &urls), public);
        // The settings specify neither the site nor that this is its upstream.
        let itself = at(urls[0], Some("http://127.0.0.1:3000/"));
        assert_eq!(begins(UPSTREAM, &urls), itself);
        assert_eq!(begins(HEAVEN, &urls), at(urls[0], None));
        let other = ["http://127.0.0.1:3001/"];
        assert_eq!(begins(&format!("{UPSTREAM}{HEAVEN}"), &other).0, other);
    }

    #[test]
    fn public_url_applies_to_any_address() {
        let text = "[site_robot]\npublic_url = 'https://www.example.com'\n\
                    starting_points = ['http://10.0.0.5:3000/a', 'https://www.example.com/b']\n";
        let (starts, upstream) = begins(text, &[]);
        assert_eq!(
            starts,
            ["https://www.example.com/a", "https://www.example.com/b"]
        );
        assert_eq!(upstream.as_deref(), Some("http://10.0.0.5:3000/"));
    }

    #[test]
    fn error_names_the_place_of_a_wrong_url() {
        let text = "[site_robot]\nstarting_points = 'http://h/'\npublic_url = 'www.example.com'";
        let error = Loader::new().file("c.toml", text).load().unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("c.toml:3: site_robot.public_url: "),
            "{error}"
        );
    }
}
