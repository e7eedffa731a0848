//! Checks that all statements about the use of content agree.

use crate::assembly::{license_url, licensing, policy};
use crate::config::{Mode, RobotsTxtSource, Settings};
use crate::fetch::{Conditions, FetchLimits, FetchResponse, Fetcher};
use crate::licensing::Licensing;
use crate::policy::Policy;

use super::{
    agreement::{RuleWords, disagreements, rule_words, statements},
    check::{Check, ServedSite, Subject, sites},
};

/// Checks the statements of each site, and requests licences hosted on other servers.
pub(super) async fn licensing_checks(subject: &Subject<'_>, offline: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    for site in sites(subject.loaded) {
        // The check of the configuration reports wrong settings.
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
        let text = "robots.txt, headers and licences agree about the use of content";
        checks.push(Check::new(&*name, Ok(text.to_owned())));
    }
    checks.extend(warnings.into_iter().map(|text| Check::warning(&name, text)));
    checks
}

/// Returns warnings about statements that robots cannot find.
fn gaps(settings: &Settings, rules: &[RuleWords<'_>], licensing: &Licensing) -> Vec<String> {
    let mut gaps = Vec::new();
    let mut gap = |is_one: bool, text: String| gaps.extend(is_one.then_some(text));
    let section = &settings.licensing;
    let has_terms = !licensing.terms().is_empty();
    gap(
        has_terms && section.rsl.is_empty() && !section.tdmrep,
        "the terms of [[license]] are not published: set licensing.rsl or licensing.tdmrep"
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
            "robots.txt is not generated here: check that it has a License line with the URL of {rsl}"
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
        "the headers of rules are not sent: mode is report".to_owned(),
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

/// Returns `true` if a link, which may be a path, points to one of the licences.
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

/// Requests each licence hosted on another server.
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
                let text = format!("{url} cannot be read, but robots are referred to it: {error}");
                Check::warning(&site.label("licence"), text)
            }
        });
    }
    checks
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
    fn every_contradiction_is_reported() {
        for (text, expected) in [
            (
                format!("content_usage = 'train-ai=n'\n{RULE}headers = {{ 'Content-Usage' = 'train-ai=y' }}\n"),
                "robots_txt.content_usage says train-ai=n, but rule 1 with content-usage says train-ai=y",
            ),
            (
                format!("content_usage = 'search=y'\n{RULE}headers = {{ 'Content-Usage' = 'search=n' }}\n"),
                "robots_txt.content_usage says search=y, but rule 1 with content-usage says search=n",
            ),
            (
                "content_usage = 'train-ai=n'\ncontent_signal = 'ai-train=yes'\n".to_owned(),
                "but robots_txt.content_signal says ai-train=yes",
            ),
            (
                format!("content_usage = 'train-ai=n'\n{RULE}headers = {{ 'tdm-reservation' = '0' }}\n"),
                "but rule 1 with tdm-reservation says tdm-reservation 0",
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
    fn agreeing_statements_are_not_reported() {
        for text in [
            String::new(),
            format!("content_usage = ['train-ai=n, search=y', '/open/ train-ai=y']\ncontent_signal = 'ai-train=no, search=yes'\nrefuse_purposes = 'ai-training'\n\
                [licensing]\nrsl = '/l.xml'\ntdmrep = true\n[[license]]\npermits = 'search'\nprohibits = 'ai-train'\n\
                [[license]]\npath = '/open/*'\npermits = 'all'\n\
                {RULE}headers = {{ 'X-Robots-Tag' = 'noai', 'Link' = '</l.xml>; rel=license' }}\n\
                {}headers = {{ 'Content-Usage' = 'train-ai=y' }}\n", RULE.replace("/*", "/open/*")),
            // Sold rights are reserved rights.
            "content_usage = 'train-ai=n'\n[licensing]\ntdmrep = true\n[[license]]\npermits = 'ai-train'\npayment = 'training'\n".to_owned(),
        ] {
            let judged = judged(&format!("{SERVED}{text}"));
            assert_eq!(judged, (vec![], vec![]), "{text}");
        }
    }

    #[test]
    fn statements_that_robots_cannot_find_are_reported() {
        let terms = "[licensing]\nrsl = '/l.xml'\n[[license]]\nprohibits = 'ai-train'\n";
        let link = format!(
            "{SERVED}{RULE}headers = {{ Link = '<https://a.example/l>; rel=\"license\"' }}\n"
        );
        for (text, expected) in [
            (
                format!("{SERVED}[[license]]\nprohibits = 'ai-train'\n"),
                "not published",
            ),
            (terms.to_owned(), "robots.txt is not generated here"),
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
