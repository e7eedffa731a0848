//! Black-box tests: real HTTP over loopback, real databases, a real browser.

#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod actions;
mod admin;
mod arrows;
mod bundled;
mod cli;
mod demo_heaven;
mod detect;
mod examples;
mod export;
mod heaven;
mod http2_frames;
mod identify;
mod layer;
mod listen;
mod operations;
mod page_source;
mod parity;
mod policy;
mod proxy;
mod raw_http;
mod refresh;
mod registry;
mod robots_txt;
mod robots_txt_cli;
mod robots_txt_enforce;
mod robots_txt_serve;
mod rules;
mod site_robot;
mod site_robot_cli;
mod site_robot_files;
mod sites;
mod stopping;
mod store;
mod support;
mod tags;
mod unlisted;
mod websocket;
