//! Checks that all that is said of the use of content says the same.

use crate::assembly::{license_url, licensing, policy};
use crate::config::{Mode, RobotsTxtSource, Settings, WhenSettings};
use crate::fetch::{Conditions, FetchLimits, FetchResponse, Fetcher};
use crate::licensing::{Licensing, TDMREP_PATH, Terms, Usage};
use crate::policy::{Policy, ResponseHeaders};
use crate::registry::Purpose;
use crate::robots_file::split_usage;

use super::{
    check::Check,
    run::Subject,
    sites::{ServedSite, sites},
};

/// One thing that is said of a use of content.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Statement {
    about: Topic,
    /// Who says it, and where.
    who: String,
    /// What is said, as it stands there.
    words: String,
    allows: bool,
}

/// Use of content.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Topic {
    Training,
    Search,
}

/// What a rule says in its headers, and for what is below which paths.
struct RuleWords<'r> {
    label: &'r str,
    headers: &'r ResponseHeaders,
    prefixes: Vec<String>,
}

/// Checks each site, and asks the licences that other servers have.
pub(super) async fn licensing_checks(subject: &Subject<'_>, offline: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    for site in sites(subject.loaded) {
        // What is wrong with the settings the check of the configuration reports.
        let (Ok(policy), Ok(licensing)) = (policy(&site.loaded), licensing(&site.loaded)) else {
            continue;
        };
        checks.extend(of_site(&site, &policy, &licensing));
        if !offline {
            checks.extend(licences(&site, &policy).await);
        }
    }
    checks
}

fn of_site(site: &ServedSite, policy: &Policy, licensing: &Licensing) -> Vec<Check> {
    let name = site.label("licensing");
    let settings = site.loaded.settings();
    let rules = rule_words(settings, policy);
    let found = disagreements(settings, &rules, licensing);
    let mut checks: Vec<_> = found
        .into_iter()
        .map(|text| Check::new(&*name, Err(text)))
        .collect();
    let warnings = gaps(settings, &rules, licensing);
    let says_anything = statements(settings, &rules, licensing, "/")
        .next()
        .is_some();
    if checks.is_empty() && warnings.is_empty() && says_anything {
        let text = "robots.txt, headers and licences say the same of the use of content";
        checks.push(Check::new(&*name, Ok(text.to_owned())));
    }
    checks.extend(warnings.into_iter().map(|text| Check::warning(&name, text)));
    checks
}

/// Returns what contradicts something that is said before it.
fn disagreements(
    settings: &Settings,
    rules: &[RuleWords<'_>],
    licensing: &Licensing,
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for location in locations(settings, rules, licensing) {
        let all: Vec<_> = statements(settings, rules, licensing, &location).collect();
        for topic in [Topic::Training, Topic::Search] {
            let mut said = all.iter().filter(|statement| statement.about == topic);
            let Some(first) = said.next() else {
                continue;
            };
            for other in said.filter(|other| other.allows != first.allows) {
                let text = format!(
                    "{} says {}, but {} says {}: let both say the same",
                    first.who, first.words, other.who, other.words
                );
                if !found.contains(&text) {
                    found.push(text);
                }
            }
        }
    }
    found
}

/// Returns the paths of which something of its own is said.
fn locations(settings: &Settings, rules: &[RuleWords<'_>], licensing: &Licensing) -> Vec<String> {
    let usages = settings.robots_txt.content_usage.iter();
    let usages = usages.map(|line| split_usage(line).0);
    let licensed = licensing.terms().iter().flat_map(Terms::about);
    let of_rules = rules.iter().flat_map(|rule| &rule.prefixes);
    let mut all: Vec<String> = ["/"]
        .into_iter()
        .chain(usages.filter(|path| !path.is_empty()))
        .chain(licensed)
        .chain(of_rules.map(String::as_str))
        .map(|path| path.trim_end_matches(['*', '$']).to_owned())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns everything that is said of what is below a path.
fn statements(
    settings: &Settings,
    rules: &[RuleWords<'_>],
    licensing: &Licensing,
    location: &str,
) -> impl Iterator<Item = Statement> {
    let mut all = of_robots_txt(settings, location);
    for rule in rules {
        if rule
            .prefixes
            .iter()
            .any(|prefix| location.starts_with(prefix.as_str()))
        {
            all.extend(of_headers(rule));
        }
    }
    all.extend(of_terms(licensing, settings.licensing.tdmrep, location));
    all.into_iter()
}

fn of_robots_txt(settings: &Settings, location: &str) -> Vec<Statement> {
    let robots_txt = &settings.robots_txt;
    let lines = robots_txt
        .content_usage
        .iter()
        .map(|line| split_usage(line));
    let above = lines.filter(|(path, _)| location.starts_with(path.trim_end_matches(['*', '$'])));
    let mut all = Vec::new();
    if let Some((path, list)) = above.max_by_key(|(path, _)| path.len()) {
        let of = if path.is_empty() {
            String::new()
        } else {
            format!(" for {path}")
        };
        all.extend(members(&format!("robots_txt.content_usage{of}"), list));
    }
    // It has no paths: a line of usage below one may well say something else.
    if location == "/" {
        all.extend(members(
            "robots_txt.content_signal",
            &robots_txt.content_signal,
        ));
    }
    if robots_txt.refuse_purposes.contains(&Purpose::AiTraining) && all.is_empty() {
        all.push(Statement {
            about: Topic::Training,
            who: "robots_txt.refuse_purposes".to_owned(),
            words: "that robots of ai-training get nothing".to_owned(),
            allows: false,
        });
    }
    all
}

fn of_headers(rule: &RuleWords<'_>) -> Vec<Statement> {
    let mut all = Vec::new();
    for (name, value) in rule.headers.iter() {
        let who = format!("{} by {name}", rule.label);
        let value = value.to_str().unwrap_or_default();
        match name.as_str() {
            "content-usage" => all.extend(members(&who, value)),
            "tdm-reservation" => all.push(reservation(who, value.trim() == "1")),
            _ => {}
        }
    }
    all
}

fn of_terms(licensing: &Licensing, has_tdmrep: bool, location: &str) -> Vec<Statement> {
    let about = |terms: &&Terms| terms.about().filter_map(|path| below(path, location)).max();
    let longest = licensing
        .terms()
        .iter()
        .filter_map(|terms| about(&terms))
        .max();
    let terms = licensing
        .terms()
        .iter()
        .filter(|terms| about(terms) == longest);
    let terms: Vec<_> = terms.filter(|_| longest.is_some()).collect();
    let mut all = Vec::new();
    if has_tdmrep && !terms.is_empty() {
        let is_reserved = terms.iter().any(|terms| terms.is_reserved());
        all.push(reservation(TDMREP_PATH.to_owned(), is_reserved));
    }
    let mut say = |about, verb: &str, usage: Usage, allows| {
        all.push(Statement {
            about,
            who: "[[license]]".to_owned(),
            words: format!("{verb} = {:?}", usage.as_str()),
            allows,
        });
    };
    // Of several licences one may sell what another one prohibits.
    if terms.iter().any(|terms| terms.gives_training_away()) {
        say(Topic::Training, "permits", Usage::AiTrain, true);
    } else if terms.iter().any(|terms| terms.prohibits_training()) {
        say(Topic::Training, "prohibits", Usage::AiTrain, false);
    }
    if terms.iter().any(|terms| terms.permits_search()) {
        say(Topic::Search, "permits", Usage::Search, true);
    } else if terms.iter().any(|terms| terms.prohibits_search()) {
        say(Topic::Search, "prohibits", Usage::Search, false);
    }
    all
}

/// Returns the length of a path that a location is below.
fn below(path: &str, location: &str) -> Option<usize> {
    let start = path.trim_end_matches(['*', '$']);
    location.starts_with(start).then_some(start.len())
}

fn reservation(who: String, is_reserved: bool) -> Statement {
    Statement {
        about: Topic::Training,
        who,
        words: format!("tdm-reservation {}", u8::from(is_reserved)),
        allows: !is_reserved,
    }
}

/// Reads a list such as `train-ai=n, search=y`.
fn members(who: &str, list: &str) -> Vec<Statement> {
    let members = list.split(',').filter_map(|member| {
        let (name, value) = member.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let about = match name {
            "train-ai" | "ai-train" => Topic::Training,
            "search" => Topic::Search,
            _ => return None,
        };
        Some(Statement {
            about,
            who: who.to_owned(),
            words: format!("{name}={value}"),
            allows: matches!(value, "y" | "yes"),
        })
    });
    members.collect()
}

/// Returns what is missing for robots to find out what is said.
fn gaps(settings: &Settings, rules: &[RuleWords<'_>], licensing: &Licensing) -> Vec<String> {
    let mut gaps = Vec::new();
    let mut gap = |is_one: bool, text: String| gaps.extend(is_one.then_some(text));
    let section = &settings.licensing;
    let has_terms = !licensing.terms().is_empty();
    gap(
        has_terms && section.rsl.is_empty() && !section.tdmrep,
        "the terms of [[license]] are told nowhere: set licensing.rsl or licensing.tdmrep"
            .to_owned(),
    );
    let is_ours = matches!(
        settings.robots_txt.serve,
        RobotsTxtSource::Settings | RobotsTxtSource::Merge
    );
    let rsl = &section.rsl;
    gap(
        !rsl.is_empty() && !is_ours,
        format!(
            "robots.txt is not made here: see that it has a License line with the URL of {rsl}"
        ),
    );
    gap(
        !rsl.is_empty() && is_ours && settings.server.hosts.is_empty(),
        format!("robots.txt cannot name {rsl} without a host: set server.hosts"),
    );
    let named = named(settings);
    for (label, url) in links(rules) {
        gap(
            is_ours && !is_named(&url, &named),
            format!(
                "{label} links to the licence {url}, which robots.txt does not name: add it to robots_txt.license"
            ),
        );
    }
    let gives = rules.iter().any(|rule| !rule.prefixes.is_empty());
    gap(
        gives && settings.general.mode == Mode::Report,
        "the headers of rules are not given: mode is report".to_owned(),
    );
    gaps
}

/// Returns the licences that robots.txt names.
fn named(settings: &Settings) -> Vec<String> {
    let host = settings.server.hosts.first();
    let own = host.and_then(|host| license_url(settings, host));
    let licenses = settings.robots_txt.license.iter().cloned();
    licenses.chain(own).collect()
}

/// Returns `true` if a link, which may be a path, leads to one of the licences.
fn is_named(link: &str, named: &[String]) -> bool {
    let path_of = |url: &str| {
        let (_, rest) = url.split_once("://")?;
        let (_, path) = rest.split_once('/')?;
        Some(format!("/{path}"))
    };
    let mut named = named.iter();
    named.any(|url| url == link || path_of(url).is_some_and(|path| path == link))
}

/// Returns the targets of the rules' links to licences, each with its rule.
fn links<'r>(rules: &[RuleWords<'r>]) -> Vec<(&'r str, String)> {
    let lines = rules.iter().flat_map(|rule| {
        let lines = rule.headers.iter().filter(|(name, _)| *name == "link");
        lines.map(|(_, value)| (rule.label, value.to_str().unwrap_or_default()))
    });
    let links = lines.filter_map(|(label, value)| {
        let (target, parameters) = value.strip_prefix('<')?.split_once('>')?;
        let parameters = parameters.to_ascii_lowercase().replace(['"', ' '], "");
        let mut parameters = parameters.split([';', ',']);
        parameters
            .any(|it| it == "rel=license")
            .then(|| (label, target.to_owned()))
    });
    links.collect()
}

/// Asks for each licence of another server.
async fn licences(site: &ServedSite, policy: &Policy) -> Vec<Check> {
    let settings = site.loaded.settings();
    let rules = rule_words(settings, policy);
    let own = settings
        .server
        .hosts
        .iter()
        .filter_map(|host| license_url(settings, host));
    let own: Vec<_> = own.collect();
    let linked = links(&rules).into_iter().map(|(_, url)| url);
    let mut urls: Vec<_> = named(settings).into_iter().chain(linked).collect();
    urls.retain(|url| !url.starts_with('/') && !own.contains(url));
    urls.sort_unstable();
    urls.dedup();
    let Ok(fetcher) = Fetcher::new(FetchLimits::default()) else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    for url in urls {
        let answer = fetcher
            .fetch(&url, &Conditions::default(), &|_, _| {})
            .await;
        checks.push(match answer {
            Ok(FetchResponse::Body { .. } | FetchResponse::NotModified) => {
                Check::new(site.label("licence"), Ok(format!("{url} answers")))
            }
            Err(error) => {
                let text = format!("{url} cannot be read, and robots are sent there: {error}");
                Check::warning(&site.label("licence"), text)
            }
        });
    }
    checks
}

fn rule_words<'r>(settings: &Settings, policy: &'r Policy) -> Vec<RuleWords<'r>> {
    let rules = policy.rules().zip(&settings.tables.rules);
    let words = rules.filter_map(|(rule, settings)| {
        Some(RuleWords {
            label: rule.label(),
            headers: rule.response_headers()?,
            prefixes: prefixes(&settings.when),
        })
    });
    words.collect()
}

/// Returns what the paths of a rule begin with.
fn prefixes(when: &WhenSettings) -> Vec<String> {
    let paths = when.paths.iter().flatten();
    let rooted = paths.filter(|path| path.starts_with('/'));
    let starts = rooted.map(|path| path.split('*').next().unwrap_or_default());
    starts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn judged(text: &str) -> (Vec<String>, Vec<String>) {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        let (policy, licensing) = (policy(&loaded).unwrap(), licensing(&loaded).unwrap());
        let settings = loaded.settings();
        let rules = rule_words(settings, &policy);
        (
            disagreements(settings, &rules, &licensing),
            gaps(settings, &rules, &licensing),
        )
    }

    const SERVED: &str = "[server]\nhosts = 'www.example.com'\n[robots_txt]\nserve = 'settings'\n";
    const RULE: &str = "[[rule]]\npath = '/*'\nvisitors = 'all'\naction = 'pass'\n";

    #[test]
    fn each_disagreement_is_found() {
        for (text, expected) in [
            (
                format!("content_usage = 'train-ai=n'\n{RULE}headers = {{ 'Content-Usage' = 'train-ai=y' }}\n"),
                "robots_txt.content_usage says train-ai=n, but rule 1 by content-usage says train-ai=y",
            ),
            (
                format!("content_usage = 'search=y'\n{RULE}headers = {{ 'Content-Usage' = 'search=n' }}\n"),
                "robots_txt.content_usage says search=y, but rule 1 by content-usage says search=n",
            ),
            (
                "content_usage = 'train-ai=n'\ncontent_signal = 'ai-train=yes'\n".to_owned(),
                "but robots_txt.content_signal says ai-train=yes",
            ),
            (
                format!("content_usage = 'train-ai=n'\n{RULE}headers = {{ 'tdm-reservation' = '0' }}\n"),
                "but rule 1 by tdm-reservation says tdm-reservation 0",
            ),
            (
                "content_usage = 'train-ai=n'\n[licensing]\ntdmrep = true\n[[license]]\npermits = 'search'\ntdm_reservation = false\n".to_owned(),
                "but /.well-known/tdmrep.json says tdm-reservation 0",
            ),
            (
                "content_usage = 'train-ai=y'\n[licensing]\nrsl = '/l.xml'\n[[license]]\nprohibits = 'ai-all'\n".to_owned(),
                "but [[license]] says prohibits = \"ai-train\"",
            ),
            (
                "content_usage = 'train-ai=n'\n[licensing]\nrsl = '/l.xml'\n[[license]]\npermits = 'all'\npayment = 'attribution'\n".to_owned(),
                "but [[license]] says permits = \"ai-train\"",
            ),
            (
                "content_usage = 'search=n'\n[licensing]\nrsl = '/l.xml'\n[[license]]\npermits = 'search'\nprohibits = 'ai-train'\n".to_owned(),
                "but [[license]] says permits = \"search\"",
            ),
            (
                "refuse_purposes = 'ai-training'\n[licensing]\nrsl = '/l.xml'\n[[license]]\npermits = 'ai-train'\n".to_owned(),
                "robots_txt.refuse_purposes says that robots of ai-training get nothing, but [[license]]",
            ),
            (
                format!("content_usage = ['train-ai=n', '/open/ train-ai=y']\n{}headers = {{ 'Content-Usage' = 'train-ai=n' }}\n", RULE.replace("/*", "/open/*")),
                "robots_txt.content_usage for /open/ says train-ai=y, but rule 1",
            ),
        ] {
            let (found, _) = judged(&format!("{SERVED}{text}"));
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn what_agrees_is_not_told() {
        for text in [
            String::new(),
            format!("content_usage = ['train-ai=n, search=y', '/open/ train-ai=y']\ncontent_signal = 'ai-train=no, search=yes'\nrefuse_purposes = 'ai-training'\n\
                [licensing]\nrsl = '/l.xml'\ntdmrep = true\n[[license]]\npermits = 'search'\nprohibits = 'ai-train'\n\
                [[license]]\npath = '/open/*'\npermits = 'all'\n\
                {RULE}headers = {{ 'X-Robots-Tag' = 'noai', 'Link' = '</l.xml>; rel=license' }}\n\
                {}headers = {{ 'Content-Usage' = 'train-ai=y' }}\n", RULE.replace("/*", "/open/*")),
            // What is sold is reserved.
            "content_usage = 'train-ai=n'\n[licensing]\ntdmrep = true\n[[license]]\npermits = 'ai-train'\npayment = 'training'\n".to_owned(),
        ] {
            let judged = judged(&format!("{SERVED}{text}"));
            assert_eq!(judged, (vec![], vec![]), "{text}");
        }
    }

    #[test]
    fn what_robots_cannot_find_is_told() {
        let terms = "[licensing]\nrsl = '/l.xml'\n[[license]]\nprohibits = 'ai-train'\n";
        let link = format!(
            "{SERVED}{RULE}headers = {{ Link = '<https://a.example/l>; rel=\"license\"' }}\n"
        );
        for (text, expected) in [
            (
                format!("{SERVED}[[license]]\nprohibits = 'ai-train'\n"),
                "told nowhere",
            ),
            (terms.to_owned(), "robots.txt is not made here"),
            (
                format!("[robots_txt]\nserve = 'settings'\n{terms}"),
                "set server.hosts",
            ),
            (
                link,
                "rule 1 links to the licence https://a.example/l, which robots.txt does not name",
            ),
            (
                format!("mode = 'report'\n{RULE}headers = {{ 'X-Robots-Tag' = 'noai' }}\n"),
                "mode is report",
            ),
        ] {
            let (_, gaps) = judged(&text);
            assert_eq!(gaps.len(), 1, "{text}: {gaps:?}");
            assert!(gaps[0].contains(expected), "{expected}: {gaps:?}");
        }
    }
}
