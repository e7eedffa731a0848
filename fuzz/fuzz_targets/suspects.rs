#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| robot_detection_fuzz::suspects::run(bytes));
