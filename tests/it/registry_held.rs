//! Quarantine of damaging lists, on the command line.

use std::{fs, path::Path};

use tempfile::TempDir;

use crate::support::program::{run, succeed};

struct House {
    directory: TempDir,
}

impl House {
    /// Creates a house with a list of robots as the only source, already refreshed.
    fn new(robots: usize) -> Self {
        let house = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let text =
            "web_robots_db = ''\n[[source]]\nname = 'own'\nurl = 'own.list'\nformat = 'list'\n";
        fs::write(house.path().join("robot-detection.toml"), text).unwrap();
        house.list(robots);
        succeed(house.path(), &["registry", "refresh"]);
        house
    }

    fn list(&self, robots: usize) {
        let names: Vec<String> = (0..robots).map(|n| format!("Fetcher{n}x\n")).collect();
        fs::write(self.path().join("own.list"), names.concat()).unwrap();
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs a command; returns its exit code and output on both streams.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = run(self.path(), arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn robots(&self) -> usize {
        let list = succeed(self.path(), &["registry", "list", "--source", "own"]);
        list.lines().skip(1).count()
    }
}

#[test]
fn a_quarantined_list_is_reported_until_it_is_accepted() {
    let house = House::new(50);
    house.list(40);
    let (code, _, said) = house.run(&["registry", "refresh"]);
    assert_eq!(code, Some(1));
    let reason =
        "the document has 40 robots, down from 50: more than a tenth would be removed at once";
    assert!(
        said.starts_with(&format!("error: own: held for review: {reason}"))
            && said.contains("to apply the document, use --accept"),
        "{said}"
    );
    assert_eq!(house.robots(), 50);
    let advice = "to apply the new robots, run `registry refresh --source own --accept`";
    let (_, _, said) = house.run(&["registry", "list", "--source", "own"]);
    assert!(said.contains(reason) && said.contains(advice), "{said}");
    let (_, report, _) = house.run(&["doctor", "--offline"]);
    let line = report.lines().find(|line| line.contains(reason));
    let line = line.unwrap_or_else(|| panic!("{report}"));
    assert!(
        line.starts_with("warn  source own: ") && line.contains(advice),
        "{line}"
    );

    // The list has changed meanwhile, so the reviewed one is not available.
    house.list(30);
    let (code, _, said) = house.run(&["registry", "refresh", "--source", "own", "--accept"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("the document changed while held for review"),
        "{said}"
    );
    assert_eq!(house.robots(), 50);

    let (code, out, said) = house.run(&["registry", "refresh", "--accept"]);
    assert_eq!((code, said.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("own: 0 added, 0 changed, 20 removed"), "{out}");
    assert_eq!(house.robots(), 30);
    let (_, report, _) = house.run(&["doctor", "--offline"]);
    assert!(!report.contains("held back"), "{report}");
    let (code, _, said) = house.run(&["registry", "refresh", "--accept"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no document is held for review"), "{said}");
}

#[test]
fn json_distinguishes_quarantined_from_failed() {
    let house = House::new(50);
    house.list(40);
    let (code, out, _) = house.run(&["registry", "refresh", "--json"]);
    assert_eq!(code, Some(1));
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told[0]["outcome"], "held");
    fs::remove_file(house.path().join("own.list")).unwrap();
    let (_, out, _) = house.run(&["registry", "refresh", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told[0]["outcome"], "failed");
}
