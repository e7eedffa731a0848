//! The fuzz targets, run on stored inputs and on many variations of them.
//!
//! Fuzzing finds inputs, and these tests keep them: `fuzz/seeds` has some for each target. The
//! generated variations are the same in every run.

use std::{fs, path::Path};

#[path = "../../fuzz/src/lib.rs"]
#[expect(
    clippy::duplicate_mod,
    unreachable_pub,
    reason = "the fuzz package's library is included as a module"
)]
mod targets;

/// Number of generated variations.
const MADE: usize = 5_000;

/// Largest input in bytes: longer inputs find nothing that shorter ones do not.
const MAX_BYTES: usize = 2_048;

/// Generator of the same numbers in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (limit.max(1) as u64)).unwrap()
    }

    /// Inserts a part of one input into another, or repeats, drops or changes some of it.
    fn make(&mut self, kept: &[Vec<u8>]) -> Vec<u8> {
        let mut made = kept[self.below(kept.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(made.len() + 1);
            let until = (at + self.below(32)).min(made.len());
            let other = &kept[self.below(kept.len())];
            let from = self.below(other.len() + 1);
            let to = (from + self.below(64)).min(other.len());
            match self.below(5) {
                0 => drop(made.splice(at..until, other[from..to].iter().copied())),
                1 => drop(made.splice(at..at, other[from..to].iter().copied())),
                2 => drop(made.drain(at..until)),
                3 => made.splice(at..at, made[at..until].to_vec()).for_each(drop),
                _ => {
                    if let Some(byte) = made.get_mut(at) {
                        *byte = u8::try_from(self.below(256)).unwrap();
                    }
                }
            }
        }
        made.truncate(MAX_BYTES);
        made
    }
}

fn run(name: &str, target: impl Fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(name);
    let mut files: Vec<_> = fs::read_dir(seeds)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let kept: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(kept.len() >= 10, "too few stored inputs for {name}");
    for input in &kept {
        target(input);
    }
    let mut random = Random(1);
    for _ in 0..MADE {
        target(&random.make(&kept));
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name), targets::$name::run);
            }
        )*

        #[test]
        fn every_fuzz_target_is_run() {
            let targets = include_str!("../../fuzz/src/lib.rs");
            let declared: Vec<_> = targets
                .lines()
                .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
                .collect();
            assert_eq!(declared, [$(stringify!($name)),*]);
        }
    };
}

targets! {
    access_log
    address_ranges
    document
    filter_conf
    meta
    pipelines
    plain_requests
    proxy_protocol
    registry
    request_headers
    robots_txt
    signatures
    sketches
    soif
    suspects
    upstream_response
}
