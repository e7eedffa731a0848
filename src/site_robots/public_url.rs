//! The URL by which visitors know a site whose robot begins at its upstream.

use url::{Origin, Url};

use crate::assembly::site_url;
use crate::config::{Settings, SiteUrl};
use crate::site_robot::move_to_site;

use super::starts::{Start, is_of};

/// Site as visitors know it, and the addresses of its upstream.
#[derive(Clone, Debug)]
pub(super) struct PublicUrl {
    pub(super) url: Url,
    /// URLs in whose place that of the site stands; the first is asked.
    pub(super) aliases: Vec<Url>,
}

impl PublicUrl {
    /// Moves the starting points that are of the upstream to the public site.
    ///
    /// They are those at a server of `server.upstream`, and where the public URL is set all
    /// that are of no host of the site.
    pub(super) fn of(settings: &Settings, starts: &mut [Start]) -> Option<Self> {
        let set = settings.site_robot.public_url.clone();
        let is_set = set.is_some();
        let public = set.or_else(|| SiteUrl::parse(&site_url(settings)?));
        let url = public.map(SiteUrl::into_url)?;
        let servers: Vec<Origin> = settings
            .server
            .upstream
            .iter()
            .filter_map(|server| Some(SiteUrl::parse(server)?.url().origin()))
            .collect();
        let is_upstream = |start: &Start| {
            let is_server = servers.contains(&start.url.origin());
            let is_public =
                start.url.host_str() == url.host_str() || is_of(&start.url, &settings.server.hosts);
            // Who sets the public URL says that starting points elsewhere are other addresses of
            // the site.
            is_server || is_set && !is_public
        };
        let mut aliases: Vec<Url> = Vec::new();
        for start in starts.iter_mut().filter(|start| is_upstream(start)) {
            let Some(alias) = SiteUrl::parse(start.url.as_str()).map(SiteUrl::into_url) else {
                continue;
            };
            if alias != url && !aliases.contains(&alias) {
                aliases.push(alias);
            }
            move_to_site(&mut start.url, &url);
            start.is_configured = true;
        }
        (!aliases.is_empty()).then_some(Self { url, aliases })
    }

    /// Returns who is asked in place of which hosts, where that would be `known` without it.
    pub(super) fn upstream(&self, known: Option<(Url, Vec<String>)>) -> Option<(Url, Vec<String>)> {
        let address = self.aliases.first()?.clone();
        let host = self.url.host_str()?.to_owned();
        let hosts = match known {
            // All that are configured.
            Some((_, hosts)) if hosts.is_empty() => hosts,
            Some((_, hosts)) => hosts.into_iter().chain([host]).collect(),
            None => vec![host],
        };
        Some((address, hosts))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Loader;
    use crate::site_robots::{SiteRobotChanges, SiteRobotSettings};

    const UPSTREAM: &str = "[server]\nupstream = 'http://127.0.0.1:3000'\n";
    const HEAVEN: &str = "[heaven]\nurl = 'https://www.example.com/'\n";

    /// Returns where the robot begins, and who is asked there.
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
    fn a_server_of_the_upstream_is_the_site_of_heaven() {
        let urls = ["http://127.0.0.1:3000/a?b"];
        let public = at(
            "https://www.example.com/a?b",
            Some("http://127.0.0.1:3000/"),
        );
        assert_eq!(begins(&format!("{UPSTREAM}{HEAVEN}"), &urls), public);
        let hosts = format!("{UPSTREAM}hosts = 'www.example.com'\nadmin.secure_cookies = true\n");
        let hosts = hosts.replace("admin.", "[admin]\n");
        assert_eq!(begins(&hosts, &urls), public);
        // Nobody says which site it is, or that it is its upstream.
        let itself = at(urls[0], Some("http://127.0.0.1:3000/"));
        assert_eq!(begins(UPSTREAM, &urls), itself);
        assert_eq!(begins(HEAVEN, &urls), at(urls[0], None));
        let other = ["http://127.0.0.1:3001/"];
        assert_eq!(begins(&format!("{UPSTREAM}{HEAVEN}"), &other).0, other);
    }

    #[test]
    fn the_key_says_so_of_any_address() {
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
    fn a_wrong_url_is_told_by_its_place() {
        let text = "[site_robot]\nstarting_points = 'http://h/'\npublic_url = 'www.example.com'";
        let error = Loader::new().file("c.toml", text).load().unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("c.toml:3: site_robot.public_url: "),
            "{error}"
        );
    }
}
