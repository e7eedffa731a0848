//! Measures in turns and keeps the fastest time, to reduce the influence of other load.

use std::{
    fmt::Write,
    hint::black_box,
    time::{Duration, Instant},
};

use crate::{
    contenders::{Contender, OURS},
    mixes::Mix,
};

const ROUNDS: usize = 9;
/// Minimum time of a turn, which always ends with a complete pass over the mix.
const TURN: Duration = Duration::from_millis(50);
/// Total time on a mix after which a contender gets no more turns.
const ENOUGH: Duration = Duration::from_secs(3);

/// Figures of one contender.
pub struct Row {
    /// Displayed name.
    pub name: String,
    /// Nanoseconds per User-Agent, by mix: the fastest of all turns.
    pub nanoseconds: Vec<f64>,
    /// Percentage of misclassified User-Agents, by mix, where measured.
    pub mistakes: Vec<f64>,
}

impl Row {
    /// Returns a row without figures.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            nanoseconds: Vec::new(),
            mistakes: Vec::new(),
        }
    }
}

/// Returns each contender's nanoseconds per User-Agent.
pub fn measure(contenders: &[Contender], mix: &Mix) -> Vec<f64> {
    let mut fastest = vec![f64::INFINITY; contenders.len()];
    for contender in contenders {
        pass(contender, mix); // Warms up code that is compiled or cached on first use.
    }
    let mut taken = vec![Duration::ZERO; contenders.len()];
    for _ in 0..ROUNDS {
        for (place, contender) in contenders.iter().enumerate() {
            if taken[place] < ENOUGH {
                let start = Instant::now();
                fastest[place] = turn(contender, mix).min(fastest[place]);
                taken[place] += start.elapsed();
            }
        }
    }
    fastest
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn turn(contender: &Contender, mix: &Mix) -> f64 {
    let start = Instant::now();
    let mut passes = 0;
    while start.elapsed() < TURN {
        pass(contender, mix);
        passes += 1;
    }
    start.elapsed().as_nanos() as f64 / (passes * mix.user_agents.len()) as f64
}

fn pass(contender: &Contender, mix: &Mix) {
    for user_agent in &mix.user_agents {
        black_box((contender.is_robot)(black_box(user_agent)));
    }
}

/// Returns a table of nanoseconds per User-Agent and ratios to ours.
pub fn table(rows: &[Row], mixes: &[Mix]) -> String {
    let ours = rows.iter().find(|row| row.name == OURS);
    let mut table = format!("{:<38}", "ns a User-Agent (times ours, mistakes)");
    for mix in mixes {
        let _ = write!(table, "{:>28}", mix.name);
    }
    for row in rows {
        let _ = write!(table, "\n{:<38}", row.name);
        for (place, nanoseconds) in row.nanoseconds.iter().enumerate() {
            let ratio = ours.map_or(f64::NAN, |ours| nanoseconds / ours.nanoseconds[place]);
            let mistakes = row.mistakes.get(place);
            let mistakes = mistakes.map_or(String::new(), |share| format!(", {share:.1} %"));
            let cell = format!("{nanoseconds:.0} ({ratio:.2}x{mistakes})");
            let _ = write!(table, "{cell:>28}");
        }
    }
    table + "\n"
}
