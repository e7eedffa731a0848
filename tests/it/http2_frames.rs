//! HTTP/2 frame by frame: what breaks a rule is refused, what floods is bounded.

mod floods;
mod frames;
mod messages;
mod rules;
mod stalls;
mod wire;
