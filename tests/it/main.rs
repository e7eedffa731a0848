//! Black-box tests: real HTTP over loopback, real databases, a real browser.

#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod actions;
mod address_ranges;
mod admin;
mod alerts;
mod arrows;
mod backup;
mod bans;
mod book;
mod bundled;
mod canonical;
mod check;
mod cli;
mod conditions;
mod console;
mod demo_application;
mod demo_heaven;
mod detect;
mod detection_cases_like;
mod detection_cases_names;
mod detection_cases_words;
mod dns_server;
mod embedding;
mod evidence;
mod examples;
mod export;
mod fast_path;
mod fleets;
mod fuzzed;
mod health;
mod heaven;
mod heaven_address;
mod heaven_forms;
mod heaven_markdown;
mod heaven_open_to;
mod heaven_parity;
mod heaven_start;
mod house;
mod http2_frames;
mod identify;
mod index_now;
mod instances;
mod kinds;
mod language;
mod layer;
mod listen;
mod live_rules;
mod names;
mod operations;
mod outage;
mod pace;
mod page_source;
mod policy;
mod proxy;
mod publisher;
mod raw_http;
mod refresh;
mod registry_held;
mod robots_txt_cli;
mod robots_txt_enforce;
mod robots_txt_purposes;
mod robots_txt_serve;
mod rules;
mod seeds;
mod site_robot;
mod site_robot_cli;
mod site_robot_handover;
mod site_robot_held;
mod site_robot_logins;
mod site_robot_pdf;
mod site_robot_polite;
mod site_robot_refresh;
mod site_robot_render;
mod site_robot_traps;
mod sites;
mod stopping;
mod store;
mod support;
mod suspects;
mod tags;
mod traffic;
mod traffic_paths;
mod traps;
mod unlisted;
mod verdicts;
mod verify;
mod verify_dns;
mod way_out;
mod web_bot_auth;
mod websocket;
