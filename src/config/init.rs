//! A configuration file to begin with.

use std::fmt::Write as _;

use crate::policy::Action;
use crate::registry::Format;

use super::{KEYS, Key, Value};

/// Columns of the help that is made of words.
const MAX_COLUMNS: usize = 90;

/// Returns a configuration file in which every key stands with its help and default, commented out.
#[must_use]
pub fn commented_configuration() -> String {
    let mut text = String::from(
        "# Configuration of robot-detection. Every key is optional; what stands\n\
         # behind `#` is its default. Flags win over environment variables, these\n\
         # over this file.\n",
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

/// Returns the configuration of a publisher's site: search engines read it, training needs a
/// licence.
///
/// `host` is a name of the site as it may stand in a text of TOML.
#[must_use]
pub fn publisher_configuration(host: &str) -> String {
    include_str!("../../templates/config/publisher.toml").replace("www.example.com", host)
}

const SOURCES: &str = "
# More registries. Two that are published, and keep themselves fresh; a preset stands for
# name, url, format and interval_days (7), each of which may be set beside it:
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
# Lists of addresses that rules mean as addresses = [\"list:NAME\"]: a file, read when it
# changes, or a URL. One address or network a line, # and ; begin comments, or JSON.
#[[list]]
#name = \"office\"
#url = \"office.txt\"
#interval_hours = 24
";

const RULES: &str = "
# Rules about robots, asked in their order after allow_robots and deny_robots: the
# first whose conditions all hold decides; behind the last comes redirect_purposes.
# All conditions are optional, each is a list of which one has to fit:
#   path       globs; without it: filter_pattern
#   methods    without it: redirect_methods, or all if the action is {of_any_method}
#   hosts      names that are asked for, with a port where only that one is meant
#   robots     ids, unlisted for all that no registry lists, nameless for no User-Agent;
#              the host of an unlisted robot whose signature holds, such as agent.example.com
#   purposes   words such as search, ai-training, seo, unknown
#   operators  names, in any case
#   sources    bundled, web-robots-db, manual, or the name of a [[source]]
#   visitors   listed, unlisted, nameless (no User-Agent, or an empty one); robots: all
#              three; shared (a User-Agent that stands for many people, such as that of
#              Amazon CloudFront); people: shared, as a person always passes; all.
#              Without it nameless and shared are not meant: by default they pass
#   verdicts   on who the robot says it is: verified, spoofed, unverifiable, pending
#   addresses  networks and addresses that requests come from; list:NAME for a [[list]]
#   asns, countries   of the address, as the files of [places] tell them
#   suspect    true: people whose request is not their browser's; reasons: one of these it has
# headers are given to the response: to the answer, where it redirects, refuses or slows
# down, else to that of the site or of heaven.
# action:
{actions}# A rule with verdicts may wait_milliseconds (to 10000) for one that is pending. One that
# lets robots pass and names no verdicts is not about those that only say they are these.
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
# X-Robots-Tag headers of responses, to robots and people alike: all that match are
# added. All conditions of a [[rule]] can be set, and are optional; without a path it
# is about every path.
#[[x_robots_tag]]
#path = [\"*.pdf\"]
#value = \"noindex, googlebot: max-snippet:50\"
";

const ROBOTS_TXT_HOSTS: &str = "
# Hosts with a robots.txt of their own, by the name (and port, where it is not the
# default) that visitors ask for; other names get that of [robots_txt]. Every key of
# [robots_txt] can be set here too; what is not set is as there. With a main_mirror
# the other names answer `Disallow: /` and name it in a Host line, so that robots
# take one of several names of the same site.
#[[robots_txt.host]]
#hosts = [\"example.com\", \"www.example.com\"]
#main_mirror = \"www.example.com\"
#serve = \"settings\"
#disallow = [\"/search\"]
";

const LICENSES: &str = "
# Terms for content, told as [licensing] says: those of several tables about one path are
# several licences of it. permits and prohibits: all, ai-all, ai-train, ai-input, ai-index,
# search. payment: free, attribution, contribution, crawl, training, use, purchase,
# subscription. Without tdm_reservation text and data mining is reserved, unless training is
# permitted for nothing or for attribution.
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
# Several sites in one process, by the host (and path) that visitors ask for; *.example.org
# is every name below it. All settings above are for all sites; a site may set those of
# filter, redirect, upstream (without `server.`), [heaven], [site_robot] and [robots_txt] for itself,
# and have rules and headers of its own, which come before the common ones. Other hosts
# get server.upstream, or 421 where there is none.
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
# Listeners with TLS, or behind a balancer that speaks the PROXY protocol (version 1
# or 2; only server.trusted_proxies may connect then). Where there are any, the
# default of server.listen does not count.
#[[listener]]
#listen = \"0.0.0.0:443\"
#tls = true
#proxy_protocol = false

# A listener may order its certificates by itself (ACME; in builds with the feature
# `acme`): one for each of the hosts, proven on this listener, which must be what the
# world reaches at port 443 of them, and renewed when a third of its time is left. You
# have to agree to the authority's terms of service. directory: \"letsencrypt\",
# \"staging\" (to try it with) or a URL; ca_file: what proves that URL's server, in PEM.
# cache holds account, keys and certificates; nobody else may read it.
#[[listener]]
#listen = \"[::]:443\"
#acme.hosts = [\"example.com\", \"www.example.com\"]
#acme.contact = [\"mailto:webmaster@example.com\"]
#acme.agree_to_terms = true
#acme.directory = \"letsencrypt\"
#acme.cache = \"acme\"
#acme.ca_file = \"\"

# Certificates of the listeners with TLS, in PEM; taken over when the files change. The
# name that a visitor asks for chooses; the first serves names that none has.
#[[certificate]]
#certificate_file = \"/etc/ssl/example.com/fullchain.pem\"
#key_file = \"/etc/ssl/example.com/privkey.pem\"
";

/// Returns the help of sources with the words of the formats.
fn sources() -> String {
    let formats: Vec<_> = Format::ALL.iter().map(|format| format.as_str()).collect();
    let formats = either(&formats);
    let help = format!("Any other, by its URL or file, also gzip. format: {formats}.");
    let mut lines = String::new();
    // As if the line were full, so that the first word begins one.
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

/// Returns the help of rules with that of the actions.
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

/// Returns words as "a, b or c".
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
    fn the_publisher_s_file_loads_with_what_it_suggests() {
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
    fn the_file_loads_as_it_is_and_with_every_default_uncommented() {
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
        for (key, found) in loaded.in_force() {
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
