//! HTTP/2 frame by frame: rule violations are refused, floods are bounded.

mod floods;
mod frames;
mod messages;
mod rules;
mod stalls;
mod wire;
