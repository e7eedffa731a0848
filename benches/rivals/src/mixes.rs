//! User-Agents for all detectors: half of them people's, half robots'.

use std::{fs, path::Path};

use robot_detection::{
    detect::browsers,
    registry::{Pattern, PatternKind, bundled},
};

use crate::Result;

/// Number of User-Agents in one half of the large mixes.
const HALF_OF_MANY: usize = 10_000;

/// List of User-Agents, people's and robots' in turn.
pub struct Mix {
    /// Name of the mix and its file.
    pub name: &'static str,
    /// Description of the contents.
    pub what: &'static str,
    /// User-Agents without line breaks.
    pub user_agents: Vec<String>,
}

impl Mix {
    fn new(
        name: &'static str,
        what: &'static str,
        people: Vec<String>,
        robots: Vec<String>,
    ) -> Self {
        let pairs = people.into_iter().zip(robots);
        Self {
            name,
            what,
            user_agents: pairs.flat_map(<[String; 2]>::from).collect(),
        }
    }

    /// Returns the percentage of User-Agents that a detector misclassifies. Each User-Agent is
    /// copied to the same buffer, as in a server.
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
    pub fn mistakes(&self, is_robot: &dyn Fn(&str) -> bool) -> f64 {
        let mut buffer = String::with_capacity(1 << 16);
        let turns = self
            .user_agents
            .iter()
            .zip([false, true].into_iter().cycle());
        let wrong = turns.filter(|(user_agent, expected)| {
            buffer.clear();
            buffer.push_str(user_agent);
            is_robot(&buffer) != *expected
        });
        100.0 * wrong.count() as f64 / self.user_agents.len() as f64
    }

    /// Writes one User-Agent per line.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        Ok(fs::write(
            self.path(folder),
            self.user_agents.join("\n") + "\n",
        )?)
    }

    /// Returns the path of this mix.
    pub fn path(&self, folder: &Path) -> std::path::PathBuf {
        folder.join(self.name).with_extension("mix.txt")
    }
}

/// Returns the mixes; the collected one only if tests/recall has written its lists.
pub fn all(lists: &Path) -> Vec<Mix> {
    let mut mixes = vec![half(), diverse()];
    match collected(lists) {
        Ok(mix) => mixes.push(mix),
        Err(reason) => println!("left out: the collected mix: {reason}"),
    }
    mixes
}

/// Returns each bundled browser once, alternating with robots from their bundled patterns.
fn half() -> Mix {
    let people: Vec<String> = browsers().map(str::to_owned).collect();
    let robots = robots(people.len());
    Mix::new(
        "half",
        "half bundled browsers, half bundled robots",
        people,
        robots,
    )
}

/// Returns thousands that differ in version and shape, shuffled to defeat branch prediction.
fn diverse() -> Mix {
    let known: Vec<&str> = browsers().collect();
    let mut random = Random(1);
    let people = (0..HALF_OF_MANY)
        .map(|_| with_other_digits(known[random.below(known.len())], &mut random))
        .collect();
    let mut robots = robots(HALF_OF_MANY);
    shuffle(&mut robots, &mut random);
    Mix::new(
        "diverse",
        "the same with other versions, shuffled",
        people,
        robots,
    )
}

/// Returns User-Agents collected by third parties.
fn collected(lists: &Path) -> Result<Mix> {
    let mut random = Random(2);
    let mut sample = |file: &str| -> Result<Vec<String>> {
        let text =
            fs::read_to_string(lists.join(file)).map_err(|error| format!("{file}: {error}"))?;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        shuffle(&mut lines, &mut random);
        lines.truncate(HALF_OF_MANY);
        Ok(lines)
    };
    let (people, robots) = (sample("browsers.txt")?, sample("robots.txt")?);
    Ok(Mix::new(
        "collected",
        "half each of the lists of tests/recall",
        people,
        robots,
    ))
}

/// Returns User-Agents of bundled robots, each with a different version.
fn robots(count: usize) -> Vec<String> {
    let robots = bundled().robots;
    let patterns: Vec<(&str, &Pattern)> = robots
        .iter()
        .flat_map(|robot| {
            robot
                .patterns
                .iter()
                .map(|pattern| (robot.id.as_str(), pattern))
        })
        .filter(|(_, pattern)| pattern.kind != PatternKind::Regex)
        .collect();
    (0..count)
        .map(|number| {
            let (id, pattern) = patterns[number * 7_919 % patterns.len()];
            user_agent(id, pattern, number)
        })
        .collect()
}

/// Returns a User-Agent that the robot may send, in one of four shapes.
fn user_agent(id: &str, pattern: &Pattern, number: usize) -> String {
    let name = pattern.text.trim_end_matches('/');
    let version = format!("{}.{}", number % 7, number % 100);
    match (pattern.kind, number % 4) {
        (PatternKind::Exact, _) => name.to_owned(),
        (PatternKind::Token, 0 | 1) => {
            format!("Mozilla/5.0 (compatible; {name}/{version}; +https://{id}.example/robot.html)")
        }
        (PatternKind::Token, 2) => format!(
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; {name}/{version}; \
             +https://{id}.example/robot) Chrome/1{}.0.0.0 Safari/537.36",
            number % 50
        ),
        _ => format!("{name}/{version} (+https://{id}.example/about)"),
    }
}

/// Changes the digits after the platform's name.
fn with_other_digits(user_agent: &str, random: &mut Random) -> String {
    let changed = user_agent.char_indices().map(|(place, sign)| {
        if place > 40 && sign.is_ascii_digit() {
            char::from(b"0123456789"[random.below(10)])
        } else {
            sign
        }
    });
    changed.collect()
}

fn shuffle(lines: &mut [String], random: &mut Random) {
    for place in (1..lines.len()).rev() {
        lines.swap(place, random.below(place + 1));
    }
}

/// Generator of the same numbers in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap_or_default()
    }
}
