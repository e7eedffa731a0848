use robot_detection::{app, config::Loader};

fn error_of(conditions: &str) -> String {
    error_in(&format!(
        "[[rule]]\npath = '/*'\naction = 'refuse'\n{conditions}\n"
    ))
}

fn error_in(text: &str) -> String {
    let loaded = Loader::new().file("c.toml", text).load();
    let built = loaded.and_then(|loaded| {
        app::ServerSettings::new(&loaded, false)?;
        app::policy(&loaded).map(drop)
    });
    built
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

/// Invalid conditions of a rule, each with its error.
const CONDITIONS: &[(&str, &str)] = &[
    (
        "addresses = '192.0.2.0/33'",
        "c.toml:4: rule.addresses: \"192.0.2.0/33\" is neither",
    ),
    (
        "addresses = ['a.example']",
        "\"a.example\" is neither an address nor a network",
    ),
    ("addresses = []", "rule.addresses: the list is empty"),
    (
        "request_headers = ['a b']",
        "c.toml:4: rule.request_headers: \"a b\": not a header condition",
    ),
    (
        "request_headers = []",
        "rule.request_headers: the list is empty",
    ),
    ("user_agents = ['a\\']", "the pattern ends in a backslash"),
    ("user_agents = []", "rule.user_agents: the list is empty"),
    (
        "people = true",
        "rule.people: the rule does not apply to people",
    ),
    (
        "visitors = 'robots'\npeople = true",
        "c.toml:5: rule.people",
    ),
    (
        "visitors = 'people'\noperators = 'Example'",
        "rule.operators: human and nameless visitors have no operator",
    ),
    (
        "visitors = 'person'\nverdicts = 'verified'",
        "rule.verdicts: human and nameless visitors",
    ),
    (
        "visitors = 'people'\npurposes = 'search'",
        "rule.purposes: human visitors have no purpose",
    ),
    (
        "addresses = 'list:office'",
        "c.toml:4: rule.addresses: no [[list]] is named \"office\"; add one",
    ),
    ("addresses = 'list:'", "\"list:\" contains no name"),
    (
        "asns = [64496]",
        "c.toml:4: rule.asns: the condition needs a GeoIP database: set geoip.asn_file to a file such as \"GeoLite2-ASN.mmdb\"",
    ),
    (
        "countries = 'DE'",
        "c.toml:4: rule.countries: the condition needs a GeoIP database: set geoip.country_file",
    ),
    ("asns = 'AS64496'", "set geoip.asn_file"),
    ("asns = [0]", "rule.asns: 0 is not an autonomous system"),
    (
        "asns = [4294967296]",
        "4294967296 is not an autonomous system",
    ),
    ("asns = 'Example'", "\"Example\" is not a whole number"),
    (
        "asns = ['AS1', 2]",
        "a list must not mix strings and numbers",
    ),
    ("asns = true", "true is not a list of whole numbers"),
    ("visitors = 'peple'", "did you mean \"people\"?"),
    ("adresses = '192.0.2.1'", "did you mean \"addresses\"?"),
];

#[test]
fn invalid_conditions_are_reported_with_their_line() {
    for (conditions, told) in CONDITIONS {
        let error = error_of(conditions);
        assert!(error.contains(told), "{conditions}: {error}");
    }
}

/// Invalid configurations, each with its error.
const TABLES: &[(&str, &str)] = &[
    (
        "[[list]]\nname = 'a'",
        "c.toml:1: a [[list]] needs a name and a url",
    ),
    (
        "[[list]]\nurl = 'a.txt'\nname = ''",
        "c.toml:1: a [[list]] needs",
    ),
    (
        "[[list]]\nname = 'a'\nurl = 'ftp://u:s3cret@h/a'",
        "c.toml:3: list.url: cannot read ftp://u:***@h/a: unknown scheme ftp:",
    ),
    (
        "[[list]]\nname = 'a b'\nurl = 'a'",
        "c.toml:2: list.name: \"a b\" is not a valid name",
    ),
    (
        "[[list]]\nname = 'a'\nurl = 'a'\n[[list]]\nname = 'a'\nurl = 'b'",
        "c.toml:5: list.name: two lists are named \"a\"",
    ),
    (
        "[[list]]\nname = 'a'\nurl = 'a'\ninterval_hours = 0",
        "c.toml:4: list.interval_hours: 0 is not between 1 and 720",
    ),
    (
        "[[list]]\nname = 'office'\nurl = 'a'\n[[rule]]\npath = '/*'\naction = 'refuse'\naddresses = 'list:ofice'",
        "c.toml:7: rule.addresses: no [[list]] is named \"ofice\"; did you mean \"office\"?",
    ),
    (
        "[[x_robots_tag]]\nvalue = 'noindex'\ncountries = ['DE']",
        "c.toml:3: x_robots_tag.countries: the condition needs a GeoIP database: set geoip.country_file",
    ),
    (
        "[geoip]\ncountry_file = 'a.mmdb'\n[[rule]]\npath = '/*'\naction = 'refuse'\ncountries = ['Germany']",
        "rule.countries: \"Germany\": not a country code; write two letters, such as DE",
    ),
    (
        "[geoip]\nasn_file = 'a.mmdb'\n[[rule]]\npath = '/*'\naction = 'refuse'\nasns = []",
        "rule.asns: the list is empty",
    ),
    (
        "server.trusted_proxies = ['list:cdn']",
        "c.toml:1: server.trusted_proxies: no [[list]] is named \"cdn\"",
    ),
    (
        "server.trusted_proxies = ['cloudfare']",
        "c.toml:1: server.trusted_proxies: trusted proxy \"cloudfare\" is neither",
    ),
    (
        "server.trusted_proxies = ['x']",
        "also cloudflare, fastly, and list:NAME",
    ),
    (
        "server.client_address_header = 'a b'",
        "c.toml:1: server.client_address_header: \"a b\" is not a header name",
    ),
];

#[test]
fn invalid_lists_files_and_proxies_are_reported_with_their_line() {
    for (text, told) in TABLES {
        let error = error_in(text);
        assert!(error.contains(told), "{text}: {error}");
    }
}
