//! Tests of robot.conf.

use std::time::Duration;

use proptest::prelude::*;

use crate::filter::has_error;

use super::{KEYS, OnCompletion, RobotConf, RobotConfFile};

#[test]
fn empty_file_has_the_defaults_of_the_reference() {
    let conf = RobotConf::default();
    assert_eq!(conf.depth, Some(10));
    assert_eq!(conf.connect_timeout, Duration::from_mins(2));
    assert_eq!(conf.convert_timeout, Duration::from_mins(10));
    assert_eq!(conf.index_after, Duration::from_mins(256));
    assert_eq!((conf.max_connections, conf.site_max_connections), (8, 2));
    assert_eq!((conf.engine_concurrent, conf.max_working), (10, 1024));
    assert_eq!(conf.max_file_bytes, 10_240 * 1024);
    assert_eq!(conf.max_memory_per_url_bytes, 64_000);
    assert_eq!(conf.on_completion, OnCompletion::Idle);
    assert_eq!(
        (conf.username.as_str(), conf.email.as_str()),
        ("anonymous", "user@domain")
    );
    assert!(conf.enable_ip && conf.enable_robots_txt);
    assert!(!conf.enable_rdm_probe && !conf.remote_access && !conf.smart_host_heuristics);
    assert_eq!(
        (conf.server_delay, conf.command_port, conf.password),
        (None, None, None)
    );
    assert_eq!(conf.loglevel, 1);
}

#[test]
fn every_default_is_an_allowed_value() {
    for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
        assert_eq!(
            key.normalise(key.default).as_deref(),
            Ok(key.default),
            "{}",
            key.name
        );
    }
}

#[test]
fn pairs_may_come_from_another_source() {
    let pairs = [
        (1, "server_delay", "1.5"),
        (2, "depth", "-1"),
        (3, "loglevel", "100"),
        (4, "seed", "http://h.example/a depth=-1"),
        (5, "seed", "\"http://h.example/b\""),
        (6, "remote-access", "yes"),
    ];
    let (conf, notes) = RobotConf::from_pairs(pairs);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(conf.server_delay, Some(Duration::from_millis(1500)));
    assert_eq!((conf.depth, conf.loglevel), (None, 100));
    assert_eq!((conf.seeds[0].depth, conf.seeds[1].depth), (Some(-1), None));
    assert!(conf.remote_access);
}

#[test]
fn passwords_are_not_shown() {
    let conf = RobotConf::parse("robot.conf", "password=hush\n").unwrap();
    assert_eq!(conf.password.as_ref().unwrap().as_str(), "hush");
    let shown = format!("{:?}", conf.password);
    assert!(!shown.contains("hush"));
    assert!(
        conf.rows()
            .iter()
            .all(|row| row.value.as_deref() != Some("hush"))
    );
    assert!(!format!("{conf:?}").contains("hush"), "{conf:?}");
}

#[test]
fn errors_contain_file_line_and_key() {
    let error = RobotConf::parse("a.conf", "depth=1\nengine-concurrent=0\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.conf:2: engine-concurrent=\"0\" is not a whole number from 1 to 100"
    );
}

/// Generates text by combining typical file content in random order.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("depth=3"),
        Just("email="),
        Just("seed=http://h.example/ depth=2"),
        Just("seed=\"http://h.example/\""),
        Just("password=a#b"),
        Just("command-timeout = 5"),
        Just("auto-proxy=\"a"),
        Just("tmpdir=“a b”"),
        Just("word"),
        Just("\""),
        Just("\\"),
        Just(" # c "),
        Just(" "),
        Just("\n"),
        Just("\n\n"),
    ];
    let known = prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat());
    prop_oneof![3 => known, 1 => any::<String>()]
}

proptest! {
    #[test]
    fn any_text_is_read_and_its_normal_form_is_stable(text in text()) {
        let file = RobotConfFile::parse(&text);
        if !has_error(file.notes()) {
            let once = file.to_string();
            let again = RobotConfFile::parse(&once);
            prop_assert_eq!(again.to_string(), once);
            prop_assert!(!has_error(again.notes()));
            prop_assert_eq!(again.conf(), file.conf());
        }
    }
}
