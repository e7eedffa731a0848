use robot_detection::{app, config::Loader};

fn error_of(conditions: &str) -> String {
    let text = format!("[[rule]]\npath = '/*'\naction = 'refuse'\n{conditions}\n");
    let loaded = Loader::new().file("c.toml", &text).load();
    let built = loaded.and_then(|loaded| app::policy(&loaded).map(drop));
    built
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (conditions, told) in [
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
            "c.toml:4: rule.request_headers: \"a b\": it is no header",
        ),
        (
            "request_headers = []",
            "rule.request_headers: the list is empty",
        ),
        ("user_agents = ['a\\']", "it ends in a lone backslash"),
        ("user_agents = []", "rule.user_agents: the list is empty"),
        ("people = true", "rule.people: the rule is not about people"),
        (
            "visitors = 'robots'\npeople = true",
            "c.toml:5: rule.people",
        ),
        (
            "visitors = 'people'\noperators = 'Example'",
            "rule.operators: nobody operates people",
        ),
        (
            "visitors = 'person'\nverdicts = 'verified'",
            "rule.verdicts: whoever is no robot",
        ),
        (
            "visitors = 'people'\npurposes = 'search'",
            "rule.purposes: people have no purpose",
        ),
        ("visitors = 'peple'", "did you mean \"people\"?"),
        ("adresses = '192.0.2.1'", "did you mean \"addresses\"?"),
    ] {
        let error = error_of(conditions);
        assert!(error.contains(told), "{conditions}: {error}");
    }
}
