//! Tests of errors and precedence in the configuration.

use std::path::Path;

use super::*;

fn errors(text: &str) -> Vec<String> {
    match Loader::new().file("c.toml", text).load() {
        Ok(_) => Vec::new(),
        Err(ConfigErrors(errors)) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// Returns the cases of a text with one `input => expected` per line, in which `\n` is a newline.
pub(crate) fn cases(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.trim().lines().map(|line| {
        let (input, expected) = line.trim_start().split_once(" => ").unwrap();
        let input: &str = input.replace("\\n", "\n").leak();
        (input, expected)
    })
}

#[test]
fn flags_override_environment_overrides_file_overrides_defaults() {
    let load = |flag: Option<&str>, variable: Option<&str>| {
        Loader::new()
            .file("c.toml", "[server]\nlisten = '127.0.0.1:1'")
            .environment(
                variable.map(|v| ("ROBOT_DETECTION_SERVER_LISTEN".to_owned(), v.to_owned())),
            )
            .flag(
                &ServerSection::KEY.listen,
                "--listen",
                flag.map(str::to_owned),
            )
            .load()
            .unwrap()
    };
    for (flag, variable, listen, origin) in [
        (None, None, "127.0.0.1:1", "c.toml:2"),
        (
            None,
            Some("127.0.0.1:2"),
            "127.0.0.1:2",
            "environment variable ROBOT_DETECTION_SERVER_LISTEN",
        ),
        (
            Some("127.0.0.1:3"),
            Some("127.0.0.1:2"),
            "127.0.0.1:3",
            "--listen",
        ),
    ] {
        let loaded = load(flag, variable);
        assert_eq!(loaded.settings().server.listen, [listen.parse().unwrap()]);
        assert_eq!(loaded.origin(&ServerSection::KEY.listen), origin);
        assert_eq!(loaded.origin(&GeneralSection::KEY.redirect_url), "default");
    }
}

#[test]
fn original_names_are_accepted() {
    let loaded = Loader::new()
        .file(
            "c.toml",
            "WebRobotsDB = 'db.txt'\nFilterPattern = '/a/*, /b/*'\nRedirectURL = '/h/'\nRefreshIntervalDays = 7",
        )
        .load()
        .unwrap();
    let settings = loaded.settings();
    assert_eq!(&*settings.general.web_robots_db, "db.txt");
    assert_eq!(settings.general.filter_patterns, ["/a/*", "/b/*"]);
    assert_eq!(settings.general.redirect_url, "/h/");
    assert_eq!(settings.general.refresh_interval_days, 7);
}

#[test]
fn list_and_string_with_commas_are_equal() {
    let patterns = |text| {
        Loader::new()
            .file("c", text)
            .load()
            .unwrap()
            .settings()
            .general
            .filter_patterns
            .clone()
    };
    assert_eq!(patterns("filter_pattern = ' /a/* ,, /b '"), ["/a/*", "/b"]);
    assert_eq!(patterns("filter_pattern = ['/a/*', '/b']"), ["/a/*", "/b"]);
    assert!(patterns("filter_pattern = ''").is_empty());
}

#[test]
fn errors_contain_line_and_suggestion() {
    for (text, expected) in cases(
        r#"
        \nfilter_patern = '/x' => c.toml:2: unknown key "filter_patern"; did you mean "filter_pattern"?
        [server]\nlissten = 'x' => c.toml:2: unknown key "server.lissten"; did you mean "server.listen"?
        [server]\nfilter_pattern = '/x' => c.toml:2: unknown key "server.filter_pattern"; move filter_pattern above the first table, out of [server]
        [serverr]\nlisten = 'x' => c.toml:1: unknown key "serverr"
        refresh_interval_days = 0 => c.toml:1: refresh_interval_days: 0 is not between 1 and 3650
        refresh_interval_days = '30' => c.toml:1: refresh_interval_days: "30" is not a whole number
        filter_pattern = [1] => c.toml:1: filter_pattern: a list must contain strings, not integer values
        [[rule]]\nasns = ['AS1', 2] => c.toml:2: rule.asns: a list must not mix strings and numbers
        redirect_url = 2026-01-01 => c.toml:1: redirect_url: no setting accepts a datetime value
        a = 'x => c.toml:1:
        [[source]]\nurl = 'x' => c.toml:1: a [[source]] needs a name and a url
        [[source]]\nname='a'\nurl='x'\nfromat='list' => c.toml:4: unknown key "fromat" in [[source]]; did you mean "format"?
        [[source]]\nname='a'\nurl='x'\ninterval_days=0 => c.toml:4: source.interval_days: 0 is not between 1 and 3650
        [[source]]\npreset='crawler-useragents' => c.toml:2: source.preset: "crawler-useragents" is not a valid preset of a [[source]]; did you mean "crawler-user-agents"?
        source = 1 => c.toml:1: unknown key "source"
        [[rule]]\naction='pass'\nverdicts=['verified']\nwait_milliseconds=10001 => c.toml:4: rule.wait_milliseconds: 10001 is not between 1 and 10000
        "#,
    ) {
        first_error(text, expected);
    }
}

fn first_error(text: &str, expected: &str) {
    let found = errors(text);
    assert!(
        found
            .first()
            .is_some_and(|error| error.starts_with(expected)),
        "{text:?}: {found:?}"
    );
}

#[test]
fn errors_in_robots_txt_hosts_are_reported() {
    for (text, expected) in [
        (
            "[[robots_txt.host]]\nserve = 'file'",
            "c.toml:1: a [[robots_txt.host]] needs hosts",
        ),
        (
            "[[robots_txt.host]]\nhosts = 'a'\nmain_miror = 'b'",
            "c.toml:3: unknown key \"main_miror\" in [[robots_txt.host]]; did you mean \"main_mirror\"?",
        ),
        (
            "[robots_txt.host]\nhosts = 'a'",
            "c.toml:1: unknown key \"robots_txt.host\"; to write an array of tables, use [[robots_txt.host]]",
        ),
        (
            "[robots_txt]\nserv = 'file'",
            "c.toml:2: unknown key \"robots_txt.serv\"; did you mean \"robots_txt.serve\"?",
        ),
    ] {
        first_error(text, expected);
    }
}

#[test]
fn all_errors_are_reported_together() {
    assert_eq!(errors("a = 1\nb = 2\nredirect_status = 900").len(), 3);
}

#[test]
fn unknown_variable_with_our_prefix_is_refused() {
    let error = Loader::new()
        .environment([("ROBOT_DETECTION_REDIRECT_URI".to_owned(), "/x".to_owned())])
        .load()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "environment variable ROBOT_DETECTION_REDIRECT_URI: no setting has this name; \
         did you mean ROBOT_DETECTION_REDIRECT_URL?"
    );
}

#[test]
fn repeatable_tables_have_no_variable() {
    let error = Loader::new()
        .environment([("ROBOT_DETECTION_ROBOTS_TXT_HOST".to_owned(), "x".to_owned())])
        .load()
        .unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("[[robots_txt.host]] cannot be set by an environment variable"),
        "{error}"
    );
}

#[test]
fn no_two_keys_share_a_variable() {
    let mut variables = KEYS.iter().map(Key::variable).collect::<Vec<_>>();
    variables.sort();
    variables.dedup();
    assert_eq!(variables.len(), KEYS.len());
}

#[test]
fn listeners_and_certificates_are_kept_and_named_if_they_differ() {
    let listener = "[[listener]]\nlisten = '127.0.0.1:1'\nacme = { hosts = 'a.example', agree_to_terms = true }\n";
    let certificate = "[[certificate]]\ncertificate_file = 'a.pem'\nkey_file = 'a.key'\n";
    let load = |text: &str| Loader::new().file("f", text).load().unwrap();
    let running = load(&format!("{listener}{certificate}"));
    let mut moved = load(&format!("# Moved.\n{certificate}{listener}"));
    assert_eq!(moved.keep(&running, |_| false), Vec::<&str>::new());
    for (text, expected) in [
        (
            listener.replace("a.example", "b.example") + certificate,
            "[[listener]]",
        ),
        (
            format!("{listener}{}", certificate.replace("a.key", "b.key")),
            "[[certificate]]",
        ),
    ] {
        let mut wanted = load(&text);
        assert_eq!(wanted.keep(&running, |_| false), [expected]);
        assert_eq!(
            wanted.settings().tables.listeners,
            running.settings().tables.listeners
        );
        assert_eq!(
            wanted.settings().tables.certificates,
            running.settings().tables.certificates
        );
    }
}

#[test]
fn preset_fills_in_unset_keys() {
    let text = "[[source]]\npreset = 'crawler-user-agents'\n\
        [[source]]\nurl = '/srv/robots.json.gz'\ninterval_days = 1\npreset = 'ai-robots-txt'\nname = 'ours'";
    let loaded = Loader::new().file("c.toml", text).load().unwrap();
    let sources = &loaded.settings().tables.sources;
    let told: Vec<_> = sources
        .iter()
        .map(|source| {
            let days = source.interval_days.unwrap();
            (source.name.as_str(), source.format.unwrap().as_str(), days)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("crawler-user-agents", "crawler-user-agents", 7),
            ("ours", "ai-robots-txt", 1),
        ]
    );
    assert!(sources[0].url.ends_with("/crawler-user-agents.json"));
    assert_eq!(sources[1].url, "/srv/robots.json.gz");
}

#[test]
fn every_default_has_the_type_of_its_field() {
    let settings = Loader::new().load().unwrap().settings().clone();
    assert_eq!(settings.general.filter_patterns, ["/members-only-stuff/*"]);
    assert_eq!(settings.general.redirect_url, "/robot-heaven/");
    assert_eq!(settings.general.refresh_interval_days, 30);
    assert_eq!(settings.general.redirect_methods, ["GET", "HEAD"]);
    assert_eq!(settings.server.connect_timeout.as_secs(), 5);
    for key in KEYS {
        let value = Value::parse(key.kind, key.default).unwrap();
        assert_eq!(Settings::default().set(key, &value), Ok(()), "{}", key.name);
    }
    let parts = (WhenSettings::default(), AcmeTable::default());
    assert!(parts.0.paths.is_none() && parts.1.hosts.is_empty());
}

#[test]
fn included_files_are_merged() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("conf.d")).unwrap();
    let file = directory.path().join("main.toml").display().to_string();
    let load = |main: &str, included: &[(&str, &str)]| {
        for (name, text) in included {
            std::fs::write(directory.path().join("conf.d").join(name), text).unwrap();
        }
        let loaded = Loader::new().file(&file, main).load();
        loaded.map_err(|ConfigErrors(errors)| {
            let errors = errors.iter().map(ToString::to_string);
            let errors =
                errors.map(|error| error.replace(&directory.path().display().to_string(), ""));
            errors.collect::<Vec<_>>()
        })
    };
    let shop =
        "[[site]]\nname = 'shop'\nhosts = ['a.example']\n[[rule]]\nname = 'b'\naction = 'pass'";
    let both: &[_] = &[("b.toml", shop), ("a.toml", "filter_pattern = '/a/*'")];
    let main = "include = 'conf.d/*.toml'\n[[rule]]\nname = 'a'\naction = 'pass'";
    let loaded = load(
        main,
        &[both, &[(".c.toml", "nonsense"), ("c.bak", "nonsense")]].concat(),
    )
    .unwrap();
    assert_eq!(loaded.settings().general.filter_patterns, ["/a/*"]);
    let names = loaded
        .settings()
        .tables
        .rules
        .iter()
        .map(|rule| rule.name.clone());
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(loaded.sites().len(), 1);
    let origin = loaded.origin(&GeneralSection::KEY.filter_patterns);
    assert!(origin.ends_with("conf.d/a.toml:1"), "{origin}");
    assert_eq!(Includes::parse(main).present(Path::new(&file)).len(), 2);

    let twice =
        "include = 'conf.d/*.toml'\nfilter_pattern = '/c/*'\n[[rule]]\nname = 'b'\naction = 'pass'";
    assert_eq!(
        load(twice, &[]).unwrap_err(),
        [
            "/conf.d/a.toml:1: filter_pattern: the key is also set by /main.toml:2; remove one of them",
            "/conf.d/b.toml:5: rule.name: /main.toml:4 has the same name; rename one of them",
        ]
    );
    for (main, included, error) in [
        (
            "include = 'none.toml'",
            both,
            "/none.toml:1: cannot read the included file: No such file or directory (os error 2)",
        ),
        (
            "include = 'none/*.toml'",
            both,
            "/main.toml:1: include: \"none/*.toml\": cannot list /none: No such file or directory (os error 2)",
        ),
        (
            "include = '*/*.toml'",
            both,
            "/main.toml:1: include: \"*/*.toml\": only one * is allowed, and only in the file name",
        ),
        (
            main,
            &[("a.toml", "\ninclude = 'b.toml'")],
            "/conf.d/a.toml:2: include: an included file must not include other files",
        ),
        (
            main,
            &[("a.toml", "x = 1")],
            "/conf.d/a.toml:1: unknown key \"x\"; `robot-detection init --stdout` prints all keys",
        ),
    ] {
        assert_eq!(load(main, included).unwrap_err(), [error]);
    }
}

#[test]
fn secrets_are_read_from_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (token, url) = (path("token", "abc def\r\n"), path("url", "sqlite://b.db\n"));
    let webhook = path("webhook", "https://hooks.example/secret-part\n");
    let text = format!(
        "[check]\ntoken_file = '{token}'\n[[alert]]\nname = 'a'\nurl_file = '{webhook}'\non = 'refresh'"
    );
    let variable = ("ROBOT_DETECTION_DATABASE_URL_FILE".to_owned(), url);
    let loaded = Loader::new()
        .file("c.toml", &text)
        .environment([variable])
        .load()
        .unwrap();
    assert_eq!(
        loaded.settings().check.token.as_ref().unwrap().bytes(),
        b"abc def"
    );
    assert_eq!(&*loaded.settings().database.url, "sqlite://b.db");
    assert_eq!(loaded.settings().tables.alerts.len(), 1);
    let (long, empty) = (path("long", &"x".repeat(70_000)), path("empty", "\n"));
    for (line, error) in [
        (
            "token_file = '/nowhere/a'",
            "cannot read the file /nowhere/a: No such file or directory (os error 2)",
        ),
        (
            &*format!("token_file = '{long}'"),
            &*format!("the file {long} is longer than 65536 bytes"),
        ),
        (
            &*format!("token_file = '{empty}'"),
            &*format!("the file {empty} is empty; write the secret into it"),
        ),
        (
            "token_file = 'credential:../a'",
            "\"../a\" is not a credential name; write credential:NAME, with the NAME from LoadCredential=NAME:PATH",
        ),
        ("token_file = 1", "the file path must be a string in quotes"),
    ] {
        let expected = format!("c.toml:2: check.token_file: {error}");
        assert_eq!(errors(&format!("[check]\n{line}")), [expected]);
    }
    assert_eq!(
        errors(&format!("[check]\ntoken = 'a'\ntoken_file = '{token}'")),
        ["c.toml:3: check.token_file: check.token is also set; remove one of them"]
    );
    assert!(errors("[server]\nlisten_file = 'a'")[0].contains("unknown key"));
}
