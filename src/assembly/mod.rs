//! From the configuration to what each room is built with: what is wrong is told by its place.

mod alerts;
mod bans;
mod certificates;
mod enforcement;
mod front;
mod heaven;
mod licensing;
mod listeners;
mod origins;
mod policy;
mod robot_conf;
mod robots_txt;
mod rules;
mod signing;
mod sources;
mod suspects;
mod upstream;

pub use alerts::alerts;
pub(crate) use bans::bans;
pub use enforcement::enforcement;
pub(crate) use front::front;
pub(crate) use heaven::{heaven_settings, site_url};
pub(crate) use licensing::{license_url, licensing};
pub(crate) use listeners::{check_listener, listen, listeners};
pub(crate) use origins::trusted_proxies;
pub use origins::wanted_origins;
pub use policy::policy;
pub(crate) use policy::{OPERATION_PATHS, policy_builder};
pub(crate) use robot_conf::{read as read_text, robot_conf};
pub(crate) use robots_txt::robots_txt_of_settings;
pub use robots_txt::{robots_txt, robots_txt_in_force};
pub(crate) use signing::Signing;
pub use sources::sources;
pub(crate) use suspects::finds_suspects;
pub(crate) use upstream::{IDENTIFICATION_HEADER, VERDICT_HEADER, proxy};
