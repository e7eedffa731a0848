//! Generates initial configuration files.

use std::fmt::Write as _;

use crate::policy::Action;
use crate::registry::Format;

use super::{KEYS, Key, Value};

/// The maximum line width of generated comments.
const MAX_COLUMNS: usize = 90;

/// Returns a configuration file that lists every key with its help and default, commented out.
#[must_use]
pub fn commented_configuration() -> String {
    let mut text = String::from(
        "# Configuration of robot-detection. Every key is optional; commented-out\n\
         # lines show the defaults. Flags override environment variables, and\n\
         # environment variables override this file.\n",
    );
    let mut table = "";
    for key in KEYS {
        let (key_table, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if key_table != table {
            table = key_table;
            let _ = write!(text, "\n[{table}]\n");
        }
        let _ = write!(text, "\n{}#{name} = {}\n", help(key), default(key));
    }
    text.push_str(&sources());
    text.push_str(LISTS);
    text.push_str(&rules());
    text.push_str(TAGS);
    text.push_str(ROBOTS_TXT_HOSTS);
    text.push_str(LICENSES);
    text.push_str(SITES);
    text.push_str(LISTENERS);
    text
}

/// Returns the configuration for a publisher's site, where only AI training requires a licence.
///
/// `host` is the site's host name, escaped as in a TOML string.
#[must_use]
pub fn publisher_configuration(host: &str) -> String {
    include_str!("../../templates/config/publisher.toml").replace("www.example.com", host)
}

const SOURCES: &str = "
# Additional registries. Two published registries are available as presets. A preset sets
# name, url, format and interval_days (7), each of which can be overridden:
#[[source]]
#preset = \"crawler-user-agents\"
#[[source]]
#preset = \"ai-robots-txt\"
{formats}
#[[source]]
#name = \"our-list\"
#url = \"/etc/robot-detection/robots.list.gz\"
#format = \"list\"
#interval_days = 1
";

const LISTS: &str = "
# Address lists for rules with addresses = [\"list:NAME\"]. url is a file, which is reloaded when it
# changes, or a URL: text with one address or network per line and comments after # or ;, or JSON.
#[[list]]
#name = \"office\"
#url = \"office.txt\"
#interval_hours = 24
";

const RULES: &str = "
# Rules for robots, evaluated in order after allow_robots and deny_robots: the first rule for
# which all conditions match decides. If no rule matches, redirect_purposes applies.
# All conditions are optional; each is a list, of which one item must match:
#   path       globs; default: filter_pattern
#   methods    default: redirect_methods, or all if the action is {of_any_method}
#   hosts      requested host names; a host name with a port matches only that port
#   robots     ids of robots; unlisted: robots not in any registry; nameless: clients without a
#              User-Agent; the host of an unlisted robot with a valid signature, such as
#              agent.example.com
#   purposes   purposes of robots, such as search, ai-training, seo, unknown
#   operators  names of operators, case-insensitive
#   sources    registries: bundled, web-robots-db, manual, or the name of a [[source]]
#   visitors   listed, unlisted, nameless (User-Agent missing or empty); robots: all
#              three; shared (a User-Agent used for many human visitors, such as that of
#              Amazon CloudFront); people: only shared, because a person always passes; all.
#              Default: listed and unlisted, because nameless and shared pass
#   verdicts   on the robot's claim: verified, spoofed, unverifiable, pending
#   addresses  client addresses and networks; list:NAME for a [[list]]
#   asns, countries   of the client address, according to the files in [geoip]
#   suspect    true: requests from suspects; reasons: one of the reasons for suspicion
# headers are added to the redirect, refusal or rate-limit response, or otherwise to the response
# from the site or heaven.
# action:
{actions}# wait_milliseconds (up to 10000) makes a rule with verdicts wait for a pending verdict. A
# pass rule without verdicts does not match robots that are verifiable but not verified.
#[[rule]]
#name = \"partners may read\"
#path = [\"/members-only-stuff/partners/*\"]
#robots = [\"googlebot\", \"bingbot\"]
#action = \"pass\"
#[[rule]]
#name = \"not for training\"
#path = [\"/articles/*\"]
#purposes = [\"ai-training\"]
#action = \"refuse\"
#status = 403
#text = \"Please ask for a licence.\"
#headers = { \"Link\" = \"<https://example.com/license.xml>; rel=license\" }
#[[rule]]
#name = \"not so fast\"
#path = [\"/*\"]
#visitors = \"unlisted\"
#action = \"slow\"
#requests = 10
#per_seconds = 60
#burst = 5
";

const TAGS: &str = "
# X-Robots-Tag headers for responses to robots and human visitors; all matching headers are
# added. All conditions of a [[rule]] are supported and optional; without a path, every path
# matches.
#[[x_robots_tag]]
#path = [\"*.pdf\"]
#value = \"noindex, googlebot: max-snippet:50\"
";

const ROBOTS_TXT_HOSTS: &str = "
# Hosts with a separate robots.txt, selected by the requested name (with the port, if it is not
# the default port); other hosts get the file of [robots_txt]. Every key of [robots_txt] can also
# be set here; keys that are not set inherit the values of [robots_txt]. If main_mirror is set,
# robots.txt on the other hosts contains `Disallow: /` and the main mirror in a Host line, so
# that robots use only one of several names of the same site.
#[[robots_txt.host]]
#hosts = [\"example.com\", \"www.example.com\"]
#main_mirror = \"www.example.com\"
#serve = \"settings\"
#disallow = [\"/search\"]
";

const LICENSES: &str = "
# Terms for content, published according to [licensing]. Several tables for the same path are
# alternative licences. permits and prohibits: all, ai-all, ai-train, ai-input, ai-index,
# search. payment: free, attribution, contribution, crawl, training, use, purchase,
# subscription. Without tdm_reservation, text and data mining is reserved unless training is
# permitted free of charge or for attribution.
#[[license]]
#permits = [\"search\"]
#prohibits = [\"ai-train\"]
#terms = \"https://example.com/terms\"
#[[license]]
#path = [\"/archive/*\"]
#permits = [\"ai-train\"]
#payment = \"crawl\"
#amount = \"0.015\"
#currency = \"USD\"
";

const SITES: &str = "
# Several sites in one process, selected by the requested host (and path); *.example.org matches
# all subdomains. All settings above apply to all sites. A site may override the settings for
# filters, redirects, upstreams (without `server.`), [heaven], [site_robot] and [robots_txt], and
# may have its own rules and headers, which come before the common rules and headers. Other hosts
# get server.upstream, or status 421 if server.upstream is not set.
#[[site]]
#name = \"shop\"
#hosts = [\"shop.example.org\", \"*.shop.example.org\"]
#path = \"/\"
#upstream = \"http://127.0.0.1:3001\"
#filter_pattern = [\"/cart/*\"]
#heaven.directory = \"shop-heaven\"
#[[site.rule]]
#purposes = [\"seo\"]
#action = \"redirect\"
";

const LISTENERS: &str = "
# Listeners with TLS, or behind a load balancer that uses the PROXY protocol (version 1
# or 2; only server.trusted_proxies may then connect). If there are any [[listener]] tables, the
# default of server.listen is not used.
#[[listener]]
#listen = \"0.0.0.0:443\"
#tls = true
#proxy_protocol = false

# A listener can request its certificates itself (ACME; requires a build with the feature
# `acme`): one certificate for each of the hosts. Certificates are validated on this listener,
# which must be publicly reachable at port 443 of the hosts, and renewed when a third of their
# lifetime is left. You must agree to the certificate authority's terms of service. directory:
# \"letsencrypt\", \"staging\" (for tests) or a URL; ca_file: PEM file for verifying the server of
# this URL. cache stores the account, keys and certificates, and must not be readable by other
# users.
#[[listener]]
#listen = \"[::]:443\"
#acme.hosts = [\"example.com\", \"www.example.com\"]
#acme.contact = [\"mailto:webmaster@example.com\"]
#acme.agree_to_terms = true
#acme.directory = \"letsencrypt\"
#acme.cache = \"acme\"
#acme.ca_file = \"\"

# Certificates (PEM) for listeners with TLS, reloaded when the files change. The certificate is
# selected by the requested name; the first certificate is used for other names.
#[[certificate]]
#certificate_file = \"/etc/ssl/example.com/fullchain.pem\"
#key_file = \"/etc/ssl/example.com/privkey.pem\"
";

/// Returns the help text for sources, with the names of all formats.
fn sources() -> String {
    let formats: Vec<_> = Format::ALL.iter().map(|format| format.as_str()).collect();
    let formats = either(&formats);
    let help = format!("Any other registry, by URL or file, plain or gzip. format: {formats}.");
    let mut lines = String::new();
    // Starts with a full line, so that the first word begins a new line.
    let mut width = MAX_COLUMNS;
    for word in help.split(' ') {
        if width + 1 + word.len() > MAX_COLUMNS {
            lines.push_str("\n#");
            width = 1;
        }
        let _ = write!(lines, " {word}");
        width += 1 + word.len();
    }
    SOURCES.replace("{formats}", lines.trim_start())
}

/// Returns the help text for rules, including the help for actions.
fn rules() -> String {
    let mut lines = String::new();
    for action in Action::ALL {
        let mut word = action.words().word;
        for line in action.words().help {
            let _ = writeln!(lines, "#   {word:<11}{line}");
            word = "";
        }
    }
    let words = Action::ALL.iter().map(|action| action.words());
    let of_any = words.filter(|words| !words.is_for_redirected_methods);
    let of_any: Vec<_> = of_any.map(|words| words.word).collect();
    RULES
        .replace("{actions}", &lines)
        .replace("{of_any_method}", &either(&of_any))
}

/// Joins words into a list such as "a, b or c".
fn either(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

fn help(key: &Key) -> String {
    let old = key
        .old_name
        .map(|old| format!(" ({old})"))
        .unwrap_or_default();
    format!("# {}{old}.\n# Environment: {}\n", key.help, key.variable())
}

fn default(key: &Key) -> String {
    Value::parse(key.kind, key.default)
        .map(|value| value.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Loader;
    use super::*;

    #[test]
    fn publisher_file_loads_with_its_suggestions() {
        let text = publisher_configuration("news.example:8443");
        let loaded = Loader::new().file("f", &text).load().unwrap();
        assert_eq!(loaded.settings().server.hosts, ["news.example:8443"]);
        let sold = text
            .replace("prohibits = [\"ai-train\"]\n", "")
            .replace("\n#[[", "\n[[");
        let sold = sold.lines().map(|line| match line.strip_prefix('#') {
            Some(rest) if rest.contains(" = ") && !rest.starts_with(' ') => rest,
            _ => line,
        });
        let sold = sold
            .collect::<Vec<_>>()
            .join("\n")
            .replacen("permits = [\"search\"]\n", "", 1);
        let loaded = Loader::new().file("f", &sold).load().unwrap();
        assert_eq!(loaded.settings().tables.licenses.len(), 2, "{sold}");
    }

    #[test]
    fn generated_file_loads_unchanged_and_with_all_defaults_uncommented() {
        let text = commented_configuration();
        assert!(Loader::new().file("f", &text).load().is_ok());
        let live = text
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') => rest,
                _ => line,
            })
            .collect::<Vec<_>>()
            .join("\n");
        let loaded = Loader::new().file("f", &live).load().unwrap();
        for (key, found) in loaded.effective_values() {
            assert_eq!(
                found.value,
                Value::parse(key.kind, key.default).unwrap(),
                "{}",
                key.name
            );
            assert!(
                found.origin.starts_with("f:"),
                "{} from {}",
                key.name,
                found.origin
            );
        }
        let sources = &loaded.settings().tables.sources;
        let names: Vec<_> = sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, ["crawler-user-agents", "ai-robots-txt", "our-list"]);
        assert_eq!(loaded.settings().tables.lists.len(), 1);
        assert_eq!(loaded.settings().tables.rules.len(), 3);
        assert_eq!(loaded.settings().tables.tags.len(), 1);
        assert_eq!(loaded.settings().tables.robots_txt_hosts.len(), 1);
        assert_eq!(loaded.settings().tables.licenses.len(), 2);
        assert_eq!(loaded.sites().len(), 1);
        assert_eq!(loaded.settings().tables.listeners.len(), 2);
        assert_eq!(loaded.settings().tables.certificates.len(), 1);
    }
}
