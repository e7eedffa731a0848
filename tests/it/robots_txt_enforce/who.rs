//! The group and the file that apply to a robot.

use robot_detection::{
    detect::UNLISTED as UNLISTED_ID,
    policy::{EnforcementMode, RobotsFiles},
    registry::{Robot, bundled},
};

use super::site::{EXAMPLEBOT, NEWSBOT, Site, UNLISTED, file, robot};

fn strict(text: &str, robots: impl IntoIterator<Item = Robot>) -> Site {
    Site::with(text, robots, |layer| {
        layer.enforce_robots_txt(EnforcementMode::On)
    })
}

/// Returns a file in which each group disallows its own path.
fn groups(names: &[&str]) -> String {
    let group = |name: &&str| {
        format!(
            "User-agent: {name}\nDisallow: /{}/\n\n",
            name.to_lowercase()
        )
    };
    names.iter().map(group).collect()
}

#[tokio::test]
async fn a_listed_robot_is_found_only_by_its_product_token() {
    let mut listed = robot("id-bot", "PatternBot");
    listed.name = "NameBot".to_owned();
    listed.product_token = Some("TokenBot".to_owned());
    let site = strict(
        &groups(&["id-bot", "NameBot", "PatternBot", "TokenBot", "*"]),
        [listed],
    );
    let user_agent = "PatternBot/1.0";
    for path in ["/id-bot/a", "/namebot/a", "/patternbot/a", "/*/a"] {
        assert_eq!(site.status(path, user_agent).await, 200, "{path}");
    }
    assert_eq!(site.status("/tokenbot/a", user_agent).await, 403);
}

#[tokio::test]
async fn bundled_robot_with_its_operators_host_in_a_url_obeys_its_own_group() {
    let robots = [
        ("AI2Bot", "AI2Bot (+https://www.allenai.org/crawler)"),
        (
            "Barkrowler",
            "Mozilla/5.0 (compatible; Barkrowler/0.9; +https://babbar.tech/crawler)",
        ),
        (
            "BLEXBot",
            "Mozilla/5.0 (compatible; BLEXBot/1.0; +https://help.seranking.com/en/blex-crawler)",
        ),
        (
            "memorybot",
            "Mozilla/5.0 (compatible; memorybot/1.0; +http://internetmemory.org/en/)",
        ),
        (
            "SMTBot",
            "Mozilla/5.0 (compatible; SMTBot/1.0; +http://www.similartech.com/smtbot)",
        ),
        // Apple: a file that names Googlebot and not Applebot is meant for both.
        (
            "Googlebot",
            "Mozilla/5.0 (compatible; Applebot/0.1; +http://www.apple.com/go/applebot)",
        ),
    ];
    let names = robots.map(|(name, _)| name);
    let site = strict(&groups(&names), bundled().robots);
    for (own, user_agent) in robots {
        for name in names {
            let path = format!("/{}/a", name.to_lowercase());
            let status = if name == own { 403 } else { 200 };
            assert_eq!(
                site.status(&path, user_agent).await,
                status,
                "{path} {user_agent}"
            );
        }
    }
}

#[tokio::test]
async fn without_a_product_token_its_names_are_tried_in_turn() {
    let mut listed = robot("id-bot", "PatternBot");
    listed.name = "NameBot".to_owned();
    let mut names = vec!["PatternBot", "id-bot", "NameBot"];
    while let Some(&found) = names.last() {
        let site = strict(&groups(&names), [listed.clone()]);
        for name in &names {
            let path = format!("/{}/a", name.to_lowercase());
            let status = if *name == found { 403 } else { 200 };
            assert_eq!(
                site.status(&path, "PatternBot/1.0").await,
                status,
                "{names:?}"
            );
        }
        names.pop();
    }
}

#[tokio::test]
async fn an_unnamed_robot_follows_the_general_group() {
    let site = strict(super::site::FILE, super::site::robots());
    assert_eq!(site.status("/hidden/a", NEWSBOT).await, 403);
    assert_eq!(site.status("/private/a", NEWSBOT).await, 200);
    assert_eq!(site.status("/hidden/a", EXAMPLEBOT).await, 200);
}

#[tokio::test]
async fn an_unlisted_robot_is_found_by_a_name_in_its_user_agent() {
    let text = "User-agent: mysterycrawler\nDisallow: /m/\n\nUser-agent: *\nDisallow: /all/\n";
    let site = strict(text, super::site::robots());
    assert_eq!(site.status("/m/a", UNLISTED).await, 403);
    assert_eq!(site.status("/all/a", UNLISTED).await, 200);
    let other = "Mozilla/5.0 (compatible; OtherCrawler/0.1; +https://other.example/)";
    assert_eq!(site.status("/m/a", other).await, 200);
    assert_eq!(site.status("/all/a", other).await, 403);
    let kept = site.violations();
    assert!(kept.rules.iter().all(|kept| kept.robot == UNLISTED_ID));
    assert_eq!(kept.rules[0].last_user_agent, other);
}

#[tokio::test]
async fn a_thousand_invented_robots_use_bounded_memory() {
    let site = strict("User-agent: *\nDisallow: /\nCrawl-delay: 5\n", []);
    for number in 0..1_500 {
        let user_agent = format!("made-up-crawler-{number}/1.0 (+http://{number}.example/)");
        let (host, path) = (format!("h{number}.example"), format!("/{number}"));
        let answer = site.ask("GET", &host, &path, &user_agent).await;
        assert_eq!(answer.status, 403);
    }
    let kept = site.violations();
    assert!(kept.rules.len() <= 101, "{}", kept.rules.len());
    let hits: u64 = kept.rules.iter().map(|kept| kept.hits).sum();
    assert_eq!(hits, 1_500);
    assert_eq!(site.enforcer.robot_counts().len(), 1);
}

#[tokio::test]
async fn each_host_has_its_own_file() {
    let files = RobotsFiles::everywhere(file("User-agent: *\nDisallow: /else/\n"))
        .host("a.example", file("User-agent: *\nDisallow: /a/\n"))
        .host("b.example:8080", file("User-agent: *\nDisallow: /b/\n"));
    let site = Site::new("", |layer| {
        layer
            .robots_txt(files)
            .enforce_robots_txt(EnforcementMode::On)
    });
    for (host, refused) in [
        ("a.example", "/a/"),
        ("b.example:8080", "/b/"),
        ("c.example", "/else/"),
    ] {
        for path in ["/a/", "/b/", "/else/"] {
            let status = if path == refused { 403 } else { 200 };
            let answer = site.ask("GET", host, path, EXAMPLEBOT).await;
            assert_eq!(answer.status, status, "{host} {path}");
        }
    }
    let kept = site.violations();
    let hosts: Vec<_> = kept.rules.iter().map(|kept| &*kept.host).collect();
    assert_eq!(hosts, ["c.example", "b.example:8080", "a.example"]);
}

#[tokio::test]
async fn without_a_file_nothing_is_enforced() {
    let files = RobotsFiles::default().host("a.example", file("User-agent: *\nDisallow: /\n"));
    let site = Site::new("", |layer| {
        layer
            .robots_txt(files)
            .enforce_robots_txt(EnforcementMode::On)
    });
    assert_eq!(
        site.ask("GET", "a.example", "/", EXAMPLEBOT).await.status,
        403
    );
    assert_eq!(
        site.ask("GET", "b.example", "/", EXAMPLEBOT).await.status,
        200
    );
}
