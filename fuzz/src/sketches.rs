//! Sketches of people's requests, which instances tell each other through the database.

use robot_detection_fleets::{Fleets, Sketch};

/// What is read is written as it was, and heard without harm.
pub fn run(input: &[u8]) {
    let Ok(sketch) = Sketch::from_bytes(input) else {
        return;
    };
    assert_eq!(sketch.to_bytes(), input);
    let mut fleets = Fleets::new(0);
    // The window and the seed of those that are kept.
    let _ = fleets.judge(1_795_392_000);
    fleets.hear("other", sketch);
    let _ = fleets.judge(1_795_392_000);
    assert!(fleets.judge(1_795_392_000 + 700).conducts().is_empty());
}
