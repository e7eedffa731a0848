//! Sketches of people's requests, which instances exchange through the database.

use robot_detection_fleets::{Fleets, Sketch};

/// Parsed bytes serialise to the same bytes and can be merged without harm.
pub fn run(input: &[u8]) {
    let Ok(sketch) = Sketch::from_bytes(input) else {
        return;
    };
    assert_eq!(sketch.to_bytes(), input);
    let mut fleets = Fleets::new(0);
    // The window and seed of the stored inputs.
    let _ = fleets.judge(1_795_392_000);
    fleets.hear("other", sketch);
    let _ = fleets.judge(1_795_392_000);
    assert!(fleets.judge(1_795_392_000 + 700).conducts().is_empty());
}
