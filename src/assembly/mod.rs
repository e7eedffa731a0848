//! Converts the configuration into the settings of each module; errors show the file and line of
//! the setting.

mod alerts;
mod certificates;
mod front;
mod heaven;
mod licensing;
mod listeners;
mod login;
mod origins;
mod policy;
mod robot_conf;
mod robots_txt;
mod rules;
mod upstream;

pub use alerts::alerts;
pub(crate) use front::front;
pub(crate) use heaven::{heaven_settings, logs_in, open_to_question, site_url};
pub(crate) use licensing::{license_url, licensing};
pub(crate) use listeners::{
    check_listener, listen, listeners, local_address, operation_listener, plain_addresses,
};
pub(crate) use login::form_login;
pub use origins::sources;
pub(crate) use origins::trusted_proxies;
pub use origins::wanted_origins;
pub use policy::enforcement;
pub(crate) use policy::finds_suspects;
pub use policy::policy;
pub(crate) use policy::{path_reading, policy_builder};
pub(crate) use robot_conf::{read as read_text, replace_texts, robot_conf, unused_keys};
pub(crate) use robots_txt::configured_robots_txt;
pub use robots_txt::{active_robots_txt, robots_txt};
pub(crate) use rules::answer_setting;
pub(crate) use rules::bans;
pub(crate) use upstream::proxy;
