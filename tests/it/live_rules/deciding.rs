//! Effects of live rules, which precede the configuration's rules and lists.

use serde_json::Value;

use super::house::House;
use crate::support::program::{FIREFOX, GOOGLEBOT, eventually, request};

const SEO: &str = "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)";

#[test]
fn a_live_rule_precedes_rules_and_lists_and_never_affects_people() {
    let more = "allow_robots = ['googlebot']\n[[rule]]\naction = 'pass'\npath = '/*'\n";
    let house = House::with_file(more);
    let instance = house.start();
    let id = instance.add(r#"{"action":"refuse","purpose":"search","path":"/page"}"#);
    let answer = instance.robot();
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(instance.server.get("/other", GOOGLEBOT).status, 200);
    assert_eq!(instance.server.get("/page", SEO).status, 200);
    for agent in [FIREFOX, ""] {
        let answer = instance.server.get("/page", agent);
        assert_eq!(answer.status, 200, "{agent}");
    }
    let person = instance.server.get("/page", FIREFOX);
    assert_eq!(person.header("vary"), "User-Agent");
    let path = format!("identify?path=/page&user_agent={}", "Googlebot/2.1");
    let (_, told) = instance.json("GET", &path, "");
    assert_eq!(told["rule"], format!("live rule {id}"));
    let steps = told["steps"].as_array().unwrap();
    let says = |words: &str| {
        steps
            .iter()
            .any(|step| step["text"].as_str().unwrap().contains(words))
    };
    assert!(says("(created by token console on 20"), "{steps:?}");
}

#[test]
fn a_rule_about_addresses_applies_to_people_once_confirmed() {
    let house = House::with_file("");
    let instance = house.start();
    let refused = |path: &str, agent: &str| instance.server.get(path, agent).status == 403;
    instance.add(r#"{"action":"refuse","addresses":"127.0.0.0/8, ::1","path":"/noted"}"#);
    let all = r#"{"action":"refuse","addresses":"127.0.0.1","people":true,"path":"/closed"}"#;
    let id = instance.add(all);
    instance.add(r#"{"action":"refuse","addresses":"192.0.2.0/24","people":true,"path":"/other"}"#);
    let named = r#"{"action":"refuse","user_agent":"*Firefox/*","visitors":"people","people":true,"path":"/named"}"#;
    instance.add(named);
    for agent in [FIREFOX, GOOGLEBOT, ""] {
        assert!(
            !refused("/noted", agent) && !refused("/other", agent),
            "{agent}"
        );
        assert!(refused("/closed", agent), "{agent}");
        assert_eq!(refused("/named", agent), agent == FIREFOX, "{agent}");
    }
    let (_, told) = instance.json("GET", "rules", "");
    let does = |at: usize| {
        told["live_rules"][at]["summary"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        does(0),
        "refuse everybody from 127.0.0.0/8, ::1 with 403 on /noted; recorded only, because it would affect people"
    );
    assert_eq!(
        does(3),
        "refuse people whose User-Agent is *Firefox/* with 403 on /named"
    );
    // A rule that passes a network needs no confirmation, but does not precede the rules created
    // before it.
    instance.json("DELETE", &format!("rules/{id}"), "");
    instance.add(r#"{"action":"pass","addresses":"127.0.0.1"}"#);
    instance.add(all);
    assert!(!refused("/closed", FIREFOX) && !refused("/closed", GOOGLEBOT));
}

#[test]
fn a_slowed_robots_count_survives_the_creation_of_another_rule() {
    let house = House::with_file("");
    let instance = house.start();
    instance.add(r#"{"action":"slow","robot":"googlebot","requests":2,"per_seconds":3600}"#);
    let statuses: Vec<_> = (0..3).map(|_| instance.robot().status).collect();
    assert_eq!(statuses, [200, 200, 429]);
    instance.add(r#"{"action":"redirect","robot":"ahrefsbot"}"#);
    assert_eq!(instance.robot().status, 429, "the limit must not be reset");
    let redirected = instance.server.get("/page", SEO);
    assert_eq!(redirected.status, 302);
    assert_eq!(redirected.header("location"), "/robot-heaven/");
}

#[test]
fn a_rule_expires() {
    let house = House::with_file("");
    let instance = house.start();
    let (_, told) = instance.json("GET", "status", "");
    assert!(told["version"].is_string());
    let soon = time::OffsetDateTime::now_utc() + time::Duration::seconds(3);
    let format = time::format_description::well_known::Rfc3339;
    let soon = soon.format(&format).unwrap();
    instance.add(&format!(
        r#"{{"action":"refuse","robot":"googlebot","ends":"{soon}"}}"#
    ));
    assert_eq!(instance.robot().status, 403);
    eventually("the rule has expired", || instance.robot().status == 200);
    let (_, told) = instance.json("GET", "rules", "");
    assert_eq!(told["live_rules"], Value::Array(Vec::new()));
    let file = house.state_file().unwrap();
    eventually("the expired rule is removed from the file", || {
        !std::fs::read_to_string(&file)
            .unwrap()
            .contains("googlebot")
    });
}

#[test]
fn a_sites_rule_applies_to_that_site_and_survives_its_removal() {
    let house = House::with_file("");
    let upstream = std::fs::read_to_string(house.path().join("robot-detection.toml")).unwrap();
    let (_, url) = upstream.split_once("server.upstream = '").unwrap();
    let url = url.split('\'').next().unwrap();
    let site = format!("[[site]]\nname = 'shop'\nhosts = ['shop.example']\nupstream = '{url}'\n");
    house.configure(&site);
    let instance = house.start();
    instance.add(r#"{"action":"refuse","robot":"googlebot","site":"shop"}"#);
    let ask = |host| {
        let headers = [("Host", host), ("User-Agent", GOOGLEBOT)];
        request(instance.server.addr, "GET", "/page", &headers).status
    };
    assert_eq!((ask("shop.example"), ask("www.example")), (403, 200));
    house.configure("");
    let (status, _) = instance.json("POST", "reload?accept=true", "");
    assert_eq!(status, 200);
    assert_eq!(ask("shop.example"), 200);
    let (_, told) = instance.json("GET", "rules", "");
    let note = told["live_rules"][0]["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("The rule's site no longer exists"),
        "{note}"
    );
    house.configure(&site);
    instance.json("POST", "reload", "");
    assert_eq!(ask("shop.example"), 403, "the rule applies again");
    let (_, changes) = instance.json("GET", "changes?event=reloaded", "");
    assert_eq!(changes["changes"][0]["by"], "token console");
}

#[test]
fn a_rule_that_does_not_fit_a_site_is_skipped_there_and_reported() {
    let house = House::with_file("");
    let instance = house.start();
    instance.add(r#"{"action":"redirect","robot":"googlebot"}"#);
    assert_eq!(instance.robot().status, 302);
    house.configure("redirect_url = ''");
    let (status, told) = instance.json("POST", "reload", "");
    assert_eq!(status, 200, "{told}");
    assert_eq!(instance.robot().status, 200);
    let (_, told) = instance.json("GET", "rules", "");
    let note = told["live_rules"][0]["notes"][0].as_str().unwrap();
    assert!(
        note.contains("Skipped on the site default: no redirect target"),
        "{note}"
    );
    let (status, told) = instance.json("POST", "rules", r#"{"action":"redirect","robot":"a"}"#);
    assert_eq!(status, 422, "{told}");
}

#[test]
fn in_a_dry_run_live_rules_are_only_logged_too() {
    let house = House::with_file("mode = 'report'");
    let instance = house.start();
    instance.add(r#"{"action":"refuse","robot":"googlebot"}"#);
    assert_eq!(instance.robot().status, 200);
    let metrics = instance.server.metrics();
    assert!(metrics.contains(r#"decision="would-refuse""#), "{metrics}");
    assert!(
        metrics.contains("robot_detection_live_rules 1"),
        "{metrics}"
    );
}

#[test]
fn a_rule_affects_as_many_requests_as_its_dry_run_predicted() {
    let house = House::with_file("");
    let instance = house.start();
    let requests = [
        ("/", SEO),
        ("/a", SEO),
        ("/b", GOOGLEBOT),
        ("/c", FIREFOX),
        ("/a", SEO),
    ];
    let touched = || {
        let statuses = requests.map(|(path, agent)| instance.server.get(path, agent).status);
        statuses.iter().filter(|status| **status == 429).count()
    };
    assert_eq!(touched(), 0);
    let rule = r#"{"action":"refuse","purpose":"seo","status":429}"#;
    let mut told = Value::Null;
    eventually("the requests are stored", || {
        let (status, answer) = instance.json("POST", "rules?dry_run=true", rule);
        assert_eq!(status, 200, "{answer}");
        told = answer["matched"].clone();
        told["requests"] != 0
    });
    instance.add(rule);
    assert_eq!(told["requests"], touched());
    assert_eq!((&told["robots"], &told["people"]), (&1.into(), &0.into()));
}
