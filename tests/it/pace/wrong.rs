use robot_detection::{app, config::Loader};

fn error_of(action: &str, more: &str) -> String {
    let text = format!("[[rule]]\npath = '/*'\naction = '{action}'\n{more}\n");
    let loaded = Loader::new().file("c.toml", &text).load();
    let built = loaded.and_then(|loaded| app::policy(&loaded).map(drop));
    built
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn invalid_paces_are_reported_with_their_line() {
    for (action, more, told) in [
        (
            "slow",
            "requests = 1\nper = 'adress'",
            "c.toml:5: rule.per: \"adress\" is not a valid rate limit key; did you mean \"address\"?",
        ),
        (
            "refuse",
            "per = 'address'",
            "c.toml:4: rule.per: the action refuse does not use this key",
        ),
        (
            "slow",
            "requests = 1\nerrors = 20",
            "c.toml:5: rule.errors: a rule counts either requests or errors; write a rule for each",
        ),
        (
            "refuse",
            "when = { requests_per_second = 5 }",
            "c.toml:4: rule.when.requests_per_second: the action refuse does not use this key",
        ),
        (
            "slow",
            "requests = 1\nwhen = { requests_per_secnd = 5 }",
            "did you mean \"when.requests_per_second\"?",
        ),
        (
            "slow",
            "requests = 1\nwhen.upstream_milliseconds = 0",
            "c.toml:5: rule.when.upstream_milliseconds: 0 is not between",
        ),
        (
            "slow",
            "errors = 0",
            "c.toml:4: rule.errors: 0 is not between",
        ),
        (
            "pass",
            "errors = 20",
            "c.toml:4: rule.errors: the action pass does not use this key",
        ),
        (
            "slow",
            "per = 'site'",
            "c.toml:1: rule.requests: set the number",
        ),
    ] {
        let error = error_of(action, more);
        assert!(error.contains(told), "{more}: {error}");
    }
}
